// Overview: the figures of the domain, the issues of a range by state, by time, by groups and by
// how long they took, and the latest imports. Each bar leads to the list of what it counts.
import { call, has, latest, query, send, v1, v2 } from "./api.js";
import { bars, columns, sumOf, summed, withTable } from "./charts.js";
import { OPEN, STATES, count, things, wordsOf } from "./format.js";
import {
  RANGES,
  areDays,
  boundsOf,
  columnsOf,
  dayIn,
  dayText,
  daysOf,
  daysText,
  filterOf,
  groupOf,
  markOf,
  readChoice,
  unitOf,
  viewerZone,
  writeChoice,
} from "./ranges.js";
import { button, cellsOf, empty, head, input, pill, problem, refused, select } from "./ui.js";
import { openChoices, table } from "./ui.js";
import { fill, h, update } from "./view.js";

const REFRESH_MS = 4000;
/** Refreshes after which the groups and times are asked for even if no number changed. */
const REFRESHES_MAX = 15;
const TASKS = 8;
const GROUPS_MAX = 1000;

export default async function overview(/** @type {any} */ context) {
  const { params, signal, leaving, keys, go } = context;
  const screen = new Overview(params, signal);
  const search = has("profiles") && searchOf(go);
  keys({
    "/": () => search && search.elements[0].focus(),
    r: () => openChoices(screen.controls.range),
  });
  await screen.begin();
  const timer = setInterval(() => !document.hidden && screen.refresh().catch(() => {}), REFRESH_MS);
  // The screen is there before what is below its first charts.
  const below = setTimeout(() => screen.below());
  leaving(() => {
    clearInterval(timer);
    clearTimeout(below);
  });
  return h(
    "div",
    { class: "overview" },
    head("Overview", search, screen.health),
    screen.figures,
    screen.controls.element,
    screen.trouble,
    screen.first,
    screen.running,
    screen.more,
  );
}

class Overview {
  constructor(/** @type {URLSearchParams} */ params, /** @type {AbortSignal} */ signal) {
    this.options = { signal, quiet: true };
    this.choice = readChoice(params);
    this.controls = new RangeControls(this.choice, (choice) => this.choose(choice));
    this.figures = h("div", { class: "facts" });
    this.running = h("section", { "aria-label": "Tasks" });
    this.byState = h("section", { "aria-label": "Issues by state" });
    this.byTime = h("section", { "aria-label": "Issues by time" });
    this.first = h("div", { class: "columns first-charts" }, this.byState, this.byTime);
    this.more = h("div", { class: "more", "aria-busy": "true" });
    this.trouble = h("div");
    this.health = h("span", { role: "status" });
    /** The totals, each as soon as the server said it. */
    this.known = /** @type {Record<string, any>} */ ({});
    /** The range that is shown, and what draws the rest of it. */
    this.range = /** @type {any} */ (null);
    this.parts = /** @type {any[]|null} */ (null);
    this.turn = 0;
    this.sinceAsked = 0;
  }
  async begin() {
    await Promise.all([this.always(), this.states().then(() => this.inRange())]);
    this.totals();
  }
  always() {
    return Promise.all([this.tasks(), this.ready(), this.people()]);
  }
  async refresh() {
    const { range, turn } = this;
    await Promise.all([this.always(), this.states()]);
    this.totals();
    if (turn !== this.turn) return;
    await this.inRange(true);
    this.sinceAsked += 1;
    const same = this.range?.text === range?.text && this.sinceAsked < REFRESHES_MAX;
    if (turn === this.turn && !same) await this.below();
  }
  /** Another range: its address replaces that of this one, and its numbers those on the page. */
  async choose(/** @type {any} */ choice) {
    this.choice = choice;
    this.turn += 1;
    history.replaceState(history.state, "", `#/overview${writeChoice(choice)}`);
    for (const part of [this.first, this.more]) part.setAttribute("aria-busy", "true");
    await this.inRange();
    await this.below();
  }
  get(/** @type {string} */ path) {
    return call("GET", path, this.options);
  }
  counts(/** @type {any} */ params) {
    return this.get(v1(`issues/counts${query({ limit: GROUPS_MAX, ...params })}`));
  }
  list(/** @type {any} */ params) {
    const wanted = query({ ...params, "page-size": 1, excludes: ["messages"] });
    return this.get(v1(`issues${wanted}`));
  }
  /** The issues of each state that these filters find. */
  async byStates(/** @type {any} */ filter) {
    if (has("counts")) return (await this.counts({ "group-by": "state", ...filter })).groups;
    const one = async (/** @type {string} */ state) => ({
      state,
      count: (await this.list({ state, ...filter }))["total-hits"],
    });
    return Promise.all(STATES.map(one));
  }
  async states() {
    const groups = await this.byStates({});
    const sum = (/** @type {any[]} */ some) => some.reduce((n, group) => n + group.count, 0);
    this.known.issues = sum(groups);
    this.known.open = sum(
      groups.filter((/** @type {any} */ one) => OPEN.split(",").includes(one.state)),
    );
  }
  /** The first and the last day that have issues, or null. */
  async extent() {
    const edge = (/** @type {string} */ order) =>
      this.list({ "sort-by": "creation-time", "sort-order": order });
    const [oldest, newest] = await Promise.all([edge("asc"), edge("desc")]);
    const day = (/** @type {any} */ { issues: [issue] }) =>
      dayIn(issue.created_at, this.choice.zone);
    return oldest.issues.length && newest.issues.length
      ? { since: day(oldest), until: day(newest) }
      : null;
  }
  /**
   * Asks for the numbers of the range and shows them, or why they are missing. A refresh that fails
   * leaves those that are there.
   */
  async inRange(refreshing = false) {
    const { turn } = this;
    try {
      const range = await this.read();
      if (turn !== this.turn) return;
      this.range = range;
      update(this.trouble, null, () => null);
      this.draw(range);
    } catch (error) {
      if (refreshing || /** @type {any} */ (error).name === "AbortError") throw error;
      if (turn !== this.turn) return;
      this.range = null;
      for (const part of [this.byState, this.byTime]) update(part, null, () => null);
      this.fault(this.trouble, error);
    }
    this.first.removeAttribute("aria-busy");
  }
  async read() {
    const { choice } = this;
    const days = daysOf(choice, Date.now());
    const shown = days ?? (await this.extent());
    const unit = shown && unitOf(shown);
    if (!shown || !unit) return { choice, days, total: 0, text: "" };
    const { since, until } = days ? boundsOf(days, choice.zone) : {};
    const wanted = { "created-since": since, "created-until": until };
    const found = await this.numbers(groupOf(unit), wanted);
    const total = sumOf(found.states);
    // An empty range says where the issues are.
    const where = total || !this.known.issues ? null : await this.extent();
    const all = { choice, days, shown, unit, wanted, ...found, total, where };
    return { ...all, text: JSON.stringify(all) };
  }
  /** The issues by state, and by time: in one call, unless there are too many groups. */
  async numbers(/** @type {string} */ by, /** @type {any} */ wanted) {
    if (!has("counts")) return { states: await this.byStates(wanted), times: null };
    const { zone } = this.choice;
    const ask = (/** @type {string} */ groups) =>
      this.counts({ "group-by": groups, timezone: zone, ...wanted });
    const both = await ask(`state,${by}`);
    if (!both.other)
      return { states: summed(both.groups, "state"), times: summed(both.groups, by) };
    const [states, times] = await Promise.all([ask("state"), ask(by)]);
    return {
      states: summed(states.groups, "state"),
      times: times.other ? null : summed(times.groups, by),
    };
  }
  draw(/** @type {any} */ range) {
    const any = this.known.issues > 0;
    this.controls.show(any, range);
    update(this.byState, [range, any], () => {
      if (!any) return noIssues();
      return range.total ? stateBars(range) : nothing(range);
    });
    update(this.byTime, range, () => range.total > 0 && range.times && timeColumns(range));
  }
  /** Shows the groups and the times of the range. */
  async below() {
    const { range, turn } = this;
    this.sinceAsked = 0;
    if (range?.total && has("counts")) {
      const parts = await this.load();
      const current = () => turn === this.turn;
      await Promise.all(parts.map((part) => this.part(part, wantedOf(range, current))));
      if (!current()) return;
      this.more.hidden = false;
    } else this.more.hidden = true;
    this.more.removeAttribute("aria-busy");
  }
  /** The parts below the first charts, which come after those. */
  async load() {
    if (this.parts) return this.parts;
    const made = /** @type {Promise<any>[]} */ ([
      import("./groups_chart.js").then((of) => new of.GroupsChart(this.options)),
    ]);
    if (has("durations"))
      made.push(import("./durations.js").then((of) => new of.Durations(this.options)));
    const parts = (await Promise.all(made)).map((part) => ({ part, trouble: h("div") }));
    if (!this.parts) {
      this.parts = parts;
      fill(
        this.more,
        parts.map(({ part, trouble }) => [part.element, trouble]),
      );
    }
    return this.parts;
  }
  /** Shows a part, or why it cannot be shown. */
  async part(/** @type {any} */ { part, trouble }, /** @type {any} */ wanted) {
    try {
      await part.show(wanted);
      if (!wanted.current()) return;
      part.element.hidden = false;
      update(trouble, null, () => null);
    } catch (error) {
      if (/** @type {any} */ (error).name === "AbortError" || !wanted.current()) return;
      part.element.hidden = true;
      this.fault(trouble, error);
    }
  }
  /** Says why numbers are missing, and offers to ask again, or for less. */
  fault(/** @type {any} */ place, /** @type {any} */ error) {
    const again = () => this.choose(this.choice);
    const { zone } = this.choice;
    update(place, [error.message, error.code, this.turn], () =>
      h(
        "div",
        { class: "state", role: "alert" },
        h("h2", null, "These numbers could not be loaded"),
        problem(error),
        h(
          "div",
          null,
          error.code === "query_too_expensive" &&
            button("Show the last 7 days", () => this.choose({ range: "7d", zone })),
          button("Try again", again),
        ),
      ),
    );
  }
  async people() {
    if (!has("profiles")) return;
    const answer = await this.get(`${v2("identity/core_profiles")}?page-size=1`);
    this.known.people = answer["total-hits"];
  }
  async tasks() {
    const { records } = await latest({ "page-size": TASKS }, this.options);
    const found = records.slice(0, TASKS);
    this.known.working = records.filter((record) => record.status !== "completed").length;
    const heads = ["action", "state", "from", "entries", "failed", "sent", "took"];
    const row = (/** @type {any} */ record) => {
      const cells = /** @type {Record<string, any>} */ (cellsOf(record));
      return heads.map((name) => cells[name]);
    };
    update(this.running, found, () => [
      h("h2", null, "Latest imports"),
      found.length
        ? h("div", { class: "cards" }, table("Latest imports", heads, found.map(row), [3, 4]))
        : empty("No imports yet", "Imports and bulk exports appear here while they run."),
    ]);
  }
  async ready() {
    const answer = await send("GET", "readyz", this.options).catch((error) => error);
    update(this.health, answer.ok, () =>
      pill(answer.ok ? "ready" : "not ready", answer.ok ? "server ready" : "server not ready"),
    );
  }
  totals() {
    const { open, issues, people, working } = this.known;
    update(this.figures, this.known, () => [
      figure(open, open === 1 ? "open issue" : "open issues", `#/issues?state=${OPEN}`),
      figure(issues, "issues in all", "#/issues"),
      figure(people, people === 1 ? "person" : "people", "#/people"),
      figure(working, working === 1 ? "import at work" : "imports at work", "#/imports"),
    ]);
  }
}

/** Finds a person, and shows the one person whom the words find. */
function searchOf(/** @type {(path:string)=>void} */ go) {
  const words = input({
    type: "search",
    required: true,
    "aria-label": "Find a person",
    placeholder: "Find a person  ( / )",
  });
  const onsubmit = (/** @type {any} */ event) => {
    event.preventDefault();
    go(`people?${new URLSearchParams({ q: words.value.trim(), only: "open" })}`);
  };
  const find = h("button", { type: "submit" }, "Find");
  return h("form", { class: "row", role: "search", onsubmit }, words, find);
}

/** A total that leads to its list, once it is known. */
const figure = (
  /** @type {number|undefined} */ n,
  /** @type {string} */ text,
  /** @type {string} */ href,
) =>
  n !== undefined &&
  h(
    "a",
    { class: "fact", href },
    h("span", { class: "number" }, count(n)),
    h("span", { class: "faint" }, text),
  );

const noIssues = () =>
  empty(
    "No issues yet",
    h("a", { href: "#/new-import" }, "Import some"),
    " from a file, or send them through the API.",
  );

/** The address of the list with these filters. */
const listAt = (/** @type {any} */ filters) => {
  const text = new URLSearchParams(filters).toString();
  return `#/issues${text && `?${text}`}`;
};

/** What the parts below need of a range. */
function wantedOf(/** @type {any} */ range, /** @type {()=>boolean} */ current) {
  const { choice, days, shown, unit, wanted, total } = range;
  // The API has no years. A median is no sum of others, so that years of times remain months.
  const part = unit === "year" ? "month" : unit;
  return {
    wanted: { ...wanted, timezone: choice.zone },
    list: filterOf(days, choice.zone),
    total,
    unit: part,
    columns: columnsOf(shown, part),
    hrefOf: (/** @type {any} */ column) => listAt(filterOf(column, choice.zone)),
    current,
  };
}

function stateBars(/** @type {any} */ { states, days, choice, total }) {
  const within = filterOf(days, choice.zone);
  const groups = STATES.map((state) => ({
    name: wordsOf(state),
    kind: state,
    count: states.find((/** @type {any} */ group) => group.state === state)?.count ?? 0,
    href: listAt({ state, ...within }),
  }));
  return [h("h2", null, "By state"), bars("Issues by state", "state", groups, total)];
}

function timeColumns(/** @type {any} */ { times, shown, unit, choice }) {
  const by = groupOf(unit);
  const sums = /** @type {Record<string, number>} */ ({});
  for (const group of times) {
    const name = unit === "year" ? group[by].slice(0, 4) : group[by];
    sums[name] = (sums[name] ?? 0) + group.count;
  }
  const found = columnsOf(shown, unit).map((column) => ({
    words: daysText(column),
    mark: markOf(column, unit),
    count: sums[column.name] ?? 0,
    href: listAt(filterOf(column, choice.zone)),
  }));
  const most = found.reduce((best, one) => (one.count > best.count ? one : best));
  const picture = columns(
    found.map(({ words, mark, count: n, href }) => ({
      mark,
      href,
      title: `${words}: ${things(n, "issue")}`,
      values: [n],
    })),
  );
  const rows = found.map((one) => [h("a", { href: one.href }, one.words), count(one.count)]);
  return [
    h(
      "h2",
      null,
      `Created by ${unit} `,
      h("span", { class: "faint" }, `most: ${count(most.count)}, ${most.words}`),
    ),
    withTable(picture, `Issues by ${unit} of creation`, [unit, "issues"], rows),
  ];
}

/** An empty range, and the one that has issues. */
function nothing(/** @type {any} */ { choice, where, days }) {
  const words = days ? ` from ${daysText(days)}` : "";
  if (!where) return empty(`No issue was created${words}`);
  const href = `#/overview${writeChoice({ range: "dates", ...where, zone: choice.zone })}`;
  const [since, until] = [dayText(where.since), dayText(where.until)];
  return empty(
    `No issue was created${words}`,
    h("p", null, `The oldest issue is of ${since}, the newest of ${until}.`),
    h("a", { class: "button", href }, `Show ${daysText(where)}`),
  );
}

/** What the viewer chooses: a range, days, and a zone. */
class RangeControls {
  /** @param {any} choice @param {(choice:any)=>any} choose */
  constructor(choice, choose) {
    this.choice = choice;
    this.choose = (/** @type {any} */ next) => {
      this.choice = next;
      return Promise.resolve(choose(next)).catch(refused);
    };
    const viewer = viewerZone();
    const zones = [...new Set([viewer, "UTC", choice.zone])];
    this.range = select(
      { ...RANGES, dates: "two dates…" },
      { "aria-label": "Range", value: choice.range, onchange: () => this.chosen() },
    );
    this.zone = select(zones, {
      "aria-label": "Time zone",
      value: choice.zone,
      onchange: () => this.choose({ ...this.choice, zone: this.zone.value }),
    });
    this.since = input({ type: "date", "aria-label": "First day", value: choice.since ?? "" });
    this.until = input({ type: "date", "aria-label": "Last day", value: choice.until ?? "" });
    this.wrong = h("span", { class: "bad", role: "alert" });
    this.dates = h(
      "form",
      { class: "row", onsubmit: (/** @type {any} */ event) => this.submitted(event) },
      this.since,
      "to",
      this.until,
      h("button", { type: "submit" }, "Show"),
      this.wrong,
    );
    this.dates.hidden = choice.range !== "dates";
    this.said = h("span", { role: "status", class: "faint" });
    this.element = h("div", { class: "row filters" }, this.range, this.dates, this.zone, this.said);
  }
  chosen() {
    const range = this.range.value;
    this.dates.hidden = range !== "dates";
    if (range !== "dates") return this.choose({ range, zone: this.choice.zone });
    this.since.focus();
  }
  submitted(/** @type {any} */ event) {
    event.preventDefault();
    const [since, until] = [this.since.value, this.until.value];
    const good = areDays(since, until);
    fill(this.wrong, !good && "Choose two days of which the first is not after the second.");
    if (good) this.choose({ range: "dates", since, until, zone: this.choice.zone });
  }
  /** Says what is shown. */
  show(/** @type {boolean} */ any, /** @type {any} */ range) {
    this.element.hidden = !any;
    const { days, shown, total } = range;
    // Two dates begin with those that are shown.
    if (this.dates.hidden && shown) {
      this.since.value = shown.since;
      this.until.value = shown.until;
    }
    const words = days ? `created from ${daysText(days)}` : "in all";
    update(this.said, [total, words, shown], () => {
      if (!total) return null;
      const extent = !days && shown ? `, ${daysText(shown)}` : "";
      return [
        h("a", { href: listAt(filterOf(days, range.choice.zone)) }, things(total, "issue")),
        ` ${words}${extent}`,
      ];
    });
  }
}

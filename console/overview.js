// Overview: how many issues in which state, how many by day, which tasks run, and whether the
// server is ready.
import { call, has, latest, query, send, v1, v2 } from "./api.js";
import { bars, columns } from "./charts.js";
import { OPEN, STATES, count } from "./format.js";
import { cellsOf, empty, head, pill, table } from "./ui.js";
import { h, update } from "./view.js";

const REFRESH_MS = 4000;
const DAYS = 14;
const TASKS = 8;
const DAY_MS = 86400000;
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

export default async function overview(/** @type {any} */ { signal, leaving }) {
  const screen = new Overview(signal);
  await screen.begin();
  const timer = setInterval(() => !document.hidden && screen.refresh().catch(() => {}), REFRESH_MS);
  leaving(() => clearInterval(timer));
  return [
    head("Overview", screen.health),
    screen.figures,
    h("div", { class: "columns" }, screen.byState, screen.byDay),
    screen.running,
  ];
}

class Overview {
  constructor(/** @type {AbortSignal} */ signal) {
    this.options = { signal, quiet: true };
    this.figures = h("div", { class: "facts" });
    this.running = h("section", { "aria-label": "Tasks" });
    this.byState = h("section", { "aria-label": "Issues by state" });
    this.byDay = h("section", { "aria-label": "Issues by day" });
    this.health = h("span", { role: "status" });
    /** The totals, each as soon as the server said it. */
    this.known = /** @type {Record<string, any>} */ ({});
  }
  async begin() {
    const issues = this.states().then(() => this.days());
    await Promise.all([issues, this.tasks(), this.ready(), this.people()]);
    this.totals();
  }
  /** Days change so rarely that they stay. */
  async refresh() {
    await Promise.all([this.tasks(), this.states(), this.ready(), this.people()]);
    this.totals();
  }
  get(/** @type {string} */ path) {
    return call("GET", path, this.options);
  }
  /** How many issues there are with these parameters. */
  async total(/** @type {any} */ params) {
    const wanted = query({ ...params, "page-size": 1, excludes: ["messages"] });
    return (await this.get(v1(`issues${wanted}`)))["total-hits"];
  }
  async states() {
    const groups = has("counts")
      ? (await this.get(v1("issues/counts?group-by=state"))).groups
      : await Promise.all(
          STATES.map(async (state) => ({ state, count: await this.total({ state }) })),
        );
    const found = STATES.map((state) => ({
      name: state,
      count: groups.find((/** @type {any} */ group) => group.state === state)?.count ?? 0,
      href: `#/issues?state=${state}`,
    }));
    const sum = (/** @type {typeof found} */ some) =>
      some.reduce((before, group) => before + group.count, 0);
    const { known } = this;
    known.issues = sum(found);
    known.open = sum(found.filter((group) => OPEN.split(",").includes(group.name)));
    update(this.byState, found, () => [
      h("h2", null, "Issues by state"),
      known.issues ? bars("Issues by state", found) : noIssues(),
    ]);
  }
  async days() {
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const first = today - (DAYS - 1) * DAY_MS;
    const starts = Array.from({ length: DAYS }, (_, at) => first + at * DAY_MS);
    const found = await (has("counts") ? this.countsOf(starts) : this.totalsOf(starts));
    const any = this.known.issues > 0;
    const days = `${dayOf(first)} to ${dayOf(today)}, UTC`;
    update(
      this.byDay,
      [found, any],
      () =>
        any && [
          h("h2", null, "Created by day ", h("span", { class: "faint" }, days)),
          columns("Issues by day of creation", found),
        ],
    );
  }
  /** The issues of each day, as the server counts them. */
  async countsOf(/** @type {number[]} */ starts) {
    const wanted = query({ "group-by": "created-day", "created-since": starts[0] });
    const { groups } = await this.get(v1(`issues/counts${wanted}`));
    return starts.map(nameOf).map((name) => ({
      name,
      count: groups.find((/** @type {any} */ group) => group["created-day"] === name)?.count ?? 0,
    }));
  }
  /** The same from a server that does not count by day. */
  totalsOf(/** @type {number[]} */ starts) {
    const one = async (/** @type {number} */ start) => {
      const bounds = { "created-since": start, "created-until": start + DAY_MS - 1 };
      return { name: nameOf(start), count: await this.total(bounds) };
    };
    return Promise.all(starts.map(one));
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

/** A day as the API names it, and as people do. */
const nameOf = (/** @type {number} */ ms) => new Date(ms).toISOString().slice(0, 10);
function dayOf(/** @type {number} */ ms) {
  const day = new Date(ms);
  return `${day.getUTCDate()} ${MONTHS[day.getUTCMonth()]}`;
}

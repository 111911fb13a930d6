// Exports: any list by its filters, as a table or JSON lines. The filters come from the address of
// the list, or are chosen here. A list of tasks has no place from which it could continue, so it is
// a download only.
import { base, call, curl, has, me, pairsOf, query, tasks, v1, v2 } from "./api.js";
import { Download, downloads } from "./download.js";
import { STATE_OPTIONS, capital, count, dayBound, quoted, size, span, wordsOf } from "./format.js";
import { filtersOf as issueFilters } from "./issue_filters.js";
import { named } from "./json.js";
import { filtersOf as peopleFilters } from "./people.js";
import { bar, button, copy, field, head, input, save, select } from "./ui.js";
import { fill, h, update } from "./view.js";

const REDRAW_MS = 500;
const code = (/** @type {string} */ text) => h("code", null, text);
const JSON_LINES = "JSON lines: everything, can be imported again";
const ISSUE_MEMBERS = ["custom_fields", "feedback", "meta", "queue", "private_notes"];
/**
 * What can be exported: a label, its path, the member that names a record, and the command of the
 * program that exports it.
 */
const LISTS = named(
  /** @type {Record<string, [string, ()=>string, string?, string?]>} */ ({
    issues: ["issues", () => v1("issues"), "id", "issues export"],
    core_profiles: [
      "people",
      () => v2("identity/core_profiles"),
      "core-profile-id",
      "profiles export",
    ],
    app_profiles: [
      "app profiles",
      () => v2("identity/app_profiles"),
      "pid",
      "profiles export --app",
    ],
    tasks_of_people: ["tasks of people", () => tasks("identity")],
    tasks_of_issues: ["tasks of issues", () => tasks("issues")],
  }),
);
/** The label of one record. */
const oneOf = (/** @type {string} */ label) =>
  label === "people"
    ? "person"
    : label.replace(/^tasks|issues$|profiles$/, (one) => one.slice(0, -1));
/** The filters of lists in words. */
const FILTERS = named(
  /** @type {Record<string, string>} */ ({
    q: "Search",
    text: "Words",
    "assignee-email": "Assignee’s e-mail",
    author: "Author’s e-mail",
    user: "App profile",
    ids: "Issue ids",
    title: "Words in the title",
    messages: "Words in a message",
    notes: "Words in a note",
    feedback: "Words in feedback",
    rating: "Rating at most",
    since: "Created since",
    until: "Created until",
    updated: "Updated since",
    changed: "State changed since",
    "changed-until": "State changed until",
    fields: "Custom fields",
    segment: "VIP segment",
  }),
);
/** A filter of a list as people read it. @param {[string, string]} pair */
const filterWords = ([name, value]) => [
  `${FILTERS[name] ?? capital(name.replaceAll("-", " "))}: `,
  h("b", { dir: "auto" }, name === "state" ? statesOf(value) : value),
];
const statesOf = (/** @type {string} */ value) =>
  value in STATE_OPTIONS ? wordsOf(value) : value.split(",").map(wordsOf).join(", ");

export default async function exportsScreen(/** @type {any} */ context) {
  const { params, signal, leaving, keys } = context;
  const screen = new ExportsScreen(params, signal);
  keys({ d: () => screen.out.querySelector("a[download]")?.click() });
  const timer = setInterval(() => screen.drawMine(), REDRAW_MS);
  leaving(() => clearInterval(timer));
  screen.drawMine();
  await screen.draw();
  const right = h("div", null, screen.out, screen.mine);
  return [head("Exports"), h("div", { class: "columns" }, screen.form(), right)];
}

class ExportsScreen {
  constructor(/** @type {URLSearchParams} */ params, /** @type {AbortSignal} */ signal) {
    this.signal = signal;
    /** The filters of the list from which one came. */
    this.given = new URLSearchParams(params);
    const of = params.get("of") ?? "issues";
    this.given.delete("of");
    this.given.delete("sort");
    this.filtered = this.given.size > 0 && of in LISTS;
    const options = Object.entries(LISTS)
      .filter(([name]) => !/profiles/.test(name) || has("profiles"))
      .map(([name, [label]]) => [name, capital(label)]);
    this.what = select(Object.fromEntries(options), { value: of in LISTS ? of : "issues" });
    this.format = select({
      spreadsheet: "A table for a spreadsheet",
      csv: "A table for programs (CSV)",
      jsonl: JSON_LINES,
    });
    this.state = select(STATE_OPTIONS);
    this.stateField = field("State", this.state);
    /** The name of the file, as long as nobody wrote another one. */
    this.usual = "";
    this.file = input({ value: "" });
    this.since = input({ type: "date" });
    this.until = input({ type: "date" });
    this.out = h("div", { role: "status" });
    this.mine = h("section", { "aria-label": "Downloads of this page" });
    /** Only the answer to the last question is shown. */
    this.turn = 0;
    this.total = /** @type {number|undefined} */ (undefined);
  }
  form() {
    const given = [...this.given].flatMap((pair, at) => [at > 0 && ", ", ...filterWords(pair)]);
    const form = h(
      "form",
      { class: "narrow", onsubmit: (/** @type {any} */ event) => event.preventDefault() },
      this.filtered
        ? h(
            "p",
            null,
            `The filters of your list: `,
            given,
            " ",
            h("a", { href: "#/exports" }, "Choose others"),
          )
        : field("What", this.what),
      field("Format", this.format),
      field("File", this.file, "Its name, here and in a shell"),
      h(
        "div",
        { hidden: this.filtered },
        this.stateField,
        field("Created since", this.since),
        field("Created until", this.until),
      ),
    );
    form.addEventListener("change", () => this.draw());
    this.file.addEventListener("input", () => this.drawOut());
    return form;
  }
  filtersOf() {
    const issues = this.what.value === "issues";
    if (this.filtered) return issues ? issueFilters(this.given).filters : peopleFilters(this.given);
    const [since, until] = [this.since.value, this.until.value];
    return {
      state: issues ? this.state.value : "",
      "created-since": since && dayBound(since, false),
      "created-until": until && dayBound(until, true),
    };
  }
  /** The export that the form describes, without its total. */
  chosen() {
    const [label, path, id, command] = LISTS[this.what.value];
    const chosen = this.format.value;
    const table = chosen !== "jsonl";
    const format = table ? "csv" : "jsonl";
    const params = {
      ...this.filtersOf(),
      ...(this.what.value === "issues" && !table && { includes: ISSUE_MEMBERS }),
      ...(id && { trailer: false, "sort-by": "creation-time", "sort-order": "asc" }),
      ...(chosen === "spreadsheet" && { spreadsheet: true }),
      format,
    };
    this.nameFile(`${label.replaceAll(" ", "-")}.${format}`);
    const name = this.file.value.trim() || this.usual;
    return { label, name, path: path(), params, table, id, command };
  }
  /** Gives the file the usual name of the list and the format, unless it has a name of its own. */
  nameFile(/** @type {string} */ usual) {
    if ([this.usual, ""].includes(this.file.value.trim())) this.file.value = usual;
    this.usual = usual;
  }
  /** Names the formats as the list has them, and hides the filters that it lacks. */
  drawForm(/** @type {boolean} */ importable) {
    this.format.options[2].textContent = importable ? JSON_LINES : "JSON lines";
    this.stateField.hidden = this.what.value !== "issues";
  }
  async draw() {
    this.turn += 1;
    const { signal, turn } = this;
    const chosen = this.chosen();
    this.drawForm(Boolean(chosen.id));
    const first = query({ ...this.filtersOf(), "page-size": 1 });
    const answer = await call("GET", chosen.path + first, { signal, quiet: true });
    if (turn !== this.turn) return;
    this.total = answer["total-hits"];
    this.drawOut();
  }
  /** What can be done with the list that was counted. A field may draw this for each letter. */
  drawOut() {
    const { total } = this;
    if (total === undefined) return;
    const chosen = this.chosen();
    const text = this.shellLine(chosen);
    const open = this.out.querySelector("details")?.open;
    fill(
      this.out,
      total > 0
        ? this.choicesOf(chosen, total)
        : h("p", { class: "faint" }, "Nothing matches these filters."),
      inShell(text, Boolean(chosen.command), open),
    );
  }
  /** The command that makes the same file. */
  shellLine(/** @type {ReturnType<ExportsScreen["chosen"]>} */ { name, path, params, command }) {
    // A name that begins with a hyphen is none of a flag.
    const file = quoted(name.startsWith("-") ? `./${name}` : name);
    if (!command) return `${curl({ method: "GET", path: path + query(params) })} -o ${file}`;
    // Lines have this order anyway; a table would begin with the newest.
    const order = params.format === "csv" && { "sort-by": "creation-time", "sort-order": "asc" };
    const filters = pairsOf({ ...this.filtersOf(), ...order }).map(
      (pair) => `--param ${quoted(pair.join("="))}`,
    );
    const url = base.replace(/\/$/, "");
    return [
      `caseload ${command} --url ${quoted(url)} --domain ${quoted(me().domain)}`,
      ...filters,
      `--format ${params.format}`,
      ...(params.spreadsheet ? ["--spreadsheet"] : []),
      `-o ${file}`,
    ].join(" ");
  }
  choicesOf(
    /** @type {ReturnType<ExportsScreen["chosen"]>} */ chosen,
    /** @type {number} */ total,
  ) {
    const { label, name, path, params, table, id } = chosen;
    const start = async () => {
      if (id) await Download.start({ name, path, params, table, id, total });
      this.drawMine();
    };
    return [
      h(
        "p",
        null,
        h("span", { class: "number" }, count(total)),
        ` ${total === 1 ? oneOf(label) : label}`,
      ),
      h(
        "div",
        { class: "row" },
        id && button(`Export ${name}`, start, { class: "primary" }),
        h("a", { href: base + path + query(params), download: name }, `Download ${name}`),
      ),
      h(
        "p",
        { class: "faint below" },
        id && "An export goes on by itself after an interruption. ",
        "A download is left to the browser.",
      ),
    ];
  }
  drawMine() {
    // A running export says how much time is left, and that changes with the clock.
    const known = downloads.map(({ list, state, records, bytes, problem, blob, file }) => [
      [list.name, list.total, state, records, bytes, problem, Boolean(blob), Boolean(file)],
      state === "running" && Date.now(),
    ]);
    update(this.mine, known, () => [
      known.length > 0 && h("h2", null, "Exports of this page"),
      downloads.map((one) => downloadRow(one, () => this.drawMine())),
    ]);
  }
}

/**
 * How to export the same without a browser.
 * @param {string} line @param {boolean} own whether it is a command of the program
 * @param {boolean|undefined} open
 */
function inShell(line, own, open) {
  const shown = h("pre", { tabindex: 0 }, line);
  return h(
    "details",
    { open },
    h("summary", null, "In a shell"),
    own
      ? h(
          "p",
          null,
          "The program makes the same file without a browser, and continues a broken export ",
          "after its last complete line. It takes the API key from ",
          code("CASELOAD_API_KEY"),
          ":",
        )
      : h("p", null, "This makes the same file. It takes the API key from ", code("KEY"), ":"),
    shown,
    button("Copy", () => copy("The command", line, shown)),
  );
}

/** A download of this page: how far it is, and what can be done. */
function downloadRow(/** @type {Download} */ one, /** @type {()=>void} */ redraw) {
  const { name, total } = one.list;
  const done = one.state === "done";
  const percent = Math.min(100, Math.floor((100 * one.records) / Math.max(1, total)));
  const whole = Math.max(total, one.records);
  const left = ((Date.now() - one.begun) * (total - one.records)) / one.records;
  return h(
    "div",
    { class: "row export" },
    h("b", null, name),
    bar(done ? 100 : percent, `progress of ${name}`),
    h("span", null, `${count(one.records)} of ${count(whole)}, ${size(one.bytes)}`),
    one.state === "running" &&
      !one.problem &&
      one.records > 0 &&
      h("span", { class: "faint" }, `about ${span(left)} left`),
    one.problem && h("span", { class: "bad" }, one.problem),
    stepOf(one, redraw),
    done && h("span", { class: "good" }, "complete"),
    one.blob && saveButton(one, one.blob),
  );
}

/** The button that pauses a download or continues it. */
function stepOf(/** @type {Download} */ one, /** @type {()=>void} */ redraw) {
  const { name } = one.list;
  if (one.state === "done") return null;
  const running = one.state === "running";
  const verb = running ? "Pause" : one.handle && !one.file ? "Begin again" : "Continue";
  const work = () => {
    if (running) one.pause();
    else one.run();
    redraw();
  };
  const props = { class: running ? "plain" : "primary", "aria-label": `${verb} ${name}` };
  return button(verb, work, props);
}

function saveButton(/** @type {Download} */ one, /** @type {Blob} */ blob) {
  const { name } = one.list;
  const work = () => {
    save(blob, name);
    one.saved = true;
  };
  return button("Save", work, { class: "primary", "aria-label": `Save ${name}` });
}

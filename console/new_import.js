// New import: a file of any size becomes tasks of at most 10,000 entries. First a dry run says what
// would happen; then the same entries are sent. Both go on when the screen is left.
import { ACTIONS } from "./actions.js";
import { can } from "./api.js";
import { changesView } from "./changes.js";
import { TARGETS, guess } from "./csv.js";
import { entries, examine } from "./entries.js";
import { parse } from "./json.js";
import { count, short, size, things } from "./format.js";
import { REPLACE, Sending, sending } from "./sending.js";
import { bar, button, empty, field, head, notice, pill, refused, select, table } from "./ui.js";
import { fill, h, update } from "./view.js";

const PREVIEW = 5;
/** The actions that pass, each with its meaning. */
const meanings = (/** @type {(action: any) => unknown} */ passes) =>
  Object.fromEntries(
    Object.entries(ACTIONS)
      .filter(([, action]) => passes(action))
      .map(([name, action]) => [name, action.does]),
  );
const TABLE_ACTIONS = meanings((action) => action.table);
const WRITE_ACTIONS = {
  ...meanings((action) => !action.reads),
  [REPLACE]: "import issues, replacing those of the same id",
};
const READ_ACTIONS = meanings((action) => action.reads);
const KINDS = /** @type {Record<string, string>} */ ({
  csv: "CSV",
  array: "JSON array",
  lines: "JSON lines",
});

/**
 * A file that was chosen, with what its entries are to become.
 * @typedef {{file:File, kind:any, mapping:any[], action:string}} Chosen
 */

export default async function newImport(/** @type {any} */ { signal, keys, back, leaving }) {
  const body = h("div");
  const drop = new DropArea((file) => choose(file).catch(refused));
  keys({ Escape: () => back("imports") });
  leaving(() => sending.now && (sending.now.changed = () => {}));
  const show = async (/** @type {Chosen} */ chosen) => {
    const shown = new ChosenFile(chosen, drop, signal);
    drop.element.classList.add("small");
    fill(body, shown.view());
    await shown.begin();
  };
  /** Shows another file, of which nothing is sent yet. */
  async function choose(/** @type {File} */ file) {
    let kind = /** @type {any} */ (null);
    try {
      kind = await examine(file);
    } catch {
      return fill(body, empty("This file cannot be read", UNREADABLE));
    }
    const columns = /** @type {string[]} */ (kind.columns ?? []);
    const mapping = columns.map((column) => ({ column, target: guess(column) }));
    sending.now = null;
    const action = kind.kind === "csv" ? "create_core_profiles" : await likely(file, kind);
    await show({ file, kind, mapping, action });
  }
  if (sending.now) await show(sending.now.what);
  else fill(body, examples());
  const promise =
    "A dry run first says what would happen. Nothing is written until you choose Import.";
  return [head("New import"), h("p", { class: "faint under" }, promise), drop.element, body];
}

/** Where a file is dropped or chosen. */
class DropArea {
  constructor(/** @type {(file:File)=>void} */ choose) {
    this.picker = h("input", {
      type: "file",
      id: "file",
      accept: ".jsonl,.ndjson,.json,.csv,.gz,.txt",
      onchange: () => this.picker.files[0] && choose(this.picker.files[0]),
    });
    const kinds = "JSON lines, a JSON array or CSV, packed with gzip or not, of any size.";
    this.element = h(
      "div",
      { class: "drop" },
      h("label", { for: "file" }, h("b", null, "Drop a file here"), " or choose one"),
      this.picker,
      h("p", { class: "faint" }, kinds),
    );
    const over = (/** @type {any} */ event, /** @type {boolean} */ on) => {
      event.preventDefault();
      this.element.classList.toggle("over", on);
    };
    const listen = (/** @type {string} */ type, /** @type {(event:any)=>void} */ act) =>
      this.element.addEventListener(type, act);
    for (const type of ["dragover", "dragenter"]) listen(type, (event) => over(event, true));
    listen("dragleave", (event) => over(event, false));
    listen("drop", (event) => {
      over(event, false);
      const [file] = event.dataTransfer.files;
      if (file && !this.picker.disabled) choose(file);
    });
  }
  /** While a file is sent, no other one can be chosen. */
  disable(/** @type {boolean} */ off) {
    this.picker.disabled = off;
    this.element.classList.toggle("off", off);
  }
}

/** A file that was chosen: its action and columns, its first entries, and how it is sent. */
class ChosenFile {
  constructor(
    /** @type {Chosen} */ chosen,
    /** @type {DropArea} */ drop,
    /** @type {AbortSignal} */ signal,
  ) {
    this.chosen = chosen;
    this.drop = drop;
    this.signal = signal;
    this.action = select(actionsOf(chosen.kind), {
      value: chosen.action,
      onchange: () => {
        chosen.action = this.action.value;
        this.changed();
      },
    });
    const columns = columnsOf(chosen.mapping, () => this.changed());
    this.columns = h(
      "div",
      { class: "mapping" },
      chosen.mapping.length > 0 && [h("h2", null, "Columns"), columns],
    );
    this.first = h("div");
    this.area = h("div");
  }
  view() {
    const { file, kind } = this.chosen;
    const what = ` · ${size(file.size)} · ${KINDS[kind.kind]}`;
    return [
      h("p", null, h("b", { dir: "auto" }, file.name), h("span", { class: "faint" }, what)),
      h("div", { class: "narrow" }, field("Action", this.action)),
      this.columns,
      this.first,
      this.area,
    ];
  }
  async begin() {
    const now = sending.now;
    await this.preview();
    if (!now) return;
    sending.now = now;
    this.follow(now);
  }
  /** The entries changed, so what was sent before no longer counts. */
  changed() {
    this.preview().catch(refused);
  }
  async preview() {
    const { file, kind, mapping } = this.chosen;
    const found = /** @type {string[]} */ ([]);
    for await (const entry of entries(file, kind, mapping)) {
      found.push(entry);
      if (found.length === PREVIEW) break;
    }
    if (this.signal.aborted) return;
    fill(this.first, previewOf(found));
    sending.now = null;
    fill(
      this.area,
      found.length > 0 &&
        h(
          "div",
          { class: "row" },
          button("Dry run", () => this.send(true), { class: "primary" }),
          h("span", { class: "faint" }, "Nothing is written yet."),
        ),
    );
  }
  /** Begins to send, and shows it. */
  send(/** @type {boolean} */ dry) {
    const next = new Sending({ ...this.chosen }, dry);
    sending.now = next;
    next.run().then(() => {
      const unseen = sending.now === next && !this.area.isConnected;
      if (next.state === "done" && unseen)
        notice(dry ? "the dry run is done" : "the import is done", "good");
    });
    this.follow(next);
  }
  follow(/** @type {Sending} */ one) {
    const { area } = this;
    let ran = false;
    const status = h("div", { role: "status" });
    const steps = h("div", { class: "row" });
    const result = h("div", { class: "result" });
    fill(area, h("h2", null, one.dry ? "Dry run" : "Import"), status, steps, result);
    one.changed = () => {
      const { counts, progress, problem, taken, last, state, parts, tasks, changes } = one;
      const running = state === "running";
      this.disable(running);
      const progressed = [counts, progress, problem, taken, last, state];
      update(status, progressed, () => statusOf(one));
      update(steps, [state], () => stepsOf(one, (dry) => this.send(dry)));
      update(result, [state, parts, tasks], () => [
        tasksOf(one),
        state === "done" && changes && changesView(changes),
      ]);
      // What to do next is in view when there is something to do.
      if (ran !== running) area.scrollIntoView({ block: running ? "nearest" : "start" });
      ran = running;
    };
    one.changed();
  }
  disable(/** @type {boolean} */ off) {
    for (const part of [this.action, ...this.columns.querySelectorAll("select")])
      part.disabled = off;
    this.drop.disable(off);
  }
}

/** The actions for a file. A key that may only read gets those that read first. */
function actionsOf(/** @type {any} */ kind) {
  if (kind.kind === "csv") return TABLE_ACTIONS;
  return can("write")
    ? { ...WRITE_ACTIONS, ...READ_ACTIONS }
    : { ...READ_ACTIONS, ...WRITE_ACTIONS };
}

function previewOf(/** @type {string[]} */ found) {
  const which = found.length === PREVIEW ? `The first ${PREVIEW} entries` : "The entries";
  const rows = found.map((entry) => h("div", { class: "entry" }, short(entry, 2000)));
  return [
    h("h2", null, `${which}, as they will be sent`),
    found.length
      ? h("pre", { class: "entries", tabindex: 0 }, rows)
      : empty("No entries", "The file has no entries below its header."),
  ];
}

const UNREADABLE =
  "It is not text in UTF-8, or its gzip is damaged. " +
  "A spreadsheet program saves a table as “CSV UTF-8”.";

const EXAMPLES = [
  [
    "Profiles, one on a line",
    '{"identities":[{"email":"ada@example.org"}],"names":{"first_name":"Ada"},"tags":["vip"]}',
  ],
  ["The same as CSV", "email,first name,tags\nada@example.org,Ada,vip"],
  [
    "Issues, one on a line",
    '{"title":"No mail","author_email":"ada@example.org","messages":' +
      '[{"body":"Nothing arrives.","created_at":1767225600000,"origin":"end-user"}]}',
  ],
];

/** The examples; the last one is as wide as the screen. */
const examples = () =>
  h(
    "div",
    { class: "columns" },
    EXAMPLES.map(([title, text], at) =>
      h(
        "section",
        { "aria-label": title, class: at === EXAMPLES.length - 1 && "whole" },
        h("h2", null, title),
        h("pre", { tabindex: 0 }, text),
      ),
    ),
  );

/** The columns of a table, each with the field that it becomes. */
const columnsOf = (/** @type {any[]} */ mapping, /** @type {()=>void} */ changed) =>
  table(
    "Columns",
    ["column", "becomes"],
    mapping.map((one) => [
      h("span", { dir: "auto" }, short(one.column)),
      select(TARGETS, {
        value: one.target,
        "aria-label": `Column ${short(one.column)}`,
        onchange: (/** @type {any} */ event) => {
          one.target = event.target.value;
          changed();
        },
      }),
    ]),
  );

/** What happens now, in a few words. */
function stepOf(/** @type {Sending} */ { state, problem, taken, first, last }) {
  if (state === "done") return "Done";
  if (state === "stopped") return "Stopped";
  if (problem) return "Waiting";
  const part = `entries ${count(first)} to ${count(last)}`;
  if (taken) return `The server works on ${part}`;
  return last ? `Sending ${part}` : "Reading the file";
}

/** How far it is. */
function statusOf(/** @type {Sending} */ one) {
  const { counts, dry } = one;
  return [
    h(
      "div",
      { class: "row sending" },
      bar(one.progress, "progress of the file"),
      h("span", { class: "faint" }, stepOf(one)),
    ),
    h(
      "p",
      null,
      `${things(counts.total, "entry", "entries")} in ${things(one.parts, "task")}: `,
      h(
        "b",
        { class: "good" },
        `${count(counts.succeeded)} ${dry ? "would succeed" : "succeeded"}`,
      ),
      ", ",
      h(
        "b",
        { class: counts.failed ? "bad" : "" },
        `${count(counts.failed)} ${dry ? "would fail" : "failed"}`,
      ),
    ),
    one.problem && h("p", { class: "bad" }, one.problem),
  ];
}

/** What can be done now. */
function stepsOf(/** @type {Sending} */ one, /** @type {(dry:boolean)=>void} */ begin) {
  const {
    counts,
    dry,
    state,
    what: { action },
  } = one;
  if (state === "running")
    return [
      button("Stop", () => {
        one.stop();
        one.changed();
      }),
      h(
        "span",
        { class: "faint" },
        "You may look at other screens. Stopping does not undo the parts that were sent.",
      ),
    ];
  if (state === "stopped")
    return [
      button(
        "Continue",
        () => {
          one.run();
          one.changed();
        },
        { class: "primary" },
      ),
      h("span", { class: "faint" }, "Nothing is sent twice."),
    ];
  if (!dry) return [h("a", { class: "button", href: "#/imports" }, "See all tasks")];
  if (!can("write"))
    return [h("span", { class: "faint" }, "Your key may only read, so this stays a dry run.")];
  const deletes = /^delete/.test(action);
  return [
    button(
      `${deletes ? "Delete" : "Import"} ${things(counts.total, "entry", "entries")}`,
      () => begin(false),
      { class: deletes ? "danger" : "primary" },
    ),
    counts.failed > 0 &&
      h(
        "span",
        { class: "faint" },
        `${count(counts.failed)} of them will fail, and can be mended and sent again afterwards.`,
      ),
  ];
}

/** Its tasks, each with a link to its faults if it has some. */
function tasksOf(/** @type {Sending} */ { tasks, family }) {
  if (!tasks.length) return null;
  const rows = tasks.map((task) => {
    const faulty = task.counts.failed && task.status === "completed";
    const href = `#/${faulty ? "faults" : "task"}/${family}/${task.task_id}`;
    return [
      h("a", { href }, faulty ? "See its faults" : "See the task"),
      count(task.counts.total),
      count(task.counts.failed),
      pill(task.outcome ?? task.status),
    ];
  });
  return table("Tasks", ["task", "entries", "failed", "state"], rows, [1, 2]);
}

/** The likely action, by the members of the first entry. */
async function likely(/** @type {File} */ file, /** @type {any} */ kind) {
  for await (const text of entries(file, kind, [])) {
    try {
      const entry = parse(text);
      if ("messages" in entry || "title" in entry || "state_data" in entry) return "import_issues";
      const alone = Object.keys(entry).length === 1;
      if ("pid" in entry) return alone ? "get_app_profiles" : "update_app_profiles";
      if ("core-profile-id" in entry) return alone ? "get_core_profiles" : "update_core_profiles";
    } catch {
      // The server will say what is wrong with it.
    }
    return "create_core_profiles";
  }
  return "create_core_profiles";
}

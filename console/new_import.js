// New import: a file of any size becomes tasks of at most 10,000 entries. First a dry run says what
// would happen; then the same entries are sent. Both go on when the screen is left.
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
/** What a table can become: its columns are fields of core profiles. */
const TABLE_ACTIONS = {
  create_core_profiles: "create profiles",
  upsert_core_profiles: "create or update profiles, by identity",
  update_core_profiles: "update profiles, by id or identity",
  delete_core_profiles: "delete profiles, by id or identity",
};
const ACTIONS = {
  ...TABLE_ACTIONS,
  update_app_profiles: "update app profiles, by pid",
  delete_app_profiles: "delete app profiles, by pid",
  import_issues: "import issues",
  [REPLACE]: "import issues, replacing those of the same id",
  delete_issues: "delete issues, by id",
};
const READ_ACTIONS = {
  get_core_profiles: "export profiles by core-profile-id",
  get_app_profiles: "export app profiles by pid",
};
const KINDS = /** @type {Record<string, string>} */ ({
  csv: "CSV",
  array: "JSON array",
  lines: "JSON lines",
});

/** A file that was chosen, with what its entries are to become. @typedef {{file:File, kind:any, mapping:any[], action:string}} Chosen */

export default async function newImport(/** @type {any} */ { signal, keys, back, leaving }) {
  const body = h("div");
  const picker = h("input", {
    type: "file",
    id: "file",
    accept: ".jsonl,.ndjson,.json,.csv,.gz,.txt",
    onchange: () => picker.files[0] && choose(picker.files[0]).catch(refused),
  });
  const drop = h(
    "div",
    { class: "drop" },
    h("label", { for: "file" }, h("b", null, "Drop a file here"), " or choose one"),
    picker,
    h(
      "p",
      { class: "faint" },
      "JSON lines, a JSON array or CSV, packed with gzip or not, of any size.",
    ),
  );
  const over = (/** @type {boolean} */ on) => (/** @type {any} */ event) => {
    event.preventDefault();
    drop.classList.toggle("over", on);
  };
  for (const type of ["dragover", "dragenter"]) drop.addEventListener(type, over(true));
  drop.addEventListener("dragleave", over(false));
  drop.addEventListener("drop", (/** @type {any} */ event) => {
    over(false)(event);
    const [file] = event.dataTransfer.files;
    if (file && !picker.disabled) choose(file).catch(refused);
  });
  keys({ Escape: () => back("imports") });
  leaving(() => sending.now && (sending.now.changed = () => {}));

  /** Shows another file, of which nothing is sent yet. */
  async function choose(/** @type {File} */ file) {
    let kind = /** @type {any} */ (null);
    try {
      kind = await examine(file);
    } catch {
      return fill(
        body,
        empty(
          "This file cannot be read",
          "It is not text in UTF-8, or its gzip is damaged. A spreadsheet program saves a table as “CSV UTF-8”.",
        ),
      );
    }
    const mapping = (kind.columns ?? []).map((/** @type {string} */ column) => ({
      column,
      target: guess(column),
    }));
    sending.now = null;
    await show({
      file,
      kind,
      mapping,
      action: kind.kind === "csv" ? "create_core_profiles" : await likely(file, kind),
    });
  }

  async function show(/** @type {Chosen} */ chosen) {
    const { file, kind, mapping } = chosen;
    const table = kind.kind === "csv";
    const actions = table
      ? TABLE_ACTIONS
      : can("write")
        ? { ...ACTIONS, ...READ_ACTIONS }
        : { ...READ_ACTIONS, ...ACTIONS };
    const action = select(actions, {
      value: chosen.action,
      onchange: () => {
        chosen.action = action.value;
        preview().catch(refused);
      },
    });
    const first = h("div");
    const area = h("div");
    async function preview() {
      const found = [];
      for await (const entry of entries(file, kind, mapping)) {
        found.push(entry);
        if (found.length === PREVIEW) break;
      }
      if (signal.aborted) return;
      fill(
        first,
        h(
          "h2",
          null,
          found.length === PREVIEW
            ? `The first ${PREVIEW} entries, as they will be sent`
            : "The entries, as they will be sent",
        ),
        found.length
          ? h(
              "pre",
              { class: "entries", tabindex: 0 },
              found.map((entry) => h("div", { class: "entry" }, short(entry, 2000))),
            )
          : empty("No entries", "The file has no entries below its header."),
      );
      sending.now = null;
      fill(
        area,
        found.length > 0 &&
          h(
            "div",
            { class: "row" },
            button("Dry run", () => begin(true), { class: "primary" }),
            h("span", { class: "faint" }, "Nothing is written yet."),
          ),
      );
    }
    /** Begins to send, and shows it. */
    function begin(/** @type {boolean} */ dry) {
      const next = new Sending({ ...chosen }, dry);
      sending.now = next;
      next
        .run()
        .then(
          () =>
            next.state === "done" &&
            sending.now === next &&
            !area.isConnected &&
            notice(dry ? "the dry run is done" : "the import is done", "good"),
        );
      follow(next);
    }
    function follow(/** @type {Sending} */ one) {
      let ran = false;
      const status = h("div", { role: "status" });
      const steps = h("div", { class: "row" });
      const result = h("div", { class: "result" });
      fill(area, h("h2", null, one.dry ? "Dry run" : "Import"), status, steps, result);
      one.changed = () => {
        const running = one.state === "running";
        for (const part of [action, ...columns.querySelectorAll("select")]) part.disabled = running;
        picker.disabled = running;
        drop.classList.toggle("off", running);
        update(
          status,
          [one.counts, one.progress, one.problem, one.taken, one.last, one.state],
          () => statusOf(one),
        );
        update(steps, [one.state], () => stepsOf(one, begin));
        update(result, [one.state, one.parts, one.tasks], () => [
          tasksOf(one),
          one.state === "done" && one.changes && changesView(one.changes),
        ]);
        // What to do next is in view when there is something to do.
        if (ran !== running) area.scrollIntoView({ block: running ? "nearest" : "start" });
        ran = running;
      };
      one.changed();
    }
    const columns = h(
      "div",
      { class: "mapping" },
      mapping.length > 0 && [
        h("h2", null, "Columns"),
        columnsOf(mapping, () => preview().catch(refused)),
      ],
    );
    drop.classList.add("small");
    fill(
      body,
      h(
        "p",
        null,
        h("b", { dir: "auto" }, file.name),
        h("span", { class: "faint" }, ` · ${size(file.size)} · ${KINDS[kind.kind]}`),
      ),
      h("div", { class: "narrow" }, field("Action", action)),
      columns,
      first,
      area,
    );
    const now = sending.now;
    await preview();
    if (now) {
      sending.now = now;
      follow(now);
    }
  }
  if (sending.now) await show(sending.now.what);
  else
    fill(
      body,
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
      ),
    );
  return [
    head("New import"),
    h(
      "p",
      { class: "faint under" },
      "A dry run first says what would happen. Nothing is written until you choose Import.",
    ),
    drop,
    body,
  ];
}

const EXAMPLES = [
  [
    "Profiles, one on a line",
    '{"identities":[{"email":"ada@example.org"}],"names":{"first_name":"Ada"},"tags":["vip"]}',
  ],
  ["The same as CSV", "email,first name,tags\nada@example.org,Ada,vip"],
  [
    "Issues, one on a line",
    '{"title":"No mail","author_email":"ada@example.org","messages":[{"body":"Nothing arrives.","created_at":1767225600000,"origin":"end-user"}]}',
  ],
];

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

/** How far it is. */
function statusOf(/** @type {Sending} */ one) {
  const { counts, dry, state } = one;
  const part = `entries ${count(one.first)} to ${count(one.last)}`;
  const words =
    state === "done"
      ? "Done"
      : state === "stopped"
        ? "Stopped"
        : one.problem
          ? "Waiting"
          : one.taken
            ? `The server works on ${part}`
            : one.last
              ? `Sending ${part}`
              : "Reading the file";
  return [
    h(
      "div",
      { class: "row sending" },
      bar(one.progress, "progress of the file"),
      h("span", { class: "faint" }, words),
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
const tasksOf = (/** @type {Sending} */ { tasks, family }) =>
  tasks.length > 0 &&
  table(
    "Tasks",
    ["task", "entries", "failed", "state"],
    tasks.map((task) => [
      h(
        "a",
        {
          href: `#/${task.counts.failed && task.status === "completed" ? "faults" : "task"}/${family}/${task.task_id}`,
        },
        task.counts.failed && task.status === "completed" ? "See its faults" : "See the task",
      ),
      count(task.counts.total),
      count(task.counts.failed),
      pill(task.outcome ?? task.status),
    ]),
    [1, 2],
  );

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

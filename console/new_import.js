// New import: a file of any size becomes tasks of at most 10,000 entries. First a dry run says what
// would happen; then the same entries are sent. A part that was sent before is the same task.
import { can, call, me, send, tasks } from "./api.js";
import { addChanges, changesView, hasChanges, noChanges } from "./changes.js";
import { TARGETS, guess } from "./csv.js";
import { digest, entries, examine, parts } from "./entries.js";
import { parse } from "./json.js";
import { count, short, size, things } from "./format.js";
import { bar, button, empty, field, notice, pill, refused, select, table } from "./ui.js";
import { fill, h } from "./view.js";

const PREVIEW = 5;
const WAIT_SECONDS = 30;
/** The action that replaces issues is an import with another option. */
const REPLACE = "import_issues?upsert";
const ACTIONS = { create_core_profiles: "create profiles", upsert_core_profiles: "create or update profiles, by identity", update_core_profiles: "update profiles, by id or identity", update_app_profiles: "update app profiles, by pid", import_issues: "import issues", [REPLACE]: "import issues, replacing those of the same id", delete_core_profiles: "delete profiles, by id or identity", delete_app_profiles: "delete app profiles, by pid", delete_issues: "delete issues, by id" };
/** What these did before says nothing of now, so they are sent again. */
const RENEWED = /^(update|upsert|delete)_|upsert$/;
const KINDS = /** @type {Record<string, string>} */ ({ csv: "CSV", array: "JSON array", lines: "JSON lines" });
const READ_ACTIONS = { get_core_profiles: "export profiles by core-profile-id", get_app_profiles: "export app profiles by pid" };

export default async function newImport(/** @type {any} */ { signal, keys, go, leaving }) {
  const body = h("div");
  const picker = h("input", { type: "file", id: "file", accept: ".jsonl,.ndjson,.json,.csv,.gz,.txt", onchange: () => picker.files[0] && choose(picker.files[0]) });
  const drop = h("div", { class: "drop" }, h("label", { for: "file" }, h("b", null, "Drop a file here"), " or choose one"), picker, h("p", { class: "faint" }, "JSON lines, a JSON array or CSV, packed with gzip or not, of any size."));
  for (const type of ["dragover", "dragenter"]) drop.addEventListener(type, (/** @type {any} */ event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (/** @type {any} */ event) => { event.preventDefault(); drop.classList.remove("over"); if (event.dataTransfer.files[0]) choose(event.dataTransfer.files[0]).catch(refused); });
  keys({ Escape: () => go("imports") });
  let running = false;
  const warn = (/** @type {any} */ event) => running && event.preventDefault();
  addEventListener("beforeunload", warn);
  leaving(() => removeEventListener("beforeunload", warn));

  async function choose(/** @type {File} */ file) {
    let kind = /** @type {any} */ (null);
    try {
      kind = await examine(file);
    } catch {
      return fill(body, empty("This file cannot be read", "It is not UTF-8 text, or its gzip is damaged."));
    }
    const actions = can("write") ? { ...ACTIONS, ...READ_ACTIONS } : { ...READ_ACTIONS, ...ACTIONS };
    const action = select(actions, { value: kind.kind === "csv" ? "create_core_profiles" : await likely(file, kind), onchange: preview });
    const mapping = (kind.columns ?? []).map((/** @type {string} */ column) => ({ column, target: guess(column) }));
    const shown = h("div");
    const steps = h("div");
    const area = h("div", { role: "status" });
    async function preview() {
      const found = [];
      for await (const entry of entries(file, kind, mapping)) {
        found.push(entry);
        if (found.length === PREVIEW) break;
      }
      fill(shown, h("h2", null, "The first entries, as they will be sent"), found.length ? found.map((entry) => h("pre", { class: "entry", tabindex: 0 }, short(entry, 2000))) : empty("No entries", "The file has no entries below its header."));
      fill(area);
      fill(steps, found.length > 0 && h("div", { class: "row" }, button("Dry run", () => run(true), { class: "primary" }), h("span", { class: "faint" }, "nothing is written yet")));
    }
    const columns = mapping.length > 0 && [h("h2", null, "Columns"), table("Columns", ["column", "becomes"], mapping.map((/** @type {any} */ one) => [one.column, select(TARGETS, { value: one.target, "aria-label": `Column ${one.column}`, onchange: (/** @type {any} */ event) => { one.target = event.target.value; preview(); } })]))];

    async function run(/** @type {boolean} */ dry) {
      const family = /issues/.test(action.value) ? "issues" : "identity";
      const changes = dry && hasChanges(action.value) ? noChanges() : null;
      const done = /** @type {Record<string, number>} */ ({ total: 0, succeeded: 0, failed: 0, unprocessed: 0 });
      const sent = /** @type {any[]} */ ([]);
      const draw = (/** @type {string} */ now) => fill(area,
        h("h2", null, dry ? "Dry run" : "Import"),
        now && h("div", { class: "row" }, bar(now === "done" ? 100 : 50, "progress"), h("span", null, now)),
        h("p", null, `${things(done.total, "entry", "entries")} sent in ${things(sent.length, "task")}: `, h("b", { class: "good" }, `${count(done.succeeded)} ${dry ? "would succeed" : "succeeded"}`), ", ", h("b", { class: done.failed ? "bad" : "" }, `${count(done.failed)} ${dry ? "would fail" : "failed"}`)),
        table("Tasks", ["task", "entries", "failed", "state"], sent.map((one) => [h("a", { href: `#/${one.task.counts.failed ? "faults" : "task"}/${family}/${one.task.task_id}` }, one.task.task_id.slice(0, 13)), count(one.task.counts.total), count(one.task.counts.failed), pill(one.task.outcome ?? one.task.status)]), [1, 2]));
      running = true;
      try {
        for await (const part of parts(entries(file, kind, mapping))) {
          draw(`sending entries ${count(done.total + 1)} to ${count(done.total + part.count)}`);
          let task = await submit(family, action.value, dry, part.text, file.name);
          if (task.replayed && RENEWED.test(action.value)) {
            task = await call("GET", tasks(family, task.task_id), { signal });
            if (task.status === "completed") task = await submit(family, action.value, dry, part.text, file.name, `-${Date.now()}`);
          }
          sent.push({ task });
          while (task.status !== "completed") {
            draw(`the server works on entries ${count(done.total + 1)} to ${count(done.total + part.count)}: ${task.progress} %`);
            task = await call("GET", `${tasks(family, task.task_id)}?wait=${WAIT_SECONDS}`, { signal, quiet: true });
            sent[sent.length - 1] = { task };
          }
          if (changes) await addChanges(changes, family, task.task_id, done.total, signal);
          for (const name of Object.keys(done)) done[name] += task.counts[name];
        }
        draw("");
        if (changes) area.append(...[changesView(changes)].flat().filter((one) => one instanceof Node));
        notice(dry ? "the dry run is done" : "the import is done", "good");
        fill(steps, dry && can("write") ? h("div", { class: "row" }, button(`${/^delete/.test(action.value) ? "Delete" : "Import"} ${things(done.total, "entry", "entries")}`, () => run(false), { class: /^delete/.test(action.value) ? "danger" : "primary" }), done.failed > 0 && h("span", { class: "faint" }, `${count(done.failed)} of them will fail, and can be mended and sent again afterwards`)) : dry ? h("p", { class: "faint" }, "Your key may only read, so this stays a dry run.") : h("a", { class: "button", href: "#/imports" }, "See all tasks"));
      } finally {
        running = false;
      }
    }
    fill(body, h("p", null, h("b", null, file.name), ` · ${size(file.size)} · ${KINDS[kind.kind]}`, " ", button("Another file", () => { fill(body); picker.value = ""; picker.click(); }, { class: "plain" })), field("Action", action), columns, shown, steps, area);
    await preview();
  }
  fill(body, h("div", { class: "columns" }, EXAMPLES.map(([title, text]) => h("section", { "aria-label": title }, h("h2", null, title), h("pre", { tabindex: 0 }, text)))));
  return [h("h1", null, "New import"), drop, body];
}

const EXAMPLES = [
  ["Profiles, one on a line", '{"identities":[{"email":"ada@example.org"}],"names":{"first_name":"Ada"},"tags":["vip"]}'],
  ["The same as CSV", "email,first name,tags\nada@example.org,Ada,vip"],
  ["Issues, one on a line", '{"title":"No mail","author_email":"ada@example.org","messages":[{"body":"Nothing arrives.","created_at":1767225600000,"origin":"end-user"}]}'],
];

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

/** Sends entries as a task. The same entries with the same options are the same task; `mark` makes it another one. */
export async function submit(/** @type {string} */ family, /** @type {string} */ action, /** @type {boolean} */ dry, /** @type {string} */ lines, /** @type {string} */ name, mark = "") {
  const form = new FormData();
  form.append("action", action === REPLACE ? "import_issues" : action);
  if (action === REPLACE) form.append("upsert", "true");
  if (dry) form.append("dry_run", "true");
  form.append("payload", new Blob([lines]), `${name.replace(/\.(gz|csv|json)$/i, "")}.jsonl`);
  const key = `console-${digest(`${me().domain} ${action} ${dry}`)}-${lines.length}-${digest(lines)}${mark}`;
  const headers = /** @type {Record<string, string>} */ (dry ? {} : { "Idempotency-Key": key });
  const response = await send("POST", tasks(family), { raw: form, headers });
  return { ...parse(await response.text()), replayed: response.headers.get("Idempotent-Replayed") === "true" };
}

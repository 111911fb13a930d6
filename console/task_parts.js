// Parts of the screen of an import or a task that its record alone decides: the title, the times,
// what it is made of, and what was imported before. The screen itself is task.js.
import { base, can, familyOf, isImport, nounOf, pathOf, screenOf } from "./api.js";
import { count, span, things, time, wordsOf } from "./format.js";
import { originOf } from "./lineage.js";
import { button, head, pill } from "./ui.js";
import { h } from "./view.js";

/** That the file was imported before, and when. */
export const repeatOf = (/** @type {any} */ { dry_run: dry }, /** @type {any} */ before) =>
  h(
    "p",
    null,
    "The same file was imported before, on ",
    h("a", { href: `#/${screenOf(before)}` }, time(before.created_at)),
    dry ? ". You can import it again." : ". This import applied it again.",
  );

/** That entries without an id were imported before, and become second records. */
export function doublesOf(/** @type {any} */ { action, dry_run: dry, doubles }) {
  const { import_id: id, created_at: at, entries, without_id: all } = doubles;
  // The number of more entries is an estimate.
  const about = all > 256 ? "About " : "";
  return h(
    "p",
    null,
    `${about}${count(entries)} of the ${things(all, "entry", "entries")} without an id were `,
    "imported already, on ",
    h("a", { href: `#/import/${familyOf(action)}/${id}` }, time(at)),
    dry ? ". They would be created a second time." : ". They are created a second time.",
  );
}

/** What failed or was not reached, in the form of the file. The server names the file. */
export function rejectsOf(/** @type {any} */ record, /** @type {boolean} */ sent) {
  const left = record.counts.failed + record.counts.unprocessed;
  const isTable = Object.keys(record.columns).length > 0;
  const some = isTable ? things(left, "row") : things(left, "entry", "entries");
  const props = { class: "button", href: `${base}${pathOf(record)}/rejects`, download: true };
  return h("a", props, sent ? `Download all ${some} that failed` : `Download ${some} to mend`);
}

/** The records that have the same entries, and those that are a part of it. */
export function relativesOf(/** @type {any} */ record) {
  const { parent_task_id: task, parent_import_id: parent, retried_by: next, run_by: run } = record;
  const family = familyOf(record.action);
  const link = (/** @type {string} */ id, noun = nounOf(record), when = "") =>
    h("a", { href: `#/${noun}/${family}/${id}`, title: id }, when ? `the ${when} ${noun}` : id);
  const before = task ?? parent;
  const origin = originOf(record);
  return [
    origin &&
      h("p", null, "Mended entries of ", h("a", { href: `#/${origin}` }, origin.split("/")[2])),
    before && h("p", null, "Made of entries of ", link(before, nounOf(record), "earlier")),
    run && h("p", null, "Made real by ", link(run, nounOf(record), "later")),
    next &&
      h("p", null, "Its failed entries were sent again by ", link(next, nounOf(record), "later")),
    record.task_id &&
      record.import_id &&
      h("p", null, "A part of ", link(record.import_id, "import")),
    record.tasks &&
      h(
        "details",
        null,
        h("summary", null, things(record.tasks.length, "task")),
        h(
          "ul",
          null,
          record.tasks.map((/** @type {string} */ id) => h("li", null, link(id, "task"))),
        ),
      ),
  ];
}

export function titleOf(/** @type {any} */ task) {
  const by = task.submitted_by;
  const name = [
    wordsOf(task.action),
    task.upsert && ", replacing",
    task.dry_run && h("span", { class: "tag" }, "dry run"),
  ];
  return [
    head(name, pill(task.status === "completed" ? task.outcome : task.status)),
    by &&
      h(
        "p",
        { class: "faint under" },
        task.file_name && [h("span", { dir: "auto" }, task.file_name), " · "],
        `sent by ${by.key_name || by.key_id}`,
      ),
  ];
}

/** How often the task's server stopped, and when another try begins. */
export function deathsOf(/** @type {any} */ { server_deaths: deaths, next_try_at: next }) {
  return h(
    "p",
    { class: "under" },
    `Its server stopped ${things(deaths, "time", "times")} while it worked on the task`,
    next
      ? ["; the next try is at ", time(next, true), ". You can cancel the task while it waits."]
      : "; a server tries it again.",
  );
}

export const fact = (/** @type {string} */ label, /** @type {any} */ value, cls = "") =>
  h(
    "div",
    { class: `fact ${cls}` },
    h("div", { class: "number" }, value),
    h("div", { class: "faint" }, label),
  );

export function timesOf(/** @type {any} */ task) {
  const times = /** @type {[string, number|null][]} */ ([
    ["Sent", task.created_at],
    ...(isImport(task) ? [] : [["Queued", task.queued_at]]),
    ["Started", task.started_at],
    ["Completed", task.completed_at],
    ["Results stored until", task.expires_at],
  ]);
  const item = (/** @type {[string, number|null]} */ [label, ms]) =>
    h(
      "li",
      { class: !ms ? "faint" : ms > Date.now() ? "later" : "" },
      h("span", null, label),
      ms ? time(ms, true) : "not yet",
    );
  return h(
    "section",
    { "aria-label": "Times" },
    h("h2", null, "Times"),
    h("ol", { class: "timeline" }, times.map(item)),
  );
}

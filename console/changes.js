// What a dry run would change: how many entries have each outcome, and the first changes field by
// field. The server shows changes for dry runs of updates and upserts.
import { ACTIONS } from "./actions.js";
import { eachLine, tasks } from "./api.js";
import { write } from "./json.js";
import { count, short, things } from "./format.js";
import { table } from "./ui.js";
import { h } from "./view.js";

const ROWS_MAX = 100;
/** Results in which nothing but the outcome is read. */
const OUTCOME = /"outcome":"([a-z]+)"/;

/** Whether dry runs of the action have changes. */
export const hasChanges = (/** @type {string} */ action) => ACTIONS[action]?.patches === true;

/** The outcomes and changes of tasks, which may be added one by one. */
export function noChanges() {
  return {
    outcomes: /** @type {Map<string, number>} */ (new Map()),
    rows: /** @type {any[][]} */ ([]),
    more: 0,
  };
}

/**
 * Adds the results of a dry run. `before` is the number of lines before its first one.
 * @param {ReturnType<typeof noChanges>} found
 * @param {string} family @param {string} id @param {number} before @param {any} signal
 */
export async function addChanges(found, family, id, before, signal) {
  await eachLine(
    `${tasks(family, id)}/results?format=jsonl&includes=changes`,
    signal,
    (line, parse) => {
      const outcome = OUTCOME.exec(line)?.[1] ?? "";
      found.outcomes.set(outcome, (found.outcomes.get(outcome) ?? 0) + 1);
      if (outcome !== "updated") return;
      if (found.rows.length >= ROWS_MAX) {
        found.more += 1;
        return;
      }
      const record = parse();
      const fields = Object.entries(record.changes ?? {});
      for (const [field, { from, to }] of fields) {
        found.rows.push([
          count(before + record.line),
          h("span", { class: "mono" }, field),
          value(from, "bad"),
          value(to, "good"),
        ]);
      }
    },
  );
}

/** The outcomes and changes as elements. @param {ReturnType<typeof noChanges>} found */
export function changesView({ outcomes, rows, more }) {
  const words = /** @type {Record<string, string>} */ ({
    created: "would be created",
    updated: "would change",
    unchanged: "would stay as they are",
    deleted: "would be deleted",
  });
  const said = [...outcomes].map(
    ([outcome, n]) => `${things(n, "entry", "entries")} ${words[outcome] ?? outcome}`,
  );
  return [
    h("h2", null, "What would change"),
    h("p", null, said.length ? `${said.join(", ")}.` : "Nothing."),
    rows.length > 0 && table("Changes", ["line", "field", "now", "then"], rows),
    more > 0 &&
      h(
        "p",
        { class: "faint" },
        `… and ${things(more, "more entry", "more entries")}; ` +
          "the results of the tasks have all of them",
      ),
  ];
}

const value = (/** @type {any} */ json, /** @type {string} */ kind) =>
  json === null
    ? h("span", { class: "faint" }, "nothing")
    : h("mark", { class: kind, dir: "auto" }, short(write(json), 120));

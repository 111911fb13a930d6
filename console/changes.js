// What became of the entries, or would become of them: how many have each outcome, and the first
// changes field by field. The server shows changes for dry runs of updates and upserts.
import { ACTIONS } from "./actions.js";
import { eachLine, pathOf } from "./api.js";
import { write } from "./json.js";
import { fieldName } from "./fields.js";
import { count, short, things } from "./format.js";
import { table } from "./ui.js";
import { h } from "./view.js";

const ROWS_MAX = 100;
/** Results in which nothing but the outcome is read. */
const OUTCOME = /"outcome":"([a-z]+)"/;

/** Results are read to their end to be counted. More than this many take too long. */
const COUNTED_MAX = 500000;
/** The one outcome of entries that succeeded, by the first word of the action. */
const ALONE = /** @type {Record<string, string>} */ ({
  create: "created",
  import: "created",
  delete: "deleted",
  erase: "erased",
});
const WORDS = /** @type {Record<string, string>} */ ({
  created: "new",
  updated: "changed",
  unchanged: "as before",
  deleted: "deleted",
});

/**
 * The outcomes of a completed task or import, and of a dry run the first changes.
 * @param {any} record @param {AbortSignal} signal
 */
export async function outcomesOf(record, signal) {
  const { action, upsert, dry_run: dry, counts } = record;
  const rows = /** @type {any[][]} */ ([]);
  const outcomes = /** @type {Map<string, number>} */ (new Map());
  const found = { outcomes, rows, more: 0 };
  const alone = !upsert && ALONE[action.split("_")[0]];
  if (alone) outcomes.set(alone, counts.succeeded);
  if (alone || ACTIONS[action]?.reads || counts.total > COUNTED_MAX || !counts.succeeded)
    return found;
  const shown = dry && ACTIONS[action]?.patches ? "&includes=changes" : "";
  await eachLine(`${pathOf(record)}/results?format=jsonl${shown}`, signal, (line, parse) => {
    const outcome = OUTCOME.exec(line)?.[1] ?? "";
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    if (outcome !== "updated" || !shown) return;
    if (rows.length >= ROWS_MAX) {
      found.more += 1;
      return;
    }
    const result = parse();
    for (const [field, { from, to }] of Object.entries(/** @type {any} */ (result.changes ?? {})))
      rows.push([
        count(result.line),
        h("span", { dir: "auto" }, fieldName(field)),
        value(from, "bad"),
        value(to, "good"),
      ]);
  });
  return found;
}

/**
 * `24 930 new, 30 changed, 40 to mend`.
 * @param {any} record @param {Map<string, number>} outcomes
 */
export function outcomeWords({ counts }, outcomes) {
  const { succeeded, failed, unprocessed } = counts;
  const said = [...outcomes]
    .filter(([, n]) => n > 0)
    .map(([outcome, n]) => `${count(n)} ${WORDS[outcome] ?? (outcome || "without an outcome")}`);
  if (!said.length && succeeded) said.push(`${count(succeeded)} without a fault`);
  if (failed) said.push(`${count(failed)} to mend`);
  if (unprocessed) said.push(`${count(unprocessed)} not reached`);
  return said.join(", ");
}

/** The changes as elements. @param {{rows:any[][], more:number}} found */
export function changesView({ rows, more }) {
  if (!rows.length) return null;
  return [
    h("h2", null, "What would change"),
    table("Changes", ["line", "field", "now", "then"], rows),
    more > 0 &&
      h(
        "p",
        { class: "faint" },
        `… and ${things(more, "more entry", "more entries")}; the results have all of them`,
      ),
  ];
}

const value = (/** @type {any} */ json, /** @type {string} */ kind) =>
  json === null
    ? h("span", { class: "faint" }, "nothing")
    : h("mark", { class: kind, dir: "auto" }, short(write(json), 120));

// The faults of a task in groups: by code, and by field without the places in lists. The records of
// a group are read as a stream.
import { eachLine, query } from "./api.js";
import { write } from "./json.js";
import { count, short, things, wordsOf } from "./format.js";
import { detailOf, fieldName } from "./fields.js";
import { groupOf, placeOf } from "./pointer.js";
import { shownOf } from "./proposals.js";
import { table } from "./ui.js";
import { h } from "./view.js";

/** The most groups that are shown without links to correct their entries. */
const SHOWN = 12;

/** The name of the group of a fault. */
export const nameOf = (/** @type {any} */ fault) => `${fault.code} ${groupOf(fault.pointer ?? "")}`;

/** The value of a fault, as it is marked. A text that would be a number has its quotes. */
export function shownValue(/** @type {any} */ fault, /** @type {any} */ record) {
  const { value, code } = fault;
  if (value === null) return "empty";
  if (code === "wrong_type" && typeof value === "string" && /^(-?[\d.]+|true|false)$/.test(value))
    return write(value);
  if (value !== undefined) return shownOf(value);
  if (record.raw !== undefined) return record.raw;
  return fault.code === "required" ? "missing" : "";
}

/**
 * `records` only where the faults come with them.
 * @typedef {{name:string, fault:any, count:number, pointers:Set<string>, records?:any[]}} Group
 */

/** Faults in groups, the largest first. @param {{fault:any, count:number, record?:any}[]} faults */
export function groupsOf(faults) {
  const found = /** @type {Map<string, Group>} */ (new Map());
  for (const { fault, count: more, record } of faults) {
    const name = nameOf(fault);
    const group = found.get(name) ?? {
      name,
      fault,
      count: 0,
      pointers: new Set(),
      ...(record && { records: [] }),
    };
    group.count += more;
    group.pointers.add(fault.pointer ?? "");
    if (record && group.records?.at(-1) !== record) group.records?.push(record);
    found.set(name, group);
  }
  return [...found.values()].sort((a, b) => b.count - a.count);
}

/** The parameters that select the entries of a group, or of all. @param {Group|undefined} group */
export const filterOf = (group) =>
  group ? { code: group.fault.code, pointer: [...group.pointers] } : {};

/** Reads all error records of a task, or those that the parameters select. */
export async function recordsOf(
  /** @type {string} */ path,
  /** @type {AbortSignal} */ signal,
  /** @type {any} */ params,
) {
  const found = /** @type {any[]} */ ([]);
  await eachLine(`${path}/errors${query({ ...params, format: "jsonl" })}`, signal, (_, record) =>
    found.push(record()),
  );
  return found;
}

/**
 * The faults in words: how many, where, and an example of each group. `columns` has the fields of
 * the columns of a table.
 * @param {Group[]} groups @param {Record<string, string|null>} columns
 */
export function groupsView(groups, columns) {
  const names = new Map(Object.entries(columns).map(([name, field]) => [field, name]));
  const rows = groups.slice(0, SHOWN).map(({ fault, count: n }) => {
    const place = placeOf(fault.pointer ?? "");
    const column = names.get(place) ?? names.get(place.replace(/^identities\./, ""));
    return [
      wordsOf(fault.code),
      count(n),
      h(
        "span",
        { dir: "auto" },
        column ? `column ${short(column, 60)}` : place ? fieldName(place) : "the entry",
      ),
      count(fault.line),
      fault.value !== null &&
        h("mark", { class: "bad", dir: "auto" }, short(shownValue(fault, {}), 60)),
      h("span", { dir: "auto" }, short(detailOf(fault), 240)),
    ];
  });
  const heads = ["fault", "count", "where", "first line", "value", "why"];
  const more = groups.length - SHOWN;
  return [
    h("h2", null, "Faults"),
    h("div", { class: "cards" }, table("Faults", heads, rows, [1, 3])),
    more > 0 && h("p", { class: "faint" }, `… and ${things(more, "more group")}; Mend has all.`),
  ];
}

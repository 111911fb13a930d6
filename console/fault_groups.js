// The faults of a task in groups: by code, and by field without the places in lists. The records of
// a group are read as a stream.
import { eachLine, query } from "./api.js";
import { write } from "./json.js";
import { groupOf } from "./pointer.js";

/** The name of the group of a fault. */
export const nameOf = (/** @type {any} */ fault) => `${fault.code} ${groupOf(fault.pointer ?? "")}`;

/** The value of a fault, as it is marked. */
export function shownValue(/** @type {any} */ fault, /** @type {any} */ record) {
  if (fault.value !== undefined) return write(fault.value);
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

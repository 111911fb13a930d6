// A task of one entry, about one person, that the page waits for.
import { call, tasks } from "./api.js";
import { detailOf, placeName } from "./fields.js";
import { h } from "./view.js";

/**
 * Sends one entry, and waits until it is applied, or until a dry run has tried it. Returns its
 * faults.
 * @param {string} action @param {any} entry @param {{dry:boolean, signal:AbortSignal}} how
 * @returns {Promise<any[]>}
 */
export async function sendEntry(action, entry, { dry, signal }) {
  const body = { action, dry_run: dry, payload: [entry] };
  let task = await call("POST", tasks("identity"), { body });
  const path = tasks("identity", task.task_id);
  while (task.status !== "completed") task = await call("GET", `${path}?wait=30`, { signal });
  if (!task.counts.failed) return [];
  const [record] = await call("GET", `${path}/errors`, { signal });
  return record.errors;
}

/** A fault in words, with the name of its field. */
export function faultWords(/** @type {any} */ fault) {
  const name = placeName(fault.pointer ?? "");
  return `${name ? `${name}: ` : ""}${detailOf(fault)}`;
}

/** Faults as a list. @param {any[]} faults */
export const faultList = (faults) =>
  h(
    "ul",
    { class: "bad" },
    faults.map((fault) => h("li", { dir: "auto" }, faultWords(fault))),
  );

/** Fails with these faults, if there are some. @param {any[]} faults */
export function refuse(faults) {
  if (faults.length) throw new Error(faults.map(faultWords).join("; "));
}

// The warnings of a task: what is odd about entries that succeeded, or would succeed, by code with
// an example of each.
import { call, has, tasks } from "./api.js";
import { write } from "./json.js";
import { count, short, things } from "./format.js";
import { table } from "./ui.js";
import { h } from "./view.js";

const WORDS = /** @type {Record<string, (n:number)=>string>} */ ({
  placeholder: (n) =>
    `${count(n)} ${n === 1 ? "looks like a placeholder" : "look like placeholders"}`,
});

/** The groups of a completed task. @param {any} task @param {string} family @param {any} signal */
export async function warningsOf(task, family, signal) {
  if (!task.warnings || !has("warnings")) return [];
  const path = `${tasks(family, encodeURIComponent(task.task_id))}/warnings/summary`;
  return (await call("GET", path, { signal, quiet: true })).groups;
}

/** Warnings in a sentence: `12 look like placeholders, 3 joins people`. @param {any[]} groups */
export const warningWords = (groups) =>
  groups
    .map(
      (group) => WORDS[group.code]?.(group.count) ?? `${count(group.count)} ${plain(group.code)}`,
    )
    .join(", ");

/** Warnings as a table. @param {any[]} groups */
export function warningsView(groups) {
  const all = groups.reduce((sum, group) => sum + group.count, 0);
  const rows = groups.map(({ code, count: n, example }) => [
    count(n),
    plain(code),
    count(example.line),
    [
      h("span", { class: "mono" }, `${example.pointer} `),
      h("b", { dir: "auto" }, short(write(example.value), 60)),
    ],
    h("span", { dir: "auto" }, short(example.detail, 240)),
  ]);
  return [
    h("h2", null, things(all, "warning")),
    table("Warnings", ["count", "what", "first line", "value", "why"], rows, [0, 2]),
  ];
}

const plain = (/** @type {string} */ code) => code.replaceAll("_", " ");

// The warnings of a task or an import: oddities of entries that succeeded, or would succeed,
// by code with an example of each.
import { call, has, pathOf } from "./api.js";
import { detailOf, placeName } from "./fields.js";
import { count, short, things, wordsOf } from "./format.js";
import { shownOf } from "./proposals.js";
import { table } from "./ui.js";
import { h } from "./view.js";

/** The words for one entry and for several, after their number. */
const WORDS = /** @type {Record<string, [string, string]>} */ ({
  placeholder: ["looks like a placeholder", "look like placeholders"],
  suspicious_identity: ["has an odd identity", "have odd identities"],
  no_offset: ["time without a time zone", "times without a time zone"],
  looks_like_seconds: ["looks like seconds", "look like seconds"],
  looks_like_list: ["looks like a list", "look like lists"],
  repeated_id: ["changes a record once more", "change a record once more"],
  left_out: ["field left out", "fields left out"],
  mended_name: ["file gets another name", "files get other names"],
  unusable_url: ["address is of no use", "addresses are of no use"],
  reduced: ["value made simpler", "values made simpler"],
  cut: ["text cut", "texts cut"],
});

const HEADS = ["warning", "count", "first line", "value", "why"];

/** The groups of a completed task or import. @param {any} record @param {any} signal */
export async function warningsOf(record, signal) {
  if (!record.warnings || !has("warnings")) return [];
  return (await call("GET", `${pathOf(record)}/warnings/summary`, { signal, quiet: true })).groups;
}

/** Warnings in a sentence: `12 look like placeholders, 3 joins people`. @param {any[]} groups */
export const warningWords = (groups) =>
  groups
    .map(
      ({ code, count: n }) =>
        `${count(n)} ${WORDS[code]?.[n === 1 ? 0 : 1] ?? wordsOf(code).toLowerCase()}`,
    )
    .join(", ");

/** Warnings as a table. @param {any[]} groups */
export function warningsView(groups) {
  const all = groups.reduce((sum, group) => sum + group.count, 0);
  const rows = groups.map(({ code, count: n, example }) => [
    wordsOf(code),
    count(n),
    count(example.line),
    [
      h("span", { dir: "auto" }, `${placeName(example.pointer ?? "")} `),
      h("b", { dir: "auto" }, short(shownOf(example.value), 60)),
    ],
    h("span", { dir: "auto" }, short(detailOf(example), 240)),
  ]);
  return [
    h("h2", null, things(all, "warning")),
    h("div", { class: "cards" }, table("Warnings", HEADS, rows, [1, 2])),
  ];
}

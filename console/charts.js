// Charts: bars and columns as plain SVG that leads to the lists of the counted issues, with the
// same numbers as a table for those who read rather than look. Sums and ranges are made elsewhere.
import { compact, count } from "./format.js";
import { table } from "./ui.js";
import { h } from "./view.js";

/** Columns of a chart of which each has its number. */
const NUMBERED_MAX = 16;

/** A link for the pointer. The table has the same one for keys. */
const pointed = (
  /** @type {any} */ href,
  /** @type {any} */ props,
  /** @type {any[]} */ ...inner
) =>
  href
    ? h("a", { href, tabindex: -1, "aria-hidden": "true", ...props }, inner)
    : h("span", { "aria-hidden": "true", ...props }, inner);

/**
 * A group of a chart. Its kind is the name of a colour; one without a bar is a sum of others.
 * @typedef {{name:string, count:number, href?:string, kind?:string, faint?:boolean,
 *   bare?:boolean}} Group
 */

/**
 * Horizontal bars, each in the row of a table.
 * @param {string} label @param {string} what @param {Group[]} groups @param {number} total
 */
export function bars(label, what, groups, total) {
  const most = Math.max(1, ...groups.map((group) => (group.bare ? 0 : group.count)));
  const line = (/** @type {Group} */ group) =>
    h(
      "svg",
      { class: "chart", viewBox: "0 0 100 1", preserveAspectRatio: "none" },
      h("rect", {
        class: `bar ${group.kind ?? ""}`,
        x: 0,
        y: 0,
        width: group.count && Math.max(0.5, (100 * group.count) / most),
        height: 1,
      }),
    );
  const rows = groups.map((group) => [
    h(
      group.href ? "a" : "span",
      { href: group.href, class: group.faint ? "faint" : "", dir: "auto", title: group.name },
      group.name,
    ),
    count(group.count),
    // The others may share issues, so that their sum is no share.
    !group.bare && [
      pointed(group.href, { class: "line" }, line(group)),
      h("span", { class: "hidden" }, `${Math.round((100 * group.count) / Math.max(1, total))} %`),
    ],
  ]);
  return h("figure", { class: "bars" }, table(label, [what, "issues", "share"], rows, [1]));
}

/**
 * Columns over time, for the eye and the pointer. A column has one value, or several of which each
 * is a part of the one before.
 * @param {{mark:string, title:string, href?:string, values:number[]}[]} groups
 * @param {{kinds?:string[], numbers?:boolean}} [how]
 */
export function columns(groups, { kinds = ["day"], numbers = true } = {}) {
  const most = Math.max(1, ...groups.flatMap((group) => group.values));
  const shown = numbers && groups.length <= NUMBERED_MAX;
  const part = (/** @type {number} */ value, /** @type {number} */ nth) => {
    const tall = value && Math.max(1.5, (100 * value) / most);
    return h("rect", { class: `bar ${kinds[nth]}`, x: 14, y: 100 - tall, width: 72, height: tall });
  };
  const picture = (/** @type {number[]} */ values) =>
    h(
      "svg",
      { class: "chart", viewBox: "0 0 100 100", preserveAspectRatio: "none" },
      values.map(part),
    );
  const marks = marksOf(groups.length);
  return h(
    "div",
    { class: "over-time", "aria-hidden": "true" },
    groups.map(({ mark, title, href, values }, at) =>
      pointed(
        href,
        { title },
        picture(values),
        shown && h("b", { class: values[0] ? "" : "none" }, compact(values[0])),
        h("span", { class: `tick ${marks[at]}` }, marks[at] !== "none" && mark),
      ),
    ),
  );
}

/** Which columns have a mark below: always, if there is room, or never. */
function marksOf(/** @type {number} */ length) {
  if (length <= 8) return Array(length).fill("each");
  const every = 2 * Math.ceil(length / 10);
  return Array.from({ length }, (_, at) => {
    if (at % (every / 2) || length - at < every / 2) return "none";
    return at % every ? "minor" : "major";
  });
}

/**
 * A chart with its table, which is closed unless it is short.
 * @param {any} picture @param {string} label @param {string[]} heads @param {any[][]} rows
 */
export const withTable = (picture, label, heads, rows, open = false) =>
  h(
    "figure",
    null,
    picture,
    h(
      "details",
      { open },
      h("summary", null, "As a table"),
      table(
        label,
        heads,
        rows,
        heads.slice(1).map((_, at) => at + 1),
      ),
    ),
  );

/** How many all groups have together. */
export const sumOf = (/** @type {any[]} */ groups) =>
  groups.reduce((n, group) => n + group.count, 0);

/** Groups by one of two properties. */
export function summed(/** @type {any[]} */ groups, /** @type {string} */ by) {
  const sums = /** @type {Map<any, number>} */ (new Map());
  for (const group of groups) sums.set(group[by], (sums.get(group[by]) ?? 0) + group.count);
  return [...sums].map(([value, n]) => ({ [by]: value, count: n }));
}

// Charts as plain SVG, with the same numbers as a table for those who read rather than look.
import { compact, count } from "./format.js";
import { table } from "./ui.js";
import { h } from "./view.js";

const ROW = 26;
const [WIDE, HIGH] = [600, 120];

/**
 * Horizontal bars.
 * @param {string} label @param {{name:string, count:number, href?:string}[]} groups
 */
export function bars(label, groups) {
  const most = Math.max(1, ...groups.map((group) => group.count));
  const picture = h(
    "svg",
    {
      class: "chart",
      viewBox: `0 0 400 ${groups.length * ROW}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${label}: the table beside has the numbers`,
    },
    groups.map((group, at) =>
      h("rect", {
        class: `bar ${group.name}`,
        x: 0,
        y: at * ROW + 6,
        width: Math.max(group.count ? 2 : 0, (400 * group.count) / most),
        height: ROW - 12,
      }),
    ),
  );
  const rows = groups.map((group) => [
    group.href ? h("a", { href: group.href }, group.name) : group.name,
    count(group.count),
  ]);
  return h("figure", { class: "bars" }, table(label, ["group", "issues"], rows, [1]), picture);
}

/**
 * Columns by day, each with its number and its day of the month below.
 * @param {string} label @param {{name:string, count:number}[]} groups by days such as 2026-11-25
 */
export function columns(label, groups) {
  const most = Math.max(1, ...groups.map((group) => group.count));
  const step = WIDE / Math.max(1, groups.length);
  const picture = h(
    "svg",
    {
      class: "chart",
      viewBox: `0 0 ${WIDE} ${HIGH}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${label}: the table below has the numbers`,
    },
    groups.map((group, at) => {
      const tall = Math.max(group.count ? 2 : 0, (HIGH * group.count) / most);
      return h(
        "rect",
        {
          class: "bar day",
          x: at * step + step * 0.14,
          y: HIGH - tall,
          width: step * 0.72,
          height: tall,
        },
        h("title", { svg: true }, `${group.name}: ${group.count}`),
      );
    }),
  );
  const axis = h(
    "div",
    { class: "axis", "aria-hidden": "true" },
    groups.map((group) =>
      h(
        "div",
        { title: `${group.name}: ${group.count}` },
        h("b", { class: group.count ? "" : "none" }, compact(group.count)),
        h("span", { class: "faint" }, String(Number(group.name.slice(8)))),
      ),
    ),
  );
  return h(
    "figure",
    { class: "by-day" },
    picture,
    axis,
    h(
      "details",
      null,
      h("summary", null, "as a table"),
      table(
        label,
        ["day", "issues"],
        groups.map((group) => [group.name, count(group.count)]),
        [1],
      ),
    ),
  );
}

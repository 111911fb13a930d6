// Charts as plain SVG, with the same numbers as a table for those who read rather than look.
import { count } from "./format.js";
import { table } from "./ui.js";
import { h } from "./view.js";

/** Horizontal bars. @param {string} label @param {{name:string, count:number, href?:string}[]} groups */
export function bars(label, groups) {
  const most = Math.max(1, ...groups.map((group) => group.count));
  const row = 26;
  const picture = h("svg", { class: "chart", viewBox: `0 0 400 ${groups.length * row}`, preserveAspectRatio: "none", role: "img", "aria-label": `${label}: the table beside has the numbers` },
    groups.map((group, at) => h("rect", { class: `bar ${group.name}`, x: 0, y: at * row + 6, width: Math.max(group.count ? 2 : 0, (400 * group.count) / most), height: row - 12 })));
  const rows = groups.map((group) => [group.href ? h("a", { href: group.href }, group.name) : group.name, count(group.count)]);
  return h("figure", { class: "bars" }, table(label, ["group", "issues"], rows, [1]), picture);
}

/** Columns in time order. @param {string} label @param {{name:string, count:number}[]} groups */
export function columns(label, groups) {
  const most = Math.max(1, ...groups.map((group) => group.count));
  const width = 600 / Math.max(1, groups.length);
  const picture = h("svg", { class: "chart", viewBox: "0 0 600 120", preserveAspectRatio: "none", role: "img", "aria-label": `${label}: the table below has the numbers` },
    groups.map((group, at) => {
      const tall = (112 * group.count) / most;
      return h("rect", { class: "bar day", x: at * width + width * 0.12, y: 120 - tall, width: width * 0.76, height: tall }, h("title", { svg: true }, `${group.name}: ${group.count}`));
    }));
  return h("figure", null, picture,
    h("div", { class: "row spread faint" }, h("span", null, groups[0]?.name), h("span", null, `most: ${count(most)}`), h("span", null, groups.at(-1)?.name)),
    h("details", null, h("summary", null, "as a table"), table(label, ["day", "issues"], groups.map((group) => [group.name, count(group.count)]), [1])));
}

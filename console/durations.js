// How long the customers of the overview's range waited: for the first reply, and until the issue
// was resolved. The server knows the times; this shows them as a chart, a table and words.
import { call, query, v1 } from "./api.js";
import { columns, withTable } from "./charts.js";
import { count, things, waited } from "./format.js";
import { dayText, daysText, markOf } from "./ranges.js";
import { h, update } from "./view.js";

/** A table of more rows is closed at first. */
const ROWS_OPEN = 14;
/** The times: member of the answer, title, and the issues that have it. */
const TIMES = [
  ["first_reply", "First reply time", "answered"],
  ["resolution", "Resolution time", "closed"],
];

/**
 * The times of a range in its columns, and in all.
 * @typedef {{wanted:any, unit:any, columns:any[], hrefOf:(column:any)=>string,
 *   current:()=>boolean}} Range
 */
export class Durations {
  constructor(/** @type {{signal:AbortSignal, quiet:boolean}} */ options) {
    this.options = options;
    this.element = h("section", { "aria-label": "First reply and resolution times" });
  }
  /** @param {Range} range */
  async show(range) {
    const { unit } = range;
    const by = `created-${unit}`;
    const wanted = query({ "group-by": by, ...range.wanted });
    const answer = await call("GET", v1(`issues/durations${wanted}`), this.options);
    if (!range.current()) return;
    update(this.element, [answer, range.columns, range.wanted], () => [
      h(
        "div",
        { class: "columns" },
        TIMES.map((time) => chart(time, answer, by, unit, range)),
      ),
      tableOf(answer, by, unit, range),
    ]);
  }
}

/** The columns of the answer, those without issues too. */
function columnsOf(
  /** @type {any} */ answer,
  /** @type {string} */ by,
  /** @type {Range} */ range,
) {
  const groups = new Map(answer.groups.map((/** @type {any} */ group) => [group[by], group]));
  return range.columns.map((column) => ({ column, group: groups.get(column.name) }));
}

/** The figure of the whole range, and a column for each period. */
function chart(
  /** @type {string[]} */ [member, title, which],
  /** @type {any} */ answer,
  /** @type {string} */ by,
  /** @type {any} */ unit,
  /** @type {Range} */ range,
) {
  const all = answer[member];
  const heading = h("h2", null, title);
  if (!all.count)
    return h(
      "div",
      null,
      heading,
      h("p", { class: "faint" }, `No issue of this range is ${which}.`),
    );
  const groups = columnsOf(answer, by, range).map(({ column, group }) => {
    const { count: n = 0, median_ms: median, p90_ms: p90 } = group?.[member] ?? {};
    const words = n
      ? `median ${waited(median)}, 90 % within ${waited(p90)}, ${count(n)} ${which}`
      : `none ${which}`;
    return {
      mark: markOf(column, unit),
      title: `${daysText(column)}: ${words}`,
      href: group && range.hrefOf(column),
      values: [p90 ?? 0, median ?? 0],
    };
  });
  return h(
    "div",
    null,
    heading,
    h(
      "p",
      { class: "times" },
      h("span", { class: "key median" }, "median ", h("b", null, waited(all.median_ms))),
      h("span", { class: "key ninety" }, "90 % within ", h("b", null, waited(all.p90_ms))),
      h("span", { class: "faint" }, `of ${things(all.count, "issue")} ${which}`),
    ),
    columns(groups, { kinds: ["ninety", "day"], numbers: false }),
  );
}

function tableOf(
  /** @type {any} */ answer,
  /** @type {string} */ by,
  /** @type {any} */ unit,
  /** @type {Range} */ range,
) {
  const heads = [unit, "issues"];
  for (const [, title, which] of TIMES)
    heads.push(which, `${title.toLowerCase()}: median`, "90 % within");
  const cells = (/** @type {any} */ of) =>
    TIMES.flatMap(([member]) => {
      const { count: n = 0, median_ms: median, p90_ms: p90 } = of[member];
      return [count(n), waited(median), waited(p90)];
    });
  const rows = columnsOf(answer, by, range)
    .filter(({ group }) => group)
    .map(({ column, group }) => [
      h(
        "a",
        { href: range.hrefOf(column) },
        unit === "day" ? dayText(column.since) : daysText(column),
      ),
      count(group.count),
      ...cells(group),
    ]);
  rows.push([h("b", null, "all"), count(answer["total-hits"]), ...cells(answer)]);
  const label = "First reply and resolution times";
  return withTable(null, label, heads, rows, rows.length <= ROWS_OPEN);
}

// Issues of the overview's range by tag, app, assignee and queue: the largest of each, with the
// names that the desk gave, and how many others there are.
import { call, query, v1 } from "./api.js";
import { bars } from "./charts.js";
import { count, short, textOf } from "./format.js";
import { h, update } from "./view.js";

const LARGEST = 10;
const GROUPS_MAX = 1000;

/**
 * The groupings: title, what has no value, the filter of the list, the one for no value, and where
 * the names of the ids are. The API has no filter for issues without a queue.
 * @type {{by:string, title:string, none:string, filter:string, noneIs?:Record<string, string>,
 *   names?:string, list?:string}[]}
 */
const GROUPINGS = [
  {
    by: "tag",
    title: "By tag",
    none: "without a tag",
    filter: "tags",
    noneIs: { untagged: "true" },
  },
  {
    by: "assignee",
    title: "By assignee",
    none: "unassigned",
    filter: "assignee",
    noneIs: { assignee: "unassigned" },
    names: "agents?page-size=1000",
    list: "profiles",
  },
  {
    by: "app",
    title: "By app",
    none: "without an app",
    filter: "app",
    names: "apps",
    list: "apps",
  },
  {
    by: "queue",
    title: "By queue",
    none: "without a queue",
    filter: "queue",
    names: "queues",
    list: "queues",
  },
];

/** @typedef {{wanted:any, list:any, total:number, current:()=>boolean}} Range */

export class GroupsChart {
  constructor(/** @type {{signal:AbortSignal, quiet:boolean}} */ options) {
    this.options = options;
    this.parts = GROUPINGS.map(({ title }) => h("section", { "aria-label": title }));
    this.element = h("div", { class: "columns by-group" }, this.parts);
    /** By list: the names of ids. */
    this.names = /** @type {Map<string, Promise<Map<string, string>>>} */ (new Map());
  }
  /** Asks for the groups of a range and shows them. @param {Range} range */
  async show(range) {
    const one = (/** @type {string} */ by) => this.ask(by, range);
    // An issue has one app and one queue, so that one call counts both.
    const [tag, assignee, both] = await Promise.all([
      one("tag"),
      one("assignee"),
      this.ask("app,queue", range),
    ]);
    const [app, queue] = both.other
      ? await Promise.all([one("app"), one("queue")])
      : [summed(both, "app"), summed(both, "queue")];
    const answers = /** @type {Record<string, any>} */ ({ tag, assignee, app, queue });
    const named = await Promise.all(
      GROUPINGS.map((grouping) => this.namesOf(grouping, answers[grouping.by].groups)),
    );
    if (!range.current()) return;
    GROUPINGS.forEach((grouping, at) =>
      update(this.parts[at], [answers[grouping.by], [...named[at]], range.list], () =>
        drawn(grouping, answers[grouping.by], named[at], range),
      ),
    );
  }
  ask(/** @type {string} */ by, /** @type {Range} */ { wanted }) {
    const all = query({ "group-by": by, limit: GROUPS_MAX, ...wanted });
    return call("GET", v1(`issues/counts${all}`), this.options);
  }
  /**
   * The names of these ids; they are asked for again if there is an id without one.
   * @returns {Promise<Map<string, string>>}
   */
  async namesOf(/** @type {any} */ { by, names, list }, /** @type {any[]} */ groups) {
    const ids = groups.slice(0, LARGEST).flatMap((group) => group[by] ?? []);
    const known = await this.names.get(list);
    if (!names || (known ? ids.every((id) => known.has(id)) : !ids.length)) return known ?? NONE;
    const asked = call("GET", v1(names), this.options).then((answer) => {
      const found = answer[list].map((/** @type {any} */ one) => [one.id, one.name ?? one.title]);
      // An id that the desk does not name stands for itself.
      return new Map([...ids.map((id) => [id, id]), ...found]);
    });
    this.names.set(list, asked);
    asked.catch(() => this.names.delete(list));
    return asked;
  }
}
const NONE = new Map();

/** Groups by one of two properties. */
function summed(/** @type {any} */ answer, /** @type {string} */ by) {
  const sums = /** @type {Map<any, number>} */ (new Map());
  for (const group of answer.groups) sums.set(group[by], (sums.get(group[by]) ?? 0) + group.count);
  const groups = [...sums].map(([value, n]) => ({ [by]: value, count: n }));
  return { groups: groups.sort((a, b) => Number(b.count) - Number(a.count)), other: 0 };
}

/** The bars of a grouping. */
function drawn(
  /** @type {any} */ grouping,
  /** @type {any} */ { groups, other },
  /** @type {Map<string, string>} */ names,
  /** @type {Range} */ { list, total },
) {
  const { by, title, none, filter, noneIs } = grouping;
  const address = (/** @type {Record<string, string>|undefined} */ found) =>
    found && `#/issues?${new URLSearchParams({ ...found, ...list })}`;
  // One other would take the row in which the number of others is.
  const largest = groups.length + (other && 1) > LARGEST + 1 ? LARGEST : groups.length;
  const rows = groups.slice(0, largest).map((/** @type {any} */ group) => {
    const value = group[by];
    return {
      name: value === null ? none : short(names.get(value) || value, 80),
      faint: value === null,
      count: group.count,
      href: address(value === null ? noneIs : { [filter]: textOf([value]) }),
    };
  });
  const rest = groups.slice(largest);
  if (rest.length || other) {
    const sum = rest.reduce((/** @type {number} */ n, /** @type {any} */ one) => n + one.count, 0);
    const name = `${other ? "more than " : ""}${count(rest.length)} others`;
    rows.push({ name, faint: true, bare: true, count: sum + other });
  }
  const several =
    by === "tag" && h("span", { class: "faint" }, " an issue counts for each of its tags");
  return [h("h2", null, title, several), bars(`Issues ${title.toLowerCase()}`, by, rows, total)];
}

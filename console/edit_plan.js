// The effect of an edit of many issues on each of them, as the server does it: the values before
// and after, their numbers, the lost ones, and the calls that undo it. It calls nothing.
import { wordsOf } from "./format.js";

/**
 * The changes. Fields that stay are empty; `tags` is null if the tags stay.
 * @typedef {{status:string, assignee:string, tags:{how:string, list:string[]}|null}} Edit
 * @typedef {{state:string, assignee_id:string, tags:string[]}} Values
 * @typedef {Partial<Values>} Some
 * @typedef {{id:string, title:string, updated:number, now:Values, name:string}} Read
 * @typedef {{from:Some, to:Some, issues:[string, number, number][]}} Group
 */

export const UNASSIGNED = "unassigned";
export const FIELDS = /** @type {const} */ (["state", "assignee_id", "tags"]);
/** The states that unassigning changes to `new`. */
const OF_AGENTS = ["new-for-agent", "agent-replied", "waiting-for-agent"];

/** Tags as they are typed, each once. */
export const tagsIn = (/** @type {string} */ text) => [
  ...new Set(
    text
      .split(",")
      .map((tag) => tag.trim())
      .filter(Boolean),
  ),
];

/** An issue as the API answers it. @returns {Read} */
export const readOf = (/** @type {any} */ issue) => ({
  id: String(issue.id),
  title: issue.title ?? "",
  updated: Number(issue.updated_at),
  name: issue.assignee_name ?? "",
  now: {
    state: issue.state_data.state,
    assignee_id: issue.assignee_id ?? UNASSIGNED,
    tags: issue.tags,
  },
});

/** Whether two values of a field are equal. */
export const same = (/** @type {any} */ a, /** @type {any} */ b) =>
  JSON.stringify(a) === JSON.stringify(b);

/** The values after an edit. @param {Values} now @param {Edit} edit @returns {Values} */
export function after(now, { status, assignee, tags }) {
  const next = { ...now };
  if (assignee && assignee !== now.assignee_id) {
    next.assignee_id = assignee;
    if (assignee !== UNASSIGNED && now.state === "new") next.state = "new-for-agent";
    if (assignee === UNASSIGNED && OF_AGENTS.includes(now.state)) next.state = "new";
  }
  if (status) next.state = status;
  if (tags) next.tags = tagsAfter(now.tags, tags);
  return next;
}

/** @param {string[]} now @param {{how:string, list:string[]}} tags */
function tagsAfter(now, { how, list }) {
  if (how === "replace") return list;
  if (how === "remove") return now.filter((tag) => !list.includes(tag));
  return [...now, ...list.filter((tag) => !now.includes(tag))];
}

/** The fields of an edit as the API takes them. */
export function bodyOf(/** @type {Edit} */ { status, assignee, tags }) {
  const names = /** @type {Record<string, string>} */ ({ add: "add_tags", remove: "remove_tags" });
  return {
    ...(status && { status }),
    ...(assignee && { "assignee-id": assignee }),
    ...(tags && { [names[tags.how] ?? "tags"]: tags.list }),
  };
}

/** The fields that differ, before and after. @param {Values} from @param {Values} to */
export function difference(from, to) {
  const changed = FIELDS.filter((field) => !same(from[field], to[field]));
  // A state that did not change would change when the assignee is given back.
  const stored = FIELDS.filter(
    (field) => changed.includes(field) || (field === "state" && changed.includes("assignee_id")),
  );
  /** @returns {Some} */
  const some = (/** @type {any} */ values) =>
    Object.fromEntries(stored.map((field) => [field, values[field]]));
  return { changed, from: some(from), to: some(to) };
}

/** Counts of texts, the most frequent first. */
class Counts {
  constructor() {
    this.map = /** @type {Map<string, number>} */ (new Map());
  }
  add(/** @type {string} */ text) {
    this.map.set(text, (this.map.get(text) ?? 0) + 1);
  }
  get all() {
    return [...this.map].sort((a, b) => b[1] - a[1]);
  }
}

/**
 * The effect of an edit on issues, in numbers. `names` has the agents by id.
 * @param {Read[]} issues @param {Edit} edit @param {Record<string, string>} names
 */
export function summaryOf(issues, edit, names = {}) {
  const said = {
    states: new Counts(),
    assignees: new Counts(),
    gained: new Counts(),
    gone: new Counts(),
    overwritten: new Counts(),
  };
  const stay = { state: 0, assignee: 0, tags: 0 };
  const changing = [];
  for (const issue of issues) {
    const to = after(issue.now, edit);
    const { changed, from } = difference(issue.now, to);
    const nameOf = (/** @type {string} */ id) =>
      id === UNASSIGNED
        ? "unassigned"
        : (names[id] ?? (id === from.assignee_id && issue.name) ?? id);
    if (changed.length) changing.push(issue.id);
    if (changed.includes("state"))
      said.states.add(`${wordsOf(issue.now.state)} → ${wordsOf(to.state)}`);
    else stay.state += 1;
    if (changed.includes("assignee_id")) {
      const before = nameOf(issue.now.assignee_id) || issue.now.assignee_id;
      said.assignees.add(`${before} → ${nameOf(to.assignee_id)}`);
      if (issue.now.assignee_id !== UNASSIGNED) said.overwritten.add(before);
    } else stay.assignee += 1;
    if (!changed.includes("tags")) stay.tags += 1;
    for (const tag of to.tags) if (!issue.now.tags.includes(tag)) said.gained.add(tag);
    for (const tag of issue.now.tags) if (!to.tags.includes(tag)) said.gone.add(tag);
  }
  return { ...said, stay, changing };
}

/**
 * Groups what was changed by what it was before and is now. Of each issue: its id, and when it was
 * changed by the edit and before that.
 */
export class Groups {
  constructor(/** @type {Group[]} */ groups = []) {
    this.map = /** @type {Map<string, Group>} */ (new Map());
    for (const group of groups) this.map.set(JSON.stringify([group.from, group.to]), group);
  }
  add(
    /** @type {Some} */ from,
    /** @type {Some} */ to,
    /** @type {string} */ id,
    /** @type {number} */ updated,
    /** @type {number} */ before,
  ) {
    const key = JSON.stringify([from, to]);
    const group = this.map.get(key) ?? { from, to, issues: [] };
    this.map.set(key, group);
    group.issues.push([id, updated, before]);
  }
  get list() {
    return [...this.map.values()];
  }
  get size() {
    return this.list.reduce((sum, { issues }) => sum + issues.length, 0);
  }
}

/**
 * The fields that give a group its old values back: the same ones for as many groups as possible.
 * Tags return in their order.
 * @param {Some} from @param {Some} to
 */
export const undoBody = (from, to) => ({
  ...(from.state !== undefined && { status: from.state }),
  ...(from.assignee_id !== undefined && { "assignee-id": from.assignee_id }),
  ...(from.tags && tagsBack(from.tags, to.tags ?? [])),
});

/** @param {string[]} from @param {string[]} to */
function tagsBack(from, to) {
  const added = to.filter((tag) => !from.includes(tag));
  const removed = from.filter((tag) => !to.includes(tag));
  const rest = to.filter((tag) => from.includes(tag));
  if (added.length && same(rest, from)) return { remove_tags: added };
  if (!added.length && removed.length && same([...to, ...removed], from))
    return { add_tags: removed };
  return { tags: from };
}

/**
 * The calls of an undo: a body, and the issues that get it with what they should be now.
 * @param {Group[]} groups
 */
export function undoCalls(groups) {
  const calls =
    /** @type {Map<string, {body:any, issues:{id:string, updated:number, to:Some}[]}>} */ (
      new Map()
    );
  for (const { from, to, issues } of groups) {
    const body = undoBody(from, to);
    const key = JSON.stringify(body);
    const one = calls.get(key) ?? { body, issues: [] };
    calls.set(key, one);
    for (const [id, updated] of issues) one.issues.push({ id, updated, to });
  }
  return [...calls.values()];
}

/**
 * Whether an issue is as an edit left it: nobody changed it since.
 * @param {Read|undefined} read @param {Some} to @param {number} updated
 */
export const untouched = (read, to, updated) =>
  Boolean(read) &&
  read?.updated === updated &&
  FIELDS.every((field) => to[field] === undefined || same(read?.now[field], to[field]));

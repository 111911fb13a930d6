// A change of the log in words: what happened to a record, from which value to which, by whom, and
// the screen of the record.
import { call, can, v1 } from "./api.js";
import { fieldName } from "./fields.js";
import { capital, choicesOf, count, short } from "./format.js";
import { named } from "./json.js";
import { pill } from "./ui.js";
import { h } from "./view.js";

const VALUE_CHARS = 120;
/** Kinds of records: one, several, and the screen of one. */
const KINDS = named(
  /** @type {Record<string, [string, string, (id:string)=>string|null]>} */ ({
    issue: ["issue", "issues", (id) => `issue/${id}`],
    core_profile: ["person", "people", (id) => `person/${id}`],
    app_profile: ["app profile", "app profiles", (id) => `issues?user=${id}`],
    task: ["task", "tasks", taskScreen],
    app: ["app", "apps", settings],
    agent: ["agent", "agents", settings],
    queue: ["queue", "queues", settings],
    key: ["key", "keys", settings],
    domain: ["domain", "domains", settings],
    webhook: ["webhook", "webhooks", (id) => (can("admin") ? `webhook/${id}` : null)],
  }),
);
export const ACTIONS = [
  "created",
  "updated",
  "deleted",
  "completed",
  "revoked",
  "redacted",
  "erased",
];
/** What a filter by action offers. */
export const ACTION_OPTIONS = choicesOf(ACTIONS);
/** What a filter by kind offers. */
export const KIND_OPTIONS = Object.fromEntries(
  Object.entries(KINDS).map(([kind, [, many]]) => [kind, capital(many)]),
);

/** The log does not say of which family a task is. */
function taskScreen(/** @type {string} */ id) {
  return `task/any/${id}`;
}
function settings() {
  return can("admin") ? "settings" : null;
}

/** The screen of what changed; null if there is none for this key. */
export function screenOfChange(/** @type {any} */ { resource, id }) {
  return KINDS[resource]?.[2](encodeURIComponent(id)) ?? null;
}
/** The screen of a task. */
export const screenOfTask = (/** @type {string} */ id) => taskScreen(encodeURIComponent(id));

/** The end of a task's id: its beginning is a time. */
const tail = (/** @type {string} */ id) => `…${id.slice(-6)}`;

/** The record of a change, or how many records. */
export function subjectOf(/** @type {any} */ { resource, id }, records = 1) {
  const [one, many] = KINDS[resource] ?? [resource, resource];
  if (records > 1) return `${count(records)} ${many}`;
  if (resource === "domain") return one;
  if (resource === "issue") return `${one} #${id}`;
  return `${one} ${resource === "task" ? tail(id) : short(id, 40)}`;
}

/** Who did it, as a text. The name of a key is the one that it had then. */
export function authorOf(/** @type {any} */ by) {
  if (!by) return "somebody unknown";
  if (by.key_id) return `${short(by.key_name || by.key_id, 60)} (key)`;
  return by.task_id ? `task ${tail(by.task_id)}` : short(by.command, 60);
}

/** The entry of the task that did it. */
export const entryOf = (/** @type {any} */ { index }) =>
  index === undefined ? "" : `, entry ${count(index + 1)}`;

/** The names of the agents by their ids. */
export async function agentNames(/** @type {AbortSignal} */ signal) {
  const { profiles } = await call("GET", v1("agents?page-size=1000"), { signal, quiet: true });
  const pairs = profiles.map((/** @type {any} */ one) => [one.id, agentName(one)]);
  return named(Object.fromEntries(pairs));
}
/** An agent without a name is known by the address, else by the id. */
export const agentName = (/** @type {any} */ { name, email, id }) => name || email || id;

/**
 * What happened, one element for each field whose values are in the log, and one for the others.
 * @param {any} change @param {Record<string, string>} agents names by id
 */
export function wordsOf({ action, fields, changes = {} }, agents) {
  if (action !== "updated") return [h("span", null, capital(action))];
  const said = [];
  const others = [];
  for (const field of fields) {
    const words = fieldWords(field, changes, agents);
    if (words) said.push(h("span", null, words));
    else others.push(fieldName(field));
  }
  if (others.length) said.push(h("span", { dir: "auto" }, `Changed: ${short(others.join(", "))}`));
  return said.length ? said : [h("span", null, "Changed")];
}

/** @param {string} field @param {any} changes @param {Record<string, string>} agents */
function fieldWords(field, changes, agents) {
  const added = changes[`${field}.added`];
  if (added) {
    const number = Array.isArray(added) ? added.length : added;
    const name = fieldName(field).toLowerCase();
    return `${count(number)} ${name.replace(/s$/, number === 1 ? "" : "s")} added`;
  }
  const change = changes[field];
  if (!change) return null;
  const { from, to } = change;
  if (field === "tags") return ["Tags: ", tagWords(from ?? [], to ?? [])];
  return [`${fieldName(field)}: `, valueOf(field, from, agents), " → ", valueOf(field, to, agents)];
}

/** @param {string[]} from @param {string[]} to */
function tagWords(from, to) {
  const tags = (
    /** @type {string} */ kind,
    /** @type {string} */ sign,
    /** @type {string[]} */ all,
  ) => all.map((tag) => [h(kind, { dir: "auto" }, sign + short(tag, VALUE_CHARS)), " "]);
  const lost = from.filter((tag) => !to.includes(tag));
  const gained = to.filter((tag) => !from.includes(tag));
  if (!lost.length && !gained.length) return "another order";
  return [tags("del", "−", lost), tags("ins", "+", gained)];
}

/** @param {string} field @param {any} value @param {Record<string, string>} agents */
function valueOf(field, value, agents) {
  if (value === null) return field === "assignee_id" ? "unassigned" : "none";
  if (field === "state") return pill(value);
  const shown = field === "assignee_id" ? (agents[value] ?? value) : value;
  return h("b", { dir: "auto" }, short(shown, VALUE_CHARS));
}

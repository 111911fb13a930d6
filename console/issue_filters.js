// The filters of the list of issues: what an address may have, what that asks of the API, and its
// words. It draws nothing and calls nothing.
import { conditionFault, conditionGroups } from "./field_conditions.js";
import { OPEN, STATES, dayBound, listOf, short, textOf } from "./format.js";
import { named } from "./json.js";

/**
 * A filter. `to` is what its values ask of the API, and `fault` why a value cannot be used. Values
 * of one with a `group` are counted by that property. `several` says how several values are
 * joined, and `alone` names a value that stands by itself.
 * @typedef {{label:string, to:(values:string[])=>Record<string, any>,
 *   fault?:(value:string)=>string|undefined|false, kind?:"day"|"number"|"fields"|"yesno",
 *   group?:string, several?:"and"|"or", alone?:string, hidden?:boolean}} Filter
 */

const quoted = (/** @type {string} */ text) => `“${short(text, 60)}”`;
const oneOf = (/** @type {string[]} */ known) => (/** @type {string} */ value) =>
  !known.includes(value) && `${quoted(value)} is not one of its values`;
const ids = (/** @type {string} */ value) =>
  !/^[\d\s,]*\d[\d\s,]*$/.test(value) && `${quoted(value)} is not an id of digits`;

/** A day, or an instant: the overview names days of another zone by their instants. */
const DAY = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{3})?)?Z)?$/;

/** @returns {Filter} */
const day = (/** @type {string} */ label, /** @type {string} */ name) => ({
  label,
  kind: "day",
  to: ([value]) => ({ [name]: dayBound(value, name.endsWith("until")) }),
  fault: (value) =>
    !(DAY.test(value) && !Number.isNaN(Date.parse(value))) &&
    `${quoted(value)} is not a day such as 2026-01-31`,
});
/** Words, of which an issue has all. @returns {Filter} */
const words = (/** @type {string} */ label, /** @type {string} */ name) => ({
  label,
  to: (values) => ({ [name]: { and: values } }),
});
/** Ids or names of which an issue has one. @returns {Filter} */
const any = (
  /** @type {string} */ label,
  /** @type {string} */ group,
  /** @type {string} */ to,
) => ({
  label,
  group,
  several: "or",
  to: (values) => ({ [to]: values }),
});
/** The same, or none at all, which has a name. @returns {Filter} */
const anyOrNone = (
  /** @type {string} */ label,
  /** @type {string} */ group,
  /** @type {string} */ to,
  /** @type {string} */ alone,
) => ({
  ...any(label, group, to),
  alone,
  to: (values) => ({ [to]: values[0] === alone ? { exists: false } : { or: values } }),
});

export const FILTERS = named(
  /** @type {Record<string, Filter>} */ ({
    text: { label: "Words", hidden: true, to: ([text]) => ({ text }) },
    state: {
      label: "State",
      group: "state",
      several: "or",
      to: (values) => ({ state: values.join(",") }),
      fault: oneOf(STATES),
    },
    assignee: anyOrNone("Assignee", "assignee", "assignee-ids", "unassigned"),
    tags: { ...any("Tag", "tag", "tags"), several: "and", to: (and) => ({ tags: { and } }) },
    untagged: {
      label: "Without a tag",
      kind: "yesno",
      to: ([value]) => ({ tags: { exists: value !== "true" } }),
      fault: oneOf(["true", "false"]),
    },
    queue: any("Queue", "queue", "queue_ids"),
    app: any("App", "app", "app-ids"),
    language: anyOrNone("Language", "language", "languages", "none"),
    fields: {
      label: "Custom field",
      kind: "fields",
      to: ([value]) => ({ custom_fields: value }),
      fault: conditionFault,
    },
    rated: {
      ...anyOrNone("Rating", "rating", "feedback-rating", "none"),
      to: (values) => ({
        "feedback-rating":
          values[0] === "none" ? { exists: false } : { or: values.map((is) => ({ is })) },
      }),
      fault: (value) =>
        value !== "none" && !/^\d+(\.\d+)?$/.test(value) && `${quoted(value)} is not a number`,
    },
    rating: {
      label: "Rating at most",
      kind: "number",
      to: ([value]) => ({
        "feedback-rating": { and: [{ is_smaller_than: String(Number(value) + 1) }] },
      }),
      fault: (value) => !/^\d+$/.test(value) && `${quoted(value)} is not a number`,
    },
    platform: any("Platform", "platform", "platform-types"),
    mode: any("Mode", "mode", "issue_modes"),
    since: day("Created since", "created-since"),
    until: day("Created until", "created-until"),
    updated: day("Updated since", "updated-since"),
    "updated-until": day("Updated until", "updated-until"),
    changed: day("State changed since", "state-since"),
    "changed-until": day("State changed until", "state-until"),
    title: words("Words in the title", "title"),
    messages: words("Words in a message", "messages"),
    notes: words("Words in a note", "notes"),
    feedback: words("Words in feedback", "feedback-comment"),
    author: { label: "Author e-mail", to: (or) => ({ author_emails: { or } }) },
    "assignee-email": { label: "Assignee e-mail", to: (or) => ({ assignee_emails: { or } }) },
    person: {
      label: "Person",
      hidden: true,
      to: ([value]) => ({ "core-profile-id": value }),
      fault: (value) => !/^\d+$/.test(value) && `${quoted(value)} is not an id of digits`,
    },
    user: { label: "App profile", to: (values) => ({ "end-user-ids": values }) },
    ids: {
      label: "Issue ids",
      to: ([value]) => ({ ids: value.split(/[\s,]+/).filter(Boolean) }),
      fault: ids,
    },
    redacted: {
      label: "Redacted",
      kind: "yesno",
      to: ([value]) => ({ redacted: value }),
      fault: oneOf(["true", "false"]),
    },
  }),
);
/** Parameters of an address that are not filters. */
const OTHERS = new Set(["sort", "view"]);

export const SORTS = named({
  "creation-time desc": "Newest",
  "creation-time asc": "Oldest",
  "update-time desc": "Last changed",
  "update-time asc": "Longest unchanged",
  "state-change-time desc": "State last changed",
  "state-change-time asc": "State longest unchanged",
});
const SORT = "creation-time desc";
/** The order of an address. */
export const sortOf = (/** @type {URLSearchParams} */ params) => {
  const sort = params.get("sort") ?? "";
  return sort in SORTS ? sort : SORT;
};

/** The values of a filter in an address. @param {URLSearchParams} params @param {string} name */
export function valuesOf(params, name) {
  const texts = params.getAll(name).filter(Boolean);
  return FILTERS[name].several ? [...new Set(texts.flatMap(listOf))] : texts.slice(-1);
}

/**
 * What of an address cannot be used, and why. `value` is what stays of the parameter without it.
 * @typedef {{name:string, text:string, value:string}} Fault
 */
/**
 * What an address means: the filters and the order for the API, the part of it that says so, and
 * what cannot be used.
 * @param {URLSearchParams} params
 */
export function meaningOf(params) {
  const filters = /** @type {Record<string, any>} */ ({});
  const faults = /** @type {Fault[]} */ ([]);
  const used = new URLSearchParams();
  for (const name of new Set(params.keys())) {
    if (OTHERS.has(name)) continue;
    const filter = FILTERS[name];
    if (!filter) {
      faults.push({ name, text: `the list has no filter ${quoted(name)}`, value: "" });
      continue;
    }
    const usable = usableOf(params, name, faults);
    if (!usable.length) continue;
    for (const [key, value] of Object.entries(filter.to(usable)))
      filters[key] = isMap(value) ? { ...filters[key], ...value } : value;
    used.set(name, filter.several ? textOf(usable) : usable[0]);
  }
  if (params.has("sort")) {
    const sort = params.get("sort") ?? "";
    if (sort in SORTS) used.set("sort", sort);
    else faults.push({ name: "sort", text: `the list has no order ${quoted(sort)}`, value: "" });
  }
  const [by, order] = sortOf(params).split(" ");
  return { filters, order: { "sort-by": by, "sort-order": order }, used, faults };
}

const isMap = (/** @type {any} */ value) =>
  value !== null && typeof value === "object" && !Array.isArray(value);

/**
 * The values of a filter that can be used; the others are added to the faults.
 * @param {URLSearchParams} params @param {string} name @param {Fault[]} faults
 */
function usableOf(params, name, faults) {
  const { label, fault, alone, several } = FILTERS[name];
  const values = valuesOf(params, name);
  const usable = values.filter((value) => !fault?.(value));
  for (const value of values) {
    const why = fault?.(value);
    const left = several ? textOf(values.filter((one) => one !== value)) : "";
    if (why) faults.push({ name, text: `${label}: ${why}`, value: left });
  }
  if (alone && usable.length > 1 && usable.includes(alone)) {
    const others = usable.filter((one) => one !== alone);
    const text = `${label}: ${quoted(alone)} does not go together with other values`;
    faults.push({ name, text, value: textOf(others) });
    return others;
  }
  if (!several && params.getAll(name).filter(Boolean).length > 1)
    faults.push({ name, text: `${label}: only the last one is used`, value: values[0] });
  return usable;
}

/** The parameters of the API for an address. */
export function filtersOf(/** @type {URLSearchParams} */ params) {
  const { filters, order } = meaningOf(params);
  return { filters, order };
}

/**
 * A filter that is set: its words, and what stays of its parameter if it is removed. `open` is
 * whether its values may be chosen again.
 * @typedef {{name:string, text:string, value:string, open:boolean}} Chip
 */
/**
 * The filters of an address in words. `nameOf` names a value of a filter.
 * @param {URLSearchParams} params @param {(name:string, value:string)=>string} nameOf
 * @returns {Chip[]}
 */
export function chipsOf(params, nameOf) {
  const { used } = meaningOf(params);
  return [...used].flatMap(([name, value]) => {
    if (name === "text" || !FILTERS[name]) return [];
    if (name === "fields")
      return conditionGroups(value).map(({ text, without }) => ({
        name,
        text,
        value: without,
        open: false,
      }));
    const { label, several } = FILTERS[name];
    const names =
      name === "state" && value === OPEN
        ? ["Open"]
        : valuesOf(used, name).map((one) => short(nameOf(name, one), 40));
    const text = `${label}: ${names.join(several === "and" ? " and " : " or ")}`;
    return [{ name, text, value: "", open: Boolean(several) }];
  });
}

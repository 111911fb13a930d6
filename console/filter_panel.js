// The panel that adds a filter to the list of issues: a field by its name, and its values with how
// many issues have each. Typed text narrows them.
import { call, has, query, v1 } from "./api.js";
import { FILTERS, meaningOf, valuesOf } from "./issue_filters.js";
import { FieldValues } from "./field_values.js";
import { nameIn, namesOf } from "./issue_names.js";
import { count, textOf } from "./format.js";
import { dialog, field, input, problem, select } from "./ui.js";
import { ValueList } from "./value_list.js";
import { h, fill } from "./view.js";

const GROUPS_MAX = 1000;
/** The fields of other values. */
const TYPES = /** @type {Record<string, string>} */ ({ day: "date", number: "number" });
/** Filters whose values a person may type if no issue has them. */
const FREE = new Set(["tags", "language", "platform"]);

/**
 * Asks for a filter, or for other values of one.
 * @param {{params:URLSearchParams, signal:AbortSignal, field?:string,
 *   set:(name:string, value:string)=>void}} options
 */
export function chooseFilter(options) {
  const panel = new FilterPanel(options);
  const done = dialog("Add a filter", panel.element, {
    label: "Apply",
    work: () => {
      const value = panel.value();
      if (!value && !options.params.get(panel.name)) throw new Error("Choose or type a value.");
      options.set(panel.name, value);
    },
  });
  panel.show();
  panel.list?.focus();
  return done;
}

class FilterPanel {
  constructor(/** @type {any} */ { params, signal, field: name }) {
    this.params = /** @type {URLSearchParams} */ (params);
    this.signal = /** @type {AbortSignal} */ (signal);
    const names = Object.entries(FILTERS).filter(([, { hidden }]) => !hidden);
    this.kind = select(Object.fromEntries(names.map(([key, { label }]) => [key, label])), {
      value: name ?? "assignee",
    });
    this.kind.addEventListener("input", () => this.show());
    this.area = h("div");
    this.element = [field("Field", this.kind), this.area];
    this.value = () => "";
    this.list = /** @type {ValueList|null} */ (null);
  }
  get name() {
    return this.kind.value;
  }
  /** Shows how the values of the chosen field are chosen. */
  show() {
    const { kind, group } = FILTERS[this.name];
    if (group) this.listed(group);
    else if (kind === "fields") this.fields();
    else this.typed(kind);
  }
  typed(/** @type {string|undefined} */ kind) {
    const value =
      kind === "yesno"
        ? select({ true: "Yes", false: "No" })
        : input({ type: TYPES[kind ?? ""] ?? "text", required: true });
    const { fault } = FILTERS[this.name];
    this.value = () => {
      const text = value.value.trim();
      const why = fault?.(text);
      if (why) throw new Error(`${why}.`);
      return text;
    };
    fill(this.area, field("Value", value));
  }
  /** What the other filters ask of the API, and this one if all its values must be there. */
  others() {
    const others = new URLSearchParams(this.params);
    const { several, kind } = FILTERS[this.name];
    if (several !== "and" && kind !== "fields") others.delete(this.name);
    return meaningOf(others).filters;
  }
  async listed(/** @type {string} */ group) {
    const { name } = this;
    const filter = FILTERS[name];
    const list = new ValueList({
      several: Boolean(filter.several),
      alone: filter.alone,
      free: FREE.has(name) ? (text) => text : undefined,
      chosen: valuesOf(this.params, name),
    });
    this.value = () => textOf(list.chosen);
    this.list = list;
    fill(this.area, list.element);
    try {
      const [names, counts] = await Promise.all([namesOf(group), this.counts(group)]);
      if (this.name !== name) return;
      list.set(optionsOf(name, group, names, counts), saidOf(counts));
    } catch (error) {
      list.entered = false;
      list.set([], "");
      fill(list.said, problem(error));
    }
  }
  /** How many issues have each value of a property, if the server counts. */
  async counts(/** @type {string} */ group) {
    if (!has("counts")) return null;
    const wanted = query({ ...this.others(), "group-by": group, limit: GROUPS_MAX });
    return call("GET", v1(`issues/counts${wanted}`), { signal: this.signal, quiet: true });
  }
  fields() {
    const text = this.params.get("fields") ?? "";
    const values = new FieldValues({ text, filters: this.others(), signal: this.signal });
    this.value = () => values.value();
    fill(this.area, values.element);
    values.begin().catch((error) => fill(values.said, problem(error)));
  }
}

/**
 * The values of a filter: those that issues have, and those that have a name.
 * @param {string} name @param {string} group @param {Map<string, string>} names @param {any} counts
 */
export function optionsOf(name, group, names, counts) {
  const none = FILTERS[name].alone;
  const found = /** @type {Map<string, number|undefined>} */ (
    new Map([...names.keys()].map((id) => [id, counts ? 0 : undefined]))
  );
  for (const one of counts?.groups ?? []) {
    const value = one[group] === null ? none : String(one[group]);
    if (value !== undefined) found.set(value, one.count);
  }
  return [...found]
    .map(([value, n]) => ({ value, name: nameIn(names, name, value), count: n }))
    .sort((a, b) => (b.count ?? 0) - (a.count ?? 0) || a.name.localeCompare(b.name));
}

const saidOf = (/** @type {any} */ counts) =>
  counts?.other
    ? `The ${count(GROUPS_MAX)} most frequent values of the issues that the other filters find.`
    : counts
      ? "Counts of the issues that the other filters find."
      : "";

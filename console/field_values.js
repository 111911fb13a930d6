// The custom fields of issues and their values, to choose one of them for a filter. The names come
// from the latest issues; the server counts the values that are shown.
import { call, query, v1 } from "./api.js";
import { fieldValue, testFor, withTest } from "./field_conditions.js";
import { things } from "./format.js";
import { field, problem, select } from "./ui.js";
import { ValueList } from "./value_list.js";
import { fill, h } from "./view.js";

/** The issues that are read for the names, and the values that are counted. */
const LATEST = 1000;
const COUNTED = 12;
const VALUES_MAX = 200;
/** Counts that run at the same time. */
const TOGETHER = 4;
const NUMBER = /^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?$/;

/**
 * The fields of issues, each with its values, the most frequent first.
 * @param {any[]} issues
 */
export function fieldsIn(issues) {
  const fields =
    /** @type {Map<string, {key:string, type:string, values:Map<string, any>,
     *   tally:Map<string, number>, issues:number}>} */ (new Map());
  for (const issue of issues)
    for (const [key, { type, value }] of Object.entries(issue.custom_fields ?? {})) {
      if (value === null || value === undefined || value === "") continue;
      const id = `${type} ${key}`;
      if (!fields.has(id))
        fields.set(id, { key, type, values: new Map(), tally: new Map(), issues: 0 });
      const one = /** @type {any} */ (fields.get(id));
      one.issues += 1;
      one.values.set(String(value), value);
      one.tally.set(String(value), (one.tally.get(String(value)) ?? 0) + 1);
    }
  return [...fields.values()]
    .sort((a, b) => b.issues - a.issues || a.key.localeCompare(b.key))
    .map(({ key, type, values, tally }) => ({
      key,
      type,
      values: [...tally]
        .sort((a, b) => b[1] - a[1])
        .slice(0, VALUES_MAX)
        .map(([text]) => values.get(text)),
    }));
}

export class FieldValues {
  /** @param {{text:string, filters:Record<string, any>, signal:AbortSignal}} options */
  constructor({ text, filters, signal }) {
    this.text = text;
    this.filters = filters;
    this.signal = signal;
    this.turn = 0;
    this.fields = /** @type {ReturnType<typeof fieldsIn>} */ ([]);
    this.said = h("div", { class: "faint", role: "status" }, "Reading the latest issues…");
    this.area = h("div");
    this.element = h("div", null, this.area, this.said);
    this.list = /** @type {ValueList|null} */ (null);
  }
  /** The parameter with the chosen value. */
  value() {
    const { list, at } = this;
    const [chosen] = list?.chosen ?? [];
    if (!at || chosen === undefined) throw new Error("Choose a value.");
    return withTest(this.text, this.testOf(chosen));
  }
  get at() {
    return this.fields[Number(this.which?.value ?? 0)];
  }
  /** The test of a chosen value: `set` and `unset` are whether there is one. */
  testOf(/** @type {string} */ chosen) {
    const { key, type, values } = this.at;
    if (chosen === "set:" || chosen === "unset:")
      return { type, key, test: "is_set", value: chosen === "set:" };
    const text = chosen.slice(1);
    const known = values.find((value) => String(value) === text);
    return testFor(type, key, known ?? text);
  }
  call(/** @type {string} */ path) {
    return call("GET", v1(path), { signal: this.signal, quiet: true });
  }
  async begin() {
    const page = { includes: ["custom_fields"], excludes: ["messages"], "page-size": LATEST };
    const { issues } = await this.call(`issues${query({ ...this.filters, ...page })}`);
    this.fields = fieldsIn(issues);
    if (!this.fields.length) {
      fill(this.said, `${things(issues.length, "issue")} read: none has a custom field.`);
      return;
    }
    const double = (/** @type {string} */ key) => this.fields.filter((one) => one.key === key)[1];
    const names = this.fields.map(({ key, type }, at) => [
      String(at),
      double(key) ? `${key} (${type})` : key,
    ]);
    this.which = select(Object.fromEntries(names));
    this.which.addEventListener("input", () => this.show());
    this.place = h("div");
    fill(this.area, field("Custom field", this.which), this.place);
    const read = issues.length < LATEST ? "" : "the latest ";
    fill(
      this.said,
      `Names and values come from ${read}${things(issues.length, "issue")} that the other ` +
        `filters find.`,
    );
    this.show();
  }
  /** Shows the values of the chosen field, then counts the first ones. */
  show() {
    this.turn += 1;
    const { type, values } = this.at;
    const options = values.map((value) => ({
      value: `=${value}`,
      name: fieldValue(type, value),
      count: /** @type {number|undefined} */ (undefined),
    }));
    if (type !== "checkbox")
      options.push(
        { value: "set:", name: "has a value", count: undefined },
        { value: "unset:", name: "without a value", count: undefined },
      );
    const free = (/** @type {string} */ text) =>
      type === "number" ? (NUMBER.test(text) ? `=${text}` : null) : `=${text}`;
    const typed = ["checkbox", "date"].includes(type) ? undefined : free;
    this.list = new ValueList({ several: false, free: typed, chosen: [] });
    fill(this.place, this.list.element);
    this.list.set(options, "");
    this.count(options).catch((error) => fill(this.said, problem(error)));
  }
  /** @param {{value:string, name:string, count?:number}[]} options */
  async count(options) {
    const { turn, list } = this;
    const left = options.slice(0, COUNTED);
    const one = async () => {
      for (let next = left.shift(); next && turn === this.turn; next = left.shift()) {
        const custom = withTest(this.text, this.testOf(next.value));
        const wanted = { ...this.filters, custom_fields: custom, "page-size": 1 };
        const found = await this.call(`issues${query({ ...wanted, excludes: ["messages"] })}`);
        next.count = found["total-hits"];
        if (turn === this.turn) list?.draw();
      }
    };
    await Promise.all(Array.from({ length: TOGETHER }, one));
  }
}

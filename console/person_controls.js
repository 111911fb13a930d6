// The controls of the form of a person: one for each field, by the kind of its values. Each has the
// rule of the field in words, says whether the value is changed or removed, can take that back, and
// shows the fault that the server found.
import { fieldName } from "./fields.js";
import { parse } from "./json.js";
import { TYPES } from "./profile.js";
import { valueAt } from "./pointer.js";
import { input, select } from "./ui.js";
import { short } from "./format.js";
import { fill, h } from "./view.js";

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
/** A part of a pointer. */
const part = (/** @type {string} */ name) => name.replaceAll("~", "~0").replaceAll("/", "~1");
const two = (/** @type {number} */ n) => String(n).padStart(2, "0");

/** A time as a control for times has it, in the viewer's zone. @param {any} ms */
function localTime(ms) {
  const d = new Date(Number(ms));
  if (Number.isNaN(d.getTime())) return "";
  const year = String(d.getFullYear()).padStart(4, "0");
  const day = `${year}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  return `${day}T${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/**
 * The kinds of values: the element, its text from a value, and the value from its text. An empty
 * text is no value. A text that is none of the kind fails.
 */
const KINDS = {
  text: {
    make: (/** @type {any} */ props) => input(props),
    show: (/** @type {any} */ value) => String(value),
    read: (/** @type {any} */ box) => box.value,
  },
  number: {
    make: (/** @type {any} */ props) => input({ ...props, inputmode: "decimal" }),
    show: (/** @type {any} */ value) => String(value),
    read: (/** @type {any} */ box) => {
      const text = box.value.trim();
      if (!NUMBER.test(text)) throw new Error("this has to be a number, such as 12 or 3.5");
      return parse(text);
    },
  },
  choice: {
    make: (/** @type {any} */ props) => select({ "": "not set", true: "yes", false: "no" }, props),
    show: (/** @type {any} */ value) => String(value),
    read: (/** @type {any} */ box) => box.value === "true",
  },
  time: {
    make: (/** @type {any} */ props) => input({ ...props, type: "datetime-local", step: 1 }),
    show: localTime,
    read: (/** @type {any} */ box) => new Date(box.value).getTime(),
  },
};
/** @typedef {keyof typeof KINDS} Kind */

/** What all controls have: the place of the field, the rule, the fault, and its state. */
export class Control {
  /** @param {any} form @param {string} pointer @param {string} label @param {string} rule */
  constructor(form, pointer, label, rule) {
    this.form = form;
    this.pointer = pointer;
    this.label = label;
    this.name = `person${pointer.replace(/[^\w]/g, (one) => `-${one.codePointAt(0)}`)}`;
    this.rule = h("div", { class: "faint rule", id: `${this.name}-rule` }, rule);
    this.state = h("div", { class: "rule", role: "status" });
    this.fault = h("div", { class: "note bad", id: `${this.name}-fault`, role: "alert" });
    this.element = h("div", { class: "edit" });
    this.local = "";
  }
  get stored() {
    return valueAt(this.form.own, this.pointer);
  }
  get now() {
    return valueAt(this.form.next, this.pointer);
  }
  get changed() {
    return this.form.differs(this.pointer);
  }
  set(/** @type {any} */ value) {
    this.form.put(this.pointer, value);
    this.say("");
    this.mark();
  }
  /** Shows a fault in its place; none if the text is empty. */
  say(/** @type {string} */ text) {
    fill(this.fault, text);
    for (const box of this.element.querySelectorAll("input, select"))
      if (text) box.setAttribute("aria-invalid", "true");
      else box.removeAttribute("aria-invalid");
  }
  /** Shows whether the value is changed or removed. */
  mark() {
    const { stored, changed } = this;
    const gone = changed && isNone(this.now);
    this.element.classList.toggle("changed", changed && !gone);
    this.element.classList.toggle("cleared", gone);
    const before = isNone(stored) ? "nothing" : this.words(stored);
    const was = h("del", { dir: "auto" }, short(before, 80));
    fill(this.state, gone ? ["Removed when you save: ", was] : changed && ["Was: ", was]);
  }
  /** A value as a text. */
  words(/** @type {any} */ value) {
    return String(value);
  }
  /** A button of this field, by a word and the name of the field for those who do not see it. */
  small(/** @type {string} */ word, /** @type {()=>void} */ work) {
    const props = { type: "button", class: "plain", "aria-label": `${word} ${this.label}` };
    return h("button", { ...props, onclick: work }, word);
  }
  /** Where the cursor goes if this field has a fault. */
  focus() {
    this.element.querySelector("input, select, button")?.focus();
  }
}

const isNone = (/** @type {any} */ value) =>
  value === undefined || value === null || (Array.isArray(value) && !value.length);

/** One value: a text, a number, yes or no, or a time. */
export class OneValue extends Control {
  /**
   * @param {any} form @param {string} pointer @param {string} label @param {Kind} kind
   * @param {string} rule
   */
  constructor(form, pointer, label, kind, rule) {
    super(form, pointer, label, rule);
    this.kind = KINDS[kind];
    const described = `${this.name}-rule ${this.name}-fault`;
    const change = () => this.typed();
    const props = { id: this.name, "aria-describedby": described, oninput: change };
    this.box = this.kind.make(props);
    this.clear = this.small("Clear", () => this.put(undefined));
    this.undo = this.small("Undo", () => this.put(this.stored));
    this.element.append(
      h("label", { for: this.name }, label),
      h(
        "div",
        null,
        h("div", { class: "control" }, this.box, this.clear, this.undo),
        this.rule,
        this.state,
        this.fault,
      ),
    );
    this.show();
  }
  show() {
    const { now } = this;
    this.box.value = isNone(now) ? "" : this.kind.show(now);
    this.mark();
  }
  typed() {
    const { box } = this;
    this.local = "";
    try {
      if (box.validity.badInput) throw new Error("this has to be a day and a time");
      this.set(box.value === "" ? undefined : this.kind.read(box));
    } catch (error) {
      this.local = /** @type {any} */ (error).message;
      this.say(this.local);
    }
  }
  put(/** @type {any} */ value) {
    this.local = "";
    this.set(value);
    this.show();
    this.box.focus();
  }
  words(/** @type {any} */ value) {
    if (typeof value === "boolean") return value ? "yes" : "no";
    return this.kind === KINDS.time ? localTime(value).replace("T", " ") : String(value);
  }
  mark() {
    super.mark();
    this.clear.hidden = isNone(this.now);
    this.undo.hidden = !this.changed;
  }
}

/** A list whose items are drawn one by one. */
class Items extends Control {
  /**
   * @param {any} form @param {string} pointer @param {string} label @param {string} rule
   * @param {string} one
   */
  constructor(form, pointer, label, rule, one) {
    super(form, pointer, label, rule);
    this.one = one;
    this.rows = h("div");
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", label);
    this.undo = this.small("Undo", () => this.put(this.stored ?? []));
    const add = h("button", { type: "button", class: "plain" }, `Add ${one}`);
    add.addEventListener("click", () => {
      this.put([...this.items, this.fresh()]);
      [...this.rows.querySelectorAll("input")].pop()?.focus();
    });
    this.element.append(
      h("span", { class: "name" }, label),
      h(
        "div",
        null,
        this.rows,
        h("div", { class: "control" }, add, this.undo),
        this.rule,
        this.state,
        this.fault,
      ),
    );
  }
  /** @returns {any[]} */
  get items() {
    return Array.isArray(this.now) ? this.now : [];
  }
  put(/** @type {any[]} */ items) {
    this.set(items.length ? items : undefined);
    this.show();
  }
  replace(/** @type {number} */ at, /** @type {any} */ item) {
    this.faults[at] && fill(this.faults[at]);
    this.set(this.items.map((one, n) => (n === at ? item : one)));
  }
  show() {
    this.faults = this.items.map(() => h("div", { class: "note bad", role: "alert" }));
    fill(
      this.rows,
      this.items.map((item, at) =>
        h(
          "div",
          { class: "item" },
          h("div", { class: "control" }, this.draw(item, at), this.removal(at)),
          this.faults[at],
        ),
      ),
    );
    this.mark();
  }
  removal(/** @type {number} */ at) {
    const work = () => {
      this.put(this.items.filter((_, n) => n !== at));
      const boxes = this.rows.querySelectorAll("input");
      (boxes[Math.min(at, boxes.length - 1)] ?? this.element.querySelector("button")).focus();
    };
    const label = `Remove ${this.one} ${at + 1}`;
    return h(
      "button",
      { type: "button", class: "plain", "aria-label": label, onclick: work },
      "Remove",
    );
  }
  sayAt(/** @type {number} */ at, /** @type {string} */ text) {
    const place = this.faults[at];
    if (!place) return this.say(text);
    fill(place, text);
    place.parentElement.querySelector("input").setAttribute("aria-invalid", "true");
  }
  say(/** @type {string} */ text) {
    super.say(text);
    if (!text) for (const place of this.faults) fill(place);
  }
  mark() {
    super.mark();
    this.undo.hidden = !this.changed;
  }
  faults = /** @type {any[]} */ ([]);
  fresh() {
    return /** @type {any} */ ("");
  }
  /** @param {any} item @param {number} at @returns {any} */
  draw(item, at) {
    return input({
      value: String(item),
      "aria-label": `${capital(this.one)} ${at + 1}`,
      oninput: (/** @type {any} */ event) => this.replace(at, event.target.value),
    });
  }
  words(/** @type {any[]} */ items) {
    return items.map(String).join(", ");
  }
}
const capital = (/** @type {string} */ text) => text[0].toUpperCase() + text.slice(1);

export class Tags extends Items {
  /** @param {any} form @param {string} rule */
  constructor(form, rule) {
    super(form, "/tags", fieldName("tags"), rule, "tag");
    this.show();
  }
}

/** Identities, each with a type and a value. Its other members stay. */
export class Identities extends Items {
  /** @param {any} form @param {string} rule */
  constructor(form, rule) {
    super(form, "/identities", fieldName("identities"), rule, "identity");
    this.show();
  }
  fresh() {
    return { email: "" };
  }
  words(/** @type {any[]} */ items) {
    return items.map((one) => `${fieldName(typeOf(one))} ${one[typeOf(one)] ?? ""}`).join(", ");
  }
  /** @param {any} item @param {number} at */
  draw(item, at) {
    const box = input({
      value: String(item[typeOf(item)] ?? ""),
      "aria-label": `Identity ${at + 1}`,
    });
    const type = select(Object.fromEntries(TYPES.map((one) => [one, fieldName(one)])), {
      value: typeOf(item),
      "aria-label": `Type of identity ${at + 1}`,
    });
    const change = () => {
      const now = this.items[at];
      const others = Object.entries(now).filter(([name]) => name !== typeOf(now));
      this.replace(at, { [type.value]: box.value, ...Object.fromEntries(others) });
    };
    type.addEventListener("change", change);
    box.addEventListener("input", change);
    return [type, box];
  }
}
const typeOf = (/** @type {any} */ item) => TYPES.find((type) => type in item) ?? TYPES[0];

/** Custom fields: those that are there, each with the type of its value, and new ones. */
export class CustomFields {
  constructor(/** @type {any} */ form) {
    this.form = form;
    this.controls = /** @type {Map<string, OneValue>} */ (new Map());
    this.list = h("div");
    const key = input({ "aria-label": "Name of a new custom field", placeholder: "Name" });
    const kind = select({ text: "text", number: "number" }, { "aria-label": "Its type" });
    const add = () => {
      if (!key.value.trim()) return key.focus();
      const control = this.control(key.value.trim(), kind.value);
      key.value = "";
      return control.box.focus();
    };
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      add();
    };
    key.addEventListener("keydown", pressed);
    const button = h("button", { type: "button", onclick: add }, "Add a custom field");
    this.element = h(
      "section",
      { "aria-label": "Custom fields" },
      h("h2", null, fieldName("custom_fields")),
      this.list,
      h("div", { class: "row" }, key, kind, button),
    );
    const known = { ...form.own.custom_fields, ...form.next.custom_fields };
    for (const [name, value] of Object.entries(known))
      this.control(name, typeof value === "string" ? "text" : "number");
  }
  /** The control of a custom field. @param {string} key @param {Kind} kind @returns {OneValue} */
  control(key, kind) {
    const pointer = `/custom_fields/${part(key)}`;
    const found = this.controls.get(pointer);
    if (found) return found;
    const rule = kind === "number" ? "A number, such as 12 or 3.5." : "A text.";
    const made = new OneValue(this.form, pointer, key, kind, rule);
    this.controls.set(pointer, made);
    this.list.append(made.element);
    this.form.controls.set(pointer, made);
    return made;
  }
}

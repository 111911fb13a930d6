// A list of values to choose from: each with its name and a count. Typed text narrows it. A click
// chooses a value and is done; boxes choose several.
import { count, short } from "./format.js";
import { input } from "./ui.js";
import { fill, h } from "./view.js";

/** Values that are drawn; typed text finds the others. */
const SHOWN_MAX = 100;

/** @typedef {{value:string, name:string, count?:number}} Option */

export class ValueList {
  /**
   * `alone` is a value that goes with no other one; `free` makes a value of typed text.
   * @param {{several:boolean, alone?:string, free?:(text:string)=>string|null,
   *   chosen:string[]}} options
   */
  constructor({ several, alone, free, chosen }) {
    this.several = several;
    this.alone = alone;
    this.free = free;
    this.chosen = chosen;
    this.options = /** @type {Option[]|null} */ (null);
    this.words = "";
    /** Whether Enter was pressed before the values were there. */
    this.entered = false;
    this.typed = input({ "aria-label": "Find a value", placeholder: "Type to find a value" });
    this.list = h("ul", { class: "values", "aria-label": "Values" });
    this.said = h("div", { class: "faint", role: "status" }, "Counting…");
    this.element = h("div", { class: "field" }, this.typed, this.list, this.said);
    this.typed.addEventListener("input", () => this.draw());
    this.element.addEventListener("keydown", (/** @type {any} */ event) => this.pressed(event));
  }
  focus() {
    this.typed.focus();
  }
  /** @param {Option[]} options @param {string} said */
  set(options, said) {
    this.options = options;
    this.words = said;
    this.draw();
    if (this.entered) this.pickFirst();
  }
  /** The values that the typed text leaves, the chosen ones first. */
  found() {
    const words = this.typed.value.trim().toLowerCase();
    const options = /** @type {Option[]} */ (this.options ?? []);
    const known = new Set(options.map((one) => one.value));
    const left = [
      ...this.chosen.filter((value) => !known.has(value)).map((value) => ({ value, name: value })),
      ...options,
    ].filter(({ name, value }) => `${name}\n${value}`.toLowerCase().includes(words));
    const typed = this.typed.value.trim();
    const made = typed && this.free?.(typed);
    if (made && !left.some(({ value, name }) => value === made || name === typed))
      left.push({ value: made, name: typed });
    return /** @type {Option[]} */ (left);
  }
  draw() {
    const found = this.found();
    fill(
      this.list,
      found.slice(0, SHOWN_MAX).map((one) => this.row(one)),
    );
    const more = found.length - SHOWN_MAX;
    if (this.options)
      fill(
        this.said,
        !found.length && "No value has this in its name. ",
        more > 0 && `${count(more)} more: type a part of their names. `,
        this.words,
      );
  }
  row(/** @type {Option} */ { value, name, count: n }) {
    const on = this.chosen.includes(value);
    const shown = short(name, 120) || "(empty)";
    const box = {
      type: "checkbox",
      "aria-label": `Choose ${shown} with others`,
      onchange: () => this.toggle(value),
      checked: on,
    };
    const props = {
      type: "button",
      class: "value",
      "data-on": on,
      onclick: () => this.pick(value),
    };
    return h(
      "li",
      null,
      this.several && h("input", box),
      h(
        "button",
        props,
        h("span", { class: "clip", dir: "auto" }, shown),
        h("span", { class: "faint" }, count(n)),
      ),
    );
  }
  toggle(/** @type {string} */ value) {
    const { chosen, alone } = this;
    if (chosen.includes(value)) this.chosen = chosen.filter((one) => one !== value);
    else if (value === alone || !this.several) this.chosen = [value];
    else this.chosen = [...chosen.filter((one) => one !== alone), value];
    if (value === alone || chosen.includes(alone ?? "")) this.draw();
  }
  /** Chooses a value, also one that has its box ticked, and is done. */
  pick(/** @type {string} */ value) {
    if (!this.chosen.includes(value)) this.toggle(value);
    this.element.closest("form")?.requestSubmit();
  }
  pressed(/** @type {KeyboardEvent} */ event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const stops = [this.typed, ...this.list.querySelectorAll("button")];
      const row = /** @type {any} */ (event.target).closest("li")?.querySelector("button");
      stops[stops.indexOf(row ?? this.typed) + step]?.focus();
    }
    if (event.key !== "Enter" || event.target !== this.typed || event.isComposing) return;
    // An empty field applies what is ticked.
    if (!this.typed.value.trim()) return;
    event.preventDefault();
    this.entered = !this.options;
    if (this.options) this.pickFirst();
  }
  pickFirst() {
    const [first] = this.found();
    this.entered = false;
    if (first) this.pick(first.value);
  }
}

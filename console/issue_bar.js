// What is above the list of issues: the search, which acts while a person types, state and order,
// the filters that are set, and what of the address cannot be used.
import { STATE_OPTIONS, short } from "./format.js";
import { FILTERS, SORTS, chipsOf, meaningOf, sortOf } from "./issue_filters.js";
import { nameIn, namesOf } from "./issue_names.js";
import { button, input, refused, select } from "./ui.js";
import { fill, h, update } from "./view.js";

/** So long after the last key a search begins by itself. */
const QUIET_MS = 300;

export class IssueBar {
  /**
   * `go` shows another address; `search` does so in the place of this one.
   * @param {{signal:AbortSignal, go:(next:URLSearchParams)=>void,
   *   search:(next:URLSearchParams)=>Promise<void>}} options
   */
  constructor({ signal, go, search }) {
    this.signal = signal;
    this.go = go;
    this.find = search;
    this.params = new URLSearchParams();
    this.waiting = /** @type {any} */ (0);
    this.names = /** @type {Record<string, any>} */ ({});
    this.search = input({
      type: "search",
      "aria-label": "Search issues",
      placeholder: "Words in title, messages, notes  ( / )",
      oninput: () => this.typed(),
    });
    this.chips = h("div", { class: "chips" });
    this.faults = h("div", { role: "status" });
    this.choices = h("div", { class: "choices" });
    const form = h(
      "form",
      { class: "row filters", role: "search", onsubmit: (/** @type {any} */ e) => this.entered(e) },
      this.search,
      this.choices,
      button("Add a filter", () => this.choose()),
      this.chips,
    );
    this.element = h("div", null, form, this.faults);
    signal.addEventListener("abort", () => clearTimeout(this.waiting));
  }
  /** Shows what an address has. What a person types just now stays. */
  draw(/** @type {URLSearchParams} */ params) {
    this.params = params;
    if (!this.waiting && document.activeElement !== this.search)
      this.search.value = params.get("text") ?? "";
    const state = params.get("state") ?? "";
    const states = { ...STATE_OPTIONS, ...(state in STATE_OPTIONS ? {} : { [state]: "Several" }) };
    fill(
      this.choices,
      select(states, {
        "aria-label": "State",
        value: state,
        onchange: (/** @type {any} */ event) => this.set("state", event.target.value),
      }),
      select(SORTS, {
        "aria-label": "Order",
        value: sortOf(params),
        onchange: (/** @type {any} */ event) => this.set("sort", event.target.value),
      }),
    );
    this.drawChips();
    this.drawFaults();
    this.nameChips().catch(refused);
  }
  /** Reads the names of the values that are set, then shows them. */
  async nameChips() {
    const groups = [...this.params.keys()].map((name) => FILTERS[name]?.group ?? "");
    for (const group of new Set(groups)) {
      if (!group || this.names[group]) continue;
      this.names[group] = await namesOf(group);
      this.drawChips();
    }
  }
  drawChips() {
    const name = (/** @type {string} */ filter, /** @type {string} */ value) =>
      nameIn(this.names[FILTERS[filter].group ?? ""], filter, value);
    const chips = chipsOf(this.params, name);
    update(this.chips, chips, () => chips.map((chip) => this.chip(chip)));
  }
  /** A filter that is set, and the button that removes it. */
  chip(/** @type {import("./issue_filters.js").Chip} */ { name, text, value, open }) {
    const shown = h("span", { class: "clip", dir: "auto", title: text }, short(text, 200));
    const change = {
      type: "button",
      class: "plain",
      title: "Choose other values",
      onclick: () => this.choose(name),
    };
    const remove = {
      type: "button",
      class: "plain",
      "aria-label": `Remove the filter ${short(text, 200)}`,
      onclick: () => this.set(name, value),
    };
    return h(
      "span",
      { class: "chip" },
      open ? h("button", change, shown) : shown,
      h("button", remove, "×"),
    );
  }
  drawFaults() {
    const { faults } = meaningOf(this.params);
    fill(
      this.faults,
      faults.map(({ name, text, value }) =>
        h(
          "div",
          { class: "row fault-note" },
          h("span", null, `Not used: ${text}.`),
          button("Remove it", () => this.set(name, value)),
        ),
      ),
    );
  }
  /** The address with another value of a parameter, or without it. */
  with(/** @type {string} */ name, /** @type {string} */ value) {
    const next = new URLSearchParams(this.params);
    if (value) next.set(name, value);
    else next.delete(name);
    return next;
  }
  set(/** @type {string} */ name, /** @type {string} */ value) {
    const next = this.with(name, value);
    // Words that were typed and not yet searched for.
    const text = this.search.value.trim();
    if (name !== "text" && text !== (next.get("text") ?? "")) {
      if (text) next.set("text", text);
      else next.delete("text");
    }
    this.params = next; // Another filter may be chosen before the list of this one is there.
    this.go(next);
  }
  async choose(name = "") {
    const { chooseFilter } = await import("./filter_panel.js");
    chooseFilter({
      params: this.params,
      signal: this.signal,
      field: name || undefined,
      set: (field, value) => this.set(field, value),
    });
  }
  typed() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.searchNow(), QUIET_MS);
  }
  entered(/** @type {any} */ event) {
    event.preventDefault();
    this.search.blur();
    this.searchNow();
  }
  searchNow() {
    clearTimeout(this.waiting);
    this.waiting = 0;
    const text = this.search.value.trim();
    if (text === (this.params.get("text") ?? "")) return;
    this.params = this.with("text", text);
    this.find(this.params).catch(refused);
  }
}

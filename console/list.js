// Long lists of which only the visible rows exist. Their rows may be higher together than a browser
// lets an element be. The element then has a height that is allowed, and its scroll bar shows the
// share of the whole. A short scroll moves the rows by as much as the element; a long one, with the
// scroll bar, goes to the same share.
import { fill, h } from "./view.js";

/** The largest height of an element, in pixels. Firefox allows 17.8 million, Chromium 33.5. */
const TALL = 8000000;
/** Rows that are drawn above and below those in view. */
const MORE = 8;
/** After a scroll of a very long list its scroll bar moves to the place. */
const SETTLE_MS = 150;

/** The place in a list that is shown, in pixels. */
export class Track {
  constructor(tall = TALL) {
    this.tallest = tall;
    /** All rows, and the part in view, in pixels. */
    this.whole = 0;
    this.view = 0;
    /** The first pixel in view: of all rows, and of the element. */
    this.top = 0;
    this.real = 0;
  }
  /** The height of the element. */
  get height() {
    return Math.min(this.whole, this.tallest);
  }
  /** Pixels of the rows for a pixel of the scroll bar. */
  get ratio() {
    return this.whole > this.tallest ? (this.whole - this.view) / (this.height - this.view) : 1;
  }
  /** What to subtract from the place of a row to get its place in the element. */
  get offset() {
    return this.top - this.real;
  }
  /** Where the element belongs, so that its scroll bar shows the place. */
  get settled() {
    return Math.round(this.top / this.ratio);
  }
  /** Whether the element has to be moved there now, because it would end before the rows do. */
  get stuck() {
    if (this.ratio === 1 || this.real === this.settled) return false;
    const free = this.height - this.view;
    return (
      this.real < this.view ||
      this.real > free - this.view ||
      this.top === 0 ||
      this.top === this.whole - this.view
    );
  }
  /** @param {number} whole @param {number} view */
  resize(whole, view) {
    this.whole = whole;
    this.view = view;
    this.go(this.top);
  }
  /** The element was scrolled. @param {number} real */
  scrolled(real) {
    const by = real - this.real;
    this.real = real;
    this.go(Math.abs(by) > 2 * this.view ? real * this.ratio : this.top + by);
  }
  /** Shows this pixel of the rows first. @param {number} top */
  go(top) {
    this.top = Math.round(Math.max(0, Math.min(top, this.whole - this.view)));
    if (this.ratio === 1) this.real = this.top;
  }
}

/**
 * Which rows a window of a list shows.
 * @param {number} count @param {number} height of a row @param {number} top @param {number} view
 */
export function visible(count, height, top, view, more = MORE) {
  const first = Math.max(0, Math.floor(top / height) - more);
  const last = Math.min(count, Math.ceil((top + view) / height) + more);
  return [Math.min(first, last), last];
}

/** The pixel and the row at which lists were left, by their names, the last ones only. */
const places = /** @type {Map<string, {top:number, selected:number}>} */ (new Map());
const PLACES_MAX = 50;

/** The list of this name comes back with another row selected, which is in view. */
export function leftAt(/** @type {string} */ name, /** @type {number} */ selected) {
  const left = places.get(name);
  if (left) places.set(name, { ...left, selected });
}

/** Rows by which a key moves the selection. */
const STEPS = /** @type {Record<string, number>} */ ({
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 20,
  PageUp: -20,
  Home: -Infinity,
  End: Infinity,
});

/**
 * @typedef {{length:number, at:(place:number)=>any}} Items
 * @typedef {{height:number, label:string, row:(item:any, at:number)=>any, missing?:()=>void,
 *   open?:(item:any)=>void, name?:string, returning?:boolean, head?:any,
 *   headHeight?:number}} Options
 */

/**
 * A list of rows of one height. Only those in view are in the document. Its items are an array, or
 * anything that has a length and gives an item by its place; of an item that is not there yet
 * `missing` is called with the places in view. With `returning` it begins at the place
 * at which the list of this name was left. With a `head` it is a table: the head is a row that
 * stays in view, and `row` makes rows of cells.
 * @param {Options} options
 */
export const longList = (options) => new LongList(options);

class LongList {
  constructor(/** @type {Options} */ options) {
    const { name, returning, label, head } = options;
    this.options = options;
    this.items = /** @type {Items} */ ([]);
    this.at = -1;
    /** Identifies the rows that were drawn last. */
    this.shown = "";
    this.settling = /** @type {any} */ (0);
    this.waiting = false;
    /** The place to come back to, until it is shown. */
    this.back = returning && name !== undefined ? places.get(name) : undefined;
    this.track = new Track();
    this.inside = h("div", { class: "rows", role: head ? "rowgroup" : "presentation" });
    this.element = h(
      "div",
      { class: "long-list", role: head ? "grid" : "listbox", tabindex: 0, "aria-label": label },
      head,
      this.inside,
    );
    this.element.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.element.addEventListener("keydown", (/** @type {any} */ event) => this.pressed(event));
    if (globalThis.ResizeObserver)
      new ResizeObserver(() => {
        this.comeBack();
        this.draw();
      }).observe(this.element);
  }
  get selected() {
    return this.items.at(this.at);
  }
  /** The places of the rows in view. */
  seen = () => visible(this.items.length, this.options.height, this.track.top, this.track.view);

  /** The height of the rows in view, below the head. */
  get room() {
    return this.element.clientHeight - (this.options.headHeight ?? 0);
  }
  draw(force = false) {
    const { track, items, at, options } = this;
    track.resize(items.length * options.height, this.room > 0 ? this.room : 800);
    if (this.back) track.go(this.back.top);
    const [first, last] = this.seen();
    const now = `${first} ${last} ${at} ${items.length} ${track.offset}`;
    if (now === this.shown && !force) return;
    this.shown = now;
    this.remember();
    this.inside.style.height = `${track.height}px`;
    const inView = Array.from({ length: last - first }, (_, n) => first + n);
    fill(
      this.inside,
      inView.map((place) => this.row(place)),
    );
    if (at >= first && at < last) this.element.setAttribute("aria-activedescendant", `row-${at}`);
    else this.element.removeAttribute("aria-activedescendant");
    if (inView.some((place) => items.at(place) === undefined)) options.missing?.();
  }
  row(/** @type {number} */ at) {
    const { items, options, track } = this;
    const item = items.at(at);
    const gap = item === null ? "no longer in the list" : "…";
    const none = options.head ? h("span", { role: "gridcell" }, gap) : gap;
    const element = item ? options.row(item, at) : h("div", { class: "faint gap" }, none);
    element.style.top = `${at * options.height - track.offset}px`;
    element.style.height = `${options.height}px`;
    element.setAttribute("role", options.head ? "row" : "option");
    element.id = `row-${at}`;
    if (options.head) element.setAttribute("aria-rowindex", String(at + 2));
    else {
      element.setAttribute("aria-setsize", String(items.length));
      element.setAttribute("aria-posinset", String(at + 1));
    }
    element.setAttribute("aria-selected", String(at === this.at));
    return element;
  }
  /** Keeps the place for a list of the same name. */
  remember() {
    const { name } = this.options;
    if (name === undefined || this.back) return;
    places.delete(name);
    places.set(name, { top: this.track.top, selected: this.at });
    if (places.size > PLACES_MAX) places.delete([...places.keys()][0]);
  }
  /** Moves the element to where its scroll bar shows the place. */
  settle() {
    this.element.scrollTop = this.track.settled;
    this.track.real = this.element.scrollTop;
    this.draw();
  }
  scrolled() {
    const { track } = this;
    track.scrolled(this.element.scrollTop);
    this.draw();
    clearTimeout(this.settling);
    if (track.stuck) this.settle();
    else if (track.ratio > 1) this.settling = setTimeout(() => this.settle(), SETTLE_MS);
  }
  pressed(/** @type {KeyboardEvent} */ event) {
    // With Ctrl, Enter is the main button of the screen.
    if (event.target !== this.element || event.ctrlKey || event.metaKey) return;
    const step = STEPS[event.key];
    if (step) {
      event.preventDefault();
      this.move(step);
    }
    if (event.key === "Enter") {
      // A dialog that opens would get the key, too.
      event.preventDefault();
      event.stopPropagation();
      this.openSelected();
    }
  }
  /** Shows the place at which the list of this name was left, once the list is in the document. */
  comeBack() {
    const { back, track, items } = this;
    if (!back || !this.element.isConnected) return;
    this.at = Math.min(back.selected, items.length - 1);
    this.back = undefined;
    track.resize(items.length * this.options.height, this.room);
    this.inside.style.height = `${track.height}px`;
    track.go(back.top);
    this.show();
    this.settle();
  }
  /** While other items load, the rows stay, and keys and clicks do nothing. `set` ends that. */
  wait(/** @type {boolean} */ on) {
    this.waiting = on;
    this.inside.inert = on;
    this.element.setAttribute("aria-busy", String(on));
  }
  set(/** @type {Items} */ next) {
    this.items = next;
    this.wait(false);
    this.at = Math.min(this.at, next.length - 1);
    this.draw(true);
  }
  redraw() {
    this.draw(true);
  }
  /**
   * Shows items of which some are new and before the others. What is selected or was scrolled to
   * stays where it is. Returns whether it does.
   */
  grow(/** @type {Items} */ next, /** @type {number} */ more) {
    const { track } = this;
    const stays = this.at >= 0 || track.top > 0;
    this.items = next;
    if (this.at >= 0) this.at = Math.min(this.at + more, next.length - 1);
    this.draw(true);
    if (!stays || !more) return stays;
    track.go(track.top + more * this.options.height);
    this.settle();
    return true;
  }
  /** Shows the first rows, of which none is selected. */
  begin() {
    this.at = -1;
    this.track.go(0);
    this.settle();
  }
  /** Selects another row, and shows it. */
  move(/** @type {number} */ by) {
    const { items } = this;
    if (this.waiting || !items.length) return;
    // So that Enter opens the row, and not the button that was used before.
    this.element.focus({ preventScroll: true });
    this.at = Math.max(0, Math.min(items.length - 1, this.at + by));
    this.show();
    this.settle();
    this.draw(true);
  }
  /** Scrolls the selected row into view. */
  show() {
    const { track, at } = this;
    const { height } = this.options;
    if (at < 0) return;
    const top = at * height;
    if (top < track.top) track.go(top);
    else if (top + height > track.top + track.view) track.go(top + height - track.view);
  }
  /** Opens what is selected. If nothing is, that is the first row. */
  openSelected() {
    if (this.at < 0) this.move(1);
    const item = this.waiting || this.at < 0 ? null : this.selected;
    if (item) this.options.open?.(item);
  }
}

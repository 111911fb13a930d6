// Long lists of which only the visible rows exist. Their rows may be higher together than a browser
// lets an element be. The element then has a height that is allowed, and its scroll bar shows the share
// of the whole. A short scroll moves the rows by as much as the element; a long one, with the scroll
// bar, goes to the same share.
import { fill, h } from "./view.js";

/** The largest height of an element in pixels. Firefox allows 17.8 million, Chromium 33.5 million. */
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

/**
 * A list of rows of one height. Only those in view are in the document. Its items are an array, or
 * anything that has a length and gives an item by its place; of an item that is not there yet
 * `missing` is called with the places in view. With `returning` it begins at the place
 * at which the list of this name was left.
 * @param {{height:number, label:string, row:(item:any, at:number)=>any, missing?:()=>void,
 *   open?:(item:any)=>void, name?:string, returning?:boolean}} options
 */
export function longList({ height, label, row, missing, open, name, returning }) {
  let items = /** @type {{length:number, at:(place:number)=>any}} */ ([]);
  let selected = -1;
  let shown = "";
  let settling = /** @type {any} */ (0);
  let waiting = false;
  let back = returning && name !== undefined ? places.get(name) : undefined;
  const track = new Track();
  const inside = h("div", { class: "rows", role: "presentation" });
  const box = h(
    "div",
    { class: "long-list", role: "listbox", tabindex: 0, "aria-label": label },
    inside,
  );
  const seen = () => visible(items.length, height, track.top, track.view);
  function draw(force = false) {
    track.resize(items.length * height, box.clientHeight || 800);
    if (back) track.go(back.top);
    const [first, last] = seen();
    const now = `${first} ${last} ${selected} ${items.length} ${track.offset}`;
    if (now === shown && !force) return;
    shown = now;
    if (name !== undefined && !back) {
      places.delete(name);
      places.set(name, { top: track.top, selected });
      if (places.size > PLACES_MAX) places.delete([...places.keys()][0]);
    }
    inside.style.height = `${track.height}px`;
    const rows = [];
    let gaps = false;
    for (let at = first; at < last; at++) {
      const item = items.at(at);
      gaps ||= item === undefined;
      const element = item
        ? row(item, at)
        : h("div", { class: "faint gap" }, item === null ? "no longer in the list" : "…");
      element.style.top = `${at * height - track.offset}px`;
      element.style.height = `${height}px`;
      element.setAttribute("role", "option");
      element.id = `row-${at}`;
      element.setAttribute("aria-setsize", String(items.length));
      element.setAttribute("aria-posinset", String(at + 1));
      element.setAttribute("aria-selected", String(at === selected));
      rows.push(element);
    }
    fill(inside, rows);
    if (selected >= first && selected < last)
      box.setAttribute("aria-activedescendant", `row-${selected}`);
    else box.removeAttribute("aria-activedescendant");
    if (gaps) missing?.();
  }
  /** Moves the element to where its scroll bar shows the place. */
  function settle() {
    box.scrollTop = track.settled;
    track.real = box.scrollTop;
    draw();
  }
  box.addEventListener(
    "scroll",
    () => {
      track.scrolled(box.scrollTop);
      draw();
      clearTimeout(settling);
      if (track.stuck) settle();
      else if (track.ratio > 1) settling = setTimeout(settle, SETTLE_MS);
    },
    { passive: true },
  );
  box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.target !== box) return;
    const step = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: 20,
      PageUp: -20,
      Home: -Infinity,
      End: Infinity,
    }[event.key];
    if (step) {
      event.preventDefault();
      list.move(step);
    }
    if (event.key === "Enter") {
      // A dialog that opens would get the key, too.
      event.preventDefault();
      event.stopPropagation();
      list.openSelected();
    }
  });
  /** Shows the place at which the list of this name was left, once the list is in the document. */
  function comeBack() {
    if (!back || !box.isConnected) return;
    const { top } = back;
    selected = Math.min(back.selected, items.length - 1);
    back = undefined;
    track.resize(items.length * height, box.clientHeight);
    inside.style.height = `${track.height}px`;
    track.go(top);
    settle();
  }
  const resized =
    globalThis.ResizeObserver &&
    new ResizeObserver(() => {
      comeBack();
      draw();
    });
  resized?.observe(box);
  const list = {
    element: box,
    get selected() {
      return items.at(selected);
    },
    /** The places of the rows in view. */
    seen,
    /** While other items load, the rows stay, and keys and clicks do nothing. `set` ends that. */
    wait(/** @type {boolean} */ on) {
      waiting = on;
      inside.inert = on;
      box.setAttribute("aria-busy", String(on));
    },
    set(/** @type {typeof items} */ next) {
      items = next;
      list.wait(false);
      selected = Math.min(selected, items.length - 1);
      draw(true);
    },
    redraw: () => draw(true),
    /** Shows the first rows, of which none is selected. */
    begin() {
      selected = -1;
      track.go(0);
      settle();
    },
    move(/** @type {number} */ by) {
      if (waiting || !items.length) return;
      // So that Enter opens the row, and not the button that was used before.
      box.focus({ preventScroll: true });
      selected = Math.max(0, Math.min(items.length - 1, selected + by));
      const top = selected * height;
      if (top < track.top) track.go(top);
      else if (top + height > track.top + track.view) track.go(top + height - track.view);
      settle();
      draw(true);
    },
    openSelected() {
      const item = waiting || selected < 0 ? null : items.at(selected);
      if (item) open?.(item);
    },
  };
  return list;
}

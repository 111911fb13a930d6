// The view layer: elements from data, and long lists of which only the visible rows exist. Texts
// become text nodes and attributes are set by name, so that nothing of a record is ever markup.

/** Attributes that hold an address; other schemes than these are dropped. */
const ADDRESSES = new Set(["href", "src"]);
const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "rect", "g", "line", "text", "title", "circle"]);

/** @param {string} text */
export function isSafeAddress(text) {
  return !/^[\s\u0000-\u001f]*[a-z][a-z0-9+.-]*:/i.test(text) || /^(https?|blob):/i.test(text);
}

/**
 * An element. `on…` properties are listeners, `class`, `data-…`, `aria-…` and others attributes;
 * true sets an attribute, false, null and undefined leave it out.
 * @param {string} tag @param {Record<string, any>|null} [props] @param {...any} children
 * @returns {any}
 */
export function h(tag, props, ...children) {
  const isSvg = SVG_TAGS.has(tag) && !(tag === "title" && !props?.svg);
  const element = isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false || name === "svg") continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") /** @type {any} */ (element).value = value;
    else if (ADDRESSES.has(name) && !isSafeAddress(String(value))) continue;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  if (tag === "select" && props?.value !== undefined) /** @type {any} */ (element).value = props.value;
  return element;
}

/** @param {any} parent @param {any} child */
function add(parent, child) {
  if (child === null || child === undefined || child === false) return;
  if (Array.isArray(child)) for (const one of child) add(parent, one);
  else parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
}

/**
 * Replaces the contents of an element. If one of them had the focus, the new one that looks the same
 * gets it, so that a list that is drawn again leaves nobody who uses the keyboard at the beginning.
 * @param {any} element @param {...any} children
 */
export function fill(element, ...children) {
  const focused = document.activeElement !== element && element.contains(document.activeElement) ? /** @type {any} */ (document.activeElement) : null;
  element.replaceChildren();
  add(element, children);
  if (focused && !focused.isConnected) {
    const looks = (/** @type {any} */ one) => [one.tagName, one.getAttribute("href"), one.getAttribute("aria-label"), one.textContent].join("\n");
    const same = [...element.querySelectorAll(focused.tagName)].find((one) => looks(one) === looks(focused));
    same?.focus({ preventScroll: true });
  }
  return element;
}

/**
 * Which rows a window of a list shows.
 * @param {number} count @param {number} height of a row @param {number} top @param {number} view
 */
export function visible(count, height, top, view, more = 8) {
  const first = Math.max(0, Math.floor(top / height) - more);
  const last = Math.min(count, Math.ceil((top + view) / height) + more);
  return [Math.min(first, last), last];
}

/**
 * A list of rows of one height. Only those in view are in the document. `near` is called when the
 * last rows come into view.
 * @param {{height:number, label:string, row:(item:any, at:number)=>any, near?:()=>void,
 *   open?:(item:any)=>void}} options
 */
export function longList({ height, label, row, near, open }) {
  let items = /** @type {any[]} */ ([]);
  let selected = -1;
  let shown = "";
  const inside = h("div", { class: "rows", role: "presentation" });
  const box = h(
    "div",
    { class: "long-list", role: "listbox", tabindex: 0, "aria-label": label },
    inside,
  );
  function draw(force = false) {
    const [first, last] = visible(items.length, height, box.scrollTop, box.clientHeight || 800);
    const now = `${first} ${last} ${selected} ${items.length}`;
    if (now === shown && !force) return;
    shown = now;
    inside.style.height = `${items.length * height}px`;
    fill(
      inside,
      items.slice(first, last).map((item, offset) => {
        const at = first + offset;
        const element = row(item, at);
        element.style.top = `${at * height}px`;
        element.setAttribute("role", "option");
        element.id = `row-${at}`;
        element.setAttribute("aria-setsize", String(items.length));
        element.setAttribute("aria-posinset", String(at + 1));
        element.setAttribute("aria-selected", String(at === selected));
        return element;
      }),
    );
    if (selected >= first && selected < last) box.setAttribute("aria-activedescendant", `row-${selected}`);
    else box.removeAttribute("aria-activedescendant");
    if (near && last > items.length - 30) near();
  }
  box.addEventListener("scroll", () => draw(), { passive: true });
  box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.target !== box) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (step) {
      event.preventDefault();
      list.move(step);
    }
    if (event.key === "Enter") {
      event.stopPropagation();
      list.openSelected();
    }
  });
  const resized = globalThis.ResizeObserver && new ResizeObserver(() => draw());
  resized?.observe(box);
  const list = {
    element: box,
    get items() {
      return items;
    },
    get selected() {
      return items[selected];
    },
    set(/** @type {any[]} */ next) {
      items = next;
      selected = Math.min(selected, items.length - 1);
      draw(true);
    },
    redraw: () => draw(true),
    move(/** @type {number} */ by) {
      if (!items.length) return;
      // So that Enter opens the row, and not the button that was used before.
      box.focus({ preventScroll: true });
      selected = Math.max(0, Math.min(items.length - 1, selected + by));
      const top = selected * height;
      if (top < box.scrollTop) box.scrollTop = top;
      const below = top + height - box.clientHeight;
      if (below > box.scrollTop) box.scrollTop = below;
      draw(true);
    },
    openSelected() {
      if (items[selected]) open?.(items[selected]);
    },
  };
  return list;
}

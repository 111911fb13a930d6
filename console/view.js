// The view layer: elements from data. Texts become text nodes and attributes are set by name, so
// that nothing of a record is ever markup.

/** Attributes that hold an address; other schemes than these are dropped. */
const ADDRESSES = new Set(["href", "src"]);
const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "rect", "g", "line", "text", "title", "circle"]);

/** @param {string} text */
export function isSafeAddress(text) {
  return (
    !/^[\s\u0000-\u001f]*[a-z][a-z0-9+.-]*:/i.test(text) || /^(https?|blob|mailto):/i.test(text)
  );
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
  if (tag === "select" && props?.value !== undefined)
    /** @type {any} */ (element).value = props.value;
  return element;
}

/** @param {any} parent @param {any} child */
function add(parent, child) {
  if (child === null || child === undefined || child === false) return;
  if (Array.isArray(child)) for (const one of child) add(parent, one);
  else parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
}

/**
 * Replaces the contents of an element. If one of them had the focus, the new one that looks the
 * same gets it, so that a list that is drawn again leaves nobody who uses the keyboard at the
 * beginning.
 * @param {any} element @param {...any} children
 */
export function fill(element, ...children) {
  const focused =
    document.activeElement !== element && element.contains(document.activeElement)
      ? /** @type {any} */ (document.activeElement)
      : null;
  element.replaceChildren();
  add(element, children);
  if (focused && !focused.isConnected) {
    const looks = (/** @type {any} */ one) =>
      [one.tagName, one.getAttribute("href"), one.getAttribute("aria-label"), one.textContent].join(
        "\n",
      );
    const same = [...element.querySelectorAll(focused.tagName)].find(
      (one) => looks(one) === looks(focused),
    );
    same?.focus({ preventScroll: true });
  }
  return element;
}

/** What `update` drew last, by element, and what waits until nothing is pressed. */
const drawn = new WeakMap();
const later = new Map();
let pressed = false;
globalThis.addEventListener?.("pointerdown", () => (pressed = true), true);
for (const type of ["pointerup", "pointercancel"]) {
  // After the click that follows.
  globalThis.addEventListener?.(
    type,
    () =>
      setTimeout(() => {
        pressed = false;
        const waiting = [...later];
        later.clear();
        for (const [element, [data, draw]] of waiting) update(element, data, draw);
      }),
    true,
  );
}

/**
 * Draws what is shown of some data that come again and again: only if they are others than before,
 * and not while a button of the pointer is down, because a press of something that goes away is
 * lost.
 * @param {any} element @param {any} data @param {()=>any} draw
 */
export function update(element, data, draw) {
  const now = JSON.stringify(data);
  if (drawn.get(element) === now) return;
  if (pressed && element.isConnected) {
    later.set(element, [data, draw]);
    return;
  }
  drawn.set(element, now);
  fill(element, draw());
}

// Named views: lists with filters that the server stores for all of the domain or for one key. They
// are links in the navigation, with how many records each has. The list makes and changes them.
import { call, can, query as queryOf, v1 } from "./api.js";
import { count } from "./format.js";
import { meaningOf } from "./issue_filters.js";
import { button, dialog, field, input, notice, select } from "./ui.js";
import { fill, h } from "./view.js";

/** So long the views and their counts are taken as they are. */
const FRESH_MS = 30000;
/** Views that are counted, the first ones of the navigation. */
const COUNTED = 10;
const NAME_MAX = 80;

/**
 * A view, as the server stores it.
 * @typedef {{id:string, name:string, list:string, query:string, scope:string}} View
 */
let views = /** @type {View[]} */ ([]);
let counts = /** @type {Map<string, number>} */ (new Map());
/** When they were read, and whether they are there. */
let read = 0;
let loaded = false;
let changed = () => {};
/** Bars that are on the screen and show the view of their address. */
const bars = /** @type {Set<ViewBar>} */ (new Set());

function forget() {
  views = [];
  counts = new Map();
  [read, loaded] = [0, false];
}
for (const type of ["forget", "signed-out"]) globalThis.addEventListener?.(type, forget);

/** `draw` draws the navigation, and is called when the views or their counts are others. */
export const watch = (/** @type {()=>void} */ draw) => (changed = draw);

/** Reads the views and counts them, unless that was done just now. */
export async function refresh(now = false) {
  if (!now && Date.now() - read < FRESH_MS) return;
  const begun = Date.now();
  read = begun;
  try {
    views = (await call("GET", v1("views"), { quiet: true })).views;
    loaded = true;
    tell();
    for (const view of views.filter((one) => one.list === "issues").slice(0, COUNTED)) {
      const { filters } = meaningOf(new URLSearchParams(view.query));
      const wanted = { ...filters, "page-size": 1, excludes: ["messages"] };
      // A view that the server refuses says so when it is opened.
      const found = await call("GET", v1(`issues${queryOf(wanted)}`), { quiet: true }).catch(
        () => null,
      );
      if (read !== begun) return;
      if (found) counts.set(view.id, found["total-hits"]);
      else counts.delete(view.id);
    }
    changed();
  } catch (error) {
    read = 0;
    throw error;
  }
}

function tell() {
  changed();
  for (const bar of bars) bar.draw(bar.params);
}

/** The address of a view. */
export const addressOf = (/** @type {View} */ { id, list, query }) =>
  `${list}?${new URLSearchParams([...new URLSearchParams(query), ["view", id]])}`;

/** The address of a view by its number in the navigation, the first one is 1. */
export const placeOf = (/** @type {number} */ n) => views[n - 1] && addressOf(views[n - 1]);

/** The views and their counts, as the links show them. */
export const known = () => [views, [...counts]];

/** The links to the views of a list. @param {string} list @param {string|null} current an id */
export const linksOf = (list, current) =>
  views
    .filter((view) => view.list === list)
    .map((view) => ({ view, n: views.indexOf(view) + 1 }))
    .map(({ view, n }) =>
      h(
        "a",
        {
          href: `#/${addressOf(view)}`,
          class: "view",
          title: [view.name, view.scope === "key" && "(only for you)", n < 10 && ` ( g ${n} )`]
            .filter(Boolean)
            .join(" "),
          "aria-current": view.id === current && "page",
        },
        h("span", { class: "clip", dir: "auto" }, view.name),
        h("span", { class: "faint" }, count(counts.get(view.id))),
      ),
    );

/** The query of an address without its view. */
export function storedQuery(/** @type {URLSearchParams} */ params) {
  const own = new URLSearchParams(params);
  own.delete("view");
  return own.toString();
}
/** Whether two queries mean the same list. @param {string} a @param {string} b */
export function sameQuery(a, b) {
  const [one, other] = [a, b].map((text) => {
    const params = new URLSearchParams(text);
    params.sort();
    return params.toString();
  });
  return one === other;
}

/** What a list offers for views: to save one, or to rename, update and delete the present one. */
export class ViewBar {
  /**
   * @param {{list:string, signal:AbortSignal, go:(path:string)=>void}} options
   */
  constructor({ list, signal, go }) {
    this.list = list;
    this.go = go;
    this.params = new URLSearchParams();
    this.element = h("div", { class: "row view-bar" });
    bars.add(this);
    signal.addEventListener("abort", () => bars.delete(this));
  }
  draw(/** @type {URLSearchParams} */ params) {
    this.params = params;
    const id = params.get("view");
    const view = views.find((one) => one.id === id);
    const query = storedQuery(params);
    fill(
      this.element,
      view && this.present(view, query),
      id && !view && loaded && h("span", { class: "faint" }, "This view was deleted."),
      query && (!view || !sameQuery(query, view.query)) && this.saver(query),
    );
  }
  saver(/** @type {string} */ query) {
    return button("Save as a view", () => this.save(query));
  }
  present(/** @type {View} */ view, /** @type {string} */ query) {
    const mine = view.scope === "key" || can("write");
    const other = !sameQuery(query, view.query);
    const whose = view.scope === "key" ? "only for you" : "for everyone";
    return [
      h("b", { dir: "auto" }, view.name),
      h("span", { class: "faint" }, other ? `${whose}, with other filters now` : whose),
      other && mine && button("Update the view", () => this.update(view, query)),
      other && h("a", { href: `#/${addressOf(view)}` }, "Back to the view"),
      mine && button("Rename", () => this.rename(view)),
      mine && button("Delete", () => this.remove(view), { class: "danger" }),
    ];
  }
  /** Saves the list, if it has filters that no view has. */
  saveNow() {
    const query = storedQuery(this.params);
    const view = views.find((one) => one.id === this.params.get("view"));
    if (query && !(view && sameQuery(query, view.query))) return this.save(query);
    return notice(query ? "The view has these filters." : "Set a filter, then save it as a view.");
  }
  async save(/** @type {string} */ query) {
    const name = input({ required: true, maxlength: NAME_MAX });
    const scope = select(
      can("write")
        ? { domain: "everyone of the domain", key: "only me, with this key" }
        : { key: "only me, with this key" },
    );
    const made = await dialog("Save as a view", [field("Name", name), field("For", scope)], {
      label: "Save",
      work: () =>
        call("POST", v1("views"), {
          body: { name: name.value.trim(), list: this.list, query, scope: scope.value },
        }),
    });
    if (!made) return;
    views = [...views, made].sort((a, b) => a.name.localeCompare(b.name));
    tell();
    this.again();
    this.go(addressOf(made));
  }
  async update(/** @type {View} */ view, /** @type {string} */ query) {
    this.put(await call("PUT", v1(`views/${view.id}`), { body: { query } }));
    notice(`The view ${view.name} has these filters now.`, "good");
  }
  async rename(/** @type {View} */ view) {
    const name = input({ required: true, maxlength: NAME_MAX, value: view.name });
    const work = () => call("PUT", v1(`views/${view.id}`), { body: { name: name.value.trim() } });
    const made = await dialog("Rename the view", field("Name", name), { label: "Rename", work });
    if (made) this.put(made);
  }
  async remove(/** @type {View} */ view) {
    const whose = view.scope === "key" ? "" : " It goes away for everyone of the domain.";
    const text = h("p", null, h("b", { dir: "auto" }, view.name), `: no issue is changed.${whose}`);
    const work = () => call("DELETE", v1(`views/${view.id}`));
    const options = { label: "Delete the view", kind: "danger", work };
    if (!(await dialog("Delete the view?", text, options))) return;
    views = views.filter((one) => one.id !== view.id);
    changed();
    const query = storedQuery(this.params);
    this.go(`${this.list}${query && `?${query}`}`);
    notice(`The view ${view.name} is deleted.`);
  }
  put(/** @type {View} */ view) {
    views = views.map((one) => (one.id === view.id ? view : one));
    tell();
    this.again();
  }
  /** Counts again, also if that was done just now. */
  again() {
    refresh(true).catch(() => {});
  }
}

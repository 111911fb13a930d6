// Imports, one row for a file, and the tasks that belong to none: those of both families, newest
// first, with filters in the address.
import { latest, screenOf } from "./api.js";
import { ACTIONS } from "./actions.js";
import { choicesOf, count } from "./format.js";
import { cellsOf, empty, head, select, table } from "./ui.js";
import { fill, h, update } from "./view.js";

const PAGE = 50;
const FILTERS = {
  action: [...Object.keys(ACTIONS), "erase_person"],
  status: ["created", "queued", "processing", "completed"],
  outcome: ["succeeded", "completed_with_errors", "failed", "cancelled"],
};
const LABELS = /** @type {Record<string, string>} */ ({
  action: "Action",
  status: "State",
  outcome: "Outcome",
});
const REFRESH_MS = 3000;

export default async function imports(/** @type {any} */ context) {
  const { go, keys, leaving } = context;
  const screen = new ImportsScreen(context);
  keys({
    j: () => screen.move(1),
    k: () => screen.move(-1),
    Enter: () => {
      const record = screen.found[Math.max(0, screen.selected)];
      if (record) go(screenOf(record));
    },
  });
  await screen.draw();
  const timer = setInterval(() => screen.refresh(), REFRESH_MS);
  leaving(() => clearInterval(timer));
  const link = h("a", { class: "button primary", href: "#/new-import" }, "New import");
  return [head(["Imports ", screen.heading], link), screen.filtersOf(), screen.body];
}

class ImportsScreen {
  constructor(/** @type {any} */ { params, signal, go }) {
    this.params = /** @type {URLSearchParams} */ (params);
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
    this.page = Number(params.get("page") ?? 1);
    this.body = h("div");
    this.heading = h("span", { class: "number", role: "status" });
    this.selected = -1;
    this.found = /** @type {any[]} */ ([]);
  }
  /** Shows the list with another value of a filter, or without it. */
  set(/** @type {string} */ name, /** @type {any} */ value) {
    const next = new URLSearchParams(this.params);
    if (name !== "page") next.delete("page");
    if (value) next.set(name, value);
    else next.delete(name);
    this.params = next; // Another filter may be chosen before the list of this one is there.
    this.go(`imports${next.size ? `?${next}` : ""}`);
  }
  async draw() {
    const { params, page, signal } = this;
    const wanted = {
      action: params.get("action") ?? "",
      status: params.get("status"),
      outcome: params.get("outcome"),
      page,
      "page-size": PAGE,
    };
    const quiet = this.found.length > 0;
    const { records: found, pages, total } = await latest(wanted, { signal, quiet });
    this.found = found;
    fill(this.heading, count(total));
    update(this.body, [found, this.page, pages, total], () => [
      found.length
        ? h("div", { class: "cards" }, table("Imports", HEADS, found.map(rowOf), [3, 4, 5]))
        : this.emptyOf(),
      pages > 1 && this.stepsOf(pages),
    ]);
    this.drawSelected();
  }
  refresh() {
    const working = this.found.some((record) => record.status !== "completed");
    if (!document.hidden && working) this.draw().catch(() => {});
  }
  /** Why the list is empty. */
  emptyOf() {
    if (this.params.size)
      return empty("No import matches", h("a", { href: "#/imports" }, "Remove all filters"));
    const link = h("a", { href: "#/new-import" }, "Import a file");
    return empty("No imports yet", link, ", and follow it here.");
  }
  /** The way to newer and older imports. */
  stepsOf(/** @type {number} */ pages) {
    const { page } = this;
    const step = (/** @type {number} */ by) => (/** @type {any} */ event) => {
      event.preventDefault();
      this.set("page", page + by);
    };
    return h(
      "div",
      { class: "row below" },
      page > 1 && h("a", { href: "", onclick: step(-1) }, "Newer"),
      h("span", { class: "faint" }, `page ${page} of ${pages}`),
      page < pages && h("a", { href: "", onclick: step(1) }, "Older"),
    );
  }
  move(/** @type {number} */ by) {
    this.selected = Math.max(0, Math.min(this.found.length - 1, this.selected + by));
    this.drawSelected()?.scrollIntoView({ block: "nearest" });
  }
  /** Marks the selected row, and returns it. */
  drawSelected() {
    const rows = [...this.body.querySelectorAll("tbody tr")];
    for (const [at, row] of rows.entries()) row.classList.toggle("selected", at === this.selected);
    return rows[this.selected];
  }
  filtersOf() {
    const filter = (/** @type {string} */ name, /** @type {string[]} */ values) => {
      const label = LABELS[name];
      return select(
        { "": `Any ${label.toLowerCase()}`, ...choicesOf(values) },
        {
          "aria-label": label,
          value: this.params.get(name) ?? "",
          onchange: (/** @type {any} */ event) => this.set(name, event.target.value),
        },
      );
    };
    return h(
      "div",
      { class: "row filters" },
      Object.entries(FILTERS).map(([name, values]) => filter(name, values)),
    );
  }
}

const HEADS = ["action", "state", "from", "entries", "succeeded", "failed", "sent", "took"];
const rowOf = (/** @type {any} */ record) => Object.values(cellsOf(record));

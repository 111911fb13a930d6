// Entries with faults as rows of a table: a column for each faulty field, the faults marked in
// their cells, and a cell that is edited in place. What is mended goes into the draft (mending.js).
import { fieldName, detailOf, placeName } from "./fields.js";
import { groupOf, valueAt, withValue } from "./pointer.js";
import { count, short } from "./format.js";
import { shownValue } from "./fault_groups.js";
import { isOpen, keep } from "./mending.js";
import { shownOf, textOf, valueOf } from "./proposals.js";
import { input } from "./ui.js";
import { fill, h } from "./view.js";

/** The most fields that have a column. */
const COLUMNS_MAX = 8;
/** The least widths of the cells, in pixels: line, entry, and a field. */
const [LINE, ENTRY, FIELD] = [52, 140, 180];
export const HEAD_HEIGHT = 30;

/**
 * `present` is an entry as it is now, `placeOf` what became of it if it was sent, `open` shows all
 * of it, and `changed` draws the screen again.
 * @typedef {{draft:import("./mending.js").Draft, present:(found:any)=>any,
 *   placeOf:(index:number)=>any, open:(record:any)=>void, changed:()=>void}} Screen
 */

export class Rejects {
  constructor(/** @type {Screen} */ screen) {
    this.screen = screen;
    this.columns = /** @type {string[]} */ ([]);
    this.head = h("div", { class: "fault-head", role: "row", "aria-rowindex": 1 });
    /** The cell that is edited. */
    this.edited = /** @type {{index:number, pointer:string, text:any}|null} */ (null);
  }
  /** Has a column for the field of each of these groups. */
  show(
    /** @type {import("./fault_groups.js").Group[]} */ groups,
    /** @type {HTMLElement} */ element,
  ) {
    const places = groups.map(({ fault }) => groupOf(fault.pointer ?? ""));
    this.columns = [...new Set(places)].slice(0, COLUMNS_MAX);
    const n = this.columns.length;
    const least = LINE + ENTRY + n * FIELD + (n + 2) * 12;
    element.style.setProperty("--least", `${least}px`);
    const fields = n ? `repeat(${n}, minmax(${FIELD}px, 2fr))` : "";
    const cells = `${LINE}px minmax(${ENTRY}px, 1fr) ${fields}`;
    element.style.setProperty("--cells", cells);
    const names = ["Line", "Entry", ...this.columns.map((one) => columnName(one))];
    fill(
      this.head,
      names.map((name) => h("span", { role: "columnheader" }, name)),
    );
  }
  row(/** @type {any} */ found) {
    const record = this.screen.present(found);
    const { draft, open, placeOf } = this.screen;
    const place = placeOf(record.index);
    const fixed = draft.mended.get(record.index);
    const state = place?.state === "in" ? "in" : place?.state === "working" ? "on-way" : "";
    return h(
      "div",
      {
        class: `fault-row ${fixed ? "mended" : ""} ${state}`,
        onclick: () => open(record),
      },
      cell({ class: "faint mono" }, count(record.line)),
      cell(
        null,
        h("div", { class: "clip", dir: "auto" }, short(whoOf(record), 60)),
        this.restOf(record, place),
      ),
      this.columns.map((column) => this.cellOf(record, column, place)),
    );
  }
  /** Where the entry is, or how many of its faults no column has. */
  restOf(/** @type {any} */ record, /** @type {any} */ place) {
    if (place?.state === "in") return h("span", { class: "good" }, "In");
    if (place?.state === "working") return h("span", { class: "faint" }, "Sent");
    const other = record.errors.filter(
      (/** @type {any} */ fault) => !this.columns.includes(groupOf(fault.pointer ?? "")),
    );
    if (other.length === 0) return false;
    return h(
      "span",
      { class: "faint" },
      `${count(other.length)} more ${other.length === 1 ? "fault" : "faults"}`,
    );
  }
  /** The cell of a field: its faulty value with the reason, or its value. */
  cellOf(/** @type {any} */ record, /** @type {string} */ column, /** @type {any} */ place) {
    const { draft } = this.screen;
    const faults = record.errors.filter(
      (/** @type {any} */ fault) => groupOf(fault.pointer ?? "") === column,
    );
    const [fault] = faults;
    if (!fault) return cell({ class: "clip faint other", dir: "auto" }, plainOf(record, column));
    const { index } = record;
    const { edited } = this;
    if (edited && edited.index === index && edited.pointer === fault.pointer)
      return cell({ onclick: stop }, edited.text);
    const open = isOpen(draft, record, fault);
    const edits = !place || place.state === "failed";
    return cell(
      {
        class: `clip ${edits ? "editable" : ""}`,
        onclick: (/** @type {Event} */ event) => {
          if (edits && this.edit(record, fault)) stop(event);
        },
      },
      h("span", { class: "faint of-field" }, `${columnName(column)}: `),
      h(
        "mark",
        { class: place?.state === "in" ? "" : "bad", dir: "auto" },
        short(shownValue(fault, record), 60) || "empty",
      ),
      !open && [" → ", h("mark", { class: "good", dir: "auto" }, this.afterOf(record, fault))],
      faults.length > 1 && h("span", { class: "tag" }, `${faults.length} faults`),
      h(
        "div",
        { class: "faint clip", dir: "auto", title: detailOf(fault) },
        short(detailOf(fault), 160),
      ),
    );
  }
  /** The value that an entry has after it was mended. */
  afterOf(/** @type {any} */ record, /** @type {any} */ fault) {
    const entry = this.screen.draft.mended.get(record.index)?.entry;
    if (fault.code === "unknown_field" && entry !== null && typeof entry === "object") {
      const [name] = Object.keys(entry).filter((key) => !(key in record.entry));
      if (name) return `now ${fieldName(name)}`;
    }
    const [list, now] = [record.entry, entry].map((one) => valueAt(one, parentOf(fault)));
    if (Array.isArray(list) && list.length !== now?.length) return "not given";
    return short(shownOf(valueAt(entry, fault.pointer ?? "")), 60) || "not given";
  }
  /** Edits the first cell of a row that has a fault. */
  editFirst(/** @type {any} */ found) {
    const record = this.screen.present(found);
    const place = this.screen.placeOf(record.index);
    const fault = record.errors.find((/** @type {any} */ one) =>
      this.columns.includes(groupOf(one.pointer ?? "")),
    );
    if (!fault || (place && place.state !== "failed") || !this.edit(record, fault))
      this.screen.open(record);
  }
  /**
   * Edits the value of a fault in its cell. Returns false if the entry has no such value to edit:
   * the fault is of a field that there is not, or of the whole entry.
   */
  edit(/** @type {any} */ record, /** @type {any} */ fault) {
    const { pointer, code } = fault;
    const { draft, changed } = this.screen;
    const entry = draft.mended.get(record.index)?.entry ?? record.entry;
    const [list, now] = [record.entry, entry].map((one) => valueAt(one, parentOf(fault)));
    const moved = Array.isArray(list) && list.length !== now?.length;
    if (!record.entry || !pointer || code === "unknown_field" || moved) return false;
    this.commit();
    const value = valueAt(entry, pointer);
    const before = textOf(value);
    const text = input({
      value: before,
      placeholder: "not given",
      "aria-label": `${placeName(pointer)} of line ${record.line}`,
    });
    const end = () => {
      if (this.edited?.text !== text) return false;
      this.edited = null;
      return true;
    };
    const finish = () => {
      if (!end()) return;
      if (text.value !== before) {
        const next = withValue(entry, pointer, valueOf(text.value, fault, value));
        keep(draft, [{ record, entry: next }]);
      }
      changed();
    };
    text.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      if (event.key === "Enter") return this.leave(finish);
      this.leave(() => end() && changed());
    });
    // A list that is drawn again takes the field away and back, which is not the end of it.
    text.addEventListener("blur", () =>
      setTimeout(() => text.isConnected && document.activeElement !== text && finish()),
    );
    this.edited = { index: record.index, pointer, text };
    this.finish = finish;
    changed();
    text.focus({ preventScroll: true });
    text.select();
    return true;
  }
  finish = () => {};
  /** Keeps what is typed into a cell. */
  commit() {
    if (this.edited) this.finish();
  }
  /** Ends the editing of a cell by a key: the table has the focus again. */
  leave(/** @type {()=>void} */ work) {
    const list = /** @type {HTMLElement|null} */ (this.head.closest(".long-list"));
    work();
    list?.focus({ preventScroll: true });
  }
}

/** The name of a column; the faults of one may be of a list, or of the whole entry. */
const columnName = (/** @type {string} */ column) =>
  placeName(column.replace(/\/\*(?=\/|$)/g, "/0")) || "Fault";
const cell = (/** @type {any} */ props, /** @type {any[]} */ ...inside) =>
  h("div", { role: "gridcell", ...props }, inside);
const stop = (/** @type {Event} */ event) => event.stopPropagation();
const parentOf = (/** @type {any} */ { pointer = "" }) =>
  pointer.slice(0, Math.max(0, pointer.lastIndexOf("/")));

/** The value of a field without a fault; elements of lists have none. */
function plainOf(/** @type {any} */ record, /** @type {string} */ column) {
  if (!column || column.includes("*") || !record.entry) return "";
  return short(shownOf(valueAt(record.entry, column)), 60) || "not given";
}

/** What an entry is about: its first identity, its title or its id. */
function whoOf(/** @type {any} */ { entry, raw, erased }) {
  if (erased) return "erased";
  if (!entry) return raw ?? "";
  const { identities, names, title, pid, id } = entry;
  const first = Array.isArray(identities) ? textOf(identities[0]) : "";
  return textOf(first || names?.full_name || title || pid || (entry["core-profile-id"] ?? id));
}

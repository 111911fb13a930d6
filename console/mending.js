// Mending entries with faults: one as JSON, or one value in each entry of a group. Mended entries
// are a draft of the page, and nothing is sent from here.
import { parse, write } from "./json.js";
import { detailOf, placeName } from "./fields.js";
import { valueAt, withValue } from "./pointer.js";
import { count, short } from "./format.js";
import { nameOf, shownValue } from "./fault_groups.js";
import { dialog, field, input, select } from "./ui.js";
import { fill, h } from "./view.js";

/** Changed lines of an entry, and values of a group, that are shown before they are kept. */
const LINES_SHOWN = 20;
const VALUES_SHOWN = 6;
/** How the values of a group are mended: a label, and the new value. */
const HOW = /** @type {Record<string, [string, (now:any, text:string)=>any]>} */ ({
  text: ["set to the text", (_, text) => text],
  json: ["set to the JSON value", (_, text) => parsed(text)],
  remove: ["leave the field out", () => undefined],
  upper: ["capitals", (now) => String(now ?? "").toUpperCase()],
  trim: ["without blanks around it", (now) => String(now ?? "").trim()],
});

/** By its index: an entry as it was mended, and one that failed again with its new faults. */
export function makeDraft() {
  const mended = /** @type {Map<number, {record:any, entry:any}>} */ (new Map());
  const again = /** @type {Map<number, any>} */ (new Map());
  /** The dry run at work, and the entries that it tries. */
  const trying = /** @type {any} */ (null);
  return { mended, again, trying, unsent: () => mended.size > 0 };
}

/** @typedef {ReturnType<typeof makeDraft>} Draft */
/** @typedef {import("./fault_groups.js").Group} Group */

/** A text as JSON, with a reason in words if it is none. */
function parsed(/** @type {string} */ text) {
  try {
    return parse(text);
  } catch (error) {
    throw new Error(`this is not JSON: ${/** @type {any} */ (error).message}`);
  }
}

/** Shows a line that is not an entry. It has no fields to edit. */
export function showRaw(/** @type {any} */ record) {
  const reasons = record.errors.map((/** @type {any} */ fault) => h("li", null, detailOf(fault)));
  const advice = "This is not a JSON map, so it can only be mended in the file.";
  return dialog(
    `Line ${record.line}`,
    [
      h("ul", null, reasons),
      h("pre", { tabindex: 0 }, short(record.raw ?? "", 20000)),
      h("p", { class: "faint" }, advice),
    ],
    { label: "Close" },
  );
}

/**
 * Mends an entry as JSON. Resolves with null if nothing is kept.
 * @param {Draft} draft @param {any} record
 */
export function mendEntry({ mended }, record) {
  const text = h("textarea", {
    rows: 16,
    class: "mono",
    value: write(mended.get(record.index)?.entry ?? record.entry, 2),
    "aria-label": "Entry as JSON",
  });
  const before = write(record.entry, 2);
  const changes = h("div", { role: "status" });
  const differ = () => fill(changes, difference(before, text.value));
  text.addEventListener("input", differ);
  differ();
  const work = () => {
    const next = parsed(text.value);
    if (write(next) === write(record.entry)) mended.delete(record.index);
    else mended.set(record.index, { record, entry: next });
  };
  const faults = record.errors.map((/** @type {any} */ fault) =>
    h(
      "li",
      null,
      h("span", null, placeName(fault.pointer ?? "")),
      " ",
      h("mark", { class: "bad", dir: "auto" }, short(shownValue(fault, record), 100)),
      " ",
      detailOf(fault),
    ),
  );
  return dialog(`Line ${record.line}`, [h("ul", null, faults), text, changes], {
    label: "Keep",
    kind: "primary",
    work,
  });
}

/** The lines that differ, as marked lines. @param {string} before @param {string} after */
function difference(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const gone = old.filter((line) => !now.includes(line)).slice(0, LINES_SHOWN);
  const come = now.filter((line) => !old.includes(line)).slice(0, LINES_SHOWN);
  return [
    gone.map((line) => h("div", { class: "mono bad" }, `− ${short(line.trim())}`)),
    come.map((line) => h("div", { class: "mono good" }, `+ ${short(line.trim())}`)),
  ];
}

/** Mends one value in each of the records of a group, after showing what changes. */
export class GroupMending {
  /** @param {Draft} draft @param {Group} group @param {any[]} records */
  constructor(draft, group, records) {
    this.mended = draft.mended;
    this.group = group;
    this.records = records;
    this.how = select(
      Object.fromEntries(Object.entries(HOW).map(([name, [label]]) => [name, label])),
    );
    this.value = input();
    this.only = input({ placeholder: "any value" });
    this.slot = field("Value", this.value);
    this.preview = h("div", { role: "status" });
    for (const one of [this.how, this.value, this.only])
      one.addEventListener("input", () => this.draw());
    this.draw();
  }
  /** Whether the new value is written by hand. */
  get written() {
    return /^(text|json)$/.test(this.how.value);
  }
  /** Each value that changes, with the entry as it is then. */
  plan() {
    const { group, value } = this;
    if (this.written && !value.value) {
      const who = group.count === 1 ? "the entry gets" : "they get";
      throw new Error(`Write the value that ${who}.`);
    }
    return this.records.flatMap((record) => (record.entry ? this.planOf(record) : []));
  }
  planOf(/** @type {any} */ record) {
    const found = [];
    let entry = this.mended.get(record.index)?.entry ?? record.entry;
    const hits = record.errors.filter(
      (/** @type {any} */ fault) => nameOf(fault) === this.group.name,
    );
    for (const fault of hits.reverse()) {
      const now = valueAt(entry, fault.pointer);
      if (this.only.value && String(now) !== this.only.value) continue;
      const next = HOW[this.how.value][1](now, this.value.value);
      entry = withValue(entry, fault.pointer, next);
      found.push({ record, now, next, entry });
    }
    return found;
  }
  draw() {
    this.slot.hidden = !this.written;
    try {
      fill(this.preview, previewOf(this.plan()));
    } catch (error) {
      fill(this.preview, h("p", { class: "faint" }, /** @type {any} */ (error).message));
    }
  }
  keep() {
    for (const { record, entry } of this.plan()) this.mended.set(record.index, { record, entry });
  }
  /** Resolves with null if nothing is kept. */
  ask() {
    const { fault } = this.group;
    return dialog(
      `Mend ${fault.code.replaceAll("_", " ")}: ${placeName(fault.pointer)}`,
      [
        h("p", { class: "faint" }, detailOf(fault)),
        field("How", this.how),
        this.slot,
        field("Only where the value is", this.only),
        this.preview,
      ],
      { label: "Mend them", kind: "primary", work: () => this.keep() },
    );
  }
}

/** How many values change, and the first of them. */
function previewOf(/** @type {any[]} */ found) {
  const total = found.length === 1 ? "1 value changes" : `${count(found.length)} values change`;
  const rows = found.slice(0, VALUES_SHOWN).map(({ record, now, next }) => {
    const after = next === undefined ? "left out" : short(write(next), 40);
    return h(
      "div",
      { class: "mono" },
      `line ${record.line}: `,
      h("mark", { class: "bad" }, short(write(now ?? null), 40)),
      " → ",
      h("mark", { class: "good" }, after),
    );
  });
  return [h("p", null, h("b", null, total)), rows];
}

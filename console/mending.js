// Mending entries with faults: one as JSON, or the distinct values of a group by a list of
// replacements. Mended entries are a draft of the page, and nothing is sent from here. Each step
// can be undone until the entries are sent.
import { parse, write } from "./json.js";
import { detailOf, fieldName, fieldsOf, placeName } from "./fields.js";
import { valueAt, withValue } from "./pointer.js";
import { count, short, things, wordsOf } from "./format.js";
import { nameOf, shownValue } from "./fault_groups.js";
import { proposalOf, valueOf } from "./proposals.js";
import { button, dialog, field, input, select, table } from "./ui.js";
import { fill, h } from "./view.js";

/** Changed lines of an entry that are shown before they are kept. */
const LINES_SHOWN = 20;
/** Values of a group that are shown, and how many more on request. */
const VALUES_SHOWN = 100;

/**
 * By its index: an entry as it was mended, and one that failed again with its new faults. A step
 * has both of the entries that it changed, as they were before it.
 */
export function makeDraft() {
  const mended = /** @type {Map<number, {record:any, entry:any}>} */ (new Map());
  const again = /** @type {Map<number, any>} */ (new Map());
  const steps = /** @type {Map<number, {mended:any, again:any}>[]} */ ([]);
  /** The dry run at work, and the entries that it tries. */
  const trying = /** @type {any} */ (null);
  return { mended, again, steps, trying, unsent: () => mended.size > 0 };
}

/** @typedef {ReturnType<typeof makeDraft>} Draft */
/** @typedef {import("./fault_groups.js").Group} Group */

/** Keeps entries as they were mended. It is one step. */
export function keep(
  /** @type {Draft} */ { mended, again, steps },
  /** @type {{record:any, entry:any}[]} */ changes,
) {
  const step = new Map();
  for (const { record, entry } of changes) {
    const { index } = record;
    step.set(index, { mended: mended.get(index), again: again.get(index) });
    if (write(entry) === write(record.entry)) mended.delete(index);
    else mended.set(index, { record, entry });
  }
  if (step.size) steps.push(step);
}

/** Takes the last step back. Returns how many entries are as before it. @param {Draft} draft */
export function undoStep({ mended, again, steps }) {
  const step = steps.pop();
  const put = (
    /** @type {Map<number, any>} */ map,
    /** @type {number} */ index,
    /** @type {any} */ was,
  ) => (was === undefined ? map.delete(index) : map.set(index, was));
  for (const [index, was] of step ?? []) {
    put(mended, index, was.mended);
    put(again, index, was.again);
  }
  return step?.size ?? 0;
}

/** Forgets entries that were sent: they can be neither mended nor undone. */
export function forgetSent(
  /** @type {Draft} */ { mended, again, steps },
  /** @type {Iterable<number>} */ indexes,
) {
  for (const index of indexes)
    for (const map of [mended, again, ...steps])
      /** @type {Map<number, any>} */ (map).delete(index);
  steps.splice(0, steps.length, ...steps.filter((step) => step.size > 0));
}

/** A text as JSON, with a reason in words if it is none. */
function parsed(/** @type {string} */ text) {
  try {
    return parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${/** @type {any} */ (error).message}`);
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
export function mendEntry(draft, record) {
  const text = h("textarea", {
    rows: 16,
    class: "mono",
    value: write(draft.mended.get(record.index)?.entry ?? record.entry, 2),
    "aria-label": "Entry as JSON",
  });
  const before = write(record.entry, 2);
  const changes = h("div", { role: "status" });
  const differ = () => fill(changes, difference(before, text.value));
  text.addEventListener("input", differ);
  differ();
  const work = () => keep(draft, [{ record, entry: parsed(text.value) }]);
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

/**
 * An entry with the faulty values that it lacks: an entry of a table comes without them. So nothing
 * of it is lost silently, and what is not mended fails again.
 */
export function restored(/** @type {any} */ record) {
  let { entry } = record;
  if (entry === null || typeof entry !== "object") return record;
  for (const { pointer, value } of record.errors) {
    if (!pointer || value === undefined || valueAt(entry, pointer) !== undefined) continue;
    const [list, at] = [/^(.*)\/(\d+)/.exec(pointer)?.[1], /.*\/(\d+)/.exec(pointer)?.[1]];
    const items = list !== undefined && valueAt(entry, list);
    if (Array.isArray(items) ? Number(at) > items.length : at !== undefined && Number(at) > 0)
      continue;
    if (items === undefined && at !== undefined) entry = withValue(entry, String(list), []);
    entry = withValue(entry, pointer, value);
  }
  return entry === record.entry ? record : { ...record, entry };
}

/** Whether some fault of an entry is in it as it was mended. @param {Draft} draft */
export const isHalf = (draft, /** @type {any} */ record) =>
  record.errors.some((/** @type {any} */ fault) => isOpen(draft, record, fault));

/**
 * A distinct value of a group: the faults that have it, and what becomes of it. An empty text
 * leaves it as it is.
 * @typedef {{shown:string, hits:{record:any, fault:any}[], entries:Set<number>, text:string,
 *   leave:boolean, proposed:boolean}} Value
 */

/** Whether a fault is in the entry as it is now. @param {Draft} draft */
export function isOpen({ mended }, /** @type {any} */ record, /** @type {any} */ fault) {
  const fixed = mended.get(record.index);
  if (!fixed) return true;
  const at = fault.pointer ?? "";
  const list = valueAt(record.entry, at.slice(0, at.lastIndexOf("/")));
  const now = valueAt(fixed.entry, at.slice(0, at.lastIndexOf("/")));
  if (Array.isArray(list) && list.length !== now?.length) return false;
  return write(valueAt(fixed.entry, at)) === write(valueAt(record.entry, at));
}

/**
 * The distinct values of a group that are not mended yet, those of most entries first.
 * @param {Draft} draft @param {Group} group @param {any[]} records @returns {Value[]}
 */
export function valuesOf(draft, group, records) {
  const found = /** @type {Map<string, Value>} */ (new Map());
  const names = group.fault.code === "unknown_field";
  for (const record of records) {
    if (!record.entry) continue;
    for (const fault of record.errors) {
      if (nameOf(fault) !== group.name || !isOpen(draft, record, fault)) continue;
      const now = valueAt(record.entry, fault.pointer);
      const key = names ? "" : `${write(now)} ${now === undefined}`;
      let value = found.get(key);
      if (!value) {
        const proposal = proposalOf(now, fault);
        found.set(key, (value = { ...made(proposal), shown: "", hits: [], entries: new Set() }));
        value.shown = names ? placeName(fault.pointer) : shownValue(fault, record) || "empty";
      }
      value.hits.push({ record, fault });
      value.entries.add(record.index);
    }
  }
  return [...found.values()].sort((a, b) => b.entries.size - a.entries.size);
}
const made = (/** @type {any} */ proposal) => ({
  text: proposal?.text ?? "",
  leave: Boolean(proposal?.leave),
  proposed: Boolean(proposal),
});

/**
 * The entries with the replacements of their values.
 * @param {Draft} draft @param {Value[]} values @returns {{record:any, entry:any}[]}
 */
export function planOf({ mended }, values) {
  const found = /** @type {Map<number, {record:any, hits:{fault:any, value:Value}[]}>} */ (
    new Map()
  );
  for (const value of values) {
    if (!value.leave && !value.text.trim()) continue;
    for (const { record, fault } of value.hits) {
      const one = found.get(record.index) ?? { record, hits: [] };
      one.hits.push({ fault, value });
      found.set(record.index, one);
    }
  }
  return [...found.values()].flatMap(({ record, hits }) => {
    const before = mended.get(record.index)?.entry ?? record.entry;
    let entry = before;
    // From the last element of a list on, so that the places of the others stay.
    const place = (/** @type {any} */ { fault }) => record.errors.indexOf(fault);
    for (const { fault, value } of hits.sort((a, b) => place(b) - place(a)))
      entry = replaced(entry, fault, value);
    return entry === before ? [] : [{ record, entry }];
  });
}

/** An entry with the replacement of one value, or with another name of its field. */
function replaced(/** @type {any} */ entry, /** @type {any} */ fault, /** @type {Value} */ value) {
  const { pointer, code } = fault;
  if (value.leave) return withValue(entry, pointer, undefined);
  const now = valueAt(entry, pointer);
  if (code !== "unknown_field") return withValue(entry, pointer, valueOf(value.text, fault, now));
  const target = pointer.slice(0, pointer.lastIndexOf("/") + 1) + value.text;
  // A field that the entry has is not overwritten.
  if (valueAt(entry, target) !== undefined) return entry;
  return withValue(withValue(entry, pointer, undefined), target, now);
}

/** Mends a group by a list of its values. */
export class GroupMending {
  /** @param {Draft} draft @param {Group} group @param {any[]} records @param {string} action */
  constructor(draft, group, records, action) {
    this.draft = draft;
    this.group = group;
    this.action = action;
    this.values = valuesOf(draft, group, records);
    this.shown = VALUES_SHOWN;
    this.list = h("div", { class: "values" });
    this.said = h("p", { role: "status" });
    this.drawList();
    this.say();
  }
  say() {
    const { draft, values } = this;
    const { length } = planOf(draft, values);
    const stay = values.filter((value) => !value.leave && !value.text.trim());
    const change = length === 1 ? "1 entry changes" : `${count(length)} entries change`;
    const stays = stay.length === 1 ? "stays" : "stay";
    const same = `; ${things(stay.length, "value")} ${stays} as now.`;
    fill(this.said, h("b", null, change), stay.length > 0 ? same : ".");
  }
  drawList() {
    const { values, shown } = this;
    const more = values.length - shown;
    const next = Math.min(more, VALUES_SHOWN);
    const rows = values.slice(0, shown).map((value) => this.rowOf(value));
    fill(
      this.list,
      values.length > 1 && this.allOf(),
      table("Values", ["value", "entries", "becomes", "or"], rows, [1]),
      more > 0 && [
        h("p", { class: "faint" }, `${things(more, "more value")} with fewer entries each. `),
        button(`Show ${count(next)} more`, () => {
          this.shown += VALUES_SHOWN;
          this.drawList();
        }),
      ],
    );
  }
  /** What becomes of all values at once. */
  allOf() {
    const text = input();
    const set = (/** @type {{text:string, leave:boolean}} */ to) => {
      for (const value of this.values) Object.assign(value, to, { proposed: false });
      this.drawList();
      this.say();
    };
    const all = `all ${count(this.values.length)}`;
    const use = button(`Use it for ${all}`, () => set({ text: text.value, leave: false }));
    const leave = button(`Leave ${all} out`, () => set({ text: "", leave: true }));
    return h(
      "div",
      { class: "row for-all" },
      this.renames || [field("One value for all", text), use],
      leave,
    );
  }
  get renames() {
    return this.group.fault.code === "unknown_field";
  }
  /** One value: how many entries have it, its replacement, and whether it is left out. */
  rowOf(/** @type {Value} */ value) {
    const name = short(value.shown, 60);
    const proposed = h("div", { class: "note odd" }, "Proposed");
    const box = h("input", { type: "checkbox", "aria-label": `Leave out ${name}` });
    const text = this.fieldOf(value, `Replacement for ${name}`);
    const draw = () => {
      box.checked = value.leave;
      text.disabled = value.leave;
      proposed.hidden = !value.proposed;
    };
    const changed = () => {
      value.proposed = false;
      draw();
      this.say();
    };
    text.addEventListener("input", () => {
      value.text = text.value;
      changed();
    });
    box.addEventListener("change", () => {
      value.leave = box.checked;
      changed();
    });
    draw();
    const missing = this.group.fault.code === "required";
    return [
      h("mark", { class: "bad", dir: "auto" }, name),
      count(value.entries.size),
      [text, proposed],
      missing || h("label", { class: "check" }, box, "Leave out"),
    ];
  }
  /** The field for a replacement; for a field that there is not, the one that is meant. */
  fieldOf(/** @type {Value} */ value, /** @type {string} */ label) {
    const props = { "aria-label": label, value: value.text };
    if (!this.renames) return input(props);
    const top = !this.group.fault.pointer.slice(1).includes("/");
    const own = /^(email|uid|phone_number|.*_id$|core-profile-id|message$|author|assignee)|2$|\./;
    const fields = top ? fieldsOf(this.action).filter((one) => !own.test(one)) : [];
    const names = [...new Set([value.text, ...fields].filter(Boolean))];
    const options = Object.fromEntries(names.map((one) => [one, fieldName(one)]));
    return select({ "": "Choose a field", ...options }, props);
  }
  /** Resolves with null if nothing is kept. */
  ask() {
    const { fault } = this.group;
    const work = () => {
      const plan = planOf(this.draft, this.values);
      if (!plan.length) throw new Error("Write a replacement, or leave the field out.");
      keep(this.draft, plan);
    };
    return dialog(
      `Mend “${wordsOf(fault.code)}” of ${placeName(fault.pointer)}`,
      [h("p", { class: "faint" }, detailOf(fault)), this.list, this.said],
      { label: "Mend them", kind: "primary", work },
    );
  }
}

// The edits of many issues that this tab made in the last hour: the one at work, how each ended,
// and its undo. They survive a reload of the page, and end when somebody signs out.
import { can, me } from "./api.js";
import { at, count, short, things } from "./format.js";
import { EditWork, UndoWork } from "./edit_run.js";
import { button } from "./ui.js";
import { fill, h } from "./view.js";

/** @typedef {import("./edit_plan.js").Edit} Edit */
/** @typedef {import("./edit_run.js").Part} Part */

const HOUR_MS = 3600000;
const SHOWN_MAX = 20;
/** More ids are too long for an address. */
const LISTED_MAX = 1000;

/** The edits of one key, newest first, and the work on one of them. */
class Edits {
  constructor() {
    this.place = "";
    this.records = /** @type {any[]} */ ([]);
    this.work = /** @type {EditWork|UndoWork|null} */ (null);
    this.unsaved = false;
    /** Whether the earlier edits are shown. The whole screen may be drawn again. */
    this.opened = false;
    this.draw = () => {};
    /** An edit or an undo has ended. */
    this.done = () => {};
    const stop = () => this.work?.stop("the session ended before they were sent");
    addEventListener("beforeunload", (event) => this.work && event.preventDefault());
    addEventListener("signed-out", stop);
    addEventListener("forget", () => {
      stop();
      this.place = "";
      this.records = [];
      this.opened = false;
    });
  }
  /** Reads the edits of the key that is signed in, unless they are there. */
  open() {
    const place = `edits ${me().domain} ${me().key_id}`;
    if (place !== this.place) {
      this.place = place;
      this.records = stored(place);
    }
    const late = this.records.filter((one) => one.ended && Date.now() - one.at >= HOUR_MS);
    if (!late.length) return;
    this.records = this.records.filter((one) => !late.includes(one));
    this.save();
  }
  save() {
    const { place, records } = this;
    if (!place) return;
    const text = JSON.stringify(records, (name, value) => (name === "again" ? undefined : value));
    try {
      sessionStorage.setItem(place, text);
      this.unsaved = false;
    } catch {
      this.unsaved = true;
    }
  }
  /** Runs a work on a record that belongs to the key that is signed in. @param {()=>any} start */
  async run(/** @type {EditWork|UndoWork} */ work, start) {
    this.work = work;
    try {
      return await start();
    } finally {
      if (this.work === work) this.work = null;
      this.update(work.record);
      this.done();
    }
  }
  /** A record changed: it is stored, if it is still one of this key. */
  update(/** @type {any} */ record) {
    if (this.records.includes(record)) this.save();
    this.draw();
  }
  /** Changes issues. @param {string[]} ids @param {Edit} edit @param {string} words */
  edit(ids, edit, words) {
    const record = {
      at: Date.now(),
      words,
      edit,
      wanted: ids.length,
      ended: false,
      changed: 0,
      same: 0,
      forgotten: 0,
      gone: [],
      parts: [],
      groups: [],
      undo: null,
    };
    this.records.unshift(record);
    const work = new EditWork(record, () => this.update(record));
    return this.run(work, () => work.start(ids));
  }
  /** Tries those again that an edit did not change. */
  again(/** @type {any} */ record) {
    const parts = /** @type {Part[]} */ (record.parts);
    record.parts = [];
    const work = new EditWork(record, () => this.update(record));
    const lost = parts.filter((one) => one.again);
    const ids = parts.filter((one) => !one.again).flatMap((one) => one.ids);
    return this.run(work, () => work.start(ids, lost));
  }
  undo(/** @type {any} */ record) {
    const others = this.records.filter((one) => one !== record);
    const work = new UndoWork(record, () => this.update(record), others);
    return this.run(work, () => work.start());
  }
  remove(/** @type {any} */ record) {
    this.records = this.records.filter((one) => one !== record);
    this.save();
    this.draw();
  }
}

/** @returns {any[]} */
function stored(/** @type {string} */ place) {
  try {
    // A page that was closed leaves an edit without an end.
    return JSON.parse(sessionStorage.getItem(place) ?? "[]").map((/** @type {any} */ one) => ({
      ...one,
      ended: true,
      cut: one.cut || !one.ended,
    }));
  } catch {
    return [];
  }
}

const edits = new Edits();

/** Whether an edit or an undo is at work. */
export const editing = () => Boolean(edits.work);
/** Changes issues; resolves when it has ended. @param {string[]} ids @param {Edit} edit */
export const startEdit = (ids, edit, /** @type {string} */ words) => edits.edit(ids, edit, words);

/** How many issues a part of an edit has. */
const sizeOf = (/** @type {Part[]} */ parts) => parts.reduce((sum, { ids }) => sum + ids.length, 0);

/**
 * The bar of the edits of the last hour, for the list of issues.
 * @param {{signal:AbortSignal, reload:()=>void, marked:Map<string, any>}} screen
 */
export function editsBar({ signal, reload, marked }) {
  const element = h("section", { class: "edits", "aria-label": "Edits of the last hour" });
  if (!can("write")) {
    element.hidden = true;
    return element;
  }
  edits.done = () => {
    // A dialog would be closed, with all that is typed in it; marks would go.
    if (!signal.aborted && !marked.size && !document.querySelector("dialog[open]")) reload();
  };
  const draw = () => {
    if (!me()) return;
    edits.open();
    const [newest, ...earlier] = edits.records;
    element.hidden = !newest;
    // The event of a click may not have come yet.
    const shown = element.querySelector("details");
    if (shown) edits.opened = shown.open;
    fill(
      element,
      newest && entryOf(newest),
      earlier.length > 0 &&
        h(
          "details",
          {
            open: edits.opened,
            ontoggle: (/** @type {any} */ event) => (edits.opened = event.target.open),
          },
          h("summary", null, `${things(earlier.length, "earlier edit")} of the last hour`),
          earlier.map((one) => entryOf(one)),
        ),
    );
  };
  edits.draw = draw;
  const timer = setInterval(() => !edits.work && draw(), 30000);
  signal.addEventListener("abort", () => clearInterval(timer));
  draw();
  return element;
}

/** One edit: what happened, and what can be done about it. @param {any} record */
function entryOf(record) {
  const { work } = edits;
  const mine = work?.record === record;
  const left = leftOf(record);
  const failed = sizeOf(record.undo ? record.undo.parts : record.parts);
  return h(
    "div",
    { class: "edit-done" },
    h(
      "div",
      { class: "row" },
      h(
        "span",
        { class: "said", role: "status", dir: "auto" },
        mine ? progressOf(record, work) : endOf(record),
      ),
      mine && button("Stop", () => work?.stop(), { disabled: Boolean(work?.stopped) }),
      !work &&
        failed > 0 &&
        !record.undo &&
        button(`Try the ${count(failed)} again`, () => edits.again(record)),
      !work &&
        left > 0 &&
        button(record.undo ? `Undo the other ${count(left)}` : "Undo", () => edits.undo(record)),
      !mine && button("Close", () => edits.remove(record), { class: "plain" }),
    ),
    !mine && lists(record),
  );
}

/** How many issues can be given their old values back. */
const leftOf = (/** @type {any} */ { groups }) =>
  groups.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.issues.length, 0);

function progressOf(/** @type {any} */ record, /** @type {any} */ work) {
  const { wanted, changed, same, gone, parts } = record;
  const stops = work?.stopped && " It stops after this part.";
  if (work instanceof UndoWork) {
    const of = work.times.size;
    return [`Undoing: ${count(of - leftOf(record))} of ${count(of)} issues…`, stops];
  }
  const over = changed + same + gone.length + sizeOf(parts);
  return [`Editing: ${count(over)} of ${things(wanted, "issue")}…`, stops];
}

/** How an edit ended, with a number for every issue. */
export function endOf(/** @type {any} */ record) {
  const { at: when, words, wanted, changed, same, forgotten, gone, parts, undo, cut } = record;
  const unknown = sizeOf(parts.filter((/** @type {Part} */ one) => one.unknown));
  const failed = sizeOf(parts) - unknown;
  const rest = wanted - changed - same - gone.length - failed - unknown;
  const said = [
    `${things(changed, "issue")} changed`,
    failed && `${count(failed)} failed`,
    unknown && `of ${count(unknown)} it is not known: the answer of the server is missing`,
    same && `${count(same)} stayed as ${same === 1 ? "it was" : "they were"}`,
    gone.length && missing(gone.length),
    cut && rest > 0 && `the page was closed before it knew about the other ${count(rest)}`,
    forgotten && `${count(forgotten)} cannot be undone here, because their old values are missing`,
    edits.unsaved && "the undo ends when you load the page again",
  ];
  const text = `${at(when).slice(-5)} ${said.filter(Boolean).join(", ")} (${short(words, 200)}).`;
  return undo ? `${text} ${undoneOf(undo)}` : text;
}

/** How many issues are gone. */
export const missing = (/** @type {number} */ n) =>
  `${count(n)} no longer ${n === 1 ? "exists" : "exist"}`;

/** How an undo ended. */
function undoneOf(/** @type {any} */ { back, since, gone, parts }) {
  const unknown = sizeOf(parts.filter((/** @type {Part} */ one) => one.unknown));
  const failed = sizeOf(parts) - unknown;
  const said = [
    `${count(back)} undone`,
    since.length &&
      `${count(since.length)} changed since and ` +
        (since.length === 1 ? "was left as it is" : "were left as they are"),
    gone.length && missing(gone.length),
    failed && `${count(failed)} failed`,
    unknown && `of ${count(unknown)} it is not known: the answer of the server is missing`,
  ];
  return `Undo: ${said.filter(Boolean).join(", ")}.`;
}

/** The issues that were not changed or not undone, with the reasons. */
function lists(/** @type {any} */ { parts, undo }) {
  const all = [
    ...parts.map((/** @type {Part} */ one) => [one.unknown ? "Not known" : "Failed", one]),
    ...(undo?.since.length ? [["Changed since, not undone", { ids: undo.since }]] : []),
    ...(undo?.parts ?? []).map((/** @type {Part} */ one) => [
      one.unknown ? "Undo not known" : "Not undone",
      one,
    ]),
  ];
  return (
    all.length > 0 &&
    h(
      "ul",
      null,
      all.map(([label, { why, ids }]) =>
        h("li", null, `${label}: ${why ? `${why}: ` : ""}`, links(ids)),
      ),
    )
  );
}

function links(/** @type {string[]} */ ids) {
  const shown = ids
    .slice(0, SHOWN_MAX)
    .map((id) => [h("a", { href: `#/issue/${id}` }, `#${id}`), " "]);
  const more = ids.length - SHOWN_MAX;
  if (more <= 0) return shown;
  const all = ids.length <= LISTED_MAX && `#/issues?ids=${ids.join("+")}`;
  return [shown, all ? h("a", { href: all }, `all ${count(ids.length)}`) : `+ ${count(more)}`];
}

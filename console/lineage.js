// What became of mended entries that were sent: as which import, how many are in, and which failed
// again. The server does not know that an import came from the faults of another one. So the
// browser stores it by domain: ids of imports and numbers of entries, and nothing of the entries.
// An import that was sent again unchanged is known to the server.
import { call, eachLine, familyOf, me, nounOf, screenOf, v2 } from "./api.js";
import { count } from "./format.js";
import { recordsOf } from "./fault_groups.js";
import { h } from "./view.js";

/** So many originals are remembered. */
const ORIGINALS_MAX = 200;
/** How long the server waits with its answer about an import at work. */
const WAIT_SECONDS = 1;

/**
 * Entries that were sent: the address of the screen of their import, and which of the original they
 * are; null means all that failed.
 * @typedef {{screen:string, entries:number[]|null}} Stored
 * @typedef {Stored & {made:any, gone:boolean, failed:Map<number, any>|null,
 *   reached:Set<number>|null}} Sent
 */

const keyOf = () => `caseload sent ${me().domain}`;
/** What the page remembers if the browser stores nothing. */
const unstored = /** @type {Record<string, any>} */ ({});

/** @returns {Record<string, {screen:string, entries:string}[]>} */
function stored() {
  try {
    return JSON.parse(localStorage.getItem(keyOf()) ?? "{}");
  } catch {
    return unstored[keyOf()] ?? {};
  }
}

/** Numbers as a text of their ranges: `0-2,7`. @param {number[]} numbers in order */
export function rangesOf(numbers) {
  const parts = /** @type {number[][]} */ ([]);
  for (const n of numbers) {
    const last = parts.at(-1);
    if (last && n === last[1] + 1) last[1] = n;
    else parts.push([n, n]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
}
/** Those numbers again. @param {string} text */
export const numbersOf = (text) =>
  text
    .split(",")
    .filter(Boolean)
    .flatMap((part) => {
      const [from, to = from] = part.split("-").map(Number);
      return Array.from({ length: to - from + 1 }, (_, n) => from + n);
    });

/** Remembers that these entries of a record were sent as another one. */
export function remember(
  /** @type {any} */ record,
  /** @type {any} */ made,
  /** @type {number[]} */ entries,
) {
  const all = stored();
  const name = screenOf(record);
  const before = (all[name] ?? []).filter((one) => one.screen !== screenOf(made));
  delete all[name];
  all[name] = [...before, { screen: screenOf(made), entries: rangesOf(entries) }];
  const kept = Object.fromEntries(Object.entries(all).slice(-ORIGINALS_MAX));
  unstored[keyOf()] = kept;
  try {
    localStorage.setItem(keyOf(), JSON.stringify(kept));
  } catch {
    // The page remembers it until it is closed.
  }
}

/** The screen of the record whose mended entries this one has, if this browser sent them. */
export const originOf = (/** @type {any} */ record) =>
  Object.entries(stored()).find(([, sent]) =>
    sent.some(({ screen }) => screen === screenOf(record)),
  )?.[0] ?? null;

/** The path of the API to the record of a screen. */
function pathTo(/** @type {string} */ screen) {
  const [noun, family, id] = screen.split("/");
  return v2(`${family}/${noun === "import" ? "imports" : "bulk_actions"}/${id}`);
}
const addressOf = (/** @type {any} */ record, /** @type {string} */ id) =>
  `${nounOf(record)}/${familyOf(record.action)}/${id}`;
/** The record, and those that number the same entries alike: its dry run, run and retry. */
const relatives = (/** @type {any} */ record) =>
  [record.parent_import_id, record.parent_task_id, record.run_by, record.retried_by]
    .filter(Boolean)
    .map((id) => addressOf(record, id))
    .concat(screenOf(record));

/** The entries of a record that were sent again. */
export class Lineage {
  constructor(/** @type {any} */ record, /** @type {AbortSignal} */ signal) {
    this.record = record;
    this.signal = signal;
    this.sent = /** @type {Sent[]} */ ([]);
    /** Whether the places of the entries are known, and not the numbers alone. */
    this.placed = false;
    /** Where each entry is that was sent: the last one counts. */
    this.places = /** @type {Map<number, {sent:Sent, state:"in"|"working"|"failed"}>} */ (
      new Map()
    );
  }
  /** What is known now of what was sent. @returns {Stored[]} */
  known() {
    const { record } = this;
    const next = !record.dry_run && record.retried_by;
    const all = stored();
    const found = relatives(record).flatMap((name) => all[name] ?? []);
    return [
      ...(next ? [{ screen: addressOf(record, next), entries: null }] : []),
      ...found.map(({ screen, entries }) => ({ screen, entries: numbersOf(entries) })),
    ];
  }
  /** Whether something was sent. */
  get any() {
    return this.known().length > 0;
  }
  /** Whether mended entries were sent from this browser. */
  get mended() {
    return this.known().some(({ entries }) => entries !== null);
  }
  get working() {
    return this.sent.some(({ made, gone }) => !gone && made.status !== "completed");
  }
  /** Asks how far each is. @param {boolean} wait whether the server may wait with its answer */
  async ask(wait = false) {
    const { signal } = this;
    const asked = this.known().map(async (one) => {
      const before = this.sent.find(({ screen }) => screen === one.screen);
      if (before && (before.gone || before.made.status === "completed")) return before;
      const path = pathTo(one.screen);
      const made = await call("GET", wait ? `${path}?wait=${WAIT_SECONDS}` : path, {
        signal,
        quiet: true,
      }).catch((error) => {
        if (error.status === 404) return null;
        throw error;
      });
      return { ...one, made, gone: !made, failed: null, reached: null };
    });
    this.sent = await Promise.all(asked);
  }
  /** Reads which entries failed again, of those that are over, and finds the place of each. */
  async read(/** @type {number[]} */ all) {
    for (const one of this.sent) {
      if (one.gone || one.made.status !== "completed" || one.failed) continue;
      const path = pathTo(one.screen);
      const { failed, unprocessed } = one.made.counts;
      const found = failed ? await recordsOf(path, this.signal, {}) : [];
      const indexOf = (/** @type {number} */ at) => (one.entries ? one.entries[at] : at);
      one.failed = new Map(found.map((record) => [indexOf(record.index), record]));
      if (!unprocessed) continue;
      const reached = (one.reached = new Set());
      await eachLine(`${path}/results?format=jsonl`, this.signal, (_, record) =>
        reached.add(indexOf(record().index)),
      );
    }
    const own = new Set(all);
    this.placed = true;
    this.places.clear();
    for (const sent of this.sent)
      for (const index of sent.entries ?? all) {
        if (!own.has(index) || this.places.get(index)?.state === "in") continue;
        this.places.set(index, { sent, state: stateOf(sent, index) });
      }
  }
  /** How many entries failed and are neither in nor on their way. */
  get left() {
    if (this.placed) {
      const gone = [...this.places.values()].filter(({ state }) => state !== "failed");
      return this.record.counts.failed - gone.length;
    }
    const gone = this.sent.map(({ made, entries }) => {
      if (!made) return entries?.length ?? 0;
      const { succeeded, unprocessed } = made.counts;
      return succeeded + (made.status === "completed" ? 0 : unprocessed);
    });
    return Math.max(0, this.record.counts.failed - gone.reduce((sum, n) => sum + n, 0));
  }
  /** What was sent, in words, with links. */
  view() {
    return this.sent.map((sent, at) =>
      h(
        "p",
        { class: "lineage" },
        lineOf(sent),
        at === this.sent.length - 1 ? `; ${count(this.left)} left.` : ".",
      ),
    );
  }
}

/** @returns {"in"|"working"|"failed"} */
function stateOf(/** @type {Sent} */ { gone, failed, reached }, /** @type {number} */ index) {
  if (gone) return "in";
  if (!failed) return "working";
  return failed.has(index) || (reached && !reached.has(index)) ? "failed" : "in";
}

/** One import of mended entries: how many, as which import, and what became of them. */
function lineOf(/** @type {Sent} */ { made, screen, entries }) {
  const name = made?.file_name ?? screen.split("/")[2];
  const total = count(entries?.length ?? made?.counts.total);
  const link = h("a", { href: `#/${screen}` }, name);
  const begin = [`${total} sent${entries ? "" : " unchanged"} as `, link];
  if (!made) return [...begin, ", which the server does not have any more"];
  const { succeeded, failed, unprocessed } = made.counts;
  if (made.status !== "completed") return [...begin, `, at work: ${made.progress} %`];
  if (!failed && !unprocessed) return [...begin, ", ", h("b", { class: "good" }, "all in")];
  return [
    ...begin,
    `: ${count(succeeded)} in`,
    failed > 0 && [", ", h("b", { class: "bad" }, `${count(failed)} failed again`)],
    unprocessed > 0 && `, ${count(unprocessed)} not reached`,
  ];
}

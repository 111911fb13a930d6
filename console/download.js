// A list of any length as a file: the page reads the stream of the list and writes it to a file
// that the user chose, or else to memory. A broken stream goes on after its last complete record. A
// download runs on when its screen is left, and ends with the session. A browser gives up all of a
// file when one of its writes fails, so after a full disk the list is read again from its
// beginning.
import { Refusal, query, send } from "./api.js";
import { parse } from "./json.js";
import { cellsOf, lastRecord } from "./rows.js";

const TRIES = 6;
const FIRST_WAIT_MS = 500;

/** The downloads of this page, newest first. */
export const downloads = /** @type {Download[]} */ ([]);

addEventListener(
  "beforeunload",
  (event) => downloads.some((one) => one.unsaved) && event.preventDefault(),
);
addEventListener("signed-out", () => {
  for (const one of downloads) one.pause();
  downloads.length = 0;
});

/** The bytes cannot be kept: the disk is full, or the file is gone or closed to the browser. */
class Unwritten extends Error {}

/** Does something with the file, and tells its failures from those of the network. */
async function writing(/** @type {() => any} */ act) {
  try {
    return await act();
  } catch (error) {
    const { name, message } = /** @type {any} */ (error);
    const full =
      name === "QuotaExceededError"
        ? "the disk is full, or the browser may use no more of it"
        : `the file cannot be written (${message})`;
    throw new Unwritten(
      `${full}. Nothing of this file is kept. ` +
        "Make space, then begin again, or choose another place with a new export.",
    );
  }
}

export class Download {
  /**
   * @param {{name:string, path:string, params:any, table:boolean, id:string, total:number}} list
   *   `id` is the member that `after` names a record by, with its creation time
   */
  constructor(list) {
    this.list = list;
    this.state = "running";
    this.problem = "";
    this.records = 0;
    this.bytes = 0;
    this.begun = Date.now();
    this.after = "";
    this.columns = /** @type {string[]|null} */ (null);
    this.parts = /** @type {Blob[]} */ ([]);
    /** The file that the user chose, and what is written to it until it is complete. */
    this.handle = /** @type {any} */ (null);
    this.file = /** @type {any} */ (null);
    /** The records in memory, once they are complete, and whether they were saved. */
    this.blob = /** @type {Blob|null} */ (null);
    this.saved = false;
    this.abort = new AbortController();
    /** The end of the last run: two at once would write records twice. */
    this.ended = Promise.resolve();
  }
  /** Asks for a file, and begins. Does nothing if the user chose none. */
  static async start(/** @type {ConstructorParameters<typeof Download>[0]} */ list) {
    const made = new Download(list);
    try {
      made.handle = await /** @type {any} */ (globalThis).showSaveFilePicker?.({
        suggestedName: list.name,
      });
    } catch (error) {
      if (/** @type {any} */ (error).name === "AbortError") return;
      // Without a file of its own it uses memory.
    }
    downloads.unshift(made);
    made.run();
  }
  pause() {
    if (this.state !== "running") return;
    this.state = "paused";
    this.abort.abort();
  }
  /** Begins, or goes on after a pause, once the run before has ended. */
  run() {
    this.ended = this.ended.then(() => this.work());
  }
  /** Reads until the end. After a fault it waits and goes on, unless nothing came several times. */
  async work() {
    if (this.state === "done") return;
    this.state = "running";
    this.problem = "";
    this.abort = new AbortController();
    for (let vain = 0; this.state === "running";) {
      const before = this.records;
      try {
        if (this.handle) this.file ??= await writing(() => this.handle.createWritable());
        await this.read();
        if (this.file) await writing(() => this.file.close());
        else this.blob = new Blob(this.parts);
        this.state = "done";
      } catch (error) {
        if (this.state !== "running") return;
        vain = this.records > before ? 0 : vain + 1;
        if (error instanceof Unwritten) return this.giveUp(error.message);
        const refusal = error instanceof Refusal ? error : null;
        this.problem = refusal ? refusal.message : "the connection to the server broke";
        if (
          vain === TRIES ||
          (refusal && refusal.status >= 400 && refusal.status < 500 && refusal.status !== 429)
        )
          this.state = "stopped";
        else await this.wait(FIRST_WAIT_MS * 2 ** vain);
      }
    }
  }
  /** Stops, and forgets what was read, because the file did not keep it. */
  giveUp(/** @type {string} */ problem) {
    this.state = "stopped";
    this.problem = problem;
    this.abort.abort();
    this.file = null;
    this.records = 0;
    this.bytes = 0;
    this.after = "";
    this.columns = null;
  }
  /** Waits, at most until it is paused. */
  wait(/** @type {number} */ ms) {
    return new Promise((resolve) => {
      setTimeout(resolve, ms);
      this.abort.signal.addEventListener("abort", resolve);
    });
  }
  async read() {
    const { path, params, table } = this.list;
    const response = await send("GET", `${path}${query({ ...params, after: this.after })}`, {
      signal: this.abort.signal,
    });
    const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (
      response.body
    ).getReader();
    let skipped = !this.columns;
    let rest = new Uint8Array(0);
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.problem = "";
      let bytes = new Uint8Array(rest.length + value.length);
      bytes.set(rest);
      bytes.set(value, rest.length);
      if (!skipped) {
        const head = bytes.indexOf(10) + 1;
        if (head) bytes = bytes.slice(head);
        skipped = head > 0;
      }
      const { begin, end, count } = skipped
        ? lastRecord(bytes, table)
        : { begin: 0, end: 0, count: 0 };
      rest = bytes.slice(end);
      if (count) await this.take(bytes.slice(0, end), begin, count);
    }
  }
  /** Writes complete records; the last one begins at `begin`. */
  async take(
    /** @type {Uint8Array<ArrayBuffer>} */ bytes,
    /** @type {number} */ begin,
    /** @type {number} */ count,
  ) {
    const { table, id } = this.list;
    // At its place, because a write that failed may have written a part.
    if (this.file)
      await writing(() => this.file.write({ type: "write", position: this.bytes, data: bytes }));
    else this.parts.push(new Blob([bytes]));
    this.bytes += bytes.length;
    const text = (/** @type {Uint8Array} */ some) => new TextDecoder().decode(some);
    if (table && !this.columns) {
      this.columns = cellsOf(text(bytes.slice(0, bytes.indexOf(10) + 1)));
      count -= 1;
    }
    this.records += count;
    if (!count) return;
    const last = text(bytes.slice(begin));
    const record = table ? this.named(cellsOf(last)) : parse(last);
    this.after = `${record.created_at},${record[id]}`;
  }
  /** A row by its columns; a long number is a formula in a table for a spreadsheet.
   * @param {string[]} row @returns {any} */
  named(row) {
    const plain = (/** @type {string} */ cell) => cell?.replace(/^="(\d+)"$/, "$1");
    return Object.fromEntries((this.columns ?? []).map((column, at) => [column, plain(row[at])]));
  }
  /** Whether leaving the page would lose something. */
  get unsaved() {
    return this.state === "done" ? Boolean(this.blob) && !this.saved : true;
  }
}

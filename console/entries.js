// The entries of a file of any size, one JSON text each: JSON lines, one JSON array, or CSV, packed
// with gzip or not. The file is read as it is needed and never held whole.
import { CsvReader, entryOf, separatorOf } from "./csv.js";

/**
 * The texts of a file, unpacked. `read` gets the bytes of the file that were read so far.
 * @param {File} file
 */
async function* texts(file, read = (/** @type {number} */ _bytes) => {}) {
  const head = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  let bytes = 0;
  const counter = new TransformStream({
    transform(piece, out) {
      bytes += piece.length;
      read(bytes);
      out.enqueue(piece);
    },
  });
  let stream = /** @type {any} */ (file.stream().pipeThrough(counter));
  if (head[0] === 0x1f && head[1] === 0x8b)
    stream = stream.pipeThrough(new DecompressionStream("gzip"));
  const reader = stream.pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield /** @type {string} */ (value);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The kind of a file, by its first characters and its name, and its columns. @param {File} file */
export async function examine(file) {
  let start = "";
  for await (const text of texts(file)) {
    start += text;
    if (start.length > 65536) break;
  }
  const first = start.trimStart()[0] ?? "";
  if (first === "[") return { kind: "array" };
  if (first === "{" && !/\.csv(\.gz)?$/i.test(file.name)) return { kind: "lines" };
  const separator = separatorOf(start);
  const reader = new CsvReader(separator);
  const [columns = []] = [...reader.push(start), ...reader.finish()];
  return { kind: "csv", separator, columns };
}

/** Splits the elements of an array at their commas. */
export class ArraySplitter {
  constructor() {
    this.depth = 0;
    this.text = "";
    this.quoted = false;
    this.escaped = false;
  }
  /** @param {string} piece @returns {string[]} */
  push(piece) {
    const found = [];
    let start = this.depth > 0 ? 0 : -1;
    for (let at = 0; at < piece.length; at++) {
      const c = piece[at];
      if (this.quoted) {
        if (this.escaped) this.escaped = false;
        else if (c === "\\") this.escaped = true;
        else if (c === '"') this.quoted = false;
        continue;
      }
      if (c === '"') this.quoted = true;
      else if (c === "[" || c === "{") {
        this.depth += 1;
        if (this.depth === 1) start = at + 1;
      } else if (c === "]" || c === "}") {
        this.depth -= 1;
        if (this.depth === 0) {
          found.push(this.text + piece.slice(start, at));
          this.text = "";
          start = -1;
        }
      } else if (c === "," && this.depth === 1) {
        found.push(this.text + piece.slice(start, at));
        this.text = "";
        start = at + 1;
      }
    }
    if (start >= 0) this.text += piece.slice(start);
    return found.map((text) => text.replace(/[\r\n]+/g, " ").trim()).filter(Boolean);
  }
}

/**
 * The entries of a file.
 * @param {File} file @param {any} kind what `examine` found @param {any[]} mapping of CSV columns
 * @param {(bytes:number)=>void} [read] gets the bytes of the file that were read so far
 */
export async function* entries(file, kind, mapping, read) {
  if (kind.kind === "csv") {
    const reader = new CsvReader(kind.separator);
    let head = true;
    const of = function* (/** @type {string[][]} */ rows) {
      for (const row of rows) {
        if (head) head = false;
        else yield entryOf(row, mapping);
      }
    };
    for await (const text of texts(file, read)) yield* of(reader.push(text));
    yield* of(reader.finish());
    return;
  }
  if (kind.kind === "array") {
    const splitter = new ArraySplitter();
    for await (const text of texts(file, read)) yield* splitter.push(text);
    return;
  }
  let rest = "";
  for await (const text of texts(file, read)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim()) yield line.trim();
  }
  if (rest.trim()) yield rest.trim();
}

/** Parts of at most so many entries and characters, as JSON lines. */
export async function* parts(
  /** @type {AsyncIterable<string>} */ source,
  most = 10000,
  chars = 16 << 20,
) {
  let lines = /** @type {string[]} */ ([]);
  let length = 0;
  for await (const entry of source) {
    if (lines.length && (lines.length >= most || length + entry.length > chars)) {
      yield { count: lines.length, text: lines.join("\n") };
      lines = [];
      length = 0;
    }
    lines.push(entry);
    length += entry.length;
  }
  if (lines.length) yield { count: lines.length, text: lines.join("\n") };
}

/** A short name of a text, so that the same part sent twice is one task. */
export function digest(/** @type {string} */ text) {
  const state = [0x9e3779b9, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f];
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at);
    for (let n = 0; n < 4; n++)
      state[n] = Math.imul(state[n] ^ (c + n), 0x01000193 + 2 * n * 0x10001) ^ (state[n] >>> 13);
  }
  return state.map((n) => (n >>> 0).toString(16).padStart(8, "0")).join("");
}

// JSON whose numbers keep their digits. A number that JavaScript cannot hold as it is written
// becomes an Exact, which shows and sends the digits of the server.

/** A number by its digits. */
export class Exact {
  /** @param {string} digits */
  constructor(digits) {
    this.digits = digits;
  }
  toString() {
    return this.digits;
  }
}

/** @param {string} source */
function number(source) {
  const value = Number(source);
  return String(value) === source ? value : new Exact(source);
}

const hasSource = (() => {
  try {
    let seen = false;
    JSON.parse("1", (/** @type {any} */ ...[, value, context]) => {
      seen = context?.source === "1";
      return value;
    });
    return seen;
  } catch {
    return false;
  }
})();

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const MARK = "\u0000digits:";

/** Marks every number of a text that is outside of strings. @param {string} text */
function marked(text) {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token[0] === '"' || !NUMBER.test(token) ? token : JSON.stringify(MARK + token),
  );
}

/**
 * Reads JSON. `source` says whether the engine shows the digits of a number.
 * @param {string} text @param {boolean} [source] @returns {any}
 */
export function parse(text, source = hasSource) {
  if (source) {
    return JSON.parse(text, (/** @type {any} */ ...[, value, context]) =>
      typeof value === "number" ? number(context.source) : value,
    );
  }
  return JSON.parse(marked(text), (/** @type {any} */ ...[, value]) =>
    typeof value === "string" && value.startsWith(MARK) ? number(value.slice(MARK.length)) : value,
  );
}

/**
 * Writes JSON with the digits as they came.
 * @param {any} value @param {number} [indent] @param {string} [before] @returns {string}
 */
export function write(value, indent = 0, before = "\n") {
  if (value instanceof Exact) return value.digits;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const inner = indent ? before + " ".repeat(indent) : "";
  const end = indent ? before : "";
  const list = Array.isArray(value);
  const parts = list
    ? value.map((item) => write(item, indent, inner))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(
          ([key, item]) => JSON.stringify(key) + (indent ? ": " : ":") + write(item, indent, inner),
        );
  if (!parts.length) return list ? "[]" : "{}";
  return (list ? "[" : "{") + inner + parts.join("," + inner) + end + (list ? "]" : "}");
}

/**
 * A map of these members and no others, so that a name from outside finds no "constructor" in it.
 * @template T @param {Record<string, T>} members @returns {Record<string, T>}
 */
export const named = (members) => Object.assign(Object.create(null), members);

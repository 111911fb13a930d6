// Conditions on custom fields, in the form of the API: what they say in words, and what stays of
// them without one. It draws nothing and calls nothing.
import { at, short } from "./format.js";
import { parse, write } from "./json.js";

const TYPES = ["dropdown", "singleline", "multiline", "number", "date", "checkbox"];
const isMap = (/** @type {any} */ value) =>
  value !== null && typeof value === "object" && !Array.isArray(value) && !("digits" in value);

/** The conditions of a text by type, then `and` or `or`, then key; null if they are none. */
function readOf(/** @type {string} */ text) {
  try {
    const all = parse(text);
    const right =
      isMap(all) &&
      Object.entries(all).every(
        ([type, modes]) =>
          TYPES.includes(type) &&
          isMap(modes) &&
          Object.entries(modes).every(
            ([mode, keys]) => ["and", "or"].includes(mode) && isMap(keys),
          ),
      );
    return right ? all : null;
  } catch {
    return null;
  }
}

/** Why a text has no conditions. */
export const conditionFault = (/** @type {string} */ text) =>
  !readOf(text) && "its conditions cannot be read";

/** A value of a field as people read it. @param {string} type @param {any} value */
export function fieldValue(type, value) {
  if (type === "checkbox") return String(value) === "true" ? "yes" : "no";
  if (type === "date" && /^\d+$/.test(String(value))) return at(Number(value));
  return short(value, 60);
}

/** The words of a test of a field. @param {string} type @param {string} test @param {any} value */
function wordsOf(type, test, value) {
  const names = [value].flat().map((/** @type {any} */ one) => fieldValue(type, one));
  const words = /** @type {Record<string, string>} */ ({
    is: names[0],
    is_not: `not ${names[0]}`,
    is_one_of: names.join(" or "),
    is_none_of: `none of ${names.join(", ")}`,
    is_set: String(value) === "true" ? "has a value" : "without a value",
    contains: `contains ${names.join(" and ")}`,
    does_not_contain: `does not contain ${names.join(" or ")}`,
    is_greater_than: `more than ${names[0]}`,
    is_smaller_than: `less than ${names[0]}`,
    is_after: `after ${names[0]}`,
    is_before: `before ${names[0]}`,
  });
  return words[test] ?? `${test} ${names.join(", ")}`;
}

/** The tests of one key. A checkbox has a value alone. @param {string} type @param {any} tests */
const testsOf = (type, tests) =>
  type === "checkbox" || !isMap(tests) ? [["is", tests]] : Object.entries(tests);

/**
 * The conditions of which each must hold, in words, and the text that stays without each. Those of
 * which one is enough are one.
 * @param {string} text
 */
export function conditionGroups(text) {
  const all = readOf(text) ?? {};
  const found = /** @type {{text:string, without:string}[]} */ ([]);
  for (const [type, modes] of Object.entries(all)) {
    const said = (/** @type {string} */ key, /** @type {any} */ [test, value]) =>
      `${short(key, 40)}: ${wordsOf(type, test, value)}`;
    for (const [key, tests] of Object.entries(modes.and ?? {}))
      for (const [test, value] of testsOf(type, tests))
        found.push({ text: said(key, [test, value]), without: without(text, type, key, test) });
    const some = Object.entries(modes.or ?? {}).flatMap(([key, tests]) =>
      testsOf(type, tests).map((one) => said(key, one)),
    );
    if (some.length) found.push({ text: some.join(", or "), without: without(text, type) });
  }
  return found;
}

/**
 * The text without a test of a key, or without all those of a type of which one is enough.
 * @param {string} text @param {string} type @param {string} [key] @param {string} [test]
 */
function without(text, type, key, test) {
  const all = parse(text);
  const modes = all[type];
  if (key === undefined) delete modes.or;
  else {
    const tests = modes.and[key];
    if (isMap(tests) && test !== undefined) delete tests[test];
    if (!isMap(tests) || !Object.keys(tests).length) delete modes.and[key];
    if (!Object.keys(modes.and).length) delete modes.and;
  }
  if (!Object.keys(modes).length) delete all[type];
  return Object.keys(all).length ? write(all) : "";
}

/**
 * A test of a field: the one for a value, or for whether it has one.
 * @typedef {{type:string, key:string, test:string, value:any}} Test
 */
/**
 * The test that a value of a field passes.
 * @param {string} type @param {string} key @param {any} value @returns {Test}
 */
export function testFor(type, key, value) {
  const part = type === "singleline" || type === "multiline";
  return { type, key, test: part ? "contains" : "is", value: part ? [String(value)] : value };
}

/**
 * The text with one more test. A list of choices may have several values; of other fields the new
 * value replaces the old one.
 * @param {string} text @param {Test} more
 */
export function withTest(text, { type, key, test, value }) {
  const all = readOf(text) ?? {};
  const modes = (all[type] ??= {});
  const keys = (modes.and ??= {});
  const before = isMap(keys[key]) ? keys[key] : {};
  if (type === "checkbox") keys[key] = value;
  else if (type === "dropdown" && test === "is") {
    const values = [before.is ?? before.is_one_of ?? []].flat();
    if (!values.includes(value)) values.push(value);
    keys[key] = values.length > 1 ? { is_one_of: values } : { is: value };
  } else keys[key] = { [test]: value };
  return write(all);
}

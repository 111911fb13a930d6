// JSON pointers (RFC 6901) into entries, and copies of entries with another value at a place.

const parts = (/** @type {string} */ pointer) =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

/** The value at a place; undefined if there is none. @param {any} value @param {string} pointer */
export function valueAt(value, pointer) {
  for (const part of parts(pointer)) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, part))
      return undefined;
    value = value[part];
  }
  return value;
}

/**
 * A copy with another value at a place; undefined removes it.
 * @param {any} value @param {string} pointer @param {any} next
 */
export function withValue(value, pointer, next) {
  const path = parts(pointer);
  if (!path.length) return next;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  const [first] = path;
  const rest = pointer.slice(pointer.indexOf("/", 1));
  if (path.length > 1) {
    const inner = copy[first];
    copy[first] = withValue(inner !== null && typeof inner === "object" ? inner : {}, rest, next);
  } else if (next === undefined && Array.isArray(copy)) copy.splice(Number(first), 1);
  else if (next === undefined) delete copy[first];
  else copy[first] = next;
  return copy;
}

/** The place without the numbers of list elements, so that equal faults are one group. */
export const groupOf = (/** @type {string} */ pointer) => pointer.replace(/\/\d+(?=\/|$)/g, "/*");

/** The same place as people read it: the names alone, with dots between them. */
export const placeOf = (/** @type {string} */ pointer) =>
  parts(pointer)
    .filter((part) => !/^\d+$/.test(part))
    .join(".");

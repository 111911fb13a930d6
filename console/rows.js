// The records of a list in the bytes of its answer: lines of JSON, or rows of a table that the
// server wrote.

/**
 * The last record that is complete in some bytes, which begin where a record begins: its bounds,
 * and the number of complete ones. Only in a table may a record have line ends, between quotes.
 * @param {Uint8Array} bytes @param {boolean} table
 */
export function lastRecord(bytes, table) {
  let [begin, end, count, quoted] = [0, 0, 0, false];
  for (let at = 0; at < bytes.length; at++) {
    if (table && bytes[at] === 34) quoted = !quoted;
    else if (bytes[at] === 10 && !quoted) [begin, end, count] = [end, at + 1, count + 1];
  }
  return { begin, end, count };
}

/** The cells of one row of a table that the server wrote. */
export function cellsOf(/** @type {string} */ row) {
  const cells = [];
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g;
  for (const [, quoted, plain, end] of row.replace(/^\uFEFF/, "").matchAll(pattern)) {
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end !== ",") break;
  }
  return cells;
}

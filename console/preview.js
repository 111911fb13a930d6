// A file as the server would read it: its columns, each with the field that it becomes, and its
// first rows with their faults and warnings in place.
import { customField, detailOf, fieldName, fieldsOf } from "./fields.js";
import { Exact, write } from "./json.js";
import { count, short, things } from "./format.js";
import { placeOf } from "./pointer.js";
import { button, empty, select, table } from "./ui.js";
import { h } from "./view.js";

const ROWS = 8;
const COLUMNS_MAX = 40;
/** The choice that nobody made yet. */
const OPEN = "?";
const FORMATS = /** @type {Record<string, string>} */ ({
  jsonl: "JSON lines",
  json: "JSON",
  csv: "a table",
  xlsx: "a workbook",
});
const DELIMITERS = /** @type {Record<string, string>} */ ({
  ",": "commas",
  ";": "semicolons",
  "\t": "tabs",
  "|": "bars",
});

/** How the file was read, in words. */
export function formatWords(/** @type {any} */ { type, encoding, delimiter, sheet }) {
  const words = [FORMATS[type] ?? type];
  if (delimiter) words.push(`${DELIMITERS[delimiter] ?? `“${delimiter}”`} between the cells`);
  if (sheet) words.push(`sheet “${sheet}”`);
  if (encoding && encoding !== "utf-8") words.push(`encoding ${encoding}`);
  return words.join(", ");
}

/** The columns that have a fault, so that the file cannot be imported as it is. */
export const openColumns = (/** @type {any} */ preview) =>
  preview.columns.filter((/** @type {any} */ column) => isOpen(column));
const isOpen = (/** @type {any} */ { field, warnings }) => field === null && warnings.length > 0;

/**
 * The columns of a table. `choose` gets the fields of columns by their places.
 * @param {any} preview @param {import("./upload.js").Chosen} chosen
 * @param {(fields:[number, string|null][])=>void} choose
 */
export function columnsView(preview, chosen, choose) {
  const { columns, errors } = preview;
  const open = openColumns(preview);
  const all = (/** @type {(name:string, at:number)=>string|null} */ of) => () =>
    choose(
      columns.flatMap((/** @type {any} */ column, /** @type {number} */ at) =>
        isOpen(column) ? [[at, of(column.name, at)]] : [],
      ),
    );
  const them = open.length === 1 ? "it" : "all of them";
  const rows = columns.map((/** @type {any} */ column, /** @type {number} */ at) =>
    rowOf(column, at, chosen, choose),
  );
  return [
    h("h2", null, "Columns"),
    errors.map((/** @type {string} */ text) =>
      h("p", { class: "bad", dir: "auto" }, `The file cannot be imported like this: ${text}.`),
    ),
    open.length > 0 && [
      h("p", { class: "bad" }, `Choose what becomes of ${things(open.length, "marked column")}.`),
      h(
        "div",
        { class: "row choices" },
        button(
          `Leave ${them} out`,
          all(() => null),
        ),
        button(
          `Keep ${them} as custom ${open.length === 1 ? "field" : "fields"}`,
          all(customField),
        ),
      ),
    ],
    h(
      "div",
      { class: "mapping cards" },
      table("Columns", ["column", "becomes", "why", "first values"], rows),
    ),
  ];
}

/** Why a column has no field, without the name that the API has for a custom field. */
const plainly = (/** @type {string} */ text) =>
  text
    .replace(/; as a custom field it is "custom_fields\.[^]*"$/, "; it can be a custom field")
    .replace(" is not a field of core profiles", " is not a field of people");

/** A column as a row: its name, its field, why that, and its first values. */
function rowOf(
  /** @type {any} */ column,
  /** @type {number} */ at,
  /** @type {import("./upload.js").Chosen} */ chosen,
  /** @type {(fields:[number, string|null][])=>void} */ choose,
) {
  const { name, field, why, samples, warnings } = column;
  const shown = short(name.trim(), 60) || `#${at + 1}`;
  const mine = chosen.columns.has(at);
  const now = mine ? chosen.columns.get(at) : isOpen(column) ? OPEN : field;
  const custom = customField(name, at);
  const fields = fieldsOf(chosen.action);
  const known = [...fields, custom, ...(now && now !== OPEN ? [now] : [])];
  const options = {
    ...(now === OPEN && { [OPEN]: "Choose a field" }),
    "": "Leave out",
    ...Object.fromEntries([...new Set(known)].map((one) => [one, short(fieldName(one), 60)])),
  };
  const onchange = (/** @type {any} */ event) => {
    const { value } = event.target;
    if (value !== OPEN) choose([[at, value || null]]);
  };
  const faults = warnings.map((/** @type {string} */ text) =>
    h("div", { class: isOpen(column) ? "bad" : "faint", dir: "auto" }, short(plainly(text), 300)),
  );
  return [
    h("b", { dir: "auto" }, shown),
    select(options, {
      value: now ?? "",
      "aria-label": `Column ${shown}`,
      "data-open": now === OPEN,
      onchange,
    }),
    faults.length ? faults : h("span", { class: "faint" }, mine ? "you chose it" : why),
    h(
      "span",
      { class: "faint samples" },
      samples.map((/** @type {string} */ text) =>
        h("span", { class: "chip", dir: "auto" }, short(text, 40)),
      ),
    ),
  ];
}

/** The first rows as they would be sent. */
export function rowsView(/** @type {any[]} */ entries) {
  if (!entries.length) return empty("No entries", "The file has a beginning and nothing below it.");
  const rows = entries.slice(0, ROWS).map(cellsOf);
  const faulty = entries.filter((entry) => entry.errors.length > 0).length;
  const first = [
    ...rows,
    ...entries
      .slice(ROWS)
      .filter((one) => one.errors.length)
      .map(cellsOf),
  ];
  const names = [...new Set(first.flatMap((row) => [...row.cells.keys()]))].slice(0, COLUMNS_MAX);
  const said = faulty
    ? `${count(faulty)} of the first ${things(entries.length, "entry", "entries")} ` +
      `${faulty === 1 ? "has" : "have"} faults and would not go in.`
    : "";
  return [
    h("h2", null, "The first entries, as they will be"),
    said && h("p", { class: "bad" }, said),
    h(
      "div",
      { class: "first" },
      table(
        "First entries",
        ["line", ...names.map(fieldName)],
        first.map((row) => [row.line, ...names.map((name) => row.cells.get(name) ?? "")]),
      ),
    ),
  ];
}

/** The cells of an entry by the names of their fields. Faults without a field are by its line. */
function cellsOf(/** @type {any} */ { line, entry, errors, warnings }) {
  const values = /** @type {Map<string, any[]>} */ (new Map());
  const add = (/** @type {string} */ name, /** @type {any} */ shown) =>
    values.set(name, [...(values.get(name) ?? []), shown]);
  const whole = /** @type {any[]} */ ([h("span", { class: "mono faint" }, count(line))]);
  if (entry !== null && typeof entry === "object" && !Array.isArray(entry))
    for (const [name, value] of leaves(entry)) add(name, h("div", { dir: "auto" }, value));
  else
    whole.push(
      h(
        "div",
        { class: "mono clip" },
        short(typeof entry === "string" ? entry : write(entry), 120),
      ),
    );
  const notes = [
    ...errors.map((/** @type {any} */ one) => ({ ...one, kind: "bad" })),
    ...warnings.map((/** @type {any} */ one) => ({ ...one, kind: "odd" })),
  ];
  for (const { pointer, value, kind, ...fault } of notes) {
    const detail = detailOf({ pointer, detail: fault.detail });
    const note = [
      value !== undefined &&
        kind === "bad" &&
        h("mark", { class: kind, dir: "auto" }, short(textOf(value), 60)),
      h("div", { class: `note ${kind}`, dir: "auto" }, short(detail, 200)),
    ];
    const name = placeOf(pointer ?? "");
    if (name) add(name, note);
    else whole.push(note);
  }
  return { line: whole, cells: values };
}

/** The values of an entry as texts, by the names of their fields. */
function leaves(/** @type {any} */ entry, before = "") {
  const found = /** @type {[string, string][]} */ ([]);
  for (const [key, value] of Object.entries(entry)) {
    const name = before ? `${before}.${key}` : key;
    const items = Array.isArray(value) ? value : [value];
    const plain = items.filter((item) => !isMap(item));
    if (plain.length) found.push([name, short(plain.map(textOf).join(", "), 80)]);
    for (const item of items.filter(isMap).slice(0, ROWS)) found.push(...leaves(item, name));
  }
  return found;
}

const isMap = (/** @type {any} */ value) =>
  Array.isArray(value)
    ? value.some(isMap)
    : value !== null && typeof value === "object" && !(value instanceof Exact);
const textOf = (/** @type {any} */ value) => (typeof value === "string" ? value : write(value));

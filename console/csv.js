// Reading CSV (RFC 4180), a piece at a time, and making entries of its rows.
import { named } from "./json.js";

/** @param {string} sample */
export function separatorOf(sample) {
  const line = sample.split(/\r?\n/, 1)[0];
  const count = (/** @type {string} */ mark) => line.split(mark).length;
  return [",", ";", "\t"].reduce((best, mark) => (count(mark) > count(best) ? mark : best));
}

/** A reader of rows: `push` takes text and returns the rows that are complete. */
export class CsvReader {
  constructor(separator = ",") {
    this.separator = separator;
    this.row = /** @type {string[]} */ ([]);
    this.field = "";
    this.quoted = false;
    this.wasQuote = false;
    this.begun = false;
  }
  /** @param {string} text @returns {string[][]} */
  push(text) {
    const rows = [];
    for (const c of text) {
      if (!this.begun && c === "\uFEFF") continue;
      this.begun = true;
      if (this.quoted) {
        if (c === '"') {
          this.quoted = false;
          this.wasQuote = true;
        } else this.field += c;
      } else if (c === '"' && this.wasQuote) {
        this.field += c;
        this.quoted = true;
        this.wasQuote = false;
      } else if (c === '"' && this.field === "") this.quoted = true;
      else if (c === this.separator) this.endField();
      else if (c === "\n") {
        const row = this.endRow();
        if (row) rows.push(row);
      } else if (c !== "\r") {
        this.field += c;
        this.wasQuote = false;
      }
    }
    return rows;
  }
  finish() {
    const row = this.endRow();
    return row ? [row] : [];
  }
  endField() {
    this.row.push(this.field);
    this.field = "";
    this.wasQuote = false;
  }
  endRow() {
    this.endField();
    const row = this.row;
    this.row = [];
    return row.length === 1 && row[0] === "" ? null : row;
  }
}

/** The targets to which a column of core profiles can go, by their kind. */
export const TARGETS = {
  "identity:email": "e-mail",
  "identity:uid": "uid",
  "identity:phone_number": "phone number",
  "identity:discord_id": "Discord id",
  "identity:steam_id": "Steam id",
  "names.first_name": "first name",
  "names.last_name": "last name",
  "names.full_name": "full name",
  "names.display_name": "display name",
  "text:core-profile-id": "core-profile-id",
  "list:tags": "tags (a; b)",
  "text:last_country": "country",
  "text:last_city": "city",
  "number:age": "age",
  "number:lifetime_value": "lifetime value",
  "text:user_persona": "persona",
  "text:user_vip_segment": "VIP segment",
  "text:user_support_status": "support status",
  "text:preferred_language": "language",
  "boolean:accepted_t_and_c": "accepted terms",
  "boolean:full_privacy_enabled": "full privacy",
  "number:last_active_date": "last active (ms)",
  custom: "custom field",
  "": "leave out",
};

const GUESSES = named(
  /** @type {Record<string, string>} */ ({
    email: "identity:email",
    mail: "identity:email",
    uid: "identity:uid",
    userid: "identity:uid",
    externalid: "identity:uid",
    phone: "identity:phone_number",
    firstname: "names.first_name",
    givenname: "names.first_name",
    lastname: "names.last_name",
    surname: "names.last_name",
    name: "names.full_name",
    fullname: "names.full_name",
    displayname: "names.display_name",
    tags: "list:tags",
    country: "text:last_country",
    city: "text:last_city",
    language: "text:preferred_language",
    coreprofileid: "text:core-profile-id",
    segment: "text:user_vip_segment",
  }),
);

/** The likely target of a column. @param {string} column */
export function guess(column) {
  const plain = column.toLowerCase().replace(/[^a-z0-9]/g, "");
  if (GUESSES[plain]) return GUESSES[plain];
  const same = Object.keys(TARGETS).find(
    (target) => target.replace(/^.*[:.]/, "").replace(/[^a-z0-9]/g, "") === plain && plain,
  );
  return same ?? "custom";
}

/**
 * The entry of a row, as JSON. A number keeps its digits; a text that is none stays a text, so that
 * the server can say what is wrong with it.
 * @param {string[]} row @param {{column:string, target:string}[]} mapping
 */
export function entryOf(row, mapping) {
  const members = [];
  const identities = /** @type {string[]} */ ([]);
  const names = /** @type {string[]} */ ([]);
  const custom = /** @type {string[]} */ ([]);
  const text = (/** @type {string} */ value) => JSON.stringify(value);
  mapping.forEach(({ column, target }, at) => {
    const value = (row[at] ?? "").trim();
    if (!value || !target) return;
    const [kind, name] = target.includes(":") ? target.split(":") : [target, ""];
    if (kind === "identity") identities.push(`{${text(name)}:${text(value)}}`);
    else if (target.startsWith("names.")) names.push(`${text(target.slice(6))}:${text(value)}`);
    else if (kind === "custom") custom.push(`${text(column)}:${scalar(value)}`);
    else if (kind === "list") {
      const parts = value.split(/[;|,]/).map((part) => part.trim());
      members.push(`${text(name)}:[${parts.filter(Boolean).map(text)}]`);
    } else if (kind === "number")
      members.push(`${text(name)}:${isNumber(value) ? value : text(value)}`);
    else if (kind === "boolean") {
      const [yes, no] = [/^(true|yes|1)$/i, /^(false|no|0)$/i].map((word) => word.test(value));
      members.push(`${text(name)}:${yes || no ? yes : text(value)}`);
    } else members.push(`${text(name)}:${text(value)}`);
  });
  if (names.length) members.unshift(`"names":{${names}}`);
  if (identities.length) members.unshift(`"identities":[${identities}]`);
  if (custom.length) members.push(`"custom_fields":{${custom}}`);
  return `{${members}}`;
}

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

const isNumber = (/** @type {string} */ text) => /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text);
const scalar = (/** @type {string} */ text) =>
  isNumber(text) && text.length < 16 ? text : JSON.stringify(text);

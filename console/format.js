// How values are shown: counts, sizes, times in the viewer's zone with UTC as a tooltip; and the
// names of the API in the words that people read. The API and addresses use the names themselves.
import { named } from "./json.js";
import { h } from "./view.js";

export const count = (/** @type {any} */ n) =>
  n === undefined || n === null ? "" : String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");

/** A number of things. */
export const things = (/** @type {any} */ n, /** @type {string} */ one, many = `${one}s`) =>
  `${count(n)} ${n === 1 ? one : many}`;

/** A count in at most four characters, for a place that has no room. @param {number} n */
export function compact(n) {
  const units = ["", "k", "M", "G"];
  let at = 0;
  for (; n >= 999.5 && at < units.length - 1; at++) n /= 1000;
  return `${at && n < 9.95 ? n.toFixed(1) : Math.round(n)}${units[at]}`;
}

/** @param {number} bytes */
export function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (bytes >= 1000 && at < units.length - 1) {
    bytes /= 1000;
    at += 1;
  }
  return `${at && bytes < 10 ? bytes.toFixed(1) : Math.round(bytes)} ${units[at]}`;
}

/** @param {number} ms */
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d`;
}

/** A time that a person waited, in words. @param {number|null} ms */
export function waited(ms) {
  if (ms === null || ms === undefined) return "";
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  const min = Math.round(s / 60);
  const [days, hours] = [Math.floor(min / 1440), Math.floor((min % 1440) / 60)];
  if (days >= 10) return things(Math.round(min / 1440), "day");
  const parts = days
    ? [things(days, "day"), hours && `${hours} h`]
    : [hours && `${hours} h`, min % 60 && `${min % 60} min`];
  return parts.filter(Boolean).join(" ");
}

const two = (/** @type {number} */ n) => String(n).padStart(2, "0");

/** A time as text, in the viewer's zone. @param {number} ms */
export function at(ms) {
  const d = new Date(ms);
  if (Number.isNaN(d.getTime())) return String(ms);
  const day = `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  return `${day} ${two(d.getHours())}:${two(d.getMinutes())}`;
}

/** A time as an element. @param {number|null|undefined} ms @param {boolean} [seconds] */
export function time(ms, seconds = false) {
  if (ms === null || ms === undefined) return h("span", { class: "faint" }, "never");
  const d = new Date(ms);
  const utc = Number.isNaN(d.getTime()) ? "" : d.toISOString();
  return h(
    "time",
    { datetime: utc, title: `${utc.slice(0, -1).replace("T", " ").replace(".000", "")} UTC` },
    at(ms),
    seconds && utc && `:${two(d.getSeconds())}`,
  );
}

/**
 * The first or the last millisecond of a day in the viewer's zone, or of an instant or a minute
 * such as 2026-01-31T23:59Z, with which the overview names days of another zone.
 * @param {string} day @param {boolean} end
 */
export function dayBound(day, end) {
  if (day.includes("T")) {
    const minute = /T\d\d:\d\dZ$/.test(day) ? 59999 : 0;
    return Date.parse(day) + (end ? minute : 0);
  }
  const [y, m, d] = day.split("-").map(Number);
  const bound = new Date(y, m - 1, d + (end ? 1 : 0)).getTime();
  return end ? bound - 1 : bound;
}

/** The values in a text of an address, between commas. A comma of a value has a backslash. */
export const listOf = (/** @type {string} */ text) =>
  [...text.matchAll(/(?:\\[\\,]|[^,])+/g)]
    .map(([one]) => one.trim().replace(/\\([\\,])/g, "$1"))
    .filter(Boolean);
export const textOf = (/** @type {string[]} */ values) =>
  values.map((one) => one.replace(/[\\,]/g, "\\$&")).join(",");

/** The first characters of a long text. @param {any} text */
export function short(text, chars = 200) {
  const shown = String(text ?? "");
  return shown.length > chars ? `${shown.slice(0, chars)}…` : shown;
}

export const STATES = [
  "new",
  "new-for-agent",
  "agent-replied",
  "waiting-for-agent",
  "pending-reassignment",
  "resolved",
  "rejected",
];
/** The states of issues that wait for somebody, as a filter takes them. */
export const OPEN = STATES.slice(0, 5).join(",");

export const capital = (/** @type {string} */ text) =>
  text.slice(0, 1).toUpperCase() + text.slice(1);

/** The words of names whose parts are not the words, and of those that have a hyphen. */
const WORDS = named(
  /** @type {Record<string, string>} */ ({
    ...Object.fromEntries(STATES.map((state) => [state, state.replaceAll("-", " ")])),
    [OPEN]: "open",
    processing: "running",
    completed: "done",
    completed_with_errors: "done with errors",
    core_profile: "person",
    app_profile: "app profile",
    create_core_profiles: "create people",
    upsert_core_profiles: "create or update people",
    update_core_profiles: "update people",
    delete_core_profiles: "delete people",
    get_core_profiles: "export people",
    get_app_profiles: "export app profiles",
    erase_person: "erase a person",
  }),
);

/**
 * A name of the API, such as a state, an action or a code, in the words that people read. A text
 * that is none stays as it is.
 * @param {string} name
 */
export const wordsOf = (name) => capital(WORDS[name] ?? name.replaceAll("_", " "));
/** Such names with their words, as a list to choose from. @param {string[]} names */
export const choicesOf = (names) => Object.fromEntries(names.map((name) => [name, wordsOf(name)]));

/** What a filter by state offers. */
export const STATE_OPTIONS = { "": "Any state", ...choicesOf([OPEN, ...STATES]) };

/** A text as one word of a command line. @param {string} text */
export const quoted = (text) =>
  /^[\w./:=,+@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** A part of an address as a text. @param {string} part */
export function plain(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// How values are shown: counts, sizes, times in the viewer's zone with UTC as a tooltip.
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

/** The milliseconds of a day in the viewer's zone. @param {string} day @param {boolean} end */
export function dayBound(day, end) {
  const [y, m, d] = day.split("-").map(Number);
  const bound = new Date(y, m - 1, d + (end ? 1 : 0)).getTime();
  return end ? bound - 1 : bound;
}

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
/** What a filter by state offers. */
export const STATE_OPTIONS = {
  "": "any state",
  [OPEN]: "open",
  ...Object.fromEntries(STATES.map((state) => [state, state])),
};

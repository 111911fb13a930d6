// The range of the overview: how the address names it, which days it has in which zone, and the
// columns of a chart over it. Days are texts such as 2026-11-28, because a day is another span of
// time in each zone. Nothing here draws or asks.
import { named } from "./json.js";

const DAY_MS = 86400000;
/** The most columns of a chart. */
const COLUMNS_MAX = 60;
export const RANGES = named({
  "7d": "last 7 days",
  "30d": "last 30 days",
  "90d": "last 90 days",
  "1y": "last year",
  all: "everything",
});
const USUAL = "30d";
const LENGTHS = named(/** @type {Record<string, number>} */ ({ "7d": 7, "30d": 30, "90d": 90 }));
const MONTHS =
  "January February March April May June July August September October November December".split(
    " ",
  );

/**
 * What the viewer chose: the name of a range, or `dates` and two days.
 * @typedef {{range:string, zone:string, since?:string, until?:string}} Choice
 * @typedef {{since:string, until:string}} Days the first and the last day
 * @typedef {"day"|"week"|"month"|"year"} Unit
 */

export const viewerZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A day that the API can count: not before 1970, nor in the last days of all. */
const isDay = (/** @type {string|null|undefined} */ text) =>
  /^\d{4}-\d\d-\d\d$/.test(text ?? "") &&
  !Number.isNaN(Date.parse(/** @type {string} */ (text))) &&
  dayAfter(/** @type {string} */ (text), 0) === text &&
  text >= "1970-01-02" &&
  text <= "9999-12-29";

/** Whether these are two days, the first of which is not after the second. */
export const areDays = (
  /** @type {string|null|undefined} */ since,
  /** @type {string|null|undefined} */ until,
) => isDay(since) && isDay(until) && String(since) <= String(until);

/** The choice of an address. @param {URLSearchParams} params @returns {Choice} */
export function readChoice(params, viewer = viewerZone()) {
  const zone = knownZone(params.get("zone")) ?? viewer;
  const [since, until] = [params.get("since"), params.get("until")];
  if (since && until && areDays(since, until)) return { range: "dates", since, until, zone };
  const range = params.get("range") ?? USUAL;
  return { range: range in RANGES ? range : USUAL, zone };
}

/** The query of the address of a choice. @param {Choice} choice */
export function writeChoice({ range, since, until, zone }, viewer = viewerZone()) {
  const pairs = new URLSearchParams();
  if (range === "dates") {
    pairs.set("since", String(since));
    pairs.set("until", String(until));
  } else if (range !== USUAL) pairs.set("range", range);
  if (zone !== viewer) pairs.set("zone", zone);
  const text = pairs.toString();
  return text && `?${text}`;
}

/** @param {string|null} zone */
function knownZone(zone) {
  if (!zone || /^[+-]/.test(zone)) return null;
  try {
    clockOf(zone);
    return zone;
  } catch {
    return null;
  }
}

const clocks = /** @type {Map<string, Intl.DateTimeFormat>} */ (new Map());
function clockOf(/** @type {string} */ zone) {
  const made =
    clocks.get(zone) ??
    new Intl.DateTimeFormat("en-US-u-ca-gregory-nu-latn", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  clocks.set(zone, made);
  return made;
}

/** What a clock of the zone shows, as the instant at which one in UTC shows the same. */
function shown(/** @type {number} */ ms, /** @type {string} */ zone) {
  if (zone === "UTC") return ms;
  const parts = clockOf(zone).formatToParts(ms);
  const of = (/** @type {string} */ type) =>
    Number(parts.find((part) => part.type === type)?.value);
  const second = Date.UTC(
    of("year"),
    of("month") - 1,
    of("day"),
    of("hour"),
    of("minute"),
    of("second"),
  );
  return second + (((ms % 1000) + 1000) % 1000);
}

const text = (/** @type {number} */ ms) => new Date(ms).toISOString().slice(0, 10);
/** The day so many days later. @param {string} day @param {number} days */
export const dayAfter = (day, days) => text(Date.parse(day) + days * DAY_MS);
/** The day on which something happens in a zone. @param {number} ms @param {string} zone */
export const dayIn = (ms, zone) => text(shown(ms, zone));

/**
 * The first millisecond of a day in a zone. A day may begin after midnight, if the clocks are put
 * forward there, so this looks for the first instant that has the day.
 * @param {string} day @param {string} zone
 */
export function startOf(day, zone) {
  const midnight = Date.parse(day);
  if (zone === "UTC") return midnight;
  const has = (/** @type {number} */ ms) => shown(ms, zone) >= midnight;
  let [before, first] = [midnight - DAY_MS, midnight + DAY_MS];
  const likely = midnight - (shown(midnight, zone) - midnight);
  if (has(likely)) first = likely;
  if (!has(likely - 1)) before = likely - 1;
  while (first - before > 1) {
    const middle = Math.floor((before + first) / 2);
    if (has(middle)) first = middle;
    else before = middle;
  }
  return first;
}

/** The first and the last millisecond of days in a zone. @param {Days} days @param {string} zone */
export const boundsOf = ({ since, until }, zone) => ({
  since: startOf(since, zone),
  until: startOf(dayAfter(until, 1), zone) - 1,
});

/** The days of a choice; null for everything. @param {Choice} choice @param {number} now */
export function daysOf({ range, since, until, zone }, now) {
  if (range === "dates") return { since: String(since), until: String(until) };
  if (range === "all") return null;
  const today = dayIn(now, zone);
  if (LENGTHS[range]) return { since: dayAfter(today, 1 - LENGTHS[range]), until: today };
  const [year, month, day] = today.split("-").map(Number);
  return { since: text(Date.UTC(year - 1, month - 1, day + 1)), until: today };
}

/** The columns in which a chart shows days. @param {Days} days @returns {Unit} */
export function unitOf({ since, until }) {
  const days = (Date.parse(until) - Date.parse(since)) / DAY_MS + 1;
  if (days <= COLUMNS_MAX) return "day";
  if (days <= COLUMNS_MAX * 7) return "week";
  const [from, to] = [since, until].map((day) => day.split("-").map(Number));
  return (to[0] - from[0]) * 12 + to[1] - from[1] < COLUMNS_MAX ? "month" : "year";
}

/** How the API groups a unit. It has no years, which are sums of months. */
export const groupOf = (/** @type {Unit} */ unit) => `created-${unit === "year" ? "month" : unit}`;

/** The last day of the day's week, month or year. */
function endOf(/** @type {string} */ day, /** @type {Unit} */ unit) {
  const [year, month] = day.split("-").map(Number);
  if (unit === "week") return dayAfter(day, (7 - new Date(day).getUTCDay()) % 7);
  if (unit === "month") return text(Date.UTC(year, month, 0));
  return unit === "year" ? `${day.slice(0, 4)}-12-31` : day;
}

/** The name of a day's unit, as the API writes it. @param {string} day @param {Unit} unit */
export function nameOf(day, unit) {
  if (unit === "day") return day;
  if (unit !== "week") return day.slice(0, unit === "month" ? 7 : 4);
  // A week of ISO 8601 belongs to the year of its Thursday.
  const thursday = dayAfter(endOf(day, "week"), -3);
  const year = thursday.slice(0, 4);
  const number = Math.floor((Date.parse(thursday) - Date.parse(`${year}-01-01`)) / DAY_MS / 7) + 1;
  return `${year}-W${String(number).padStart(2, "0")}`;
}

/**
 * The columns of days, in the order of time. The first and the last may be a part of a unit.
 * @param {Days} days @param {Unit} unit @returns {(Days & {name:string})[]}
 */
export function columnsOf({ since, until }, unit) {
  const found = [];
  for (let day = since; day <= until;) {
    const end = endOf(day, unit);
    const last = end < until ? end : until;
    found.push({ name: nameOf(day, unit), since: day, until: last });
    day = dayAfter(last, 1);
  }
  return found;
}

/** An instant as the address of a list names it: the minute, if that says it all. */
const instant = (/** @type {number} */ ms, /** @type {string} */ whole) => {
  const iso = new Date(ms).toISOString();
  return iso.endsWith(whole) ? `${iso.slice(0, 16)}Z` : iso;
};

/**
 * Days as the list's address has them, as exact as the counts: as days if those are the viewer's,
 * otherwise as instants.
 * @param {Days|null} days @param {string} zone @returns {{since?:string, until?:string}}
 */
export function filterOf(days, zone, viewer = viewerZone()) {
  if (!days) return {};
  if (zone === viewer) return { since: days.since, until: days.until };
  const { since, until } = boundsOf(days, zone);
  return { since: instant(since, ":00.000Z"), until: instant(until, ":59.999Z") };
}

/** A day for people. @param {string} day */
export function dayText(day, year = true) {
  const [y, m, d] = day.split("-").map(Number);
  return `${d} ${MONTHS[m - 1]}${year ? ` ${y}` : ""}`;
}

/** Days for people. @param {Days} days */
export function daysText({ since, until }) {
  if (since === until) return dayText(since);
  return `${dayText(since, since.slice(0, 4) !== until.slice(0, 4))} to ${dayText(until)}`;
}

/** The few letters below a column. @param {Days} column @param {Unit} unit */
export function markOf({ since }, unit) {
  const [year, month, day] = since.split("-").map(Number);
  const short = MONTHS[month - 1].slice(0, 3);
  if (unit === "year") return String(year);
  return unit === "month" ? `${short} ${year}` : `${day} ${short}`;
}

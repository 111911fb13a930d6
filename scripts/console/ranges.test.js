// The ranges of the overview: days in zones whose clocks change, columns, and addresses.
import assert from "node:assert/strict";
import test from "node:test";
import { dayBound, waited } from "../../console/format.js";
import { boundsOf, columnsOf, dayIn, daysOf, daysText } from "../../console/ranges.js";
import { filterOf, markOf, nameOf, readChoice, startOf } from "../../console/ranges.js";
import { unitOf, writeChoice } from "../../console/ranges.js";

const HOUR = 3600000;
const at = (text) => Date.parse(text);
const choiceOf = (query) => readChoice(new URLSearchParams(query), "Europe/Berlin");

test("a day begins when the clocks of its zone say so", () => {
  for (const [day, zone, start] of [
    ["2026-11-28", "UTC", "2026-11-28T00:00:00Z"],
    ["2026-11-28", "Europe/Berlin", "2026-11-27T23:00:00Z"],
    ["2026-07-01", "Europe/Berlin", "2026-06-30T22:00:00Z"],
    ["2026-11-28", "Asia/Kathmandu", "2026-11-27T18:15:00Z"],
    ["2026-11-28", "Pacific/Kiritimati", "2026-11-27T10:00:00Z"],
    ["2026-11-28", "America/Los_Angeles", "2026-11-28T08:00:00Z"],
    // There was no midnight on this day: the clocks went from 0:00 to 1:00.
    ["2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00Z"],
    // The hour before this day came twice.
    ["2018-02-18", "America/Sao_Paulo", "2018-02-18T03:00:00Z"],
    // The first hour of this day came twice.
    ["2026-11-01", "America/Havana", "2026-11-01T04:00:00Z"],
  ]) {
    assert.equal(new Date(startOf(day, zone)).toISOString(), new Date(start).toISOString(), zone);
    assert.equal(dayIn(startOf(day, zone), zone), day);
    assert.ok(dayIn(startOf(day, zone) - 1, zone) < day);
  }
});

test("days are as long as the clocks make them, and adjoin", () => {
  const long = (day) => {
    const { since, until } = boundsOf({ since: day, until: day }, "Europe/Berlin");
    return (until + 1 - since) / HOUR;
  };
  assert.deepEqual(
    ["2026-03-28", "2026-03-29", "2026-10-25", "2026-10-26"].map(long),
    [24, 23, 25, 24],
  );
  const year = columnsOf({ since: "2026-01-01", until: "2026-12-31" }, "day");
  let next = startOf("2026-01-01", "America/Santiago");
  for (const column of year) {
    const { since, until } = boundsOf(column, "America/Santiago");
    assert.equal(since, next, column.name);
    next = until + 1;
  }
  assert.equal(year.length, 365);
});

test("a range ends today in its zone", () => {
  const now = at("2026-11-28T22:30:00Z");
  for (const [query, since, until] of [
    ["range=7d&zone=UTC", "2026-11-22", "2026-11-28"],
    ["zone=UTC", "2026-10-30", "2026-11-28"],
    ["range=7d&zone=Asia/Tokyo", "2026-11-23", "2026-11-29"],
    ["range=1y&zone=UTC", "2025-11-29", "2026-11-28"],
    ["since=2026-02-01&until=2026-02-03", "2026-02-01", "2026-02-03"],
  ])
    assert.deepEqual(daysOf(choiceOf(query), now), { since, until }, query);
  assert.equal(daysOf(choiceOf("range=all"), now), null);
  assert.deepEqual(daysOf(choiceOf("range=1y&zone=UTC"), at("2024-02-29T12:00:00Z")), {
    since: "2023-03-02",
    until: "2024-02-29",
  });
});

test("the address of a range is read and written, and a wrong one is the usual range", () => {
  for (const query of [
    "",
    "?range=90d",
    "?zone=UTC",
    "?range=all&zone=Asia%2FTokyo",
    "?since=2026-01-01&until=2026-03-31&zone=UTC",
  ])
    assert.equal(writeChoice(choiceOf(query), "Europe/Berlin"), query);
  const usual = { range: "30d", zone: "Europe/Berlin" };
  for (const query of [
    "range=constructor",
    "zone=Europe/Berln",
    "zone=%2B02:00",
    "since=2026-02-30&until=2026-03-31",
    "since=2026-03-02&until=2026-03-01",
    "since=2026-03-02",
    "since=0001-01-01&until=2026-01-01",
    "since=2026-03-01&until=275760-01-01",
  ])
    assert.deepEqual(choiceOf(query), usual, query);
});

test("columns are at most some sixty, named as the API names them, and cut at the range", () => {
  const since = "2026-01-01";
  for (const [until, unit, length, first, last] of [
    ["2026-01-01", "day", 1, "2026-01-01", "2026-01-01"],
    ["2026-03-01", "day", 60, "2026-01-01", "2026-03-01"],
    ["2026-03-02", "week", 10, "2026-W01", "2026-W10"],
    ["2027-01-03", "week", 53, "2026-W01", "2026-W53"],
    ["2027-12-31", "month", 24, "2026-01", "2027-12"],
    ["2030-12-31", "month", 60, "2026-01", "2030-12"],
    ["2031-01-01", "year", 6, "2026", "2031"],
  ]) {
    assert.equal(unitOf({ since, until }), unit, until);
    const columns = columnsOf({ since, until }, unit);
    assert.deepEqual(
      [columns.length, columns[0].name, columns.at(-1).name],
      [length, first, last],
      until,
    );
    assert.deepEqual([columns[0].since, columns.at(-1).until], [since, until]);
  }
  assert.deepEqual(columnsOf({ since: "2026-01-31", until: "2026-03-02" }, "month"), [
    { name: "2026-01", since: "2026-01-31", until: "2026-01-31" },
    { name: "2026-02", since: "2026-02-01", until: "2026-02-28" },
    { name: "2026-03", since: "2026-03-01", until: "2026-03-02" },
  ]);
  // As crates/model has them.
  for (const [day, week] of [
    ["1970-01-01", "1970-W01"],
    ["2021-01-03", "2020-W53"],
    ["2021-01-04", "2021-W01"],
    ["2026-02-01", "2026-W05"],
    ["2026-02-02", "2026-W06"],
  ])
    assert.equal(nameOf(day, "week"), week);
});

test("the filter of a list is as exact as the counts, in each zone", () => {
  const days = { since: "2026-03-29", until: "2026-10-25" };
  assert.deepEqual(filterOf(days, "Europe/Berlin", "Europe/Berlin"), days);
  assert.deepEqual(filterOf(null, "UTC", "Europe/Berlin"), {});
  for (const zone of ["UTC", "Europe/Berlin", "Asia/Kathmandu"]) {
    const { since, until } = filterOf(days, zone, "America/Lima");
    assert.deepEqual(
      { since: dayBound(since, false), until: dayBound(until, true) },
      boundsOf(days, zone),
      zone,
    );
  }
  assert.deepEqual(filterOf(days, "UTC", "America/Lima"), {
    since: "2026-03-29T00:00Z",
    until: "2026-10-25T23:59Z",
  });
  // Until 1972 the clocks of Liberia were 44 minutes and 30 seconds late.
  const old = { since: "1971-03-01", until: "1971-03-02" };
  const { since, until } = filterOf(old, "Africa/Monrovia", "UTC");
  assert.deepEqual(
    [dayBound(since, false), dayBound(until, true)],
    [boundsOf(old, "Africa/Monrovia").since, boundsOf(old, "Africa/Monrovia").until],
  );
});

test("days are written for people", () => {
  assert.equal(daysText({ since: "2026-11-28", until: "2026-11-28" }), "28 November 2026");
  assert.equal(
    daysText({ since: "2026-01-01", until: "2026-02-03" }),
    "1 January to 3 February 2026",
  );
  assert.equal(
    daysText({ since: "2025-12-30", until: "2026-01-02" }),
    "30 December 2025 to 2 January 2026",
  );
  assert.equal(markOf({ since: "2026-11-28" }, "week"), "28 Nov");
  assert.equal(markOf({ since: "2026-11-01" }, "month"), "Nov 2026");
});

test("a time that a person waited is in words", () => {
  const [min, hour, day] = [60000, HOUR, 24 * HOUR];
  for (const [ms, words] of [
    [0, "0 s"],
    [59499, "59 s"],
    [59500, "1 min"],
    [2 * hour + 10 * min, "2 h 10 min"],
    [hour, "1 h"],
    [day - 1, "1 day"],
    [day + 3 * hour, "1 day 3 h"],
    [2 * day + min, "2 days"],
    [12 * day + 13 * hour, "13 days"],
  ])
    assert.equal(waited(ms), words);
  assert.equal(waited(null), "");
});

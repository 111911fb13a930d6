// The parts of the console that need no browser: digits, pointers, files, and the window of a list.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";
import { customField, detailOf, fieldName, likely, placeName } from "../../console/fields.js";
import { after, summaryOf, undoBody, undoCalls } from "../../console/edit_plan.js";
import { ChangeRows } from "../../console/change_rows.js";
import { OPEN, STATES, STATE_OPTIONS, compact, count } from "../../console/format.js";
import { quoted, size, span, wordsOf } from "../../console/format.js";
import { Exact, parse, write } from "../../console/json.js";
import { authorPath, identitiesIn, nameIn, patchOf, patched } from "../../console/profile.js";
import { phraseOf, searchOf } from "../../console/profile.js";
import { groupOf, placeOf, valueAt, withValue } from "../../console/pointer.js";
import { Track, visible } from "../../console/list.js";
import { cellsOf, lastRecord } from "../../console/rows.js";
import { countsOf, issueFilters, withField } from "../../console/profile.js";
import { Pages } from "../../console/pages.js";
import { proposalOf, shownOf, textOf, valueOf } from "../../console/proposals.js";
import { isSafeAddress } from "../../console/view.js";

test("numbers keep their digits, with and without the engine's help", () => {
  const text =
    '{"a":12345678901234567890,"b":[1.10,-0,1e3,0.1],"c":"12345678901234567890 \\" 1.10","d":7}';
  for (const source of [undefined, false]) {
    const value = parse(text, source);
    assert.equal(write(value), text);
    assert.ok(value.a instanceof Exact);
    assert.equal(value.d, 7);
    assert.equal(String(value.b[0]), "1.10");
  }
  assert.equal(
    write({ a: [], b: {}, c: undefined, d: [1] }, 2),
    '{\n  "a": [],\n  "b": {},\n  "d": [\n    1\n  ]\n}',
  );
  assert.throws(() => parse('{"a":01}', false));
});

test("a pointer finds, replaces and removes a value and leaves the entry as it was", () => {
  const entry = { a: [{ "x/y": 1, "~": 2 }], b: "c" };
  assert.equal(valueAt(entry, "/a/0/x~1y"), 1);
  assert.equal(valueAt(entry, "/a/0/~0"), 2);
  assert.equal(valueAt(entry, "/a/7/z"), undefined);
  assert.equal(valueAt({ a: "text" }, "/a/length"), undefined);
  assert.deepEqual(withValue(entry, "/a/0/x~1y", 5), { a: [{ "x/y": 5, "~": 2 }], b: "c" });
  assert.deepEqual(withValue(entry, "/a/0", undefined), { a: [], b: "c" });
  assert.deepEqual(withValue(entry, "/n/m", 1), { ...entry, n: { m: 1 } });
  assert.deepEqual(entry, { a: [{ "x/y": 1, "~": 2 }], b: "c" });
  assert.equal(groupOf("/identities/12/email"), "/identities/*/email");
  assert.equal(placeOf("/custom_fields/a~1b"), "custom_fields.a/b");
  assert.equal(placeOf("/identities/12/email"), "identities.email");
});

test("names of the API are shown in words, and a text of a person stays", () => {
  assert.deepEqual(STATES.map(wordsOf), [
    "New",
    "New for agent",
    "Agent replied",
    "Waiting for agent",
    "Pending reassignment",
    "Resolved",
    "Rejected",
  ]);
  assert.equal(STATE_OPTIONS[OPEN], "Open");
  assert.equal(STATE_OPTIONS["new-for-agent"], "New for agent");
  assert.equal(wordsOf("upsert_core_profiles"), "Create or update people");
  assert.equal(wordsOf("completed_with_errors"), "Done with errors");
  assert.equal(wordsOf("invalid_value"), "Invalid value");
  assert.equal(wordsOf("constructor"), "Constructor");
  assert.equal(placeName("/last_country"), "Country");
});

test("a text is one word for a shell", () => {
  const texts = ["plain.csv", "", "it's", '$HOME "`id`" \\', "a\nb\n", "*;&|<>!~#", "é 注文", "-x"];
  const line = ["printf '%s\\0' --", ...texts.map(quoted)].join(" ");
  const said = execFileSync("bash", ["-c", line]).toString().split("\0").slice(1, -1);
  assert.deepEqual(said, texts);
  assert.equal(quoted("issues.csv"), "issues.csv");
});

test("counts that have little room are short", () => {
  assert.deepEqual([0, 999, 1000, 1234, 9949, 9950, 999499, 999500, 12345678].map(compact), [
    "0",
    "999",
    "1.0k",
    "1.2k",
    "9.9k",
    "10k",
    "999k",
    "1.0M",
    "12M",
  ]);
});

test("only rows in view are drawn, and only harmless addresses are set", () => {
  assert.deepEqual(visible(1000000, 40, 4000, 800, 8), [92, 128]);
  assert.deepEqual(visible(3, 40, 0, 800, 8), [0, 3]);
  assert.deepEqual(visible(0, 40, 500, 800, 8), [0, 0]);
  for (const text of ["https://a", "http://a", "#/x", "a/b", "blob:x"])
    assert.ok(isSafeAddress(text), text);
  for (const text of [
    "javascript:alert(1)",
    " JavaScript:x",
    "data:text/html,x",
    "\u0001javascript:x",
    "vbscript:x",
  ])
    assert.ok(!isSafeAddress(text), text);
});

test("counts, sizes and spans are short", () => {
  assert.equal(count(1234567), "1\u202f234\u202f567");
  assert.deepEqual([0, 999, 1500, 2e6].map(size), ["0 B", "999 B", "1.5 kB", "2.0 MB"]);
  assert.deepEqual([5, 61000, 3600000].map(span), ["5 ms", "1 min 1 s", "1 h 0 min"]);
});

test("a patch has the members that differ, and null for what was removed", () => {
  const own = parse(
    '{"age":30,"names":{"first_name":"Ada","last_name":"B"},"lifetime_value":1.10,"tags":["a"]}',
  );
  const patch = (text) => JSON.parse(write(patchOf(own, text)).replace("1.10", "111"));
  assert.deepEqual(patch(write(own, 2)), {});
  assert.deepEqual(
    patch(
      '{"age":30,"names":{"first_name":"Ada"},"lifetime_value":1.1,"tags":["a"],"created_at":9}',
    ),
    { names: { last_name: null }, lifetime_value: 1.1 },
  );
  assert.deepEqual(patch('{"age":null,"names":null,"lifetime_value":1.10,"tags":[]}'), {
    names: null,
    tags: [],
    age: null,
  });
  for (const text of ["{", "[]", "3", "null", ""])
    assert.throws(() => patchOf(own, text), /not (a )?JSON/);
});

test("a search is an identity or a part of the name", () => {
  assert.deepEqual(searchOf("uid:a:b"), { identity: [{ uid: "a:b" }] });
  assert.deepEqual(searchOf("a,b@x.y"), { identity: [{ email: "a,b@x.y" }] });
  assert.deepEqual(searchOf("planet:x"), { name: "planet:x" });
  assert.deepEqual(searchOf(""), {});
});

test("a text can be any identity and a part of a name, unless it names its type", () => {
  const types = (text) => identitiesIn(text).map((one) => Object.entries(one)[0]);
  assert.deepEqual(types("uid:a:b"), [["uid", "a:b"]]);
  assert.equal(nameIn("uid:a:b"), undefined);
  assert.ok(types("C002000").some(([type, value]) => type === "uid" && value === "C002000"));
  assert.ok(types("+49 30 1").some(([type]) => type === "phone_number"));
  assert.equal(nameIn("C002000"), "C002000");
  assert.equal(
    authorPath({ author_email: "a+b@x.y", hs_user_id: "p&1" }),
    "author?email=a%2Bb%40x.y&pid=p%261",
  );
  assert.equal(authorPath({ author_email: "", hs_user_id: "p" }), "author?pid=p");
  assert.equal(authorPath({ author_email: "" }), null);
});

test("the issues of a person are counted once, however many filters find them", () => {
  const filters = issueFilters({ id: "7", emails: ["a@b.c"], pids: ["p"] });
  const sets = [new Set([1, 2, 3]), new Set([2, 3, 4]), new Set([3, 5])];
  const all = filters.map((filter, at) => [Object.keys(filter)[0], sets[at]]);
  const total = countsOf(filters).reduce((sum, { filter, sign }) => {
    const chosen = all.filter(([name]) => name in filter).map(([, set]) => set);
    const both = [1, 2, 3, 4, 5].filter((issue) => chosen.every((set) => set.has(issue)));
    return sum + sign * both.length;
  }, 0);
  assert.equal(total, 5);
  assert.equal(countsOf(filters).length, 7);
  assert.deepEqual(countsOf(issueFilters({ emails: [], pids: ["p"] })), [
    { filter: { "end-user-ids": ["p"] }, sign: 1 },
  ]);
});

test("a patch names single members of maps, and is made again on another profile", () => {
  const own = { custom_fields: { a: "1", b: 2 }, tags: ["x"], age: 3 };
  const patch = patchOf(own, '{"custom_fields":{"a":"1","c":"3"},"tags":["x"],"age":4}');
  assert.deepEqual(patch, { custom_fields: { b: null, c: "3" }, age: 4 });
  assert.deepEqual(patched({ ...own, last_city: "Bern", custom_fields: { a: "9", b: 2 } }, patch), {
    custom_fields: { a: "9", c: "3" },
    tags: ["x"],
    age: 4,
    last_city: "Bern",
  });
  assert.deepEqual(patchOf({}, '{"tags":[],"names":{}}'), {});
  assert.deepEqual(withField({ names: { full_name: "A" } }, "/names/full_name", undefined), {});
  assert.deepEqual(withField({}, "/custom_fields/a~1b", 1), { custom_fields: { "a/b": 1 } });
});

test("faults name fields as people do", () => {
  assert.equal(placeName("/last_country"), "Country");
  assert.equal(placeName("/identities/0/email"), "E-mail");
  assert.equal(placeName("/names/first_name"), "First name");
  assert.equal(placeName("/custom_fields/a_b"), "Custom field “a_b”");
  assert.equal(placeName("/messages/3/body"), "Messages body");
  assert.equal(placeName(""), "");
  assert.equal(
    detailOf({ pointer: "/names/first_name", detail: '"first_name" must be a string' }),
    "First name must be a string",
  );
  assert.equal(
    detailOf({ pointer: "/custom_fields/first_name", detail: '"first_name" must be a string' }),
    '"first_name" must be a string',
  );
});

test("to erase a person one types an identity that a keyboard has, or the id", () => {
  const phrase = (...identities) => phraseOf({ identities, "core-profile-id": "17" });
  assert.equal(phrase({ uid: "u 1" }, { email: "a@b.c" }), "a@b.c");
  assert.equal(phrase({ uid: "u-1" }, { email: "ä@b.c" }), "u-1");
  assert.equal(phrase({ uid: "\u202Egnp" }, { uid: "x".repeat(81) }), "17");
  assert.equal(phrase(), "17");
});

test("what a file holds is told by its columns or members", () => {
  for (const [names, action] of [
    [["E-mail", "Given name"], "upsert_core_profiles"],
    [["core-profile-id", "title of nobility"], "upsert_core_profiles"],
    [["ID", "Subject", "Requester"], "import_issues"],
    [["created_at", "messages"], "import_issues"],
    [["issue-id"], "delete_issues"],
    [["pid", "country"], "update_app_profiles"],
  ])
    assert.equal(likely(names), action, names.join());
  assert.equal(customField(" Shoe size ", 2), "custom_fields.Shoe size");
  assert.equal(customField(" ", 2), "custom_fields.column 3");
  assert.equal(fieldName("custom_fields.a_b"), "Custom field “a_b”");
  assert.equal(fieldName("email2"), "Another e-mail");
});

test("the cells of a row of the server's tables are read back", () => {
  assert.deepEqual(cellsOf('\uFEFFa,"b ""x"", y",,"two\nlines",\r\nnext'), [
    "a",
    'b "x", y',
    "",
    "two\nlines",
    "",
  ]);
});

test("the last complete record is found, with line ends between quotes or without", () => {
  const bytes = (text) => new TextEncoder().encode(text);
  for (const [text, table, expected] of [
    ["", false, { begin: 0, end: 0, count: 0 }],
    ['{"a":1}', false, { begin: 0, end: 0, count: 0 }],
    ['{"a":1}\n{"b":"\\""}\n{"c', false, { begin: 8, end: 19, count: 2 }],
    ['a,b\r\n"x\ny",""""\r\n"z\n', true, { begin: 5, end: 17, count: 2 }],
  ]) {
    assert.deepEqual(lastRecord(bytes(text), table), expected, text);
  }
});

test("a list that is higher than an element may be scrolls to each of its rows", () => {
  const track = new Track(10000);
  track.resize(4400000, 600);
  assert.equal(track.height, 10000);
  // With the scroll bar: to the middle and to both ends.
  track.scrolled(4700);
  assert.equal(track.top, (4400000 - 600) / 2);
  track.scrolled(9400);
  assert.equal(track.top, 4400000 - 600);
  assert.equal(track.offset + 9400, track.top);
  // With the wheel: the rows move by as much, and the element is put back before it ends.
  let moved = 0;
  for (let n = 0; n < 3000; n++) {
    const before = track.top;
    track.scrolled(Math.max(0, track.real - 100));
    assert.equal(before - track.top, 100, `step ${n}`);
    moved += before - track.top;
    if (track.stuck) track.real = track.settled;
  }
  assert.equal(track.top, 4400000 - 600 - moved);
  track.scrolled(0);
  track.go(50);
  track.real = track.settled;
  track.scrolled(track.real);
  assert.equal(track.top, 50);
  // A list that fits has no second scale.
  track.resize(5000, 600);
  track.scrolled(4400);
  assert.deepEqual([track.top, track.offset, track.stuck], [4400, 0, false]);
});

/**
 * A list as the API answers it: by number down to a depth, by what it follows, and between times.
 */
function listOf(times, deepest = 50000) {
  const asked = [];
  const oldest = times.map((at, n) => ({ id: n, at })).sort((a, b) => a.at - b.at || a.id - b.id);
  const newest = oldest.toReversed();
  const ask = async (params) => {
    asked.push(params);
    const {
      page,
      "page-size": size,
      after,
      since = -Infinity,
      until = Infinity,
      "sort-order": order = "desc",
    } = params;
    const [time, id] = (after ?? "").split(",").map(Number);
    const records = (order === "desc" ? newest : oldest).filter(
      (one) => one.at >= since && one.at <= until,
    );
    if (after)
      return {
        records: records
          .filter((one) => one.at < time || (one.at === time && one.id < id))
          .slice(0, size),
      };
    assert.ok(page * size <= deepest, "page_too_deep");
    return { records: records.slice((page - 1) * size, page * size), "total-hits": records.length };
  };
  return { ask, asked };
}

test("records are found at any place of a list, by few requests", async () => {
  const count = 130000;
  for (const at of [
    (n) => n * 1000,
    (n) => (n < 100000 ? 5000 + Math.floor(n / 7) : n * 100000),
    () => 7,
  ]) {
    const { ask, asked } = listOf(Array.from({ length: count }, (_, n) => at(n)));
    const pages = new Pages({
      ask,
      key: "records",
      order: { since: "since", until: "until", newest: true, of: (one) => [one.at, one.id] },
    });
    await pages.begin();
    for (const place of [0, 49990, 65000, 64800, 129990, 65190, 129700]) {
      await pages.load(
        () => [place, place + 10],
        () => {},
      );
      for (let n = place; n < place + 10; n++)
        assert.equal(pages.at(n).id, count - 1 - n, `place ${n}`);
    }
    assert.ok(asked.length < 230, `${asked.length} requests`);
    assert.ok(pages.records.size <= 21000);
  }
});

test("a record that is not in the list any more leaves a gap", async () => {
  const { ask } = listOf(Array.from({ length: 300 }, (_, n) => n));
  const pages = new Pages({
    ask,
    key: "records",
    order: { since: "since", until: "until", newest: true, of: (one) => [one.at, one.id] },
  });
  await pages.begin();
  pages.length = 310;
  await pages.load(
    () => [290, 310],
    () => {},
  );
  assert.deepEqual([pages.at(299).id, pages.at(300), pages.at(309)], [0, null, null]);
});

/** Changes of one kind in the order of the log, by a task if it is named. */
const changesOf = (/** @type {number[]} */ ids, /** @type {string} */ task = "") =>
  ids.map((id) => ({
    id,
    resource: "issue",
    action: "created",
    by: task ? { task_id: task } : { key_id: "k" },
  }));
const shown = (/** @type {ChangeRows} */ { rows }) =>
  rows.map(({ change, count }) => `${change.id}×${count}`).join(" ");

const mayGrow = (/** @type {ChangeRows} */ rows) => rows.rows.map((_, at) => rows.mayGrow(at));

test("changes of one task are a row, also of tasks side by side and across two readings", () => {
  const rows = new ChangeRows();
  assert.equal(rows.add([...changesOf([10, 11], "a"), ...changesOf([12], "b")]), 2);
  assert.equal(rows.add([...changesOf([13, 14], "a"), ...changesOf([15, 16])]), 2);
  assert.equal(shown(rows), "16×1 15×1 12×1 14×4");
  assert.deepEqual(mayGrow(rows), [false, false, true, true]);
  assert.equal(rows.addEarlier([...changesOf([7]), ...changesOf([8, 9], "a")]), 1);
  assert.equal(shown(rows), "16×1 15×1 12×1 14×6 7×1");
  assert.equal(rows.addEarlier([{ id: "a", resource: "task", action: "created", by: {} }]), 1);
  assert.deepEqual(mayGrow(rows), [false, false, true, false, false, false]);
});

test("of the log only so many rows are kept", () => {
  const rows = new ChangeRows(3);
  assert.equal(rows.add(changesOf([1, 2])), 2);
  assert.equal(rows.addEarlier(changesOf([-1, 0])), 1);
  assert.equal(shown(rows), "2×1 1×1 0×1");
  assert.ok(rows.full);
  assert.equal(rows.add(changesOf([3, 4, 5, 6])), 3);
  assert.equal(shown(rows), "6×1 5×1 4×1");
});

test("a faulty value has a likely replacement, or is left out, or neither", () => {
  const country = { code: "unknown_country", detail: '"x" is not a country. Give the code' };
  const language = { code: "unknown_language", detail: '"x" is not a language. Give the code' };
  const age = { code: "wrong_type", detail: "age must be a number from 0 to 150, not a string" };
  const cell = { code: "wrong_type", detail: 'column "age": "x" is not a number; digits are' };
  const tags = { code: "wrong_type", detail: "tags must be an array of strings, not a string" };
  const flag = { code: "wrong_type", detail: "it must be true or false, not a string" };
  const seen = { code: "wrong_type", detail: '"x" is not a time; or ISO 8601 such as 2026' };
  const email = { code: "invalid_identity", detail: "it", pointer: "/identities/0/email" };
  const text = (/** @type {any} */ value, /** @type {any} */ fault) => {
    const found = /** @type {any} */ (proposalOf(value, fault));
    return found && (found.leave ? "left out" : found.text);
  };
  for (const [value, wanted] of [
    ["Deutschland", "DE"],
    ["DE ", "DE"],
    ["England", "GB"],
    ["U.S.", "US"],
    ["de_AT", "AT"],
    ["#N/A", "left out"],
    ["Atlantis", null],
    ["Korea", null],
  ])
    assert.equal(text(value, country), wanted, String(value));
  const near = {
    ...country,
    detail: '"Germoney" is not a country; the nearest one is "Germany". G',
  };
  assert.equal(text("Germoney", near), "Germany");
  assert.equal(text("Deutsch", { ...language, detail: 'x; the nearest one is "nl". Give' }), "de");
  assert.equal(text("klingon", language), null);
  for (const [value, wanted] of [
    ["42 years", "42"],
    ["30", "30"],
    ["-", "left out"],
    ["200", null],
    ["3 or 4", null],
  ])
    assert.equal(text(value, age), wanted, String(value));
  assert.equal(text("1.234,5 €", cell), "1234.5");
  assert.equal(text("gold,silver", tags), "gold, silver");
  assert.equal(text("yes", flag), "true");
  assert.equal(text("31.12.2025", seen), "2025-12-31");
  assert.equal(text("01/02/2025", seen), null);
  assert.equal(text("ada (at) example.org", email), "ada@example.org");
  const field = {
    code: "unknown_field",
    detail: '"x" is not a field; did you mean custom_fields?',
  };
  assert.equal(text({}, field), "custom_fields");
  assert.deepEqual(valueOf("gold, silver", tags, "x"), ["gold", "silver"]);
  assert.equal(valueOf("33", age, "old"), 33);
  assert.equal(valueOf("old", age, "old"), "old");
  assert.equal(valueOf(" ", age, "old"), undefined);
  assert.equal(write(valueOf("12345678901234567890", cell, "x")), "12345678901234567890");
  const none = { detail: "a core profile needs at least one identity", pointer: "/identities" };
  assert.deepEqual(valueOf("a@b.c", none, undefined), [{ email: "a@b.c" }]);
  assert.deepEqual(valueOf("a@b.c", email, { email: "x" }), { email: "a@b.c" });
  assert.equal(shownOf({ email: "x" }), "E-mail x");
  assert.equal(shownOf([{ email: "x" }, { uid: "y" }]), "E-mail x, User id y");
  assert.equal(textOf({ email: "x" }), "x");
  assert.equal(textOf(null), "");
});

test("an edit of many says what changes and what is lost, and its undo gives it back", () => {
  const now = { state: "new", assignee_id: "unassigned", tags: ["a", "b"] };
  const edit = { status: "", assignee: "g", tags: { how: "replace", list: ["b", "c"] } };
  const to = { state: "new-for-agent", assignee_id: "g", tags: ["b", "c"] };
  assert.deepEqual(after(now, edit), to);
  const of = (id, values) => ({ id, title: "", updated: 1, name: "Ada", now: values });
  const issues = [of("1", now), of("2", to), of("3", { ...now, assignee_id: "x" })];
  const sum = summaryOf(issues, edit, { g: "Grace" });
  assert.deepEqual(sum.changing, ["1", "3"]);
  assert.deepEqual(sum.gone.all, [["a", 2]]);
  assert.deepEqual(sum.overwritten.all, [["Ada", 1]]);
  assert.deepEqual(sum.states.all, [["New → New for agent", 2]]);
  assert.equal(sum.stay.assignee, 1);
  assert.deepEqual(undoBody(now, to), {
    status: "new",
    "assignee-id": "unassigned",
    tags: ["a", "b"],
  });
  // Other tags stay as they are, in their order: one call is enough for all of them.
  const added = (tags) => ({ from: { tags }, to: { tags: [...tags, "z"] }, issues: [["1", 1, 0]] });
  const calls = undoCalls([added(["a"]), added([]), added(["b", "a"])]);
  assert.deepEqual(
    calls.map(({ body, issues: all }) => [body, all.length]),
    [[{ remove_tags: ["z"] }, 3]],
  );
  assert.deepEqual(undoBody({ tags: ["b", "a"] }, { tags: ["a"] }), { tags: ["b", "a"] });
  assert.deepEqual(undoBody({ tags: ["a", "b"] }, { tags: ["a"] }), { add_tags: ["b"] });
});

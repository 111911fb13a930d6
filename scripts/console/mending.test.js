// The tests of mending that need no browser: values of a group, steps, and numbers of sent entries.
import assert from "node:assert/strict";
import test from "node:test";

Object.assign(globalThis, {
  location: { href: "http://127.0.0.1/console/" },
  document: {
    createElement: () => ({ addEventListener() {}, setAttribute() {}, append() {} }),
    createTextNode: (/** @type {string} */ text) => text,
  },
  Node: Object,
  addEventListener() {},
});
const { forgetSent, isHalf, keep, makeDraft, planOf, restored, undoStep, valuesOf } =
  await import("../../console/mending.js");
const { numbersOf, rangesOf } = await import("../../console/lineage.js");

const detail = '"x" is not a country. Give the code';
const faultOf = (/** @type {any} */ value, pointer = "/last_country") => ({
  code: "unknown_country",
  pointer,
  detail,
  value,
});
/** Entries of these countries, all of them faulty. */
const recordsOf = (/** @type {string[]} */ countries) =>
  countries.map((last_country, index) => ({
    index,
    line: index + 2,
    entry: { last_country, age: index },
    errors: [faultOf(last_country)],
  }));
const group = {
  name: "unknown_country /last_country",
  fault: faultOf("x"),
  count: 4,
  pointers: new Set(["/last_country"]),
};

test("values of a group are listed once, and a replacement mends all entries that have one", () => {
  const draft = makeDraft();
  const records = recordsOf(["Atlantis", "Deutschland", "Deutschland", "n/a"]);
  const values = valuesOf(draft, group, records);
  assert.deepEqual(
    values.map(({ shown, entries, text, leave }) => [shown, entries.size, text, leave]),
    [
      ["Deutschland", 2, "DE", false],
      ["Atlantis", 1, "", false],
      ["n/a", 1, "", true],
    ],
  );
  const plan = planOf(draft, values);
  assert.deepEqual(
    plan.map(({ record, entry }) => [record.index, entry]),
    [
      [1, { last_country: "DE", age: 1 }],
      [2, { last_country: "DE", age: 2 }],
      [3, { age: 3 }],
    ],
  );
  assert.equal(records[3].entry.last_country, "n/a");
  keep(draft, plan);
  // Those that are mended are not listed again.
  assert.deepEqual(
    valuesOf(draft, group, records).map(({ shown }) => shown),
    ["Atlantis"],
  );
});

test("steps are undone one by one, and not after the entries were sent", () => {
  const draft = makeDraft();
  const [first, second] = recordsOf(["a", "b"]);
  keep(draft, [
    { record: first, entry: { age: 1 } },
    { record: second, entry: { age: 1 } },
  ]);
  keep(draft, [{ record: first, entry: { age: 2 } }]);
  assert.equal(undoStep(draft), 1);
  assert.equal(draft.mended.get(0)?.entry.age, 1);
  forgetSent(draft, [0]);
  assert.deepEqual([...draft.mended.keys()], [1]);
  assert.equal(undoStep(draft), 1);
  assert.equal(draft.mended.size, 0);
  assert.equal(undoStep(draft), 0);
});

test("the elements of a list are left out from its end on", () => {
  const draft = makeDraft();
  const record = {
    index: 0,
    line: 1,
    entry: { tags: ["a", "b", "c"] },
    errors: [faultOf("a", "/tags/0"), faultOf("c", "/tags/2")],
  };
  const of = { ...group, name: "unknown_country /tags/*" };
  const values = valuesOf(draft, of, [record]).map((value) => ({ ...value, leave: true }));
  assert.deepEqual(planOf(draft, values)[0].entry, { tags: ["b"] });
});

test("a faulty cell of a table is in the entry again, so that it is not lost silently", () => {
  const record = {
    index: 0,
    line: 2,
    entry: { identities: [{ email: "a@b.c" }] },
    errors: [faultOf("x"), faultOf("1", "/identities/1/phone_number"), faultOf("y", "/tags/3")],
  };
  const whole = restored(record);
  assert.deepEqual(whole.entry, {
    identities: [{ email: "a@b.c" }, { phone_number: "1" }],
    last_country: "x",
  });
  const draft = makeDraft();
  const entry = { ...whole.entry, last_country: "DE" };
  keep(draft, [{ record: whole, entry }]);
  assert.equal(isHalf(draft, whole), true);
  keep(draft, [{ record: whole, entry: { ...entry, identities: [{ email: "a@b.c" }] } }]);
  assert.equal(isHalf(draft, { ...whole, errors: whole.errors.slice(0, 2) }), false);
});

test("numbers of entries are stored as ranges", () => {
  const numbers = [0, 1, 2, 7, 9, 10];
  assert.equal(rangesOf(numbers), "0-2,7,9-10");
  assert.deepEqual(numbersOf(rangesOf(numbers)), numbers);
  assert.deepEqual(numbersOf(""), []);
});

// The filters, columns and views of the list of issues, as far as they need no browser.
import assert from "node:assert/strict";
import test from "node:test";

// The modules make an element or two when they are loaded, which nothing here looks at.
const element = { setAttribute() {}, addEventListener() {}, append() {} };
Object.assign(globalThis, {
  location: new URL("http://localhost/console/#/"),
  document: { createElement: () => element },
  Node: Object,
});
const load = (name) => import(`../../console/${name}.js`);
const { conditionGroups, withTest } = await load("field_conditions");
const { fieldsIn } = await load("field_values");
const { optionsOf } = await load("filter_panel");
const { chipsOf, meaningOf } = await load("issue_filters");
const { listOf, textOf } = await load("format");
const { COLUMNS, fitting } = await load("issue_row");
const { Exact } = await load("json");
const { sameQuery, storedQuery } = await load("views");

const meaning = (text) => meaningOf(new URLSearchParams(text));
const chips = (text, names = (_, value) => value) =>
  chipsOf(new URLSearchParams(text), names).map((one) => one.text);

test("an address with filters means what the API takes, and several values are joined", () => {
  assert.deepEqual(meaning("state=new,resolved&assignee=a,b&tags=x,%20y&since=").filters, {
    state: "new,resolved",
    "assignee-ids": { or: ["a", "b"] },
    tags: { and: ["x", "y"] },
  });
  assert.deepEqual(meaning("assignee=unassigned&language=none&rated=none").filters, {
    "assignee-ids": { exists: false },
    languages: { exists: false },
    "feedback-rating": { exists: false },
  });
  // Both ratings hold, and a value that comes twice is one.
  assert.deepEqual(meaning("rating=4&rated=2,2").filters, {
    "feedback-rating": { and: [{ is_smaller_than: "5" }], or: [{ is: "2" }] },
  });
  for (const values of [["a,b", "c"], ["a\\", "b"], ["\\,"]])
    assert.deepEqual(listOf(textOf(values)), values);
});

test("what an address has that cannot be used is named, and the rest is used", () => {
  const { filters, faults, used } = meaning(
    "constructor=1&state=new,closed&since=soon&fields=%7B&sort=best&assignee=unassigned,a" +
      "&title=b&title=c",
  );
  assert.deepEqual(filters, {
    state: "new",
    "assignee-ids": { or: ["a"] },
    title: { and: ["c"] },
  });
  assert.deepEqual(
    faults.map(({ name, value }) => [name, value]),
    [
      ["constructor", ""],
      ["state", "new"],
      ["since", ""],
      ["fields", ""],
      ["assignee", "a"],
      ["title", "c"],
      ["sort", ""],
    ],
  );
  assert.equal(used.toString(), "state=new&assignee=a&title=c");
  assert.deepEqual(meaning("state=new&view=v&sort=update-time+asc").faults, []);
});

test("filters are said in words, with names and without JSON", () => {
  const fields = JSON.stringify({
    dropdown: { and: { plan: { is_one_of: ["gold", "silver"] } } },
    checkbox: { and: { vip: "true" } },
    number: { or: { seats: { is_greater_than: 4 }, rooms: { is: 2 } } },
  });
  const names = (filter, value) => (filter === "assignee" ? `name of ${value}` : value);
  assert.deepEqual(
    chips(new URLSearchParams({ assignee: "7,8", tags: "a,b", text: "x", fields, no: "1" }), names),
    [
      "Assignee: name of 7 or name of 8",
      "Tag: a and b",
      "plan: gold or silver",
      "vip: yes",
      "seats: more than 4, or rooms: 2",
    ],
  );
  const [plan, vip, some] = conditionGroups(fields);
  assert.deepEqual(
    conditionGroups(plan.without).map((one) => one.text),
    [vip.text, some.text],
  );
  assert.deepEqual(
    conditionGroups(some.without).map((one) => one.text),
    [plan.text, vip.text],
  );
  assert.equal(conditionGroups(conditionGroups(vip.without)[0].without)[0].without, "");
});

test("a condition on a custom field is added to those before", () => {
  const test = (type, key, value) => ({ type, key, test: "is", value });
  const one = withTest("", test("dropdown", "plan", "gold"));
  assert.equal(one, '{"dropdown":{"and":{"plan":{"is":"gold"}}}}');
  assert.equal(
    withTest(one, test("dropdown", "plan", "silver")),
    '{"dropdown":{"and":{"plan":{"is_one_of":["gold","silver"]}}}}',
  );
  assert.equal(
    withTest(withTest("", test("number", "n", 1)), test("number", "n", new Exact("1.10"))),
    '{"number":{"and":{"n":{"is":1.10}}}}',
  );
  const custom_fields = (n) => ({ plan: { type: "dropdown", value: n < 2 ? "gold" : "silver" } });
  const issues = [1, 1, 2].map((n) => ({ custom_fields: custom_fields(n) }));
  assert.deepEqual(fieldsIn([...issues, {}]), [
    { key: "plan", type: "dropdown", values: ["gold", "silver"] },
  ]);
});

test("the values of a filter have names and counts, the most frequent first", () => {
  const names = new Map([
    ["1", "Ana"],
    ["2", "Bo"],
  ]);
  const counts = {
    groups: [
      { assignee: "2", count: 4 },
      { assignee: null, count: 9 },
      { assignee: "gone", count: 1 },
    ],
  };
  const said = (found) => found.map(({ name, count }) => `${name} ${count}`);
  assert.deepEqual(said(optionsOf("assignee", "assignee", names, counts)), [
    "Unassigned 9",
    "Bo 4",
    "gone 1",
    "Ana 0",
  ]);
  // A queue that is missing cannot be filtered for.
  assert.deepEqual(
    optionsOf("queue", "queue", new Map(), { groups: [{ queue: null, count: 1 }] }),
    [],
  );
});

test("columns leave a narrow list in their order of rank, and the subject stays", () => {
  const all = Object.keys(COLUMNS);
  assert.deepEqual(fitting(all, 4000), all);
  assert.deepEqual(fitting(all, 360), ["title", "state"]);
  assert.deepEqual(fitting(["title", "assignee", "created", "tags"], 600), [
    "title",
    "assignee",
    "created",
  ]);
  assert.deepEqual(fitting(["tags"], 4000), ["title", "tags"]);
});

test("a view is what an address means, whatever the order of its filters", () => {
  assert.equal(storedQuery(new URLSearchParams("view=v&state=new")), "state=new");
  assert.ok(sameQuery("a=1&b=2", "b=2&a=1"));
  assert.ok(!sameQuery("a=1", "a=2"));
});

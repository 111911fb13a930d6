// The flows of the log of changes: the history of an issue and of a person, and the activity of the
// domain as it happens.
import assert from "node:assert/strict";
import { keys, title } from "../steps.js";

const HISTORY = "section[aria-label=History]";
/** The texts of the history, newest first, without their times. */
const historyOf = async (page, items) => {
  await page
    .locator(`${HISTORY} li`)
    .nth(items - 1)
    .waitFor();
  const texts = await page.locator(`${HISTORY} li`).allInnerTexts();
  return texts.map((text) => text.replaceAll(/\s+/g, " ").replace(/\d{4}-\S+ \S+ /, ""));
};
const rows = (page) => page.locator(".activity-row");
const rowOf = (page, text) => rows(page).filter({ hasText: text }).first();
const picture = (page, name) =>
  process.env.CONSOLE_CHECK_SHOTS &&
  page.screenshot({ path: `${process.env.CONSOLE_CHECK_SHOTS}/${name}.png` });

/** Hides the tab, or shows it again, as far as the page can tell. */
const hide = (page, hidden) =>
  page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);

const newIssue = (server, title) =>
  server.call("POST", "v1/acme/issues", {
    title,
    "message-body": "Hello?",
    email: "l@example.org",
  });

export const log = [
  [
    "the history of an issue says who changed what, and remains when the issue is deleted",
    async ({ server, browser, open }) => {
      const { id } = await newIssue(server, "With a history");
      const { profiles } = await server.call("GET", "v1/acme/agents");
      const edit = (body) => server.call("PUT", `v1/acme/issues/${id}`, body);
      await edit({ status: "resolved", tags: ["a", "<b>"] });
      await edit({ tags: ["a"], "assignee-id": profiles[0].id });
      await server.call("POST", `v1/acme/issues/${id}/private-notes`, { "note-text": "Mind it." });
      for (let n = 0; n < 20; n++) await edit({ status: n % 2 ? "resolved" : "rejected" });
      const page = await open({ path: `issue/${id}` });
      const first = await historyOf(page, 20);
      assert.equal(first.length, 20);
      assert.equal(first[0], "State: Rejected → Resolved by admin (key)");
      await page.getByRole("button", { name: "Show older changes" }).click();
      const all = await historyOf(page, 24);
      assert.deepEqual(all.slice(20), [
        "1 note added by admin (key)",
        "Assignee: unassigned → Grace Hopper Tags: −<b> by admin (key)",
        "State: New → Resolved Tags: +a +<b> by admin (key)",
        "Created by admin (key)",
      ]);
      await page.getByRole("button", { name: "Show older changes" }).waitFor({ state: "hidden" });
      await page.locator(HISTORY).scrollIntoViewIfNeeded();
      await picture(page, "history-issue");
      await server.call("DELETE", `v1/acme/issues/${id}`);
      await page.reload();
      await title(page, "Deleted");
      assert.equal((await historyOf(page, 20))[0], "Deleted by admin (key)");
      assert.deepEqual(await browser.axe(page), []);
      await picture(page, "history-deleted");
    },
  ],
  [
    "the history of a person leads to the tasks, whose senders it names",
    async ({ server, browser, open }) => {
      const of = (entry) => [{ identities: [{ uid: "historic" }], ...entry }];
      await server.task("identity", "create_core_profiles", of({ last_country: "DE" }));
      const [{ "core-profile-id": id }] = (
        await server.call("GET", "v2/acme/identity/core_profiles?identity=uid:historic")
      ).core_profiles;
      await server.task(
        "identity",
        "upsert_core_profiles",
        of({ last_country: "FR", tags: ["x"] }),
      );
      const page = await open({ path: `person/${id}` });
      await page.getByRole("link", { name: "Create or update people" }).waitFor();
      await page.getByRole("link", { name: "Create people" }).waitFor();
      const file = "of entries.jsonl, entry 1";
      const [upsert, create] = await historyOf(page, 2);
      assert.match(upsert, /^Changed: .*Country.* by admin \(key\), Create or update people/);
      assert.match(upsert, /Tags/);
      assert.equal(create, `Created by admin (key), Create people ${file}`);
      assert.deepEqual(await browser.axe(page), []);
      await picture(page, "history-person");
      await page.getByRole("link", { name: "Create or update people" }).click();
      await title(page, "Create or update people");
      await server.call("DELETE", `v2/acme/identity/core_profiles/${id}`);
      await page.goBack();
      await title(page, "Deleted");
      assert.equal((await historyOf(page, 3))[0], "Deleted by admin (key)");
      // No record has had this id.
      await page.goto(`${page.url().split("#")[0]}#/person/1`);
      await page.getByRole("heading", { name: "Not here" }).waitFor();
    },
  ],
  [
    "the activity of the domain appears as it happens, and its rows lead to the records",
    async ({ server, browser, open, read }) => {
      const entry = { title: "One of many", created_at: 1700000000000 };
      await server.task("issues", "import_issues", Array(30).fill(entry));
      const page = await open({ path: "overview", key: read });
      await title(page, "Overview");
      await keys(page, "g", "a");
      await title(page, "Activity");
      await page.getByText("Live", { exact: true }).waitFor();
      // An import is one row.
      await rowOf(page, "30 issues").waitFor();
      const { id } = await newIssue(server, "As it happens");
      await rowOf(page, `issue #${id}`).waitFor();
      const before = await rows(page).count();
      assert.match(await rows(page).first().innerText(), /by admin \(key\)/);
      await picture(page, "activity");
      // A selected row stays selected while others appear above it.
      await keys(page, "j");
      const selected = page.locator(".activity-row[aria-selected=true]");
      const text = await selected.innerText();
      await server.call("PUT", `v1/acme/issues/${id}`, { status: "resolved" });
      await rowOf(page, "State: New → Resolved").waitFor();
      assert.equal(await selected.innerText(), text);
      assert.equal(await rows(page).count(), before + 1);
      await page.getByRole("button", { name: "1 newer" }).click();
      await page.getByRole("button", { name: "1 newer" }).waitFor({ state: "hidden" });
      await keys(page, "j", "Enter");
      await title(page, "As it happens");
      await page.goBack();
      await title(page, "Activity");
      // A row of many leads to their task.
      await page.getByLabel("Kind of record").selectOption("issue");
      await page.waitForURL(/kind=issue/);
      await rowOf(page, "30 issues").waitFor();
      assert.deepEqual(await browser.axe(page), []);
      const place = (await rows(page).allInnerTexts()).findIndex((row) => /30 issues/.test(row));
      for (let n = 0; n <= place; n++) await keys(page, "j");
      await keys(page, "Enter");
      await title(page, "import issues");
    },
  ],
  [
    "the activity is filtered by the address, and asks nothing while the tab is hidden",
    async ({ server, open }) => {
      const page = await open({ path: "activity" });
      let asked = 0;
      page.on("request", (request) => /\/changes\?/.test(request.url()) && (asked += 1));
      await page.getByLabel("Action").selectOption("deleted");
      await page.waitForURL(/action=deleted/);
      await page.getByText("Live", { exact: true }).waitFor();
      const { id } = await newIssue(server, "Soon gone");
      await server.call("DELETE", `v1/acme/issues/${id}`);
      await rowOf(page, `issue #${id}`).waitFor();
      const shown = await rows(page).allInnerTexts();
      assert.ok(
        shown.every((row) => /Deleted/.test(row)),
        shown.join("; "),
      );
      await page.reload();
      await rowOf(page, `issue #${id}`).waitFor();
      assert.equal(await page.getByLabel("Action").inputValue(), "deleted");
      await page.getByText("Live", { exact: true }).waitFor();
      await hide(page, true);
      await page.getByText("Paused", { exact: true }).waitFor();
      const other = await newIssue(server, "Gone while hidden");
      await server.call("DELETE", `v1/acme/issues/${other.id}`);
      asked = 0;
      await page.waitForTimeout(1000);
      assert.equal(asked, 0);
      await hide(page, false);
      await rowOf(page, `issue #${other.id}`).waitFor();
      await keys(page, "j", "Enter");
      await title(page, "Deleted");
      await page.goto(`${page.url().split("#")[0]}#/activity?kind=domain&action=erased`);
      await page.getByText(/No change.* matches/).waitFor();
      await page.goto(`${page.url().split("#")[0]}#/activity?kind=nothing`);
      await page.getByText("The server does not take this").waitFor();
    },
  ],
  [
    "the activity reads back before the last hour, and comes back after a failure",
    async ({ server, open }) => {
      // For this page the last hour has not begun.
      const init = () => {
        const now = Date.now;
        Date.now = () => now() + 7200000;
      };
      const page = await open({ path: "activity", init });
      await page.getByText("No change in the last hour").waitFor();
      await page.getByRole("button", { name: "Show earlier changes" }).click();
      await rows(page).first().waitFor();
      // The question that waits is answered, and the next one fails.
      const questions = /\/changes\?.*wait=/;
      await page.route(questions, (route) => route.abort());
      const { id } = await newIssue(server, "Before a failure");
      await rowOf(page, `issue #${id}`).waitFor();
      await page.getByText("Not live", { exact: true }).waitFor();
      const later = await newIssue(server, "During a failure");
      await page.unroute(questions);
      await rowOf(page, `issue #${later.id}`).waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
      const json = { code: "cursor_expired", detail: "gone" };
      await page.route(questions, (route) => route.fulfill({ status: 410, json }), { times: 1 });
      await newIssue(server, "Before a gap");
      await page.getByText("the server no longer keeps them").waitFor();
      await page.getByText("No change in the last hour").waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
    },
  ],
];

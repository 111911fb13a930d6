// The flows of the log of changes: the history of an issue and of a person.
import assert from "node:assert/strict";
import { title } from "../steps.js";

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
const picture = (page, name) =>
  process.env.CONSOLE_CHECK_SHOTS &&
  page.screenshot({ path: `${process.env.CONSOLE_CHECK_SHOTS}/${name}.png` });

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
      assert.equal(first[0], "State: rejected → resolved by admin (key)");
      await page.getByRole("button", { name: "Show older changes" }).click();
      const all = await historyOf(page, 24);
      assert.deepEqual(all.slice(20), [
        "1 private note added by admin (key)",
        "Assignee: nobody → Grace Hopper Tags: −<b> by admin (key)",
        "State: new → resolved Tags: +a +<b> by admin (key)",
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
      await page.getByRole("link", { name: "upsert core profiles" }).waitFor();
      await page.getByRole("link", { name: "create core profiles" }).waitFor();
      const file = "of entries.jsonl, entry 1";
      const [upsert, create] = await historyOf(page, 2);
      assert.match(upsert, /^Changed: .*last country.* by admin \(key\), upsert core profiles/);
      assert.match(upsert, /tags/);
      assert.equal(create, `Created by admin (key), create core profiles ${file}`);
      assert.deepEqual(await browser.axe(page), []);
      await picture(page, "history-person");
      await page.getByRole("link", { name: "upsert core profiles" }).click();
      await title(page, "upsert core profiles");
      await server.call("DELETE", `v2/acme/identity/core_profiles/${id}`);
      await page.goBack();
      await title(page, "Deleted");
      assert.equal((await historyOf(page, 3))[0], "Deleted by admin (key)");
      // No record has had this id.
      await page.goto(`${page.url().split("#")[0]}#/person/1`);
      await page.getByRole("heading", { name: "Not here" }).waitFor();
    },
  ],
];

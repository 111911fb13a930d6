// The flows of the overview and of issues: lists, conversations, and edits of many.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { keys, settled, title, total } from "../steps.js";

/** Each filter of the console: its value there, and what it asks of the API. */
const json = (value) => encodeURIComponent(JSON.stringify(value));
const FILTERS = ({ agent, app, queue, issue }) => [
  ["text", "needle", "text=needle"],
  ["state", "resolved", "state=resolved"],
  ["tags", "billing, urgent", `tags=${json({ and: ["billing", "urgent"] })}`],
  ["assignee", agent, `assignee-ids=${json({ or: [agent] })}`],
  ["assignee", "unassigned", `assignee-ids=${json({ exists: false })}`],
  ["author", "ada7@example.org", `author_emails=${json({ or: ["ada7@example.org"] })}`],
  ["app", app, `app-ids=${app}`],
  ["queue", queue, `queue_ids=${queue}`],
  ["user", "nobody", `end-user-ids=${json(["nobody"])}`],
  ["ids", `${issue} 2 3`, `ids=${json([issue, "2", "3"])}`],
  ["mode", "HUMAN_SUPPORT", `issue_modes=${json(["HUMAN_SUPPORT"])}`],
  ["assignee-email", "grace@example.org", `assignee_emails=${json({ or: ["grace@example.org"] })}`],
  ["language", "de", `languages=${json({ or: ["de"] })}`],
  ["platform", "web", "platform-types=web"],
  ["title", "Parcel", `title=${json({ and: ["Parcel"] })}`],
  ["messages", "needle", `messages=${json({ and: ["needle"] })}`],
  ["notes", "secret", `notes=${json({ and: ["secret"] })}`],
  ["feedback", "thanks", `feedback-comment=${json({ and: ["thanks"] })}`],
  ["rating", "4", `feedback-rating=${json({ and: [{ is_smaller_than: "5" }] })}`],
  ["since", "2026-01-05", `created-since=${Date.UTC(2026, 0, 5)}`],
  ["until", "2026-01-05", `created-until=${Date.UTC(2026, 0, 6) - 1}`],
  ["updated", "2026-01-05", `updated-since=${Date.UTC(2026, 0, 5)}`],
  ["updated-until", "2026-01-05", `updated-until=${Date.UTC(2026, 0, 6) - 1}`],
  ["changed", "2026-01-05", `state-since=${Date.UTC(2026, 0, 5)}`],
  ["changed-until", "2026-01-05", `state-until=${Date.UTC(2026, 0, 6) - 1}`],
  [
    "fields",
    '{"singleline":{"and":{"plan":{"contains":["gold"]}}}}',
    `custom_fields=${json({ singleline: { and: { plan: { contains: ["gold"] } } } })}`,
  ],
  ["redacted", "false", "redacted=false"],
];

export const issues = [
  [
    "the overview has the totals of the API",
    async ({ server, open }) => {
      const page = await open({ path: "overview?range=all" });
      await page.locator(".bars").first().waitFor();
      const shown = await page.locator(".bars td.right").first().innerText();
      assert.equal(Number(shown.replace(/\D/g, "")), await total(server, "&state=new"));
      await page.getByRole("link", { name: "Waiting for agent" }).click();
      await settled(page, await total(server, "&state=waiting-for-agent"));
    },
  ],
  [
    "issues are filtered by state, words, tag and day, and the address has it all",
    async ({ server, open }) => {
      const page = await open({ path: "issues" });
      await settled(page, await total(server));
      await page.getByLabel("State").selectOption("new");
      await settled(page, await total(server, "&state=new"));
      await keys(page, "/");
      await page.keyboard.type("needle");
      await page.keyboard.press("Enter");
      const both = await total(
        server,
        `&state=new&messages=${encodeURIComponent('{"and":["needle"]}')}`,
      );
      assert.ok(both > 0);
      await settled(page, both);
      await page.getByRole("button", { name: "Add a filter" }).click();
      await page.getByLabel("Field").selectOption("tags");
      await page.getByLabel("Find a value").fill("urg");
      await page.keyboard.press("Enter");
      await page.locator(".chip", { hasText: "tag: urgent" }).waitFor();
      const fewer = await total(
        server,
        `&state=new&tags=urgent&messages=${encodeURIComponent('{"and":["needle"]}')}`,
      );
      await settled(page, fewer);
      await page.reload();
      await settled(page, fewer);
      await page.getByRole("button", { name: "Remove the filter tag" }).click();
      await settled(page, both);
      await page.getByLabel("Search issues").fill("nothing has this");
      await page.keyboard.press("Enter");
      await page.getByText("No issue matches").waitFor();
    },
  ],
  [
    "issues are sorted",
    async ({ open }) => {
      const page = await open({ path: "issues" });
      await page.getByLabel("Order").selectOption("creation-time asc");
      await page
        .locator(".issue-row .title", { hasText: /^No e-mail to reset my password 0$/ })
        .waitFor();
    },
  ],
  [
    "j, k, Enter and Esc go through the list",
    async ({ open }) => {
      const page = await open({ path: "issues?sort=creation-time+asc" });
      await page.locator(".issue-row").first().waitFor();
      await keys(page, "j", "j", "j", "k");
      const chosen = await page.locator('[aria-selected="true"] .title').innerText();
      await keys(page, "Enter");
      await title(page, chosen);
      await keys(page, "Escape");
      await page.locator(".issue-row").first().waitFor();
    },
  ],
  [
    "a long list has few rows in the document, and scrolls to its end",
    async ({ server, open }) => {
      const page = await open({ path: "issues" });
      const all = await total(server);
      await settled(page, all);
      for (let n = 0; n < 40; n++) {
        await page.locator(".long-list").evaluate((list) => (list.scrollTop = list.scrollHeight));
        await page.waitForTimeout(60);
        if ((await page.locator(".issue-row").last().getAttribute("aria-posinset")) === String(all))
          break;
      }
      assert.equal(
        await page.locator(".issue-row").last().getAttribute("aria-posinset"),
        String(all),
      );
      assert.ok((await page.locator(".issue-row").count()) < 80);
    },
  ],
  [
    "an issue is answered, noted, assigned, tagged and resolved",
    async ({ server, open, write }) => {
      const made = await server.call("POST", "v1/acme/issues", {
        title: "A conversation",
        "message-body": "Hello?",
      });
      const page = await open({ path: `issue/${made.id}`, key: write });
      await title(page, "A conversation");
      await keys(page, "r");
      await page.keyboard.type("We are on it.");
      await page.getByRole("button", { name: "Send the reply" }).click();
      await page.locator(".message.ours", { hasText: "We are on it." }).waitFor();
      await page.getByLabel("Reply").fill("With a proof.");
      await page.getByLabel("Author").selectOption({ label: "Grace Hopper" });
      await page
        .locator('input[type="file"]')
        .setInputFiles({ name: "proof.txt", mimeType: "text/plain", buffer: Buffer.from("proof") });
      await page.getByRole("button", { name: "Send the reply" }).click();
      await page.locator(".message.ours", { hasText: "With a proof." }).waitFor();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: /proof.txt/ }).click(),
      ]);
      assert.equal(readFileSync(await download.path(), "utf8"), "proof");
      await page.getByRole("button", { name: "Note", exact: true }).click();
      await page.getByLabel("Private note").fill("A secret.");
      await page.getByRole("button", { name: "Add the note" }).click();
      await page.locator(".message.note", { hasText: "A secret." }).waitFor();
      await page.getByLabel("Assignee").selectOption({ label: "Grace Hopper" });
      await page.getByText("saved").waitFor();
      await page.getByLabel("Tags").fill("one, two");
      await page.keyboard.press("Enter");
      await page.waitForTimeout(300);
      await page.getByLabel("State").selectOption("resolved");
      await page.waitForTimeout(500);
      const { issues } = await server.call("GET", `v1/acme/issues/${made.id}`);
      assert.deepEqual(
        [
          issues[0].state_data.state,
          issues[0].tags,
          issues[0].assignee_name,
          issues[0].messages.length,
        ],
        ["resolved", ["one", "two"], "Grace Hopper", 3],
      );
    },
  ],
  [
    "a long conversation begins with its end, and leads back to its beginning",
    async ({ server, open }) => {
      const messages = Array.from({ length: 230 }, (_, n) => ({
        body: `Message ${n}`,
        created_at: 1767225600000 + n * 1000,
      }));
      const done = await server.task("issues", "import_issues", [
        { title: "A long talk", created_at: 1767225600000, messages },
      ]);
      assert.equal(done.counts.succeeded, 1);
      const found = await server.call(
        "GET",
        "v1/acme/issues?title=%7B%22and%22%3A%5B%22A%20long%20talk%22%5D%7D",
      );
      const page = await open({ path: `issue/${found.issues[0].id}` });
      await page.locator(".message", { hasText: /Message 229$/ }).waitFor();
      const all = await server.call(
        "GET",
        `v1/acme/issues/${found.issues[0].id}/messages?page-size=1`,
      );
      const shown = async () =>
        (await page.locator(".message .text").allInnerTexts())
          .map((text) => Number(/^Message (\d+)$/.exec(text)?.[1]))
          .filter((n) => n >= 0);
      const more = page.getByRole("button", { name: "Show earlier ones" });
      for (let n = 0; n < 5 && (await more.count()); n++) {
        const before = (await shown()).length;
        await more.click();
        await page.waitForFunction(
          (count) => document.querySelectorAll(".message").length > count,
          before,
        );
      }
      assert.deepEqual(
        await shown(),
        Array.from({ length: 230 }, (_, n) => n),
      );
      assert.ok(all["total-hits"] >= 230);
    },
  ],
  [
    "a new issue is written",
    async ({ open }) => {
      const page = await open({ path: "issues" });
      await page.getByRole("button", { name: "New issue" }).click();
      await page.getByLabel("Title").fill("Made by hand");
      await page.getByLabel("Message", { exact: true }).fill("By a person.");
      await page.getByRole("button", { name: "Create", exact: true }).click();
      await title(page, "Made by hand");
    },
  ],
  [
    "many issues are edited after a preview, by keyboard",
    async ({ server, open }) => {
      const page = await open({ path: "issues?state=rejected" });
      await page.locator(".issue-row").first().waitFor();
      const before = await total(server, "&state=rejected");
      await keys(page, "j", "x", "j", "x", "j", "x");
      await page.getByRole("button", { name: "Edit them" }).focus();
      await keys(page, "Enter");
      await page.locator("dialog").getByLabel("State").selectOption("new");
      await page.getByText("3 Rejected → New").waitFor();
      await page.getByRole("button", { name: "Change 3 issues" }).click();
      await page.getByText("3 issues changed").waitFor();
      assert.equal(await total(server, "&state=rejected"), before - 3);
    },
  ],
  [
    "all issues of a filter are marked, and a preview says how many",
    async ({ server, open }) => {
      const found = await total(server, "&state=waiting-for-agent");
      assert.ok(found > 100);
      const page = await open({ path: "issues?state=waiting-for-agent" });
      await page.locator(".issue-row").first().waitFor();
      await keys(page, "j", "x");
      await page.getByRole("button", { name: `Mark all ${found}` }).click();
      await page.getByText(`${found} marked`).waitFor();
      assert.equal(await page.getByRole("button", { name: `Mark all ${found}` }).count(), 0);
      await page.getByRole("button", { name: "Edit them" }).click();
      await page.locator(".preview b", { hasText: `${found} issues` }).waitFor();
      await page.locator("dialog").getByLabel("Tags", { exact: true }).selectOption("replace");
      await page.locator("dialog").getByLabel("Which tags").fill("seen, all");
      await page.getByText(`${found} +seen, ${found} +all`).waitFor();
      await page
        .locator(".loss", { hasText: `Tags that will be lost: billing (${found})` })
        .waitFor();
      await page.getByRole("button", { name: `Change ${found} issues` }).click();
      await page.getByText(`${found} issues changed`).waitFor();
      assert.equal(
        await total(
          server,
          `&state=waiting-for-agent&tags=${encodeURIComponent('{"and":["seen","all"]}')}`,
        ),
        found,
      );
    },
  ],
  [
    "each filter finds what the API finds, and is a chip that can be removed",
    async ({ server, open }) => {
      const agent = (await server.call("GET", "v1/acme/agents")).profiles[0].id;
      const queue = (await server.call("POST", "v1/acme/queues", { name: "Filtered" })).id;
      const app = (await server.call("GET", "v1/acme/apps")).apps[0].id;
      const made = await server.call("POST", "v1/acme/issues", {
        title: "With everything",
        "message-body": "Thanks",
      });
      await server.call("PUT", `v1/acme/issues/${made.id}`, { "assignee-id": agent });
      await server.call("POST", `v1/acme/issues/${made.id}/private-notes`, {
        "note-text": "a secret",
      });
      await server.task("issues", "import_issues", [
        {
          title: "Of the past",
          created_at: 1600000000000,
          feedback_rating: 3,
          feedback_comment: "thanks",
          custom_fields: { plan: { type: "singleline", value: "gold" } },
        },
      ]);
      const page = await open({ path: "issues", zone: "UTC" });
      const all = await total(server);
      const begin = page.url().split("#")[0];
      const none = [];
      for (const [name, value, asked] of FILTERS({ agent, app, queue, issue: String(made.id) })) {
        const found = await total(server, `&${asked}`);
        if (!found) none.push(name);
        await page.goto(`${begin}#/issues?${new URLSearchParams([[name, value]])}`);
        await settled(page, found);
        if (["text", "state"].includes(name)) continue;
        await page.locator(".chip").waitFor();
        await page.locator('.chip [aria-label^="Remove"]').click();
        await settled(page, all);
      }
      // The others have something to find, so that a filter that is left out shows.
      assert.deepEqual(
        none.filter((name) => !["queue", "user", "platform", "mode"].includes(name)),
        [],
      );
    },
  ],
  [
    "the way back from an issue leads to the same place of the list",
    async ({ open }) => {
      const page = await open({ path: "issues?sort=creation-time+asc" });
      await page.locator(".issue-row").first().waitFor();
      await page.locator(".long-list").evaluate((list) => (list.scrollTop = 18000));
      const row = page.locator("#row-505 .title");
      await row.waitFor();
      const wanted = await row.innerText();
      await row.mouse();
      await title(page, wanted);
      await keys(page, "Escape");
      await row.waitFor();
      const [top, bottom] = await page
        .evaluate(() =>
          [".long-list", "#row-505"].map((one) =>
            document.querySelector(one).getBoundingClientRect(),
          ),
        )
        .then(([box, one]) => [one.top - box.top, box.bottom - one.bottom]);
      assert.ok(top >= 0 && bottom >= 0, `${top} px from the top, ${bottom} px from the bottom`);
      // By keys the row stays selected, and the next one follows.
      await keys(page, "j", "j", "Enter");
      await page.locator(".conversation").waitFor();
      const second = await page.locator("h1").innerText();
      await keys(page, "Escape");
      await page.locator('[aria-selected="true"] .title', { hasText: second }).waitFor();
      await page.getByRole("link", { name: "Issues", exact: true }).first().click();
      await page.locator("#row-0").waitFor();
    },
  ],
  [
    "a draft is kept until it is sent or the session ends",
    async ({ server, open }) => {
      const made = await server.call("POST", "v1/acme/issues", {
        title: "With a draft",
        "message-body": "Hello?",
      });
      const page = await open({ path: `issue/${made.id}` });
      await title(page, "With a draft");
      const note = page.getByRole("button", { name: "Note", exact: true });
      await page.getByLabel("Reply").fill("Half a sent");
      await note.click();
      await page.getByLabel("Private note").fill("Ask Grace");
      await page.getByRole("button", { name: "Reply", exact: true }).click();
      await page.getByLabel("State").selectOption("waiting-for-agent");
      await page.getByText("saved").waitFor();
      assert.equal(await page.getByLabel("Reply").inputValue(), "Half a sent");
      await keys(page, "Escape", "Escape");
      await page.evaluate((id) => (location.hash = `/issue/${id - 1}`), made.id);
      await page.waitForURL(new RegExp(`issue/${made.id - 1}$`));
      await page.waitForTimeout(400);
      assert.equal(await page.getByLabel("Reply").inputValue(), "");
      await page.evaluate((id) => (location.hash = `/issue/${id}`), made.id);
      await title(page, "With a draft");
      assert.equal(await page.getByLabel("Reply").inputValue(), "Half a sent");
      await note.click();
      assert.equal(await page.getByLabel("Private note").inputValue(), "Ask Grace");
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("API key").fill(server.key);
      await page.keyboard.press("Enter");
      await title(page, "Overview");
      await page.evaluate((id) => (location.hash = `/issue/${id}`), made.id);
      await title(page, "With a draft");
      assert.equal(await page.getByLabel("Reply").inputValue(), "");
    },
  ],
];

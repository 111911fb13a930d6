// The flows of faults: groups, entries mended in place or together, tried, and sent again.
import assert from "node:assert/strict";
import { keys, title } from "../steps.js";

export const faults = [
  [
    "faults are grouped, and an entry is mended in place, tried and sent",
    async ({ open, faulty }) => {
      const page = await open({ path: `faults/identity/${faulty.task_id}` });
      await page.getByText("120 of 400 entries failed, in 3 groups").waitFor();
      await page.locator(".groups button", { hasText: "wrong type" }).click();
      await page.locator(".fault-row").first().locator("mark.bad", { hasText: '"old"' }).waitFor();
      await keys(page, "j", "Enter");
      const text = page.getByLabel("Entry as JSON");
      // The key that opens the entry writes nothing into it.
      await text.waitFor();
      await page.waitForTimeout(200);
      assert.equal(await page.locator("dialog [role=status]").innerText(), "");
      await text.fill((await text.inputValue()).replace('"old"', '"older"'));
      await page.getByText('+ "age": "older"').waitFor();
      await page.getByRole("button", { name: "Keep" }).click();
      await page.getByRole("button", { name: "Dry run of 1" }).click();
      await page.getByText("1 of 1 would still fail").waitFor();
      await keys(page, "Enter");
      await text.fill("{");
      await page.getByRole("button", { name: "Keep" }).click();
      await page.getByText("this is not JSON").waitFor();
      await text.fill('{"identities":[{"uid":"mended"}],"age":33}');
      await page.getByRole("button", { name: "Keep" }).click();
      await page.getByRole("button", { name: "Send 1 again" }).click();
      await page.locator(".pill.succeeded").waitFor();
    },
  ],
  [
    "while the entries of a group load, no key opens one of the group before",
    async ({ open, faulty }) => {
      const page = await open({ path: `faults/identity/${faulty.task_id}` });
      await page.locator(".fault-row").first().waitFor();
      const list = page.locator(".long-list");
      let answer = () => {};
      await page.route(/errors\?code=/, async (route) => {
        await new Promise((resolve) => (answer = resolve));
        await route.continue();
      });
      await page.locator(".groups button", { hasText: "wrong type" }).click();
      await page.locator('.long-list[aria-busy="true"]').waitFor();
      await keys(page, "j", "Enter");
      const { x, y } = await page.locator(".fault-row").first().boundingBox();
      await page.mouse.click(x + 50, y + 20);
      assert.equal(await page.locator("dialog").count(), 0);
      answer();
      await page.locator('.long-list[aria-busy="false"]').waitFor();
      assert.match(await list.locator(".fault-row").first().innerText(), /"old"/);
      await keys(page, "j", "Enter");
      await page.getByLabel("Entry as JSON").waitFor();
      await keys(page, "Escape");
      // An answer that fails leaves the rows and the group that were there.
      await page.unroute(/errors\?code=/);
      await page.route(/errors\?code=/, (route) =>
        route.fulfill({
          status: 503,
          json: { error: { code: "unavailable", message: "not now" } },
        }),
      );
      const other = page.locator(".groups button", { hasNotText: "wrong type" }).last();
      await other.click();
      await page
        .locator('.groups button[aria-pressed="true"]', { hasText: "wrong type" })
        .waitFor();
      await keys(page, "j", "Enter");
      await page.getByLabel("Entry as JSON").waitFor();
    },
  ],
  [
    "entries that were mended are there when one comes back",
    async ({ open, faulty }) => {
      const page = await open({ path: `faults/identity/${faulty.task_id}` });
      await page.locator(".groups button", { hasText: "unknown country" }).click();
      await page.getByRole("button", { name: /Mend all 40/ }).click();
      await page.getByLabel("Value", { exact: true }).fill("DE");
      await page.getByText("40 values change").waitFor();
      await page.getByRole("button", { name: "Mend them" }).click();
      await page.getByText("40 mended").waitFor();
      await keys(page, "g", "i");
      await title(page, "Issues");
      await page.goBack();
      await page.getByText("40 mended").waitFor();
      await page.getByRole("button", { name: "Dry run of 40" }).waitFor();
      await page.getByRole("button", { name: "Undo all" }).click();
      await page.getByText("40 entries are again as sent").waitFor();
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByText("40 mended").waitFor();
      await page.getByRole("button", { name: "Undo all" }).click();
      await page.getByRole("button", { name: "Undo 40 changes" }).click();
      await page.getByText("Open an entry to mend it").waitFor();
      await page.getByRole("button", { name: "Dry run of 40" }).waitFor({ state: "detached" });
    },
  ],
  [
    "a dry run of mended entries shows its progress, and is there when one comes back",
    async ({ open, faulty }) => {
      const page = await open({ path: `faults/identity/${faulty.task_id}` });
      await page.locator(".groups button", { hasText: "unknown country" }).click();
      await page.getByRole("button", { name: /Mend all 40/ }).click();
      await page.getByLabel("Value", { exact: true }).fill("DE");
      await page.getByRole("button", { name: "Mend them" }).click();
      let works = true;
      await page.route(/imports$/, async (route) => {
        const answer = await route.fetch();
        return route.fulfill({
          response: answer,
          json: { ...(await answer.json()), status: "processing", progress: 40 },
        });
      });
      await page.route(/wait=1$/, async (route) => {
        if (!works) return route.continue();
        await new Promise((resolve) => setTimeout(resolve, 300));
        return route.fulfill({
          json: {
            ...faulty,
            task_id: undefined,
            import_id: route.request().url().split("/").at(-1).split("?")[0],
            status: "processing",
            progress: 60,
          },
        });
      });
      await page.getByRole("button", { name: "Dry run of 40" }).click();
      await page.getByText("Dry run of 40 entries").waitFor();
      assert.equal(await page.getByRole("button", { name: /Send 40/ }).count(), 0);
      await keys(page, "g", "i");
      await title(page, "Issues");
      await page.goBack();
      await page.locator('progress[aria-label="progress of the dry run"]').waitFor();
      works = false;
      await page.getByText("all 40 would succeed").waitFor();
      await page.getByRole("button", { name: "Send 40 again" }).waitFor();
    },
  ],
  [
    "mended issues of an import that replaces are sent to replace",
    async ({ server, open }) => {
      const send = (title) => [
        {
          id: 900001,
          title,
          created_at: 1600000000000,
          ...(title === "first" ? {} : { state_data: { state: "nowhere" } }),
        },
      ];
      await server.task("issues", "import_issues", send("first"));
      const task = await server.task("issues", "import_issues", send("second"), { upsert: "true" });
      assert.equal(task.counts.failed, 1);
      const page = await open({ path: `faults/issues/${task.task_id}` });
      await page.locator(".fault-row").first().waitFor();
      await keys(page, "j", "Enter");
      const text = page.getByLabel("Entry as JSON");
      await text.fill((await text.inputValue()).replace('"nowhere"', '"resolved"'));
      await page.getByRole("button", { name: "Keep" }).click();
      await page.getByRole("button", { name: "Send 1 again" }).click();
      await page.locator(".pill.succeeded").waitFor();
      const { issues } = await server.call("GET", "v1/acme/issues/900001");
      assert.deepEqual([issues[0].title, issues[0].state_data.state], ["second", "resolved"]);
    },
  ],
];

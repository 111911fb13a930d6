// The flows of faults: groups, entries mended in place or together, tried, and sent again.
import assert from "node:assert/strict";
import { keys, title } from "../steps.js";

/** A table with faults that a spreadsheet brings along. */
const MENDED = [
  "email,country,age",
  "mend1@example.org,Deutschlant,30",
  "mend2@example.org,Deutschlant,31",
  "mend3@example.org,Atlantis,32",
  "mend4@example.org,Frankreich?,33",
  "mend5@example.org,FR,34",
  ",FR,35",
  "mend7@example.org,FR,old",
].join("\r\n");

/** A picture of a step, if pictures are saved. */
async function shot(page, name) {
  const folder = process.env.CONSOLE_CHECK_SHOTS;
  if (folder) await page.screenshot({ path: `${folder}/mend-${name}.png` });
}

export const faults = [
  [
    "faults are grouped, and an entry is mended in place, tried and sent",
    async ({ open, faulty }) => {
      const page = await open({ path: `faults/identity/${faulty.task_id}` });
      await page.getByText("120 of 400 entries failed, in 3 groups").waitFor();
      await page.locator(".groups button", { hasText: "wrong type" }).click();
      await page.locator(".fault-row").first().locator("mark.bad", { hasText: "old" }).waitFor();
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
      await page.getByText("1 sent as").waitFor();
      await page.getByText("all in; 119 left.").waitFor();
      await page.locator(".lineage a").last().click();
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
      assert.match(await list.locator(".fault-row").first().innerText(), /old/);
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
      await page.getByLabel("Replacement for Atlantis").fill("DE");
      await page.getByText("40 entries change").waitFor();
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
      await page.getByText("Change a marked value in its cell").waitFor();
      await page.getByRole("button", { name: "Dry run of 40" }).waitFor({ state: "detached" });
    },
  ],
  [
    "a dry run of mended entries shows its progress, and is there when one comes back",
    async ({ open, faulty }) => {
      const page = await open({ path: `faults/identity/${faulty.task_id}` });
      await page.locator(".groups button", { hasText: "unknown country" }).click();
      await page.getByRole("button", { name: /Mend all 40/ }).click();
      await page.getByLabel("Replacement for Atlantis").fill("DE");
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
      await page.getByText("all in; 0 left.").waitFor();
      const { issues } = await server.call("GET", "v1/acme/issues/900001");
      assert.deepEqual([issues[0].title, issues[0].state_data.state], ["second", "resolved"]);
    },
  ],
  [
    "a table of a spreadsheet is mended by values and cells, and undone",
    async ({ server, open }) => {
      const task = await server.import("identity", "upsert_core_profiles", "mend.csv", MENDED);
      assert.equal(task.counts.failed, 6);
      const path = `import-faults/identity/${task.import_id}`;
      const page = await open({ path, height: 900 });
      await page.locator(".fault-row").first().waitFor();
      await shot(page, "faults");
      await page.locator(".groups button", { hasText: "unknown country" }).click();
      await page.getByRole("button", { name: "Mend all 4" }).click();
      // Likely replacements are filled in, and marked as such.
      const value = (name) => page.getByLabel(`Replacement for ${name}`);
      assert.equal(await value("Deutschlant").inputValue(), "Deutschland");
      assert.equal(await page.locator("dialog tbody tr").count(), 3);
      assert.deepEqual(await page.locator("dialog td.right").allInnerTexts(), ["2", "1", "1"]);
      assert.equal(await page.locator("dialog .note.odd:visible").count(), 2);
      await page.getByText("3 entries change; 1 value stays as now.").waitFor();
      await shot(page, "values");
      await page.getByLabel("Leave out Atlantis").setChecked(true);
      await page.getByText("4 entries change.").waitFor();
      await page.getByRole("button", { name: "Mend them" }).click();
      await page.getByText("4 mended").waitFor();
      const row = (text) => page.locator(".fault-row", { hasText: text });
      assert.match(await row("Atlantis").innerText(), /Atlantis\s*→\s*not given/);
      assert.doesNotMatch(await page.locator(".long-list").innerText(), /null/);
      await shot(page, "mended");
      // A step is taken back by a key, and by a button.
      await page.keyboard.press("Control+z");
      await page.getByText("4 mended").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Mend all 4" }).click();
      await page.getByRole("button", { name: "Mend them" }).click();
      await page.getByText("3 mended").waitFor();
      await page.locator(".groups button", { hasText: "All" }).first().click();
      await page.locator('.long-list[aria-busy="false"]').waitFor();
      // A cell is edited in place: Esc leaves the value, Enter takes it.
      const cell = page.getByLabel("Age of line 8");
      await row("old").locator(".editable").mouse();
      await cell.fill("34");
      await page.keyboard.press("Escape");
      await cell.waitFor({ state: "detached" });
      assert.doesNotMatch(await row("old").innerText(), /34/);
      await row("old").locator(".editable").mouse();
      await cell.fill("33");
      await page.keyboard.press("Enter");
      assert.match(await row("old").innerText(), /old\s*→\s*33/);
      await page.getByText("4 mended").waitFor();
      await page.getByRole("button", { name: "Undo", exact: true }).click();
      await page.getByText("3 mended").waitFor();
    },
  ],
  [
    "mended entries that were sent are marked after a reload, and not sent twice",
    async ({ server, open }) => {
      const text = MENDED.replaceAll("mend", "once");
      const task = await server.import("identity", "upsert_core_profiles", "once.csv", text);
      const page = await open({ path: `import-faults/identity/${task.import_id}` });
      const value = (name) => page.getByLabel(`Replacement for ${name}`);
      const row = (text) => page.locator(".fault-row", { hasText: text });
      await page.locator(".groups button", { hasText: "unknown country" }).click();
      await page.getByRole("button", { name: "Mend all 4" }).click();
      await page.getByRole("button", { name: "Mend them" }).click();
      await page.getByText("3 mended").waitFor();
      await page.locator(".groups button", { hasText: "All" }).first().click();
      await page.locator('.long-list[aria-busy="false"]').waitFor();
      const cell = page.getByLabel("Age of line 8");
      await row("old").locator(".editable").mouse();
      await cell.fill("200");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Send 4 again" }).click();
      await page.getByText("3 in, 1 failed again; 3 left.").waitFor();
      await shot(page, "sent");
      // It is the same after a reload: what is in is marked, and not mended again.
      await page.reload();
      await page.getByText("3 in, 1 failed again; 3 left.").waitFor();
      await page.locator(".groups button", { hasText: "unknown country" }).click();
      await page.getByText("1 of 4 left").waitFor();
      assert.equal(await page.locator(".fault-row.in").count(), 3);
      await page.locator(".fault-row.in .editable").first().waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Mend the entry" }).click();
      await value("Atlantis").fill("FR");
      await page.getByRole("button", { name: "Mend them" }).click();
      await page.getByText("1 mended").waitFor();
      await page.getByRole("button", { name: "Send 1 again" }).click();
      await page.getByText("all in; 2 left.").waitFor();
      assert.equal(await page.getByRole("button", { name: /Send/ }).count(), 0);
      await page.locator(".crumbs a").last().click();
      await page.getByRole("link", { name: "Mend 2 entries" }).waitFor();
      assert.equal(await page.getByRole("button", { name: /again as sent/ }).count(), 0);
      await shot(page, "import");
      const found = await server.call(
        "GET",
        "v2/acme/identity/core_profiles?identity=email:once1@example.org",
      );
      assert.equal(found.core_profiles[0].last_country, "Deutschland");
    },
  ],
  [
    "10,000 faulty entries of 3,000 values are mended at once, the largest first",
    async ({ server, open }) => {
      const entries = Array.from({ length: 10000 }, (_, n) => ({
        identities: [{ uid: `many-${n}` }],
        age: n < 4000 ? "41 years" : `${n % 3000} x ${n}`.slice(0, 4) + "q",
      }));
      const task = await server.task("identity", "create_core_profiles", entries);
      const page = await open({ path: `faults/identity/${task.task_id}` });
      await page.locator(".groups button", { hasText: "wrong type" }).click();
      const begun = Date.now();
      await page.getByRole("button", { name: "Mend all 10\u202f000" }).click();
      await page.getByText("more values with fewer entries each").waitFor();
      assert.equal(await page.getByLabel("Replacement for 41 years").inputValue(), "41");
      assert.equal(await page.locator("dialog tbody tr").count(), 100);
      await page.getByRole("button", { name: /^Leave all .* out$/ }).mouse();
      await page.getByText("10\u202f000 entries change.").waitFor();
      await page.getByRole("button", { name: "Mend them" }).mouse();
      await page.getByText("10\u202f000 mended").waitFor();
      console.log(`     10,000 entries mended after ${Date.now() - begun} ms`);
      await keys(page, "u");
      await page.getByText("10\u202f000 mended").waitFor({ state: "detached" });
    },
  ],
  [
    "on a phone all groups of faults are whole",
    async ({ open, faulty }) => {
      const page = await open({ path: `faults/identity/${faulty.task_id}`, width: 390 });
      await page.locator(".fault-row").first().waitFor();
      const cut = await page
        .locator(".groups")
        .evaluate((groups) => groups.scrollHeight - groups.clientHeight);
      assert.ok(cut <= 0, `${cut} px of the groups are cut`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await shot(page, "phone");
    },
  ],
];

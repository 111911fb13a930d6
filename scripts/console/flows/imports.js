// The flows of a file: mapped, tried, imported, left, stopped, and sent again.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { csv } from "../records.js";
import { keys, pick, title, total } from "../steps.js";

const lines = (name, count) =>
  Array.from({ length: count }, (_, n) => `{"identities":[{"uid":"${name}-${n}"}]}`).join("\n");
const people = async (server, query) =>
  (await server.call("GET", `v2/acme/identity/core_profiles?page-size=1${query}`))["total-hits"];

export const imports = [
  [
    "25,000 rows of CSV with 40 faults: dry run, import, a group mended, sent again, all in",
    async ({ server, open }) => {
      const page = await open({ path: "new-import" });
      await pick(page, "people.csv", csv(25000, 40), "text/csv");
      assert.equal(await page.getByLabel("Column country").inputValue(), "text:last_country");
      assert.match(
        await page.locator(".entry").first().innerText(),
        /"email":"c0@example.org".*"first_name":"Ada \\"0\\""/,
      );
      await page.getByRole("button", { name: "Dry run" }).click();
      await page
        .getByRole("button", { name: "Import 25\u202f000 entries" })
        .click({ timeout: 60000 });
      await page.getByRole("link", { name: "See all tasks" }).waitFor({ timeout: 60000 });
      await page.getByText("40 failed").waitFor();
      // Who looks at it needs no notice.
      assert.equal(await page.locator(".notice").count(), 0);
      const faulty = page.locator("#main a[href*='faults']");
      let mended = 0;
      for (const link of await faulty.evaluateAll((links) =>
        links.map((one) => one.getAttribute("href")),
      )) {
        await page.goto(page.url().split("#")[0] + link);
        await page.locator(".groups button", { hasText: "unknown country" }).click();
        await page.getByRole("button", { name: /Mend all/ }).click();
        await page.getByLabel("Value", { exact: true }).fill("Germany");
        await page.getByText("values change").waitFor();
        await page.getByRole("button", { name: "Mend them" }).click();
        await page.getByRole("button", { name: /Dry run of/ }).click();
        await page
          .getByText(/all \d+ would succeed/)
          .first()
          .waitFor();
        await page.getByRole("button", { name: /Send \d+ again/ }).click();
        await page.locator(".pill.succeeded").waitFor();
        mended += Number((await page.locator(".fact.good .number").innerText()).replace(/\D/g, ""));
      }
      assert.equal(mended, 40);
      const { tasks } = await server.call(
        "GET",
        "v2/acme/identity/bulk_actions?page-size=100&action=create_core_profiles",
      );
      const real = tasks.filter((task) => !task.dry_run).map((task) => task.counts.succeeded);
      assert.ok(real.reduce((sum, one) => sum + one, 0) >= 25000);
      assert.deepEqual(
        [
          ...new Set(
            tasks.filter((task) => /people.csv/.test(task.file_name)).map((task) => task.file_name),
          ),
        ].sort(),
        ["mended-people.csv", "people.csv"],
      );
    },
  ],
  [
    "the same file again makes nothing twice",
    async ({ server, open }) => {
      const text = Array.from(
        { length: 30 },
        (_, n) => `{"identities":[{"uid":"twice-${n}"}]}`,
      ).join("\n");
      const ids = [];
      for (let n = 0; n < 2; n++) {
        const page = await open({ path: "new-import" });
        await pick(page, "twice.jsonl", text);
        await page.getByRole("button", { name: "Dry run" }).click();
        if (n === 0) await page.getByText("30 would succeed").waitFor();
        await page.getByRole("button", { name: "Import 30 entries" }).click();
        await page.getByText("30 succeeded").waitFor();
        ids.push(await page.locator("td a").first().getAttribute("href"));
      }
      assert.equal(ids[0], ids[1]);
      assert.ok(server);
    },
  ],
  [
    "an upsert shows what would change, and the file before it can be sent again",
    async ({ server, open }) => {
      const file = (age) =>
        Array.from(
          { length: 30 },
          (_, n) =>
            `{"identities":[{"uid":"change-${n}"}],"age":${age},"custom_fields":{"n":${n}.50}}`,
        ).join("\n");
      for (const [n, age] of [20, 21, 20].entries()) {
        const page = await open({ path: "new-import" });
        await pick(page, "people.jsonl", file(age));
        await page.getByLabel("Action").selectOption("upsert_core_profiles");
        await page.getByRole("button", { name: "Dry run" }).click();
        await page
          .getByText(n ? "30 entries would change." : "30 entries would be created.")
          .waitFor();
        if (n) {
          const row = page
            .getByRole("region", { name: "Changes: table" })
            .locator("tbody tr")
            .first();
          assert.deepEqual(await row.locator("td").allInnerTexts(), [
            "1",
            "age",
            String(41 - age),
            String(age),
          ]);
        }
        await page.getByRole("button", { name: "Import 30 entries" }).click();
        await page.getByText("30 succeeded").waitFor();
      }
      const found = await server.call(
        "GET",
        "v2/acme/identity/core_profiles?identity=uid:change-7",
      );
      assert.equal(found.core_profiles[0].age, 20);
      const { tasks } = await server.call(
        "GET",
        "v2/acme/identity/bulk_actions?dry_run=true&action=upsert_core_profiles",
      );
      const page = await open({ path: `task/identity/${tasks[0].task_id}` });
      await page.getByText("30 entries would change.").waitFor();
    },
  ],
  [
    "people are deleted by a file",
    async ({ server, open }) => {
      const page = await open({ path: "new-import" });
      await pick(
        page,
        "gone.jsonl",
        Array.from({ length: 30 }, (_, n) => `{"identities":[{"uid":"change-${n}"}]}`).join("\n"),
      );
      await page.getByLabel("Action").selectOption("delete_core_profiles");
      await page.getByRole("button", { name: "Dry run" }).click();
      await page.getByRole("button", { name: "Delete 30 entries" }).click();
      await page.getByText("30 succeeded").waitFor();
      const found = await server.call(
        "GET",
        "v2/acme/identity/core_profiles?identity=uid:change-7",
      );
      assert.equal(found["total-hits"], 0);
    },
  ],
  [
    "issues from a packed file, and a JSON array",
    async ({ server, open }) => {
      const before = await total(server);
      const page = await open({ path: "new-import" });
      const lines = [
        '{"title":"from gzip","created_at":1767225600000}',
        '{"title":"from gzip 2","created_at":1767225600001}',
      ].join("\n");
      await page.locator("#file").setInputFiles({
        name: "issues.jsonl.gz",
        mimeType: "application/gzip",
        buffer: gzipSync(lines),
      });
      assert.equal(await page.getByLabel("Action").inputValue(), "import_issues");
      await page.getByRole("button", { name: "Dry run" }).click();
      await page.getByRole("button", { name: "Import 2 entries" }).click();
      await page.getByText("2 succeeded").waitFor();
      await pick(
        page,
        "array.json",
        '[{"title":"from an array","created_at":1767225600002},\n' +
          '{"title":"and another","created_at":1767225600003}]',
      );
      await page.getByRole("button", { name: "Dry run" }).click();
      await page.getByRole("button", { name: "Import 2 entries" }).click();
      await page.getByText("2 succeeded").waitFor();
      assert.equal(await total(server), before + 4);
    },
  ],
  [
    "a read key can try an import and not run it",
    async ({ open, read }) => {
      const page = await open({ path: "new-import", key: read });
      await pick(page, "x.jsonl", '{"identities":[{"uid":"tried"}]}');
      await page.getByLabel("Action").selectOption("create_core_profiles");
      await page.getByRole("button", { name: "Dry run" }).click();
      await page.getByText("stays a dry run").waitFor();
    },
  ],
  [
    "a file is dropped, and a column becomes another field",
    async ({ server, open }) => {
      const page = await open({ path: "new-import" });
      const text =
        "mail,who,what\nmapped1@example.org,Mapped One,x\nmapped2@example.org,Mapped Two,y";
      const data = await page.evaluateHandle((content) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([content], "people.csv", { type: "text/csv" }));
        return transfer;
      }, text);
      await page.locator(".drop").dispatchEvent("dragover", { dataTransfer: data });
      await page.locator(".drop.over").waitFor();
      await page.locator(".drop").dispatchEvent("drop", { dataTransfer: data });
      await page.getByText('"custom_fields":{"who":"Mapped One","what":"x"}').waitFor();
      await page.getByLabel("Column who").selectOption("full name");
      await page.getByLabel("Column what").selectOption("leave out");
      await page
        .getByText(
          '{"identities":[{"email":"mapped2@example.org"}],"names":{"full_name":"Mapped Two"}}',
          { exact: true },
        )
        .first()
        .waitFor();
      await page.getByRole("button", { name: "Dry run" }).click();
      await page.getByRole("button", { name: "Import 2 entries" }).click();
      await page.getByText("2 succeeded").waitFor();
      const {
        core_profiles: [one],
      } = await server.call(
        "GET",
        "v2/acme/identity/core_profiles?identity=email:mapped1@example.org",
      );
      assert.deepEqual([one.names.full_name, one.custom_fields], ["Mapped One", undefined]);
    },
  ],
  [
    "an import goes on while other screens are open, and is there when one comes back",
    async ({ server, open }) => {
      const page = await open({ path: "new-import" });
      await pick(page, "long.jsonl", lines("left", 25000));
      await page.getByRole("button", { name: "Dry run" }).click();
      await page
        .getByRole("button", { name: "Import 25\u202f000 entries" })
        .click({ timeout: 60000 });
      await page.getByRole("button", { name: "Stop" }).waitFor();
      await keys(page, "g", "i");
      await page.locator(".issue-row").first().waitFor();
      await page.getByText("the import is done").waitFor({ timeout: 60000 });
      await keys(page, "g", "n");
      await page.getByText("25\u202f000 entries in 3 tasks").waitFor();
      await page.getByText("25\u202f000 succeeded").waitFor();
      assert.equal(await people(server, "&identity=uid:left-24999"), 1);
    },
  ],
  [
    "an import goes on after the server was killed, and after it was stopped",
    async ({ server, open }) => {
      const page = await open({ path: "new-import" });
      await pick(page, "killed.jsonl", lines("killed", 45000));
      await page.getByRole("button", { name: "Dry run" }).click();
      const begin = page.getByRole("button", { name: "Import 45\u202f000 entries" });
      await begin.click({ timeout: 60000 });
      await page.getByText(/^[1-4]0\u202f000 entries in/).waitFor();
      await server.kill();
      await page.getByText("the server cannot be reached").waitFor();
      await server.start();
      server.process.kill("SIGSTOP");
      await page.getByRole("button", { name: "Stop" }).click();
      const on = page.getByRole("button", { name: "Continue" });
      await on.waitFor();
      server.process.kill("SIGCONT");
      await on.click();
      await page.getByText("45\u202f000 entries in 5 tasks").waitFor({ timeout: 60000 });
      await page.getByText("45\u202f000 succeeded").waitFor();
      const { tasks } = await server.call(
        "GET",
        "v2/acme/identity/bulk_actions?page-size=100&dry_run=false&action=create_core_profiles",
      );
      assert.equal(tasks.filter((task) => /^killed/.test(task.file_name)).length, 5);
    },
  ],
  [
    "an import whose page was closed is begun again with its file, and makes nothing twice",
    async ({ server, open }) => {
      const first = await open({ path: "new-import" });
      await pick(first, "closed.jsonl", lines("closed", 25000));
      await first.getByRole("button", { name: "Dry run" }).click();
      await first
        .getByRole("button", { name: "Import 25\u202f000 entries" })
        .click({ timeout: 60000 });
      // However many parts are in by now, the rest follows.
      await first.getByText(/^(10|20|25)\u202f000 entries in/).waitFor();
      await first.context().close();
      const page = await open({ path: "new-import" });
      await pick(page, "closed.jsonl", lines("closed", 25000));
      await page.getByRole("button", { name: "Dry run" }).click();
      await page
        .getByRole("button", { name: "Import 25\u202f000 entries" })
        .click({ timeout: 60000 });
      await page.getByText("25\u202f000 succeeded").waitFor({ timeout: 60000 });
      const { tasks } = await server.call(
        "GET",
        "v2/acme/identity/bulk_actions?page-size=100&dry_run=false&action=create_core_profiles",
      );
      assert.equal(tasks.filter((task) => /^closed/.test(task.file_name)).length, 3);
    },
  ],
  [
    "a file of one word of 10 MB, an empty one and one that is no text stay harmless",
    async ({ open }) => {
      const page = await open({ path: "new-import" });
      const word = "word".repeat(2500000);
      await pick(page, "word.csv", word, "text/csv");
      await page.getByRole("heading", { name: "No entries" }).waitFor();
      for (const text of [`{"identities":[{"uid":"${word}"}]}`, `{"identities":${word}`]) {
        await pick(page, "word.jsonl", text);
        await page.locator(".entry").first().waitFor();
        assert.ok((await page.locator(".entry").first().innerText()).length < 2100);
        await page.getByRole("button", { name: "Dry run" }).click();
        await page.getByText("1 would fail").waitFor({ timeout: 60000 });
        await page.getByRole("link", { name: "See its faults" }).click();
        await page.locator(".fault-row").first().waitFor();
        await keys(page, "j", "Enter");
        await page.locator("dialog li").first().waitFor();
        await keys(page, "Escape");
        await page.locator("dialog").waitFor({ state: "detached" });
        await keys(page, "g", "n");
        await title(page, "New import");
      }
      await pick(page, "empty.csv", "", "text/csv");
      await page.getByRole("heading", { name: "No entries" }).waitFor();
      await page.locator("#file").setInputFiles({
        name: "x.csv",
        mimeType: "text/csv",
        buffer: Buffer.from([0xff, 0xfe, 0x00, 0xd8]),
      });
      await page.getByText("This file cannot be read").waitFor();
    },
  ],
];

// The flows of a file: read by the server, shown, tried, made real, refused, and sent again.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { HOSTILE, csv } from "../records.js";
import { dryRun, keys, pick, title, total } from "../steps.js";

const lines = (name, count) =>
  Array.from({ length: count }, (_, n) => `{"identities":[{"uid":"${name}-${n}"}]}`).join("\n");
const people = async (server, identity) =>
  (await server.call("GET", `v2/acme/identity/core_profiles?identity=${identity}`)).core_profiles;
const makeReal = async (page, name = "Make it real") => {
  await page.getByRole("button", { name }).click();
  await page.getByText("Done: ").waitFor({ timeout: 60000 });
};
const outcome = (page) => page.locator(".outcome b").innerText();
const imports = async (server, query = "") =>
  (await server.call("GET", `v2/acme/identity/imports?page-size=100${query}`)).imports;

/** What a table of people out of a spreadsheet is like. */
const MESSY = [
  "E-mail;Given name;Shoe size;Tags;Last seen",
  "messy1@example.org;Ada;38;vip|poet;2026-01-05 10:30",
  "N/A;Nobody;40;;",
  '"messy2@example.org;Bob;41;vip;2026-01-06 09:00',
  "messy3@example.org;Eve;42;vip;2026-01-07 08:00",
].join("\r\n");

export const files = [
  [
    "a messy table is dropped, its columns are chosen, and it is made real",
    async ({ server, open }) => {
      const page = await open({ path: "new-import", zone: "Europe/Berlin" });
      const data = await page.evaluateHandle((content) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([content], "people.txt", { type: "text/plain" }));
        return transfer;
      }, MESSY);
      await page.locator(".drop").dispatchEvent("dragover", { dataTransfer: data });
      await page.locator(".drop.over").waitFor();
      await page.locator(".drop").dispatchEvent("drop", { dataTransfer: data });
      await page.getByText("a table, semicolons between the cells").waitFor();
      assert.equal(await page.getByLabel("Column E-mail").inputValue(), "email");
      assert.equal(await page.getByLabel("Column Given name").inputValue(), "names.first_name");
      await page.getByText("Choose what becomes of 1 marked column.").waitFor();
      assert.equal(await page.getByRole("button", { name: "Try it" }).count(), 0);
      await page.getByText("2 of the first 4 entries have faults").waitFor();
      // A placeholder is at its field; a quote that never ends is at its line.
      const first = page.getByRole("region", { name: "First entries: table" });
      await first.locator("mark.bad", { hasText: "N/A" }).waitFor();
      await first.locator("td:first-child .note.bad", { hasText: "quote" }).waitFor();
      await page.getByRole("button", { name: "Keep it as custom field" }).click();
      await first.locator("th", { hasText: "Custom field “Shoe size”" }).waitFor();
      // The times name no zone, so the page asks for it by itself.
      await page.getByLabel("Time zone of times that name none").fill("Europe/Berlin");
      await keys(page, "Tab");
      await first.locator(".note.odd").first().waitFor({ state: "detached" });
      await dryRun(page);
      assert.match(await outcome(page), /^2 new, 2 to mend/);
      await page.getByText("Nothing is written yet.").waitFor();
      const faults = page.getByRole("region", { name: "Faults: table" });
      await faults.locator("tr", { hasText: "column E-mail" }).locator("mark").waitFor();
      assert.equal((await people(server, "email:messy3@example.org")).length, 0);
      await makeReal(page);
      assert.match(await outcome(page), /^2 new, 2 to mend/);
      const [eve] = await people(server, "email:messy3@example.org");
      assert.deepEqual(
        [eve.names.first_name, eve.custom_fields, eve.tags, eve.last_active_date],
        ["Eve", { "Shoe size": "42" }, ["vip"], Date.UTC(2026, 0, 7, 7)],
      );
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "Download 2 rows to mend" }).click(),
      ]);
      assert.match(download.suggestedFilename(), /rejects\.csv$/);
    },
  ],
  [
    "25,000 rows with 40 faults: tried, made real, a group mended on the import, all in",
    async ({ server, open }) => {
      const page = await open({ path: "new-import" });
      await pick(page, "people.csv", csv(25000, 40), "text/csv");
      await page.getByLabel("What to do").selectOption("create_core_profiles");
      await page.getByRole("button", { name: "Keep it as custom field" }).click();
      // Tags that look like lists are asked about; the sign between them is a semicolon.
      await page.getByLabel("Sign between two values in one cell").fill(";");
      await keys(page, "Tab");
      await page.locator(".note.odd").first().waitFor({ state: "detached" });
      await dryRun(page);
      assert.equal(await outcome(page), "24\u202f960 new, 40 to mend.");
      await makeReal(page);
      await page.getByRole("link", { name: "Mend 40 entries" }).click();
      await page.locator(".groups button", { hasText: "unknown country" }).click();
      await page.getByRole("button", { name: "Mend all 40" }).click();
      // The likely replacement is filled in.
      assert.equal(await page.getByLabel("Replacement for Germoney").inputValue(), "Germany");
      await page.getByText("40 entries change.").waitFor();
      await page.getByRole("button", { name: "Mend them" }).click();
      await page.getByRole("button", { name: "Dry run of 40" }).click();
      await page.getByText("all 40 would succeed").first().waitFor();
      await page.getByRole("button", { name: "Send 40 again" }).click();
      await page.getByText("all in; 0 left.").waitFor();
      await page.locator(".lineage a").click();
      await page.getByText("Done: ").waitFor();
      await page.locator("p", { hasText: "Mended entries of" }).waitFor();
      assert.equal(await outcome(page), "40 new.");
      const real = (await imports(server)).filter(
        (one) => !one.dry_run && /people/.test(one.file_name),
      );
      const found = real.filter((one) => one.action === "create_core_profiles");
      assert.deepEqual(
        found.map((one) => [one.file_name, one.tasks.length, one.counts.succeeded]),
        [
          ["mended-people.jsonl", 1, 40],
          ["people.csv", 3, 24960],
        ],
      );
      // One row for the file, and its tasks only there.
      await keys(page, "g", "t");
      await page.locator("td", { hasText: "mended-people.jsonl" }).first().waitFor();
      const rows = page.locator("tr", { hasText: /people\.csv.*24\u202f960/ });
      assert.equal(await rows.count(), 2);
      await rows.first().getByRole("link", { name: "Create people" }).click();
      await page.locator("summary", { hasText: "3 tasks" }).click();
      await page.locator("details li a").last().click();
      await page.getByText("A part of").waitFor();
      await page.getByText("A part of").getByRole("link").click();
      await page.locator("summary", { hasText: "3 tasks" }).waitFor();
    },
  ],
  [
    "a file that was imported before is called that, with the day, and can be imported again",
    async ({ server, open }) => {
      for (let n = 0; n < 2; n++) {
        const page = await open({ path: "new-import" });
        await pick(page, "twice.jsonl", lines("twice", 30));
        await dryRun(page);
        if (n === 0) {
          await makeReal(page);
          continue;
        }
        await page.getByText("The same file was imported before, on ").waitFor();
        assert.equal(await outcome(page), "30 as before.");
        await makeReal(page, "Import it again");
        await page.getByText("This import applied it again.").waitFor();
      }
      const made = await imports(server, "&dry_run=false&action=upsert_core_profiles");
      assert.equal(made.filter((one) => one.file_name === "twice.jsonl").length, 2);
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
        await dryRun(page);
        assert.equal(await outcome(page), n ? "30 changed." : "30 new.");
        if (n) {
          const row = page
            .getByRole("region", { name: "Changes: table" })
            .locator("tbody tr")
            .first();
          assert.deepEqual(await row.locator("td").allInnerTexts(), [
            "1",
            "Age",
            String(41 - age),
            String(age),
          ]);
        }
        await makeReal(page, n === 2 ? "Import it again" : "Make it real");
      }
      const [found] = await people(server, "uid:change-7");
      assert.equal(found.age, 20);
    },
  ],
  [
    "people are deleted by a file, after a question",
    async ({ server, open }) => {
      const page = await open({ path: "new-import" });
      await pick(page, "gone.jsonl", lines("change", 30));
      await page.getByLabel("What to do").selectOption("delete_core_profiles");
      await dryRun(page);
      await page.getByRole("button", { name: "Delete 30 people" }).click();
      await page.getByText("No call brings them back.").waitFor();
      await page.locator("dialog").getByRole("button", { name: "Delete 30 people" }).click();
      await page.getByText("Done: ").waitFor();
      assert.equal(await outcome(page), "30 deleted.");
      assert.equal((await people(server, "uid:change-7")).length, 0);
    },
  ],
  [
    "issues from a packed file, and a JSON array",
    async ({ server, open }) => {
      const before = await total(server);
      const page = await open({ path: "new-import" });
      const text = [
        '{"title":"from gzip","created_at":1767225600000}',
        '{"title":"from gzip 2","created_at":1767225600001}',
      ].join("\n");
      const file = { name: "issues.bin", mimeType: "", buffer: gzipSync(text) };
      await page.locator("#file").setInputFiles(file);
      await page.getByText("· JSON lines").waitFor();
      assert.equal(await page.getByLabel("What to do").inputValue(), "import_issues");
      await dryRun(page);
      await makeReal(page);
      assert.equal(await outcome(page), "2 new.");
      await keys(page, "g", "n");
      await pick(
        page,
        "array.json",
        '[{"title":"from an array","created_at":1767225600002},\n' +
          '{"title":"and another","created_at":1767225600003}]',
      );
      await page.locator("td", { hasText: "and another" }).waitFor();
      await dryRun(page);
      await makeReal(page);
      assert.equal(await total(server), before + 4);
    },
  ],
  [
    "a file that is no table is refused in words, and so are letters that are none",
    async ({ server, open }) => {
      const page = await open({ path: "new-import" });
      const before = (await imports(server)).length;
      const choose = (...bytes) =>
        page.locator("#file").setInputFiles({
          name: "people.csv",
          mimeType: "text/csv",
          buffer: Buffer.concat(bytes.map((one) => Buffer.from(one))),
        });
      await choose("%PDF-1.7\n", [0xe2, 0xe3, 0xcf, 0xd3], "\nstream");
      await page.getByText("This file cannot be imported as it is").waitFor();
      const refusal = page.locator(".refusal");
      assert.match(await refusal.innerText(), /PDF document.*CSV/s);
      assert.equal(await page.getByLabel("What to do").isVisible(), false);
      await choose("email,first name\nm@example.org,M", [0xfc], "ller\n");
      await page.getByLabel("Encoding of the text").selectOption("windows-1252");
      await page.locator("td", { hasText: "Müller" }).first().waitFor();
      await choose("");
      await refusal.getByText("empty").waitFor();
      assert.equal((await imports(server)).length, before);
    },
  ],
  [
    "a hostile name of a file and hostile cells are texts",
    async ({ open }) => {
      const page = await open({ path: "new-import" });
      const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
      const rows = HOSTILE.map((text, n) => `hostile-file-${n},${quoted(text.slice(0, 500))}`);
      const text = [`uid,${quoted("<img src=x onerror=window.harmed=1>")}`, ...rows].join("\n");
      const name = `<img src=x onerror=window.harmed=1>${HOSTILE[3]}.csv`;
      await pick(page, name, text, "text/csv");
      await page.getByRole("button", { name: "Keep it as custom field" }).click();
      await page.locator("td", { hasText: "{{constructor" }).first().waitFor();
      await dryRun(page);
      await page.getByText("<img src=x").first().waitFor();
      assert.equal(await page.evaluate(() => globalThis.harmed), undefined);
      assert.equal(await page.locator("main img, main script").count(), 0);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    },
  ],
  [
    "a read key can try an import and not make it real",
    async ({ open, read }) => {
      const page = await open({ path: "new-import", key: read });
      await pick(page, "x.jsonl", '{"identities":[{"uid":"tried"}]}');
      await dryRun(page);
      await page.getByText("stays a dry run").waitFor();
      assert.equal(await page.getByRole("button", { name: "Make it real" }).count(), 0);
    },
  ],
  [
    "an upload continues while other screens are open, asks before the page is left, and stops",
    async ({ server, open }) => {
      const page = await open({ path: "new-import" });
      await pick(page, "long.jsonl", lines("long", 100000));
      const send = page.getByRole("button", { name: "Try it" });
      await send.waitFor();
      server.process.kill("SIGSTOP");
      await send.click();
      await page.getByText("% sent").or(page.getByText("The server reads the rest")).waitFor();
      let asked = 0;
      page.on("dialog", (dialog) => (asked += 1) && dialog.dismiss());
      await page.evaluate(() => setTimeout(() => location.reload()));
      await page.waitForTimeout(500);
      assert.equal(asked, 1);
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("Sending the file").waitFor({ state: "detached" });
      server.process.kill("SIGCONT");
      await send.waitFor();
      assert.equal(
        (await imports(server)).filter((one) => one.file_name === "long.jsonl").length,
        0,
      );
      await send.click();
      await keys(page, "g", "i");
      await page.getByRole("link", { name: "The dry run of the file has begun" }).click();
      await page.getByText("What would happen: ").waitFor({ timeout: 60000 });
      assert.equal(await outcome(page), "100\u202f000 new.");
    },
  ],
  [
    "an upload that the server does not live to see is told, and can be tried again",
    async ({ server, open }) => {
      const page = await open({ path: "new-import" });
      await pick(page, "killed.jsonl", lines("killed", 50000));
      const send = page.getByRole("button", { name: "Try it" });
      await send.waitFor();
      server.process.kill("SIGSTOP");
      await send.click();
      await page.locator("progress").waitFor();
      await server.kill();
      await page.getByText("nothing was imported").waitFor();
      await server.start();
      await dryRun(page);
      assert.equal(await outcome(page), "50\u202f000 new.");
    },
  ],
  [
    "a word of 10 MB and a fault beyond the preview stay harmless",
    async ({ open }) => {
      const page = await open({ path: "new-import" });
      const word = "word".repeat(2500000);
      await pick(page, "word.csv", word, "text/csv");
      await page.locator(".refusal").waitFor();
      await pick(page, "word.jsonl", `${lines("word", 30)}\n{"identities":[{"uid":"${word}"}]}`);
      await dryRun(page);
      assert.match(await outcome(page), /^30 new, 1 to mend/);
      await page.getByRole("link", { name: "Mend 1 entry" }).click();
      await page.locator(".fault-row").first().waitFor();
      await keys(page, "j", "Enter");
      await page.locator("dialog li").first().waitFor();
      await keys(page, "Escape");
      await keys(page, "g", "n");
      await title(page, "New import");
      const rows = Array.from({ length: 100000 }, (_, n) => `late${n}@example.org`);
      const late = ["email", ...rows].join("\n");
      await page.locator("#file").setInputFiles({
        name: "late.csv",
        mimeType: "text/csv",
        buffer: Buffer.concat([Buffer.from(late), Buffer.from([0x0a, 0xfc, 0x40, 0x0a])]),
      });
      await page.getByRole("button", { name: "Try it" }).click();
      await page.locator(".refusal", { hasText: "Line 100\u202f002 of the file" }).waitFor();
    },
  ],
];

// The flows of exports: whole, through broken connections and pauses, to a file, and with a full
// disk.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { proxyTo, total } from "../steps.js";

/** Values that a shell would read as more than a text. */
const TAG = `it's $HOME "x" \`id\` \\ ;& é`;
const FILE = `it's $(touch harmed) "a" \`file\``;

/** Runs a line of the page in a shell, in a new folder. Returns the one file that it made. */
function fileOf(server, line) {
  const folder = mkdtempSync(join(tmpdir(), "caseload-shell-"));
  const programs = mkdtempSync(join(tmpdir(), "caseload-bin-"));
  symlinkSync(process.env.CASELOAD_CHECK_PROGRAM, join(programs, "caseload"));
  const env = {
    ...process.env,
    PATH: `${programs}:${process.env.PATH}`,
    CASELOAD_API_KEY: server.key,
    KEY: server.key,
  };
  execFileSync("bash", ["-c", line], { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
  const names = readdirSync(folder);
  assert.equal(names.length, 1, `${names}`);
  const text = readFileSync(join(folder, names[0]), "utf8").replace(/^\uFEFF/, "");
  for (const one of [folder, programs]) rmSync(one, { recursive: true });
  return [names[0], text];
}

export const exports = [
  [
    "the line for a shell makes the file of the filters, the format and the name",
    async ({ server, open }) => {
      const made = await server.task("issues", "import_issues", [
        { title: "For a shell", created_at: Date.now() - 5000, tags: [TAG] },
      ]);
      assert.equal(made.counts.succeeded, 1);
      const page = await open({ path: "exports" });
      const begin = page.url().split("#")[0];
      const tag = encodeURIComponent(TAG);
      for (const [screen, format, name, records] of [
        [`exports?of=issues&tags=${tag}`, "jsonl", `${FILE}.jsonl`, 1],
        [`exports?of=issues&tags=${tag}`, "spreadsheet", `${FILE}.csv`],
        ["exports?of=issues&state=new&since=2020-01-01", "csv", "-x.txt"],
        ["exports?of=core_profiles&tag=hostile", "csv", "people.csv"],
        ["exports?of=app_profiles", "csv", "app-profiles.csv"],
        ["exports?of=tasks_of_issues", "csv", `${FILE}.csv`],
      ]) {
        await page.goto(`${begin}#/${screen}`);
        await page.getByLabel("Format").selectOption(format);
        await page.getByLabel("File").fill(name);
        const href = page.locator(".row a[download]");
        await page.waitForFunction(
          (text) => document.querySelector(".row a[download]")?.getAttribute("download") === text,
          name,
        );
        const download = await href.getAttribute("href");
        const whole = await fetch(download, { headers: { Authorization: `Bearer ${server.key}` } });
        const text = (await whole.text()).replace(/^\uFEFF/, "");
        const summary = page.locator("summary", { hasText: "In a shell" });
        // The same screen with another format leaves it open.
        if ((await page.locator("details[open] pre").count()) === 0) await summary.click();
        const line = await page.locator("details[open] pre").innerText();
        const [file, written] = fileOf(server, line);
        assert.equal(file, name, line);
        assert.ok(written === text, line);
        if (records) assert.equal(text.trim().split("\n").length, records);
      }
      // No command is left without its line if nothing matches.
      await page.goto(`${begin}#/exports?of=issues&tags=nothing-has-this`);
      await page.getByText("Nothing matches").waitFor();
      await page.locator("pre", { hasText: "nothing-has-this" }).waitFor({ state: "attached" });
    },
  ],
  [
    "an export has every issue",
    async ({ server, open }) => {
      const page = await open({ path: "exports" });
      await page.getByLabel("State").selectOption("resolved");
      const all = await total(server, "&state=resolved");
      await page.locator(".number", { hasText: new RegExp(`^${all}$`) }).waitFor();
      const [sheet] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "Download issues.csv" }).click(),
      ]);
      const cells = readFileSync(await sheet.path(), "utf8");
      assert.match(cells, /^\uFEFF[\w,.]+,messages\r\n.*"=""\d{13}"""/);
      await page.getByLabel("Format").selectOption("jsonl");
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "Download issues.jsonl" }).click(),
      ]);
      assert.equal(
        readFileSync(await download.path(), "utf8")
          .trim()
          .split("\n").length,
        all,
      );
      await page.getByLabel("Format").selectOption("csv");
      const [table] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "Download issues.csv" }).click(),
      ]);
      assert.match(readFileSync(await table.path(), "utf8"), /^[\w,.]+\r\n/);
      // Tasks are a list, too.
      await page.getByLabel("What").selectOption("tasks_of_issues");
      const tasks = await server.call("GET", "v2/acme/issues/bulk_actions?page-size=1");
      await page.locator(".number", { hasText: new RegExp(`^${tasks["total-hits"]}$`) }).waitFor();
      const [list] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "Download tasks-of-issues.csv" }).click(),
      ]);
      assert.equal(
        readFileSync(await list.path(), "utf8")
          .trim()
          .split("\r\n").length,
        tasks["total-hits"] + 1,
      );
      assert.equal(await page.getByRole("button", { name: /^Export/ }).count(), 0);
    },
  ],
  [
    "a press on a button of an export outlasts its redraws",
    async ({ open }) => {
      const page = await open({
        path: "exports",
        init: () => delete globalThis.showSaveFilePicker,
      });
      await page.getByRole("button", { name: "Export issues.csv" }).click();
      const save = page.getByRole("button", { name: "Save issues.csv" });
      await save.waitFor();
      const box = await save.boundingBox();
      await page.mouse.move(box.x + 5, box.y + 5);
      await page.mouse.down();
      await page.waitForTimeout(1200);
      await Promise.all([page.waitForEvent("download"), page.mouse.up()]);
    },
  ],
  [
    "an export goes on after broken connections, and has every record once",
    async ({ server, browser }) => {
      const { origin, close, cut } = await proxyTo(server, {
        cuts: /format=(jsonl|csv)/,
        bytes: 1500,
      });
      const page = await browser.page(server, {
        origin,
        path: "exports",
        init: () => delete globalThis.showSaveFilePicker,
      });
      for (const [of, format, file] of [
        // Each has another name than the one before: the link changes with the form.
        ["issues", "spreadsheet", "issues.csv"],
        ["issues", "jsonl", "issues.jsonl"],
        ["core_profiles", "csv", "people.csv"],
      ]) {
        cut.left = 3;
        await page.getByLabel("What").selectOption(of);
        await page.getByLabel("Format").selectOption(format);
        const href = await page
          .getByRole("link", { name: `Download ${file}` })
          .getAttribute("href");
        await page.getByRole("button", { name: `Export ${file}` }).click();
        const [download] = await Promise.all([
          page.waitForEvent("download", { timeout: 60000 }),
          page.getByRole("button", { name: `Save ${file}` }).click({ timeout: 60000 }),
        ]);
        const whole = await fetch(href.replace(origin, server.url), {
          headers: { Authorization: `Bearer ${server.key}` },
        }).then((answer) => answer.text());
        // Attachments have the address by which the server was asked.
        // `text()` takes a byte order mark off.
        const written = readFileSync(await download.path(), "utf8").replace(/^\uFEFF/, "");
        assert.equal(written, whole.replaceAll(server.url, origin));
        assert.equal(cut.left, 0);
      }
      await page.context().close();
      close();
    },
  ],
  [
    "an export is paused and goes on, also while it waits, and has every record once",
    async ({ server, browser }) => {
      const { origin, close, cut } = await proxyTo(server, { cuts: /format=jsonl/ });
      const page = await browser.page(server, {
        origin,
        path: "exports",
        init: () => delete globalThis.showSaveFilePicker,
      });
      await page.getByLabel("Format").selectOption("jsonl");
      const href = await page
        .getByRole("link", { name: "Download issues.jsonl" })
        .getAttribute("href");
      const whole = await fetch(href.replace(origin, server.url), {
        headers: { Authorization: `Bearer ${server.key}` },
      }).then((answer) => answer.text());
      // In the middle of an answer, and in the pause before a repeat, which grows with each vain
      // one.
      for (const [waits, next] of [
        [true, { left: 1, bytes: 100000 }],
        [false, { left: 5, bytes: 1 }],
      ]) {
        Object.assign(cut, { waits, ...next });
        await page.getByRole("button", { name: "Export issues.jsonl" }).click();
        const mine = page.locator(".export").first();
        await (
          waits
            ? mine.locator("span", { hasText: /^[1-9]/ })
            : mine.getByText("the connection to the server broke")
        )
          .first()
          .waitFor();
        // The second one at once, because the wait may be over before the keyboard is there.
        await mine
          .getByRole("button", { name: "Pause" })
          [waits ? "click" : "dispatchEvent"](...(waits ? [] : ["click"]));
        await mine.getByRole("button", { name: "Continue" }).waitFor();
        cut.left = 0;
        if (waits) {
          const shown = await mine.innerText();
          await page.waitForTimeout(1500);
          assert.equal(await mine.innerText(), shown);
        }
        await mine.getByRole("button", { name: "Continue" }).click();
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          mine.getByRole("button", { name: "Save" }).click(),
        ]);
        assert.equal(
          readFileSync(await download.path(), "utf8"),
          whole.replaceAll(server.url, origin),
        );
      }
      await page.context().close();
      close();
    },
  ],
  [
    "an export says that the disk is full, and begins again when there is space",
    async ({ server, open }) => {
      const page = await open({
        path: "exports",
        init: () =>
          (globalThis.showSaveFilePicker = async () =>
            (await navigator.storage.getDirectory()).getFileHandle("export", { create: true })),
      });
      const session = await page.context().newCDPSession(page);
      await session.send("Storage.overrideQuotaForOrigin", {
        origin: server.url,
        quotaSize: 100000,
      });
      await page.getByLabel("Format").selectOption("jsonl");
      await page.getByRole("button", { name: "Export issues.jsonl" }).click();
      await page.getByText("the disk is full").waitFor();
      assert.equal(await page.getByText("the connection").count(), 0);
      await session.send("Storage.overrideQuotaForOrigin", { origin: server.url });
      await page.getByRole("button", { name: "Begin again issues.jsonl" }).click();
      await page.getByText("complete", { exact: true }).waitFor();
      const lines = await page.evaluate(async () =>
        (
          await (await (await navigator.storage.getDirectory()).getFileHandle("export")).getFile()
        ).text(),
      );
      assert.equal(lines.trim().split("\n").length, await total(server));
    },
  ],
  [
    "an export of a filtered list is written to a file",
    async ({ server, open }) => {
      const page = await open({
        path: "issues?state=new",
        init: () =>
          (globalThis.showSaveFilePicker = async () =>
            (await navigator.storage.getDirectory()).getFileHandle("export", { create: true })),
      });
      await page.getByRole("link", { name: "Export", exact: true }).click();
      await page.getByText("State: New").waitFor();
      await page.getByLabel("Format").selectOption("jsonl");
      await page.getByRole("button", { name: "Export issues.jsonl" }).click();
      await page.getByText("complete", { exact: true }).waitFor();
      const lines = await page.evaluate(async () =>
        (
          await (await (await navigator.storage.getDirectory()).getFileHandle("export")).getFile()
        ).text(),
      );
      assert.equal(lines.trim().split("\n").length, await total(server, "&state=new"));
    },
  ],
];

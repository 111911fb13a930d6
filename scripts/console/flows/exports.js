// The flows of exports: whole, through broken connections and pauses, to a file, and with a full
// disk.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { proxyTo, total } from "../steps.js";

export const exports = [
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
        page.getByRole("link", { name: "Download tasks_of_issues.csv" }).click(),
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
        ["core_profiles", "csv", "core_profiles.csv"],
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
      await page.getByText("state new").waitFor();
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

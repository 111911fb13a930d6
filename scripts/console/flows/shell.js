// The flows of the frame around the screens: keys, calls, times, and what is hostile, missing or
// away.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HOSTILE } from "../records.js";
import { dryRun, keys, pick, settled, title, total } from "../steps.js";

/** How many elements a hostile text made, and how often one acted. */
const harm = (page) =>
  page.evaluate(() => {
    const made = "main script, main img, main iframe, a[href^='javascript']";
    return document.querySelectorAll(made).length + (window.harmed ?? 0);
  });

export const shell = [
  [
    "the last calls are there as curl",
    async ({ server, open }) => {
      const page = await open({ path: "issues?state=resolved" });
      await page.locator(".issue-row").first().waitFor();
      await keys(page, "c");
      await page
        .locator(".call code", {
          hasText: `curl -u "$KEY:" '${server.url}/v1/acme/issues?state=resolved`,
        })
        .first()
        .waitFor();
      await keys(page, "Escape");
      await page.locator(".drawer").waitFor({ state: "hidden" });
    },
  ],
  [
    "a line of the calls does in a shell what the page did",
    async ({ server, open }) => {
      const folder = mkdtempSync(join(tmpdir(), "caseload-curl-"));
      const entry = '{"identities":[{"uid":"by curl"}]}';
      const name = "it's a file.jsonl";
      writeFileSync(join(folder, name), entry);
      const page = await open({ path: "new-import" });
      await pick(page, name, entry);
      await dryRun(page);
      await keys(page, "c");
      const line = await page.locator(".call code", { hasText: "-F 'file=@" }).first().innerText();
      const said = execFileSync("bash", ["-c", line], {
        cwd: folder,
        env: { ...process.env, KEY: server.key },
        stdio: ["ignore", "pipe", "ignore"],
      });
      const made = JSON.parse(said.toString());
      assert.deepEqual(
        [made.action, made.dry_run, made.file_name],
        ["upsert_core_profiles", true, name],
      );
      rmSync(folder, { recursive: true });
    },
  ],
  [
    "a list that acts at once is opened by a key, and nothing is chosen on the way",
    async ({ server, open }) => {
      const [issue] = (await server.call("GET", "v1/acme/issues?state=new&page-size=1")).issues;
      const page = await open({ path: "issues" });
      await page.locator(".issue-row").first().waitFor();
      const begin = page.url();
      await page.getByLabel("State").focus();
      await keys(page, "ArrowDown", "ArrowDown", "ArrowDown");
      await page.waitForTimeout(300);
      assert.equal(page.url(), begin);
      await keys(page, "Enter");
      await page.waitForURL(/state=new/);
      await page.goto(`${begin.split("#")[0]}#/issue/${issue.id}`);
      await page.getByLabel("Reply").waitFor();
      let writes = 0;
      page.on("request", (request) => request.method() === "PUT" && (writes += 1));
      await page.getByLabel("State").focus();
      await keys(page, "ArrowDown", "ArrowDown", "ArrowDown");
      await page.waitForTimeout(300);
      assert.equal(writes, 0);
      await keys(page, "Enter");
      await page.getByText("saved").waitFor();
      assert.equal(writes, 1);
    },
  ],
  [
    "keys go to every screen, and ? lists them",
    async ({ open }) => {
      const page = await open();
      await title(page, "Overview");
      await keys(page, "?");
      await page.getByText("next, previous").waitFor();
      await keys(page, "Escape");
      for (const [key, text] of [
        ["i", "Issues"],
        ["t", "Imports"],
        ["n", "New import"],
        ["a", "Activity"],
        ["e", "Exports"],
        ["s", "Settings"],
        ["p", "People"],
        ["o", "Overview"],
      ]) {
        await keys(page, "g", key);
        await title(page, text);
      }
    },
  ],
  [
    "a screen or a record that is not there says so",
    async ({ open }) => {
      const page = await open({ path: "nowhere" });
      await page.getByText("This address names no screen").waitFor();
      await page.goto(`${page.url().split("#")[0]}#/constructor`);
      await page.getByText("This address names no screen").waitFor();
      await page.goto(`${page.url().split("#")[0]}#/issues?constructor=1`);
      await page.locator(".issue-row").first().waitFor();
      await page.goto(`${page.url().split("#")[0]}#/issue/999999999`);
      await page.getByRole("heading", { name: "Not here" }).waitFor();
    },
  ],
  [
    "a screen that takes long says so below its title, and so does one that fails",
    async ({ browser, open }) => {
      const page = await open({ path: "exports" });
      await title(page, "Exports");
      const waiting = [];
      await page.route(/identity\/core_profiles/, async (route) => {
        await new Promise((resolve) => waiting.push(resolve));
        await route.fulfill({ status: 503, json: { detail: "not now" } });
      });
      for (const [screen, name] of [
        ["people", "People"],
        ["person/1", "People"],
      ]) {
        await page.goto(`${page.url().split("#")[0]}#/${screen}`);
        await page.getByText("Loading…").waitFor();
        await title(page, name);
        assert.deepEqual(await browser.axe(page), []);
        waiting.pop()();
        await page.getByText("This could not be loaded").waitFor();
        await title(page, name);
        assert.deepEqual(await browser.axe(page), []);
      }
    },
  ],
  [
    "a server that is away is named, and tried again",
    async ({ server, open }) => {
      const page = await open({ path: "imports" });
      await page.locator("td a").first().waitFor();
      await server.kill();
      await keys(page, "g", "e");
      await page.getByText("cannot be reached").waitFor();
      await server.start();
      await page.getByRole("button", { name: "Try again" }).click();
      await title(page, "Exports");
    },
  ],
  [
    "hostile texts stay texts, and digits stay digits",
    async ({ server, open }) => {
      const { issues } = await server.call(
        "GET",
        "v1/acme/issues?sort-by=creation-time&page-size=50",
      );
      const hostile = issues.filter((issue) => HOSTILE.includes(issue.title));
      assert.equal(hostile.length, HOSTILE.length);
      const page = await open({ path: "issues" });
      await page.locator(".issue-row").first().waitFor();
      for (const issue of hostile) {
        await page.goto(`${server.url}/console/#/issue/${issue.id}`);
        await page.locator(".message").first().waitFor();
        await page.getByText("12345678901234567890.10").first().waitFor();
        assert.equal(await harm(page), 0);
      }
      const { core_profiles: people } = await server.call(
        "GET",
        "v2/acme/identity/core_profiles?tags=hostile",
      );
      assert.equal(people.length, HOSTILE.length);
      await page.goto(`${server.url}/console/#/people?tag=hostile`);
      await settled(page, HOSTILE.length);
      for (const person of people) {
        await page.goto(`${server.url}/console/#/person/${person["core-profile-id"]}`);
        await page.getByText("12345678901234567890.10").first().waitFor();
        assert.equal(await harm(page), 0);
      }
      // Names that the desk gives, and names of files.
      for (const [n, text] of HOSTILE.entries()) {
        const name = text.slice(0, 60);
        await server.call("POST", "v1/acme/queues", { name });
        await server.call("POST", "v1/acme/apps", { title: name });
        await server.call("POST", "v1/acme/agents", { name, email: `hostile${n}@example.org` });
        await server.call("POST", "v1/acme/keys", { name, access: "read" });
        await server.send(
          "identity",
          "create_core_profiles",
          [{ identities: [{ uid: `file ${n}` }] }],
          {},
          `${name.replace(/[\\/"]/g, "")}.jsonl`,
        );
      }
      for (const screen of ["settings", "imports", "overview", `issue/${hostile[0].id}`]) {
        await page.goto(`${server.url}/console/#/${screen}`);
        await page.getByText("{{constructor").first().waitFor({ state: "attached" });
        assert.equal(await harm(page), 0);
        assert.ok(
          await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
          `${screen} is too wide`,
        );
      }
      const { tasks } = await server.call("GET", "v2/acme/identity/bulk_actions?page-size=100");
      const task = tasks.find((one) => one.counts.total === 2 && one.counts.failed === 2);
      await page.goto(`${server.url}/console/#/faults/identity/${task.task_id}`);
      await page.locator(".fault-row mark", { hasText: "</script>" }).waitFor();
      await keys(page, "j", "Enter");
      await page.getByText("This is not a JSON map").waitFor();
    },
  ],
  [
    "times are in the zone of the viewer, with UTC on hover, and a day is a day there",
    async ({ server, open }) => {
      const at = Date.UTC(2025, 11, 31, 20, 15, 30);
      const { counts } = await server.task("issues", "import_issues", [
        { title: "At the turn of the year", created_at: at },
      ]);
      assert.equal(counts.succeeded, 1);
      const page = await open({ path: "issues?title=turn+of+the+year", zone: "Asia/Kolkata" });
      const shown = page.locator(".issue-row time").first();
      await shown.waitFor();
      assert.equal(await shown.innerText(), "2026-01-01 01:45");
      assert.equal(await shown.getAttribute("title"), "2025-12-31 20:15:30 UTC");
      const begin = page.url().split("#")[0];
      for (const [days, found] of [
        ["since=2026-01-01&until=2026-01-01", 1],
        ["since=2025-12-31&until=2025-12-31", 0],
      ]) {
        await page.goto(`${begin}#/issues?title=turn+of+the+year&${days}`);
        await settled(page, found);
      }
      await page.goto(`${begin}#/issues?title=turn+of+the+year`);
      await settled(page, 1);
      await keys(page, "j", "Enter");
      await page
        .locator('aside time[title="2025-12-31 20:15:30 UTC"]', { hasText: "2026-01-01 01:45" })
        .first()
        .waitFor();
    },
  ],
  [
    "an empty domain says on each screen what to do next",
    async ({ server, open }) => {
      const key = server.newDomain("empty");
      const page = await open({ key });
      const begin = page.url().split("#")[0];
      for (const [screen, words, leads] of [
        ["overview", "No issues yet", "Import some"],
        ["issues", "No issues yet", "Import some"],
        ["people", "No people yet", "Import profiles"],
        ["imports", "No imports yet", "Import a file"],
      ]) {
        await page.goto(`${begin}#/${screen}`);
        await page.getByText(words).waitFor();
        await page.getByRole("link", { name: leads }).click();
        await title(page, "New import");
      }
      for (const [screen, words] of [
        ["exports", "Nothing matches these filters"],
        ["settings", "Agents answer issues"],
        ["people?q=x", "Nobody found"],
        ["issues?text=x", "No issue matches"],
        ["imports?status=queued", "No import matches"],
      ]) {
        await page.goto(`${begin}#/${screen}`);
        await page.getByText(words).waitFor();
      }
      assert.ok(await total(server));
    },
  ],
  [
    "nothing jumps while screens load and refresh",
    async ({ server, open, faulty, person }) => {
      const [issue] = (await server.call("GET", "v1/acme/issues?page-size=1")).issues;
      const page = await open({
        path: "overview",
        init: () => {
          globalThis.moved = [];
          new PerformanceObserver((list) => {
            for (const one of list.getEntries())
              if (!one.hadRecentInput)
                moved.push([
                  one.value,
                  location.hash,
                  ...one.sources.map((source) => source.node?.className ?? source.node?.nodeName),
                ]);
          }).observe({ type: "layout-shift", buffered: true });
        },
      });
      // The findings of a task come late: Chromium does not count what moves in the first half
      // second after a new address.
      await page.route("**/errors/summary", async (route) => {
        await page.waitForTimeout(700);
        await route.continue();
      });
      await title(page, "Overview");
      const begin = page.url().split("#")[0];
      for (const screen of [
        "issues",
        `issue/${issue.id}`,
        "people",
        `person/${person}`,
        "imports",
        "new-import",
        `task/identity/${faulty.task_id}`,
        `faults/identity/${faulty.task_id}`,
        "exports",
        "settings",
        "overview",
      ]) {
        await page.goto(`${begin}#/${screen}`);
        await page.locator("main h1").first().waitFor();
        const ms = { overview: 4500, task: 1500, faults: 1500 }[screen.split("/")[0]];
        await page.waitForTimeout(ms ?? 400);
      }
      const moved = (await page.evaluate(() => globalThis.moved)).filter(([value]) => value > 0.01);
      assert.deepEqual(moved, []);
    },
  ],
  [
    "a press lasts while what is pressed is drawn again",
    async ({ open, faulty }) => {
      const page = await open();
      let n = 0;
      const path = `/v2/acme/identity/bulk_actions/${faulty.task_id}`;
      // A task at work, made up: its events break off, and each answer is a step further.
      await page.route(
        (url) => url.pathname === path,
        async (route) => {
          if (route.request().headers().accept?.includes("event-stream")) return route.abort();
          n += 1;
          const done = Math.min(399, n);
          await new Promise((resolve) => setTimeout(resolve, 150));
          return route.fulfill({
            json: {
              ...faulty,
              status: "processing",
              outcome: null,
              progress: Math.floor(done / 4),
              completed_at: null,
              counts: { total: 400, succeeded: done, failed: 0, unprocessed: 400 - done },
            },
          });
        },
      );
      await page.goto(`${page.url().split("#")[0]}#/task/identity/${faulty.task_id}`);
      const cancel = page.getByRole("button", { name: "Cancel" });
      const step = async () => {
        const before = n;
        while (n < before + 3) await page.waitForTimeout(50);
      };
      await page.getByText("as JSON").click();
      const json = page.locator("details pre");
      const before = await json.innerText();
      await step();
      await json.waitFor({ state: "visible" });
      assert.notEqual(await json.innerText(), before);
      const box = await cancel.boundingBox();
      await page.mouse.move(box.x + 10, box.y + 10);
      await page.mouse.down();
      await step();
      await page.mouse.up();
      await page.getByText("What is done stays done").waitFor();
    },
  ],
  [
    "a link is pressed while the overview is drawn again",
    async ({ open, faulty }) => {
      const page = await open({ path: "exports" });
      let n = 0;
      await page.route(/identity\/bulk_actions\?import_id=none&page-size=8$/, (route) => {
        n += 1;
        return route.fulfill({
          json: {
            page: 1,
            "page-size": 8,
            "total-pages": 1,
            "total-hits": 1,
            tasks: [
              { ...faulty, status: "processing", outcome: null, completed_at: null, progress: n },
            ],
          },
        });
      });
      await page.goto(`${page.url().split("#")[0]}#/overview`);
      const link = page.locator("td a", { hasText: "Create people" }).first();
      await link.waitFor();
      const box = await link.boundingBox();
      await page.mouse.move(box.x + 5, box.y + 5);
      await page.mouse.down();
      const before = n;
      while (n < before + 2) await page.waitForTimeout(100);
      await page.waitForTimeout(200);
      await page.mouse.up();
      await title(page, "Create people");
    },
  ],
  [
    "a link of the navigation is pressed while the named views come",
    async ({ open }) => {
      const page = await open({ path: "nowhere" });
      let come = () => {};
      const coming = new Promise((resolve) => (come = resolve));
      const views = [{ id: "v", name: "Late", list: "issues", query: "", scope: "domain" }];
      await page.route(/\/v1\/acme\/views/, async (route) => {
        await coming;
        await route.fulfill({ json: { views } });
      });
      await keys(page, "g", "e");
      await title(page, "Exports");
      const box = await page.locator("nav a", { hasText: "Imports" }).boundingBox();
      await page.mouse.move(box.x + 10, box.y + 10);
      await page.mouse.down();
      // The console counts the issues of a view after it drew the link, or put that off.
      const counted = page.waitForResponse(/\/v1\/acme\/issues\?page-size=1/);
      come();
      await counted;
      await page.waitForTimeout(200);
      await page.mouse.up();
      await title(page, "Imports");
      await page.locator("nav a.view", { hasText: "Late" }).waitFor();
    },
  ],
];

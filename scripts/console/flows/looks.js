// How the screens look and load: axe in both themes, narrow and wide windows; and the budget of
// times.
import assert from "node:assert/strict";
import { keys, pick } from "../steps.js";

const PACKED_BYTES_MAX = 40000;
const REQUESTS_MAX = 12;
const INTERACTIVE_MS_MAX = 200;
/** The same on a network that delays each answer. */
const LATENCY_MS = 50;
const DELAYED_MS_MAX = 500;
const FIRST_ROWS_MS_MAX = 200;
/** A table with a column that no field has, a fault and a time without an offset. */
const TABLE = [
  "email;country;last seen;shoe size",
  "x@example.org;Germoney;;38",
  "y@example.org;DE;2026-01-05 10:30;39",
].join("\n");
/** A machine with other work, or a debug build, has more time. */
const PATIENCE = process.env.CI || process.env.CASELOAD_CHECK_SLOW ? 5 : 2;

/** Screens that say so if a domain has nothing. */
const EMPTY = ["overview", "issues", "people", "imports", "activity", "exports", "settings"];

const screens = ({ faulty, hostile, person, author, erased, webhook }) => [
  "overview",
  "issues",
  "issue/1",
  `issue/${hostile ? 1201 : 1}`,
  "people",
  "people?q=nobody-has-this",
  `person/${person}`,
  "author?email=ada7@example.org",
  `erase/${author}`,
  `erasure/${erased.task_id}`,
  `task/issues/${erased.task_id}`,
  `webhook/${webhook.id}`,
  "imports",
  "new-import",
  "activity",
  `task/identity/${faulty.task_id}`,
  `faults/identity/${faulty.task_id}`,
  "exports",
  "settings",
  "nowhere",
  "issue/999999999",
];

function pictureOf(screen, { theme = "light", width = 1280 }) {
  const name = screen.replaceAll(/[/?=]/g, "-").slice(0, 20);
  return `${process.env.CONSOLE_CHECK_SHOTS}/${name}-${theme}-${width}.png`;
}

async function each(world, options, look) {
  const page = await world.open(options);
  const begin = page.url().split("#")[0];
  for (const screen of screens(world)) {
    await page.goto(`${begin}#/${screen}`);
    await page.locator("main:not([aria-busy]) h1").first().waitFor();
    await page.waitForTimeout(150);
    if (process.env.CONSOLE_CHECK_SHOTS)
      await page.screenshot({ path: pictureOf(screen, options) });
    await look(page, screen);
  }
}

const quiet = (browser) => async (page, screen) => {
  const found = await browser.axe(page);
  assert.deepEqual(found, [], `${screen}: ${JSON.stringify(found)}`);
};

/** What opens on a screen: the screen, what one does there, and what is then there. */
const open = {
  "a new issue": [
    "issues",
    (page) => page.getByRole("button", { name: "New issue" }).click(),
    "dialog[open]",
  ],
  "an edit of many": [
    "issues",
    async (page) => {
      await keys(page, "j", "x", "j", "x");
      await page.getByRole("button", { name: "Edit them" }).click();
    },
    "dialog[open]",
  ],
  "a filter": [
    "issues?tags=billing&state=new",
    (page) => page.getByRole("button", { name: "Add a filter" }).click(),
    "dialog[open]",
  ],
  "the calls": ["issues", (page) => keys(page, "c"), ".drawer .call"],
  "the shortcuts": ["people", (page) => keys(page, "?"), "dialog[open]"],
  "a new key": [
    "settings",
    (page) => page.getByRole("button", { name: "New key" }).click(),
    "dialog[open]",
  ],
  "a new webhook": [
    "settings",
    (page) => page.getByRole("button", { name: "New webhook" }).click(),
    "dialog[open]",
  ],
  "a replay": [
    "WEBHOOK",
    async (page) => {
      await page.getByRole("button", { name: "Replay…" }).click();
      await page.getByLabel("From", { exact: true }).selectOption("after");
    },
    "dialog[open]",
  ],
  "a new secret": [
    "WEBHOOK",
    async (page) => {
      await page.getByRole("button", { name: "New secret…" }).click();
      await page.getByRole("button", { name: "Make a new secret" }).click();
    },
    "dialog[open] .secret",
  ],
  "a change of a person": [
    "PERSON",
    async (page) => {
      await page.getByRole("button", { name: "Change", exact: true }).click();
      await page.getByLabel("City", { exact: true }).fill("Bonn");
      await page.getByLabel("Country", { exact: true }).fill("Atlantis");
      await page.getByRole("button", { name: "Clear First name" }).click();
      await page.getByRole("button", { name: "Preview the changes" }).click();
      await page.locator(".note.bad", { hasText: "Atlantis" }).waitFor();
    },
    ".edit.changed",
  ],
  "a change of a person as JSON": [
    "PERSON",
    async (page) => {
      // The edits of the form before are there again.
      await page.getByText("You did not save these edits").waitFor();
      await page.getByRole("button", { name: "Edit as JSON" }).click();
    },
    "textarea",
  ],
  "a deletion": [
    "PERSON",
    (page) => page.getByRole("button", { name: "Delete", exact: true }).click(),
    "dialog[open]",
  ],
  "an entry with faults": ["FAULTS", (page) => keys(page, "j", "Enter"), "dialog[open] textarea"],
  "a group of faults": [
    "FAULTS",
    async (page) => {
      await page.locator(".groups button", { hasText: "wrong type" }).click();
      await page.getByRole("button", { name: /Mend all/ }).click();
    },
    "dialog[open]",
  ],
  "a task to send again": [
    "TASK",
    (page) => page.getByRole("button", { name: /again as sent/ }).click(),
    "dialog[open]",
  ],
  "an undo of all": [
    "FAULTS",
    async (page) => {
      await page.locator(".groups button", { hasText: "unknown country" }).click();
      await page.getByRole("button", { name: /Mend all/ }).click();
      await page.getByLabel("Replacement for Atlantis").fill("DE");
      await page.getByRole("button", { name: "Mend them" }).click();
      await page.getByRole("button", { name: "Undo all" }).click();
    },
    "dialog[open]",
  ],
  "a table to import": [
    "new-import",
    (page) => pick(page, "x.csv", TABLE, "text/csv"),
    ".note.odd",
  ],
  "a table that was tried": [
    "new-import",
    async (page) => {
      await pick(page, "x.csv", TABLE, "text/csv");
      await page.getByRole("button", { name: "Leave it out" }).click();
      await page.getByRole("button", { name: "Try it" }).click();
    },
    ".outcome",
  ],
  "a file that is none": [
    "new-import",
    (page) => pick(page, "x.csv", "%PDF-1.7", "text/csv"),
    ".refusal",
  ],
  "an export": [
    "exports",
    (page) => page.getByRole("button", { name: "Export issues.csv" }).click(),
    ".export .good",
  ],
  "a refusal": ["people?country=Atlantis", () => {}, ".state[role=alert]"],
};

export const looks = [
  ...["light", "dark"].map((theme) => [
    `axe finds nothing, ${theme}`,
    async (world) => {
      const signIn = await world.open({ key: null, theme });
      await signIn.getByLabel("API key").waitFor();
      await quiet(world.browser)(signIn, "sign-in");
      await each(world, { theme }, quiet(world.browser));
    },
  ]),
  ...["light", "dark"].map((theme) => [
    `axe finds nothing in what opens on the screens, and in an empty domain, ${theme}`,
    async (world) => {
      const { server, browser, faulty, person, webhook } = world;
      const page = await world.open({ theme, init: () => delete globalThis.showSaveFilePicker });
      const begin = page.url().split("#")[0];
      for (const [name, [screen, act, there]] of Object.entries(open)) {
        await page.goto(`${begin}#/nowhere`);
        await page.getByText("This address names no screen").waitFor();
        const path = screen
          .replace("PERSON", `person/${person}`)
          .replace("WEBHOOK", `webhook/${webhook.id}`)
          .replace("FAULTS", `faults/identity/${faulty.task_id}`)
          .replace("TASK", `task/identity/${faulty.task_id}`);
        await page.goto(`${begin}#/${path}`);
        await page
          .locator(
            screen.includes("Atlantis")
              ? ".state"
              : screen === "FAULTS"
                ? ".fault-row"
                : screen === "issues"
                  ? ".issue-row"
                  : "main h1",
          )
          .first()
          .waitFor();
        await page.waitForTimeout(150);
        await act(page);
        await page.locator(there).first().waitFor();
        if (process.env.CONSOLE_CHECK_SHOTS)
          await page.screenshot({
            path: `${process.env.CONSOLE_CHECK_SHOTS}/${name.replaceAll(" ", "-")}-${theme}.png`,
          });
        await quiet(browser)(page, name);
        await keys(page, "Escape");
      }
      const empty = await world.open({ theme, key: server.newDomain(`empty-${theme}`) });
      for (const screen of EMPTY) {
        await empty.goto(`${begin}#/${screen}`);
        await empty.locator("main h1").first().waitFor();
        await empty.waitForTimeout(300);
        if (process.env.CONSOLE_CHECK_SHOTS)
          await empty.screenshot({
            path: `${process.env.CONSOLE_CHECK_SHOTS}/empty-${screen}-${theme}.png`,
          });
        await quiet(browser)(empty, `empty ${screen}`);
      }
    },
  ]),
  ...["light", "dark"].map((theme) => [
    `axe finds nothing in the ${theme} theme on a system of the other one`,
    async (world) => {
      const of = theme === "dark" ? "light" : "dark";
      const page = await world.open({ path: "issues", theme: of });
      await page.getByLabel("Theme").selectOption(theme);
      const begin = page.url().split("#")[0];
      for (const screen of ["issues", "issue/1", "imports", "exports"]) {
        await page.goto(`${begin}#/${screen}`);
        await page.locator("main:not([aria-busy]) h1").first().waitFor();
        await page.waitForTimeout(150);
        await quiet(world.browser)(page, screen);
      }
    },
  ]),
  [
    "every screen is in sight and in reach on a telephone",
    async ({ open }) => {
      const page = await open({ width: 390, height: 844 });
      await page.locator("main:not([aria-busy]) h1").first().waitFor();
      const links = page.locator("nav a");
      assert.equal(await links.count(), 8);
      for (let at = 0; at < 8; at++) {
        // In one step: the counts of the views draw the links again.
        const box = await page.evaluate((n) => {
          const { x, y, width, height } = document
            .querySelectorAll("nav a")
            [n].getBoundingClientRect();
          return { x, y, width, height };
        }, at);
        assert.ok(box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
        assert.ok(box.height >= 24 && box.y + box.height < 200, JSON.stringify(box));
        const name = (await links.nth(at).innerText()).trim();
        assert.ok(await links.nth(at).evaluate((one) => one.scrollWidth <= one.clientWidth), name);
        await links.nth(at).mouse();
        await page.locator("main:not([aria-busy]) h1", { hasText: name }).waitFor();
      }
    },
  ],
  ...[360, 390, 2560].map((width) => [
    `nothing is wider than ${width} px`,
    (world) =>
      each(world, { width, height: 800 }, async (page, screen) => {
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(over <= 0, `${screen} is ${over} px too wide`);
        // A list uses all of a wide window.
        const list = page.locator("main > .fill");
        if (width > 1000 && (await list.count())) {
          const { x, width: wide } = await list.boundingBox();
          assert.ok(width - x - wide < 60, `${screen} leaves ${width - x - wide} px`);
        }
        if (screen !== "overview") return;
        const apart = await page.evaluate(() => {
          const middle = (one) => {
            const box = one.getBoundingClientRect();
            return box.top + box.height / 2;
          };
          const rows = [...document.querySelectorAll(".bars tr:has(svg)")];
          return rows.map((row) => Math.abs(middle(row) - middle(row.querySelector("svg"))));
        });
        assert.ok(apart.length >= 7 && Math.max(...apart) < 3, `bars are off their rows: ${apart}`);
      }),
  ]),
];

/** Flows that look at times. Nothing else should run on the machine. */
export const times = [
  [
    "the first load is small and quick",
    async ({ browser, server, open }) => {
      const page = await open({ key: null });
      await page.getByLabel("API key").waitFor();
      const context = page.context();
      await context.request.post(`${server.url}/console/session`, {
        data: { key: server.key },
        headers: { "Sec-Fetch-Site": "same-origin" },
      });
      const next = await context.newPage();
      browser.watch(next, server.url);
      const session = await context.newCDPSession(next);
      await session.send("Network.enable");
      await session.send("Network.setCacheDisabled", { cacheDisabled: true });
      await next.addInitScript(() => {
        const seen = new MutationObserver(() => {
          if (window.shownAt || !document.querySelector("main h1")) return;
          window.shownAt = performance.now();
        });
        seen.observe(document, { childList: true, subtree: true });
      });
      await next.goto(`${server.url}/console/#/overview`);
      await next.locator("h1", { hasText: "Overview" }).waitFor();
      // The page, its files and the session; the data of the screen comes on top.
      const first = await next.evaluate(() => {
        const all = ["navigation", "resource"].flatMap((kind) =>
          performance.getEntriesByType(kind),
        );
        const asked = all.filter(
          (one) => one.startTime < window.shownAt && one.name.includes("/console/"),
        );
        const bytes = asked.reduce((sum, one) => sum + one.transferSize, 0);
        return { requests: asked.length, bytes };
      });
      await session.send("Network.setCacheDisabled", { cacheDisabled: false });
      await next.reload();
      await next.locator("nav a").first().waitFor();
      const times = [];
      for (let n = 0; n < 5; n++) {
        await next.reload();
        await next.locator("nav a").first().waitFor();
        times.push(await next.evaluate(() => performance.now()));
      }
      times.sort((a, b) => a - b);
      console.log(
        `     first load: ${first.requests} requests, ${first.bytes} bytes; ` +
          `interactive after ${Math.round(times[2])} ms (median of 5)`,
      );
      assert.ok(first.requests <= REQUESTS_MAX, `${first.requests} requests`);
      assert.ok(first.bytes <= PACKED_BYTES_MAX, `${first.bytes} bytes`);
      assert.ok(times[2] <= INTERACTIVE_MS_MAX * PATIENCE, `interactive after ${times[2]} ms`);
      await session.send("Network.setCacheDisabled", { cacheDisabled: true });
      await session.send("Network.emulateNetworkConditions", {
        offline: false,
        latency: LATENCY_MS,
        downloadThroughput: -1,
        uploadThroughput: -1,
      });
      await next.reload();
      await next.locator("nav a").first().waitFor();
      const delayed = await next.evaluate(() => performance.now());
      console.log(
        `     interactive after ${Math.round(delayed)} ms ` +
          `at ${LATENCY_MS} ms latency, nothing cached`,
      );
      assert.ok(
        delayed <= DELAYED_MS_MAX * PATIENCE,
        `interactive after ${delayed} ms at ${LATENCY_MS} ms latency`,
      );
    },
  ],
  [
    "of 10,000 faults the first rows are there at once",
    async ({ server, open }) => {
      const task = await server.task(
        "identity",
        "create_core_profiles",
        Array.from({ length: 10000 }, (_, n) => ({
          identities: [{ uid: `fault-${n}` }],
          last_country: "Atlantis",
          age: `${n}`,
        })),
      );
      assert.equal(task.counts.failed, 10000);
      const page = await open({ path: `task/identity/${task.task_id}` });
      await page.locator(".fact").first().waitFor();
      let pages = 0;
      page.on("request", (request) => /\/errors\?/.test(request.url()) && (pages += 1));
      const times = [];
      for (let n = 0; n < 3; n++) {
        times.push(
          await page.evaluate(
            (hash) =>
              new Promise((resolve) => {
                const begun = performance.now();
                new MutationObserver((_, observer) => {
                  if (!document.querySelector(".fault-row")) return;
                  observer.disconnect();
                  requestAnimationFrame(() => resolve(performance.now() - begun));
                }).observe(document.body, { childList: true, subtree: true });
                location.hash = hash;
              }),
            `#/faults/identity/${task.task_id}`,
          ),
        );
        await page.getByText("in 2 groups").waitFor();
        await page
          .locator(".groups button", { hasText: "10\u202f000" })
          .first()
          .waitFor({ timeout: 60000 });
        await page.evaluate((hash) => (location.hash = hash), `#/task/identity/${task.task_id}`);
        await page.locator(".fact").first().waitFor();
      }
      // A page each time, and not all errors.
      assert.equal(pages, 3);
      times.sort((a, b) => a - b);
      console.log(
        `     first rows of 10,000 faults after ${Math.round(times[1])} ms (median of 3)`,
      );
      assert.ok(times[1] <= FIRST_ROWS_MS_MAX * PATIENCE, `first rows after ${times[1]} ms`);
    },
  ],
];

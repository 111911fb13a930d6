// The flows of the overview: ranges and zones, charts of which each bar leads to the issues that it
// counts, and times.
import assert from "node:assert/strict";
import { settled, title } from "../steps.js";

const DAY_MS = 86400000;
const FIRST = Date.UTC(2024, 2, 3, 18, 20);
const TAGS = ["a, b", "untagged", "[urgent", "two words", '"quoted"', "<b>bold</b>"];

/** An imported history of two years, in a domain of its own: every value that a filter may meet. */
function history() {
  return Array.from({ length: 240 }, (_, n) => ({
    title: `Old ${n}`,
    // Some are within the hours in which UTC and India have another day.
    created_at: FIRST + n * 3 * DAY_MS + (n % 12) * 3700000,
    tags: n % 4 ? [TAGS[n % 6], `tag ${n % 14}`] : [],
    app_id: `${n % 3 ? "web" : "an app, with a comma"}`,
    ...(n % 5 && { assignee_id: `agent${n % 3}`, assignee_name: `Agent ${n % 3}` }),
    ...(n % 2 && { queue: { id: `q${n % 4}`, name: `Queue ${n % 4}` } }),
    state_data: {
      state: ["new", "resolved", "rejected"][n % 3],
      changed_at: FIRST + n * 3 * DAY_MS + DAY_MS,
    },
    messages: [{ body: "It broke." }],
  }));
}

/** A key of a domain with that history, made once. */
let made;
function historyOf(server) {
  made ??= (async () => {
    const key = server.newDomain("history");
    const task = { action: "import_issues", payload: history() };
    const { task_id } = await server.call("POST", "v2/history/issues/bulk_actions", task, key);
    const path = `v2/history/issues/bulk_actions/${task_id}?wait=60`;
    const { counts } = await server.call("GET", path, undefined, key);
    assert.equal(counts.succeeded, 240);
    return key;
  })();
  return made;
}

/** Waits until all that is below the first charts is there. */
const whole = async (page) => {
  await page.locator(".more:not([aria-busy]) .bars").first().waitFor();
  await page.locator(".overview:not(:has([aria-busy='true']))").waitFor();
};

/** What the tables of the charts say: a number and the address to which it leads. */
const leads = (page) =>
  page.locator(".overview").evaluate((overview) =>
    [...overview.querySelectorAll(":is(.first-charts, .by-group) figure tbody tr")].flatMap(
      (row) => {
        const link = row.querySelector("a");
        const n = Number(row.cells[1].textContent.replace(/\D/g, ""));
        return link ? [[link.getAttribute("href"), n, link.textContent]] : [];
      },
    ),
  );

/** The features of the server with one more, whose answers a flow makes up. */
const withDurations = async (page) => {
  await page.route(/console\/session$/, async (route) => {
    const answer = await route.fetch();
    const session = await answer.json();
    if (!session.features.includes("durations")) session.features.push("durations");
    await route.fulfill({ response: answer, json: session });
  });
  await page.reload();
};

/** Picture of a screen, if they are wanted. */
const picture = (page, name) =>
  process.env.CONSOLE_CHECK_SHOTS &&
  page.screenshot({
    path: `${process.env.CONSOLE_CHECK_SHOTS}/overview-${name}.png`,
    fullPage: true,
  });

export const overview = [
  ...["range=all", "range=all&zone=UTC", "since=2024-03-31&until=2024-10-27&zone=UTC"].map(
    (query) => [
      `each bar of the overview leads to as many issues as it says, ${query}`,
      async ({ server, open, browser }) => {
        const key = await historyOf(server);
        const page = await open({ key, zone: "Asia/Kolkata", path: `overview?${query}` });
        await whole(page);
        assert.deepEqual(await browser.axe(page), []);
        const all = await leads(page);
        const said = page.locator(".overview .filters [role=status]");
        const shown = Number(/^\d+/.exec(await said.innerText())[0]);
        const states = all.filter(([href]) => href.includes("state="));
        const days = all.filter(([href]) => /issues\?since=[^&]*&until=[^&]*$/.test(href));
        for (const groups of [states, days])
          assert.equal(
            groups.reduce((sum, [, n]) => sum + n, 0),
            shown,
          );
        const named = all.map(([, , name]) => name);
        for (const name of ["unassigned", "without a tag", "Agent 1", "Queue 3", ...TAGS])
          assert.ok(named.includes(name) || named.length > 60, name);
        await page.getByText("without a queue").waitFor();
        await page.getByText(/^\d+ others$/).waitFor();
        const begin = page.url().split("#")[0];
        // A column now and then, and all others.
        for (const [href, n] of all.filter((one, at) => !days.includes(one) || at % 5 === 0)) {
          await page.goto(`${begin}${href}`);
          await settled(page, n);
        }
      },
    ],
  ),
  [
    "the range and the zone are in the address, and the focus stays where they are chosen",
    async ({ server, open }) => {
      const key = await historyOf(server);
      const page = await open({ key, zone: "Asia/Kolkata", path: "overview?range=all" });
      await whole(page);
      await page.getByRole("heading", { name: /Created by month/ }).waitFor();
      await page.getByLabel("Time zone").selectOption("UTC");
      await page.waitForURL(/#\/overview\?range=all&zone=UTC$/);
      await page.getByLabel("Range").selectOption("dates");
      assert.equal(await page.getByLabel("First day").inputValue(), "2024-03-03");
      await page.getByLabel("First day").fill("2024-05-09");
      await page.getByLabel("Last day").fill("2024-05-08");
      await page.getByRole("button", { name: "Show" }).click();
      await page.getByText("the first is not after the second").waitFor();
      await page.getByLabel("Last day").fill("2024-06-07");
      await page.getByRole("button", { name: "Show" }).click();
      await page.waitForURL(/#\/overview\?since=2024-05-09&until=2024-06-07&zone=UTC$/);
      await page.getByRole("heading", { name: /Created by day/ }).waitFor();
      await page.waitForFunction(() => document.activeElement?.textContent === "Show");
      await page.getByText("created from 9 May to 7 June 2024").waitFor();
      await page.reload();
      await page.getByText("created from 9 May to 7 June 2024").waitFor();
      assert.equal(await page.getByLabel("Time zone").inputValue(), "UTC");
      // A refresh draws nothing again that is as before.
      const kept = await page.locator(".bars").first().elementHandle();
      await page.waitForTimeout(4600);
      assert.ok(await kept.evaluate((element) => element.isConnected));
    },
  ],
  [
    "an empty range says so and leads to the one that has issues",
    async ({ server, open }) => {
      const key = await historyOf(server);
      const page = await open({ key, zone: "Asia/Kolkata" });
      await page.getByText(/No issue was created from/).waitFor();
      await page.getByText("The oldest issue is of 3 March 2024").waitFor();
      await page.getByRole("link", { name: /^Show 3 March 2024/ }).click();
      await page.getByText(/^240 issues$/).waitFor();
      await whole(page);
      await page.getByRole("heading", { name: /Created by month/ }).waitFor();
    },
  ],
  [
    "the overview has the times to the first reply and to the resolution, or says why not",
    async ({ browser, server, open }) => {
      const key = await historyOf(server);
      const page = await open({ key, zone: "UTC", path: "overview?range=all" });
      const time = (count, median, p90) => ({ count, median_ms: median, p90_ms: p90 });
      const none = time(0, null, null);
      let refuses = false;
      const asked = [];
      await page.route(/issues\/durations\?/, (route) => {
        asked.push(new URL(route.request().url()).searchParams);
        const detail = "the query takes too long";
        const code = "query_too_expensive";
        if (refuses) return route.fulfill({ status: 400, json: { detail, code } });
        return route.fulfill({
          json: {
            "total-hits": 240,
            first_reply: time(200, 7800000, 97200000),
            resolution: none,
            groups: [
              {
                "created-month": "2024-04",
                count: 10,
                first_reply: time(9, 60000, 3600000),
                resolution: none,
              },
            ],
          },
        });
      });
      await withDurations(page);
      await whole(page);
      const times = page.getByRole("region", {
        name: "First reply and resolution times",
        exact: true,
      });
      await times.getByText("2 h 10 min").first().waitFor();
      await times.getByText("1 day 3 h").first().waitFor();
      await times.getByText("No issue of this range is closed.").waitFor();
      await times
        .getByRole("row", { name: /1 April to 30 April 2024.*10.*9.*1 min.*1 h/ })
        .waitFor();
      assert.deepEqual(
        ["group-by", "timezone", "created-since"].map((name) => asked[0].get(name)),
        ["created-month", "UTC", null],
      );
      assert.deepEqual(await browser.axe(page), []);
      refuses = true;
      await page.getByLabel("Range").selectOption("dates");
      await page.getByRole("button", { name: "Show" }).click();
      await page.getByText("the query takes too long").waitFor();
      assert.equal(await times.count(), 0);
      refuses = false;
      await page.getByRole("button", { name: "Try again" }).click();
      await times.getByText("2 h 10 min").first().waitFor();
      await page.getByText("the query takes too long").waitFor({ state: "detached" });
    },
  ],
  [
    "the overview asks for little, and nothing at first that is below",
    async ({ open }) => {
      // A page that asks for nothing.
      const page = await open({ path: "nowhere" });
      await title(page, "Not here");
      // On a slow machine, the overview asks some of them again before it is whole.
      const asked = new Set();
      page.on(
        "request",
        (request) => /\/(v1|v2|readyz)/.test(request.url()) && asked.add(request.url()),
      );
      // Until the first ones are answered, nothing below is asked for.
      let answer = () => {};
      const answered = new Promise((resolve) => (answer = resolve));
      await page.route(/\/(v1|v2)\//, (route) => answered.then(() => route.continue()));
      await page.goto(`${page.url().split("#")[0]}#/overview`);
      await title(page, "Overview");
      await page.waitForTimeout(500);
      const first = asked.size;
      answer();
      await whole(page);
      const said = `${first}, ${asked.size} calls`;
      assert.ok(first > 0 && first <= 11 && first < asked.size && asked.size <= 14, said);
    },
  ],
  ...[390, 1280, 2560].flatMap((width) =>
    ["light", "dark"].map((theme) => [
      `the charts of the overview fit ${width} px, ${theme}`,
      async ({ server, browser, open }) => {
        const key = await historyOf(server);
        for (const query of ["range=all", "since=2024-03-01&until=2024-04-29"]) {
          const page = await open({ key, zone: "UTC", width, theme, path: `overview?${query}` });
          await whole(page);
          await picture(page, `${query.slice(0, 5)}-${theme}-${width}`);
          const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(over <= 0, `${over} px too wide`);
          assert.deepEqual(await browser.axe(page), []);
          await page.close();
        }
      },
    ]),
  ),
];

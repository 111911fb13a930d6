// The ten tasks for which people open the console, each by the mouse alone and by the keyboard
// alone, from the overview on. A click, a key or a chord, a typed text and a chosen file are an
// action each, and no task needs more actions than its limit. Its result is read from the API.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { title, total } from "../steps.js";

const CSV = "text/csv";
const named = (page, role, name) => page.getByRole(role, { name, exact: true });

/** A hand at the page, which counts what it does. */
class Hand {
  constructor(page) {
    this.page = page;
    this.actions = 0;
    // From now on the browser gives its dialog to the flow.
    page.on("filechooser", () => {});
  }
  async type(text) {
    this.actions += 1;
    await this.page.keyboard.type(text);
  }
  /** Chooses a file in the dialog that `open` makes the browser show. */
  async file(name, text, open) {
    const [chooser] = await Promise.all([this.page.waitForEvent("filechooser"), open()]);
    this.actions += 1;
    await chooser.setFiles({ name, mimeType: CSV, buffer: Buffer.from(text) });
  }
}
class Mouse extends Hand {
  async click(locator) {
    this.actions += 1;
    await locator.mouse();
  }
  screen = (name) => this.click(this.page.locator("nav a", { hasText: new RegExp(`^${name}`) }));
  /** The browser draws the open list itself: a click opens it, another one chooses. */
  async choose(locator, label) {
    this.actions += 2;
    const list = await locator.elementHandle();
    await list.selectOption({ label });
  }
}
class Keys extends Hand {
  /** Keys, each of which is an action; `g i` is one. */
  async press(...all) {
    for (const one of all) {
      this.actions += 1;
      for (const key of one.split(" ")) await this.page.keyboard.press(key);
    }
  }
}

/** Imports a table of which all rows but the first fail. */
const failing = async (server, by, rows) => {
  const text = ["email,country,age", `${by}0@example.org,FR,30`, ...rows].join("\n");
  const made = await server.import("identity", "upsert_core_profiles", `${by}.csv`, text);
  assert.equal(made.counts.failed, rows.length);
  return made;
};
const person = async (server, identity) =>
  (await server.call("GET", `v2/acme/identity/core_profiles?identity=email:${identity}`))
    .core_profiles[0];
const views = async (server) => (await server.call("GET", "v1/acme/views")).views;
const newest = async (page) => {
  await title(page, "Imports");
  await page.locator("td a").first().waitFor();
};
const listed = (page) => page.locator("main:not([aria-busy]) .issue-row").first().waitFor();
const resolved = (page) =>
  page.locator("main:not([aria-busy]) .chip", { hasText: "resolved" }).first().waitFor();
/** Shows the resolved issues, by keys. */
const filterByKeys = async (hand, page) => {
  await hand.press("g i");
  await listed(page);
  await hand.press("f");
  await hand.type("Resolved");
  await hand.press("Enter");
  await resolved(page);
};
const filterByMouse = async (hand, page) => {
  await hand.screen("Issues");
  await hand.choose(page.getByLabel("State", { exact: true }), "Resolved");
  await resolved(page);
};

/**
 * A task: what is there before it, how it is done, and what is there after it. The limits are the
 * actions by the mouse and by keys.
 */
const TASKS = [
  {
    name: "a failed import is understood",
    limits: [1, 2],
    before: ({ server }, by) =>
      failing(server, `why-${by}`, [
        `why-${by}1@example.org,Atlantis,30`,
        `why-${by}2@example.org,Atlantis,30`,
        `why-${by}3@example.org,FR,old`,
      ]),
    mouse: (hand, page) =>
      hand.click(page.getByRole("link", { name: "Create or update people" }).first()),
    async keys(hand, page) {
      await hand.press("g t");
      await newest(page);
      await hand.press("Enter");
    },
    async after({ server, page, made }) {
      const path = `v2/acme/identity/imports/${made.import_id}/errors/summary`;
      const { groups } = await server.call("GET", path);
      const rows = page.getByRole("region", { name: "Faults: table" }).locator("tbody tr");
      await rows.first().waitFor();
      const shown = await rows.evaluateAll((all) =>
        all.map((row) => [...row.cells].map((cell) => cell.textContent)),
      );
      assert.deepEqual(
        shown.map(([fault, n, , , value]) => [fault.replace(" ", "_").toLowerCase(), n, value]),
        groups.map((one) => [one.code, String(one.count), one.example.value]),
      );
      for (const [, , where, line, , why] of shown) assert.ok(where && line && why);
    },
  },
  {
    name: "failed entries are mended and sent again",
    limits: [5, 7],
    before: ({ server }, by) =>
      failing(
        server,
        `fix-${by}`,
        [1, 2, 3].map((n) => `fix-${by}${n}@example.org,Atlantis,3${n}`),
      ),
    async mouse(hand, page) {
      await hand.click(page.getByLabel(/failed: see the faults/).first());
      await hand.click(page.getByRole("button", { name: "Mend all 3" }));
      await page.getByLabel("Replacement for Atlantis").waitFor();
      await hand.type("GR");
      await hand.click(page.getByRole("button", { name: "Mend them" }));
      await hand.click(page.getByRole("button", { name: "Send 3 again" }));
    },
    async keys(hand, page) {
      await hand.press("g t");
      await newest(page);
      await hand.press("Enter");
      await page.getByRole("link", { name: "Mend 3 entries" }).waitFor();
      await hand.press("Control+Enter");
      await page.getByRole("button", { name: "Mend all 3" }).waitFor();
      await hand.press("Control+Enter");
      await page.getByLabel("Replacement for Atlantis").waitFor();
      await hand.type("GR");
      await hand.press("Enter");
      await page.getByRole("button", { name: "Send 3 again" }).waitFor();
      await hand.press("Control+Enter");
    },
    async after({ server, page, by }) {
      await page.getByText("all in; 0 left.").waitFor();
      for (const n of [1, 2, 3]) {
        const { last_country: country, age } = await person(server, `fix-${by}${n}@example.org`);
        assert.deepEqual([country, age], ["GR", 30 + n]);
      }
    },
  },
  {
    name: "a table with a column of another name is imported",
    limits: [7, 8],
    before: (_, by) => `E-mail;Wohnort\nmap-${by}@example.org;Athens`,
    async mouse(hand, page, made) {
      await hand.screen("New import");
      await hand.file("map.csv", made, () => hand.click(page.locator(".drop label")));
      await hand.choose(page.getByLabel("Column Wohnort"), "City");
      await hand.click(page.getByRole("button", { name: "Try it" }));
      await hand.click(page.getByRole("button", { name: "Make it real" }));
    },
    async keys(hand, page, made) {
      await hand.press("g n");
      await page.locator("#file:focus").waitFor();
      await hand.file("map.csv", made, () => hand.press("Enter"));
      await page.locator('[aria-label="Column Wohnort"]:focus').waitFor();
      await hand.press("ArrowDown");
      await hand.type("City");
      await hand.press("Enter");
      await page.getByRole("button", { name: "Try it" }).waitFor();
      await hand.press("Control+Enter");
      await page.getByRole("button", { name: "Make it real" }).waitFor();
      await hand.press("Control+Enter");
    },
    async after({ server, page, by }) {
      await page.getByText("Done: 1 new.").waitFor();
      assert.equal((await person(server, `map-${by}@example.org`)).last_city, "Athens");
    },
  },
  {
    name: "a person is found",
    limits: [3, 3],
    before: ({ server }, by) =>
      server.task("identity", "create_core_profiles", [
        { identities: [{ email: `find-${by}@example.org` }], names: { full_name: `Found ${by}` } },
      ]),
    async mouse(hand, page) {
      await hand.click(page.getByLabel("Find a person"));
      await hand.type("find-mouse@example.org");
      await hand.click(named(page, "button", "Find"));
    },
    async keys(hand) {
      await hand.press("/");
      await hand.type("Found keys");
      await hand.press("Enter");
    },
    async after({ server, page, by }) {
      await title(page, `Found ${by}`);
      const found = await person(server, `find-${by}@example.org`);
      assert.ok(page.url().endsWith(`/person/${found["core-profile-id"]}`));
      // The way back is the overview, and not the list that has only this person.
      await page.goBack();
      await title(page, "Overview");
    },
  },
  {
    name: "an issue is read and answered",
    limits: [5, 5],
    before: ({ server }, by) =>
      server.call("POST", "v1/acme/issues", {
        title: `Asked by ${by}`,
        "message-body": "May I ask something?",
        email: "asks@example.org",
      }),
    async mouse(hand, page) {
      await hand.screen("Issues");
      await hand.click(page.locator(".issue-row", { hasText: "Asked by mouse" }).locator(".title"));
      await hand.click(page.getByLabel("Reply", { exact: true }));
      await hand.type("Of course.");
      await hand.click(page.getByRole("button", { name: "Send the reply" }));
    },
    async keys(hand, page) {
      await hand.press("g i");
      await listed(page);
      await hand.press("Enter");
      await page.locator(".message", { hasText: "May I ask something?" }).waitFor();
      await hand.press("r");
      await hand.type("Of course.");
      await hand.press("Control+Enter");
    },
    async after({ server, page, made }) {
      await page.locator(".message.ours", { hasText: "Of course." }).waitFor();
      const { issues } = await server.call("GET", `v1/acme/issues/${made.id}`);
      assert.equal(issues[0].messages.at(-1).body, "Of course.");
    },
  },
  {
    name: "fifty issues are edited",
    limits: [6, 5],
    async before({ server }, by) {
      const begin = 1600000000000;
      await server.task(
        "issues",
        "import_issues",
        Array.from({ length: 50 }, (_, n) => ({
          title: `Of fifty ${n}`,
          created_at: begin + n,
          tags: [`fifty-${by}`],
        })),
      );
      const view = { list: "issues", scope: "domain", query: `tags=fifty-${by}` };
      return server.call("POST", "v1/acme/views", { name: "0 of fifty", ...view });
    },
    async mouse(hand, page) {
      await hand.click(page.locator("nav a.view", { hasText: "0 of fifty" }));
      await hand.click(page.getByRole("button", { name: "Mark all of the list" }));
      await hand.click(page.getByRole("button", { name: "Edit them" }));
      await hand.choose(page.locator("dialog").getByLabel("State"), "Resolved");
      await hand.click(page.getByRole("button", { name: "Change 50 issues" }));
    },
    async keys(hand, page) {
      await page.locator("nav a.view", { hasText: "0 of fifty" }).waitFor();
      await hand.press("g 1");
      await page.locator(".issue-row", { hasText: "Of fifty" }).first().waitFor();
      await hand.press("Control+a");
      await page.getByText("50 marked").waitFor();
      await hand.press("Control+Enter");
      await page.locator("dialog .preview b").waitFor();
      await hand.type("Resolved");
      await page.getByRole("button", { name: "Change 50 issues" }).waitFor();
      await hand.press("Control+Enter");
    },
    async after({ server, page, made, by }) {
      await page.locator(".edits").getByText("50 issues changed").waitFor();
      assert.equal(await total(server, `&tags=fifty-${by}&state=resolved`), 50);
      await server.call("DELETE", `v1/acme/views/${made.id}`);
    },
  },
  {
    name: "a list is saved as a view",
    limits: [6, 7],
    async mouse(hand, page) {
      await filterByMouse(hand, page);
      await hand.click(page.getByRole("button", { name: "Save as a view" }));
      await hand.type("Done by mouse");
      await hand.click(named(page, "button", "Save"));
    },
    async keys(hand, page) {
      await filterByKeys(hand, page);
      await hand.press("v");
      await page.locator("dialog[open]").waitFor();
      await hand.type("Done by keys");
      await hand.press("Enter");
    },
    async after({ server, page, by }) {
      await page.locator('nav a.view[aria-current="page"]', { hasText: `Done by ${by}` }).waitFor();
      const made = (await views(server)).find((one) => one.name === `Done by ${by}`);
      assert.deepEqual([made.list, made.query, made.scope], ["issues", "state=resolved", "domain"]);
      await server.call("DELETE", `v1/acme/views/${made.id}`);
    },
  },
  {
    name: "a filtered list is exported",
    limits: [5, 6],
    async mouse(hand, page) {
      await filterByMouse(hand, page);
      await hand.click(named(page, "link", "Export"));
      const came = page.waitForEvent("download");
      await hand.click(page.getByRole("link", { name: "Download issues.csv" }));
      return came;
    },
    async keys(hand, page) {
      await filterByKeys(hand, page);
      await hand.press("d");
      await page.getByRole("link", { name: "Download issues.csv" }).waitFor();
      const came = page.waitForEvent("download");
      await hand.press("d");
      return came;
    },
    async after({ server, result }) {
      const text = readFileSync(await result.path(), "utf8");
      const ends = text.match(/"[^"]*"|\r?\n/g).filter((one) => !one.startsWith('"'));
      assert.equal(ends.length - 1, await total(server, "&state=resolved"));
    },
  },
  {
    name: "a key is made",
    limits: [4, 4],
    async mouse(hand, page) {
      await hand.screen("Settings");
      await hand.click(page.getByRole("button", { name: "New key" }));
      await hand.type("Made by mouse");
      await hand.click(page.getByRole("button", { name: "Create the key" }));
    },
    async keys(hand, page) {
      await hand.press("g s");
      await page.getByRole("button", { name: "New key" }).waitFor();
      await hand.press("n");
      await page.locator("dialog[open]").waitFor();
      await hand.type("Made by keys");
      await hand.press("Enter");
    },
    async after({ server, page, by }) {
      const secret = await page.locator("dialog .secret").innerText();
      await server.call("GET", "v1/acme/issues?page-size=1", undefined, secret);
      const { keys } = await server.call("GET", "v1/acme/keys");
      const made = keys.find((one) => one.name === `Made by ${by}`);
      assert.deepEqual([made.access, made.state], ["read", "active"]);
    },
  },
  {
    name: "charts are read",
    limits: [2, 3],
    mouse: (hand, page) => hand.choose(page.getByLabel("Range"), "everything"),
    async keys(hand) {
      await hand.press("r");
      await hand.type("everything");
      await hand.press("Enter");
    },
    async after({ server, page }) {
      await page.waitForURL(/range=all/);
      await page.locator(".first-charts:not([aria-busy])").waitFor();
      const { groups } = await server.call("GET", "v1/acme/issues/counts?group-by=state");
      const rows = page.getByRole("region", { name: "Issues by state: table" });
      const shown = await rows
        .locator("tbody tr")
        .evaluateAll((all) =>
          all.map((row) => [...row.cells].map((cell) => cell.textContent.replace(/\s/g, " "))),
        );
      for (const { state, count } of groups) {
        const row = shown.find(([name]) => name.replace(/\W/g, "-").toLowerCase() === state);
        assert.equal(Number(row?.[1].replace(/\D/g, "")), count, state);
      }
    },
  },
];

/** Does a task, and compares its actions with the limit. */
const flowOf = (task, by) => async (world) => {
  const { server, open } = world;
  const made = await task.before?.(world, by);
  const page = await open({
    init: () => addEventListener("pointerdown", () => (globalThis.pointed = true), true),
  });
  await title(page, "Overview");
  await page.locator("main:not([aria-busy])").waitFor();
  const hand = by === "mouse" ? new Mouse(page) : new Keys(page);
  const result = await task[by](hand, page, made);
  const { actions } = hand;
  await task.after({ server, page, made, by, result });
  if (by === "keys") assert.equal(await page.evaluate(() => globalThis.pointed), undefined);
  const limit = task.limits[by === "mouse" ? 0 : 1];
  assert.ok(actions <= limit, `${actions} actions, at most ${limit} are needed`);
  console.log(`     ${actions} actions`);
};

export const tenTasks = TASKS.flatMap((task) =>
  ["mouse", "keys"].map((by) => [`ten tasks: ${task.name}, by ${by}`, flowOf(task, by)]),
);

// The flows of what all screens share: the focus, the theme, and the words that people read.
import assert from "node:assert/strict";
import { keys, title } from "../steps.js";

/** Waits until the element of a label has the focus. */
const focused = (page, label) =>
  page.waitForFunction((text) => document.activeElement?.ariaLabel === text, label);

/** Screens that show names of the API. */
const readScreens = ({ faulty, person, author, erased, webhook, hostile }) => [
  "overview",
  "issues",
  "issue/1",
  "people",
  `person/${person}`,
  "author?email=ada7@example.org",
  `erase/${author}`,
  `erasure/${erased.task_id}`,
  "imports",
  "new-import",
  "activity",
  `task/identity/${faulty.task_id}`,
  `task/issues/${hostile.task_id}`,
  `faults/identity/${faulty.task_id}`,
  "exports",
  "exports?of=issues&state=new-for-agent,agent-replied",
  "settings",
  `webhook/${webhook.id}`,
];

/** The texts of the page with a name of the API, outside of code, ids and texts of people. */
function slugs() {
  const exempt = "code, pre, .mono, kbd, textarea, script, .tag, .rich, .text, mark, .under";
  const english = /^(e-mail|sign-in|read-only|right-to-left)$/;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = new Set();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    // An address that people wrote.
    if (walker.currentNode.data.includes("://")) continue;
    const byPeople = element.closest('[dir="auto"]:not(h1)') && !element.closest(".pill, th, dt");
    if (element.closest(exempt) || byPeople || element.closest("[hidden]")) continue;
    for (const [word] of walker.currentNode.data.matchAll(
      /\/?\b[a-z]+(?:[-_][a-z]+)+\b(?![.@\w])/g,
    ))
      if (!english.test(word)) found.add(word);
  }
  return [...found];
}

export const words = [
  [
    "the list of a screen has the focus, and keys and arrows move in it at once",
    async ({ open, faulty }) => {
      const page = await open({ path: "overview" });
      await title(page, "Overview");
      for (const [key, label, row] of [
        ["i", "Issues", ".issue-row"],
        ["p", "People", ".person-row"],
        ["a", "Changes", ".activity-row"],
      ]) {
        await keys(page, "g", key);
        await page.locator(row).first().waitFor();
        await focused(page, label);
        assert.equal(await page.evaluate(() => scrollY), 0);
        await keys(page, "ArrowDown", "j");
        await page.locator(`${row}[aria-selected="true"][aria-posinset="2"]`).waitFor();
      }
      await keys(page, "g", "t");
      await focused(page, "Imports: table");
      await keys(page, "j", "Enter");
      await page.locator(".facts").waitFor();
      await page.goto(`${page.url().split("#")[0]}#/faults/identity/${faulty.task_id}`);
      await page.locator(".fault-row").first().waitFor();
      await keys(page, "j", "Enter");
      await page.locator("dialog[open]").waitFor();
    },
  ],
  [
    "after a click no ring is around the list, and after a key there is one",
    async ({ open }) => {
      const page = await open({ path: "overview" });
      await page.locator("nav a", { hasText: "Issues" }).mouse();
      await page.locator(".issue-row").first().waitFor();
      await focused(page, "Issues");
      const ring = () =>
        page.locator(".long-list").evaluate((one) => getComputedStyle(one).outlineStyle);
      assert.equal(await ring(), "none");
      await keys(page, "ArrowDown");
      assert.equal(await ring(), "solid");
    },
  ],
  [
    "after a dialog the control that opened it has the focus",
    async ({ open, person, faulty, webhook }) => {
      const page = await open({ path: "overview" });
      const begin = page.url().split("#")[0];
      for (const [screen, ...names] of [
        ["issues", "Add a filter", "New issue"],
        ["settings", "New key", "New webhook", "New agent", "New app", "New queue", "Shortcuts"],
        [`webhook/${webhook.id}`, "Change", "Replay…", "New secret…", "Delete"],
        [`person/${person}`, "Delete"],
        [`task/identity/${faulty.task_id}`, /again as sent/],
      ]) {
        await page.goto(`${begin}#/${screen}`);
        await page.locator("main:not([aria-busy]) h1").first().waitFor();
        for (const name of names) {
          const opener = page.getByRole("button", { name, exact: name === "Delete" }).first();
          await opener.click();
          await page.locator("dialog[open]").waitFor();
          await keys(page, "Escape");
          await page.locator("dialog").waitFor({ state: "detached" });
          await page.waitForFunction(() => document.activeElement !== document.body);
          const has = await opener.evaluate((one) => one === document.activeElement);
          assert.ok(has, `${screen}: ${name}`);
        }
      }
      // Opened by a key in a list, the list has it again.
      await page.goto(`${begin}#/faults/identity/${faulty.task_id}`);
      await page.locator(".fault-row").first().waitFor();
      await keys(page, "j", "Enter");
      await page.locator("dialog[open]").waitFor();
      await keys(page, "Escape");
      await page.locator("dialog").waitFor({ state: "detached" });
      await page.waitForFunction(() => document.activeElement?.className === "long-list");
    },
  ],
  [
    "the theme is chosen and stored",
    async ({ open }) => {
      const page = await open({ path: "exports" });
      const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const [light, dark] = ["rgb(251, 250, 248)", "rgb(23, 24, 26)"];
      assert.equal(await paper(), light);
      await page.getByLabel("Theme").selectOption("dark");
      assert.equal(await paper(), dark);
      await page.reload();
      await title(page, "Exports");
      assert.equal(await paper(), dark);
      assert.equal(await page.getByLabel("Theme").inputValue(), "dark");
      await page.emulateMedia({ colorScheme: "dark" });
      await page.getByLabel("Theme").selectOption("light");
      assert.equal(await paper(), light);
      await page.getByLabel("Theme").selectOption("");
      assert.equal(await paper(), dark);
      assert.equal(await page.evaluate(() => localStorage.getItem("theme")), null);
    },
  ],
  [
    "no name of the API is shown where a person reads",
    async (world) => {
      const page = await world.open({ path: "overview" });
      const begin = page.url().split("#")[0];
      const found = [];
      for (const screen of readScreens(world)) {
        await page.goto(`${begin}#/${screen}`);
        await page.locator("main:not([aria-busy]) h1").first().waitFor();
        await page.waitForTimeout(400);
        for (const text of await page.evaluate(slugs)) found.push(`${screen}: ${text}`);
      }
      assert.deepEqual(found, []);
    },
  ],
];

// Takes the pictures of README.md of the demo: the faults of an import in groups, and an issue as a
// conversation. Run by `scripts/console-check --pictures`.
import { mkdirSync } from "node:fs";
import { Browser } from "./browser.js";
import { Demo } from "./server.js";
import { title } from "./steps.js";

const FOLDER = "docs/pictures";

/** Opens the faults of the import by hand. */
async function faults(page) {
  await page
    .locator("tr", { hasText: "people-by-hand.jsonl" })
    .getByRole("link", { name: "10 failed: see the faults" })
    .click();
  await page.locator('.long-list[aria-busy="false"]').waitFor();
}

/** Opens the newest issue with several messages whose author's name every font can show. */
async function issue(page) {
  const id = await page.evaluate(async () => {
    const answer = await fetch("/v1/acme/issues?page-size=100&state=agent-replied,resolved");
    const { issues } = await answer.json();
    return issues.find((one) => one.messages.length > 3 && /^[\x20-\x7e]+$/.test(one.author_name))
      ?.id;
  });
  await page.evaluate((hash) => (location.hash = hash), `#/issue/${id}`);
  await page.locator(".conversation .message").first().waitFor();
}

const demo = new Demo();
const browser = new Browser();
mkdirSync(FOLDER, { recursive: true });
try {
  const link = await demo.start();
  await browser.start();
  const page = await browser.page(
    { url: new URL(link).origin },
    { key: null, width: 1200, height: 700 },
  );
  await page.goto(link);
  await title(page, "Overview");
  for (const [name, open] of Object.entries({ faults, issue })) {
    await open(page);
    await page.evaluate(() => /** @type {any} */ (document.activeElement)?.blur());
    await page.screenshot({ path: `${FOLDER}/${name}.png` });
    await page.evaluate(() => (location.hash = "#/overview"));
    await title(page, "Overview");
  }
} finally {
  await browser.close();
  await demo.close();
}

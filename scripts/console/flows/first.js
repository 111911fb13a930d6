// The first five minutes of docs/console.md, with the store and the link of `caseload demo`.
import { Demo } from "../server.js";
import { keys, title } from "../steps.js";

export const first = [
  [
    "the first five minutes of the documentation",
    async ({ browser }) => {
      const demo = new Demo();
      const link = await demo.start();
      const page = await browser.page({ url: new URL(link).origin }, { key: null });
      await page.goto(link);
      await title(page, "Overview");
      await page
        .getByText("imports at work")
        .or(page.getByText("import at work"))
        .first()
        .waitFor();
      await page
        .locator("tr", { hasText: "people-by-hand.jsonl" })
        .getByRole("link", { name: "10 failed: see the faults" })
        .click();
      await page.getByText("10 of 40 entries failed, in 10 groups").waitFor();
      await page.locator(".groups button", { hasText: "unknown country" }).click();
      await page.getByRole("button", { name: "Mend the entry" }).click();
      await page.getByLabel("Replacement for Atlantis").fill("DE");
      await page.getByRole("button", { name: "Mend them" }).click();
      await page.getByRole("button", { name: "Dry run of 1" }).click();
      await page.getByText("All 1 would succeed").first().waitFor();
      await page.getByRole("button", { name: "Send 1 again" }).click();
      await page.getByText("all in; 9 left.").waitFor();
      await keys(page, "g", "p");
      await title(page, "People");
      await page.locator("main:not([aria-busy]) .person-row").first().waitFor();
      await keys(page, "/");
      await page.keyboard.type("okafor");
      await page.keyboard.press("Enter");
      await page.waitForURL(/q=okafor/);
      await page
        .locator("main:not([aria-busy]) .person-row", { hasText: "Okafor" })
        .first()
        .waitFor();
      await keys(page, "j", "Enter");
      await title(page, "Okafor");
      await page
        .getByRole("region", { name: "Issues of this person: table" })
        .getByRole("link")
        .first()
        .click();
      await page.locator(".conversation").waitFor();
      await keys(page, "r");
      await page.keyboard.type("We are on it.");
      await page.getByRole("button", { name: "Send the reply" }).click();
      await page.locator(".message.ours", { hasText: "We are on it." }).first().waitFor();
      await page.getByLabel("State").selectOption("resolved");
      await page.getByText("saved").waitFor();
      await page.evaluate(() => /** @type {any} */ (document.activeElement)?.blur());
      await keys(page, "c");
      await page.locator(".call code", { hasText: "-X PUT" }).first().waitFor();
      await page.context().close();
      await demo.close();
    },
  ],
];

// The flows of settings: keys, the desk, agents, apps and queues.
import assert from "node:assert/strict";

export const settings = [
  [
    "keys are made, shown once and revoked",
    async ({ server, open }) => {
      const page = await open({ path: "settings" });
      await page.getByRole("button", { name: "New key" }).click();
      await page.getByLabel("Name", { exact: true }).last().fill("warehouse");
      assert.equal(await page.getByLabel("Expires").inputValue(), "");
      await page.getByRole("button", { name: "Create the key" }).click();
      const secret = await page.locator(".secret").innerText();
      assert.equal(
        (await server.call("GET", "v1/acme/issues?page-size=1", undefined, secret)).page,
        1,
      );
      await page.getByRole("button", { name: "Close" }).last().click();
      await page.getByRole("button", { name: "Revoke warehouse" }).click();
      await page.getByText("cannot be undone").waitFor();
      await page.getByRole("button", { name: "Revoke the key" }).click();
      await page.locator(".notice", { hasText: "The key warehouse is revoked" }).waitFor();
      await page.getByRole("button", { name: "Revoke warehouse" }).waitFor({ state: "detached" });
      // The button is gone: the table in which it was has the focus.
      await page.waitForFunction(() => document.activeElement?.ariaLabel === "Keys: table");
    },
  ],
  [
    "an agent without a name is shown by the address, else by the id",
    async ({ open }) => {
      const page = await open({ path: "overview" });
      await page.route(/v1\/acme\/agents\?/, async (route) => {
        const answer = await (await route.fetch()).json();
        answer.profiles.push(
          { id: "agent_7", name: "", email: "seven@example.org" },
          { id: "agent_8", name: null, email: null },
        );
        return route.fulfill({ json: answer });
      });
      await page.goto(`${page.url().split("#")[0]}#/settings`);
      const rows = page.getByRole("region", { name: "Agents: table" }).locator("tbody tr");
      await rows.filter({ hasText: "seven@example.org (without a name)" }).waitFor();
      await rows.filter({ hasText: "agent_8 (without a name)" }).waitFor();
      for (const text of await rows.locator("td:first-child").allInnerTexts()) assert.ok(text);
      await page.goto(`${page.url().split("#")[0]}#/issue/1`);
      const offered = page.getByLabel("Assignee").locator("option");
      await offered.filter({ hasText: "agent_8" }).waitFor({ state: "attached" });
    },
  ],
  [
    "the desk, an agent, an app and a queue are set up",
    async ({ open }) => {
      const page = await open({ path: "settings" });
      await page.getByLabel("Name", { exact: true }).fill("Shop support");
      await page.getByRole("button", { name: "Save" }).click();
      await page.locator(".notice", { hasText: "The desk is saved as Shop support" }).waitFor();
      for (const [what, fields] of [
        ["New agent", ["Name", "E-mail"]],
        ["New app", ["Title"]],
        ["New queue", ["Name"]],
      ]) {
        await page.getByRole("button", { name: what }).click();
        for (const name of fields)
          await page
            .locator("dialog")
            .getByLabel(name)
            .fill(name === "E-mail" ? "new@example.org" : `${what} of a flow`);
        await page.getByRole("button", { name: "Create", exact: true }).click();
        await page.locator("td", { hasText: `${what} of a flow` }).waitFor();
        const made = `${what.replace("New", "The")} ${what} of a flow is made`;
        await page.locator(".notice", { hasText: made }).waitFor();
      }
      assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "Shop support");
    },
  ],
  [
    "the table of keys needs no sideways scrolling at 360 px",
    async ({ open }) => {
      const page = await open({ path: "settings", width: 360, height: 800 });
      const box = page.getByRole("region", { name: "Keys: table" }).first();
      await box.waitFor();
      assert.ok((await box.locator("tbody tr").count()) > 0);
      const [wide, seen] = await box.evaluate((one) => [one.scrollWidth, one.clientWidth]);
      assert.ok(wide <= seen, `${wide} px in ${seen} px`);
    },
  ],
];

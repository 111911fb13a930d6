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
      await page.getByText("the key is revoked").waitFor();
      await page.getByRole("button", { name: "Revoke warehouse" }).waitFor({ state: "detached" });
    },
  ],
  [
    "the desk, an agent, an app and a queue are set up",
    async ({ open }) => {
      const page = await open({ path: "settings" });
      await page.getByLabel("Name", { exact: true }).fill("Shop support");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("saved").waitFor();
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

// The flows of the list of issues as a table: filters by name, live search, named views, columns,
// ranges, and what an address has that cannot be used.
import assert from "node:assert/strict";
import { keys, settled, total } from "../steps.js";

const json = (value) => encodeURIComponent(JSON.stringify(value));
const openFilter = async (page, name) => {
  await page.getByRole("button", { name: "Add a filter" }).click();
  await page.getByLabel("Field").selectOption({ label: name });
};
/** Chooses the value that the typed text finds first. */
const filter = async (page, name, text) => {
  await openFilter(page, name);
  await page.locator(".value").first().waitFor();
  await page.getByLabel("Find a value").fill(text);
  await page.keyboard.press("Enter");
};
const chip = (page, text) => page.locator(".chip", { hasText: text }).waitFor();

/** Issues of an agent, and with a field that is a list of choices. */
async function records(server) {
  const all = `v1/acme/issues?title=${json({ and: ["Of a plan"] })}&page-size=2`;
  if ((await server.call("GET", all))["total-hits"]) return;
  const ana = await server.call("POST", "v1/acme/agents", {
    name: "Ana Silva",
    email: "ana@example.org",
  });
  const plan = (value) => ({ plan: { type: "dropdown", value } });
  await server.task("issues", "import_issues", [
    ...["gold", "gold", "silver"].map((value, n) => ({
      title: `Of a plan ${n}`,
      created_at: 1600000100000 + n,
      language: "pt",
      tags: ["one, two"],
      custom_fields: plan(value),
    })),
  ]);
  const { issues } = await server.call("GET", all);
  for (const { id } of issues)
    await server.call("PUT", `v1/acme/issues/${id}`, { "assignee-id": ana.id });
}

/** Answers for views, as the server has them, if it does not store views yet. */
async function serveViews(page, server) {
  const session = await page.evaluate(async () => (await fetch("session")).json());
  if (session.features.includes("views")) return;
  const views = [];
  await page.route(/\/console\/session$/, async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    await route.fulfill({ json: { ...body, features: [...body.features, "views"] } });
  });
  await page.route(/\/v1\/acme\/views/, (route) => {
    const request = route.request();
    const id = request.url().split("/views/")[1];
    const body = request.postDataJSON();
    const at = views.findIndex((one) => one.id === id);
    if (request.method() === "POST") {
      if (views.some((one) => one.name === body.name))
        return route.fulfill({ status: 409, json: { detail: "the name is in use" } });
      views.push({ id: `view-${views.length}`, ...body });
      return route.fulfill({ status: 201, json: views.at(-1) });
    }
    if (request.method() === "PUT") return route.fulfill({ json: Object.assign(views[at], body) });
    if (request.method() === "DELETE") {
      views.splice(at, 1);
      return route.fulfill({ status: 204 });
    }
    return route.fulfill({ json: { views } });
  });
  await page.reload();
}

export const filters = [
  [
    "a filter offers its values by name with counts, and its chip says the name",
    async ({ server, open }) => {
      await records(server);
      const page = await open({ path: "issues?title=Of+a+plan" });
      await settled(page, 3);
      await openFilter(page, "Assignee");
      const row = page.locator(".values li", { hasText: "Ana Silva" });
      assert.equal((await row.innerText()).replace(/\s+/g, " "), "Ana Silva 2");
      await page.getByLabel("Choose Ana Silva with others").press("Space");
      await page.getByLabel("Choose Grace Hopper with others").press("Space");
      await page.getByRole("button", { name: "Apply" }).click();
      await chip(page, /^Assignee: Ana Silva or Grace Hopper/);
      await settled(page, 2);
      await page.waitForURL(/assignee=/);
      await page.reload();
      await chip(page, /^Assignee: Ana Silva or Grace Hopper/);
      await page.getByRole("button", { name: "assignee: Ana Silva" }).first().click();
      await page.getByLabel("Find a value").fill("unass");
      await page.keyboard.press("Enter");
      await chip(page, "assignee: unassigned");
      await settled(page, 1);
      await page.getByRole("button", { name: "Remove the filter assignee" }).click();
      await settled(page, 3);
      await filter(page, "Language", "portug");
      await chip(page, "language: Portuguese");
      await filter(page, "Tag", "one, two");
      await chip(page, "tag: one, two");
      await settled(page, 3);
    },
  ],
  [
    "custom fields are filtered by name and value, and their chip has no JSON",
    async ({ server, open }) => {
      await records(server);
      const page = await open({ path: "issues?title=Of+a+plan" });
      await settled(page, 3);
      await openFilter(page, "Custom field");
      await page.getByLabel("Custom field").selectOption({ label: "plan" });
      const row = page.locator(".values li", { hasText: "gold" });
      await row.filter({ hasText: "2" }).waitFor();
      await page.getByText("Names and values come from 3 issues").waitFor();
      await row.getByRole("button").click();
      await chip(page, /^plan: gold×$/);
      await settled(page, 2);
      await openFilter(page, "Custom field");
      await page.locator(".values li", { hasText: "gold" }).waitFor();
      await page.getByLabel("Find a value").fill("silver");
      await page.keyboard.press("Enter");
      await chip(page, "plan: gold or silver");
      await settled(page, 3);
      await page.getByRole("button", { name: "Remove the filter plan" }).click();
      await settled(page, 3);
      assert.doesNotMatch(page.url(), /fields/);
    },
  ],
  [
    "a search acts while one types, and leaves the focus, the caret and the way back",
    async ({ server, open }) => {
      const page = await open({ path: "overview" });
      await page.locator(".bars").first().waitFor();
      await keys(page, "g", "i");
      const all = await total(server);
      await settled(page, all);
      const search = page.getByLabel("Search issues");
      await keys(page, "/");
      await page.keyboard.type("needle number", { delay: 20 });
      await settled(page, await total(server, "&text=needle+number"));
      await keys(page, "ArrowLeft", "ArrowLeft", "ArrowLeft");
      await page.keyboard.type("x");
      await settled(page, 0);
      await keys(page, "Backspace");
      await settled(page, await total(server, "&text=needle+number"));
      assert.deepEqual(
        await search.evaluate((field) => [document.activeElement === field, field.selectionStart]),
        [true, "needle number".length - 3],
      );
      await page.waitForURL(/text=needle\+number/);
      await page.goBack();
      await page.locator("h1", { hasText: "Overview" }).waitFor();
    },
  ],
  [
    "two filters that are chosen before a list is there both count",
    async ({ open }) => {
      const lists = {
        issues: { State: ["state", "resolved"], Order: ["sort", "update-time desc"] },
        imports: { Action: ["action", "import_issues"], Outcome: ["outcome", "succeeded"] },
        activity: { "Kind of record": ["kind", "issue"], Action: ["action", "updated"] },
      };
      for (const [list, filters] of Object.entries(lists)) {
        const page = await open({ path: list });
        for (const label of Object.keys(filters)) await page.getByLabel(label).waitFor();
        const wanted = new URLSearchParams(Object.values(filters));
        // Both in one turn of the browser, which tells of the first address only after it.
        await page.evaluate((chosen) => {
          for (const [label, [, value]] of chosen) {
            const box = document.querySelector(`select[aria-label="${label}"]`);
            box.value = value;
            box.dispatchEvent(new Event("change"));
          }
        }, Object.entries(filters));
        await page.waitForURL(/[?]/);
        assert.equal(new URL(page.url()).hash, `#/${list}?${wanted}`);
      }
    },
  ],
  [
    "what an address has that cannot be used is named, and removed by a button",
    async ({ server, open }) => {
      const page = await open({ path: "issues?colour=red&state=new,closed&since=soon" });
      await settled(page, await total(server, "&state=new"));
      for (const text of ["no filter “colour”", "“closed”", "“soon” is not a day"])
        await page.locator(".fault-note", { hasText: text }).waitFor();
      for (let left = 3; left > 0; left--) {
        await page.getByRole("button", { name: "Remove it" }).first().click();
        await page.waitForFunction(
          (n) => document.querySelectorAll(".fault-note").length === n,
          left - 1,
        );
      }
      await page.waitForURL(/issues\?state=new$/);
    },
  ],
  [
    "columns are chosen and stay, their heads sort, and a narrow list shows the important ones",
    async ({ open }) => {
      const page = await open({ path: "issues", width: 2560 });
      const heads = async () =>
        (await page.locator(".heads > *").allInnerTexts()).map((text) =>
          text.trim().replace(/\s+/g, " "),
        );
      await page.locator(".issue-row").first().waitFor();
      assert.deepEqual(await heads(), [
        "☐",
        "Id",
        "Subject",
        "Tags",
        "Author",
        "Assignee",
        "State",
        "Created ↓",
        "Updated",
      ]);
      const box = await page.locator(".issue-row").first().boundingBox();
      assert.equal(box.height, 36);
      assert.ok(box.width > 2200, `${box.width} px of 2560`);
      const edges = await page.evaluate(() =>
        [".heads > :last-child", ".issue-row > :last-child"].map((one) =>
          Math.round(document.querySelector(one).getBoundingClientRect().left),
        ),
      );
      assert.equal(edges[0], edges[1]);
      await page.getByRole("button", { name: "Columns" }).click();
      await page.getByLabel("Language").press("Space");
      await page.getByLabel("Tags").press("Space");
      await page.getByRole("button", { name: "Show them" }).click();
      await page.locator(".heads", { hasText: "Language" }).waitFor();
      await page.reload();
      await page
        .locator(".issue-row", { hasText: /English|German/ })
        .first()
        .waitFor();
      assert.ok(!(await heads()).includes("Tags"));
      await page.getByRole("button", { name: "Created: sort, oldest first" }).click();
      await page.waitForURL(/sort=creation-time\+asc/);
      await page.getByRole("button", { name: "Updated: sort, newest first" }).click();
      await page.waitForURL(/sort=update-time\+desc/);
      await page.setViewportSize({ width: 390, height: 800 });
      await page.locator(".heads", { hasText: "Created" }).waitFor({ state: "hidden" });
      assert.deepEqual(await heads(), ["☐", "Subject", "State"]);
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.locator(".heads", { hasText: "Author" }).waitFor();
      await keys(page, "c");
      await page.locator(".drawer .call").first().waitFor();
      await page.locator(".heads", { hasText: "Updated" }).waitFor({ state: "hidden" });
      const width = await page
        .locator(".issue-row .title")
        .first()
        .evaluate((e) => e.clientWidth);
      assert.ok(width >= 200, `a title has ${width} px`);
    },
  ],
  [
    "Shift marks all issues between two, by click and by key",
    async ({ open }) => {
      const page = await open({ path: "issues" });
      const click = async (n, options) => {
        const box = await page.locator("#row-" + n).boundingBox();
        if (options) await page.keyboard.down("Shift");
        await page.mouse.click(box.x + (options ? 300 : 20), box.y + 18);
        if (options) await page.keyboard.up("Shift");
      };
      await page.locator("#row-9").waitFor();
      await click(2);
      await page.getByText("1 marked").waitFor();
      await click(7, true);
      await page.getByText("6 marked").waitFor();
      await keys(page, "j", "j", "j", "j", "j", "j", "j", "j", "j", "j", "Shift+X");
      await page.getByText("8 marked").waitFor();
    },
  ],
  [
    "a list is saved as a view, counted, changed, renamed and deleted",
    async ({ server, open }) => {
      const page = await open({ path: "issues?state=resolved" });
      await serveViews(page, server);
      const count = await total(server, "&state=resolved");
      await settled(page, count);
      await page.getByRole("button", { name: "Save as a view" }).click();
      await page.getByLabel("Name", { exact: true }).fill("All done");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      const link = page.locator("nav a.view", { hasText: "All done" });
      await link.filter({ hasText: String(count) }).waitFor();
      await page.locator('nav a.view[aria-current="page"]').waitFor();
      await page.getByLabel("Order").selectOption("creation-time asc");
      await page.getByText("with other filters now").waitFor();
      // The name is taken: the server says so, and what was typed stays.
      await page.getByRole("button", { name: "Save as a view" }).click();
      await page.getByLabel("Name", { exact: true }).fill("All done");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.locator("dialog .bad", { hasText: /\w/ }).waitFor();
      assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "All done");
      await keys(page, "Escape");
      await page.getByRole("button", { name: "Update the view" }).click();
      await page.getByText("with other filters now").waitFor({ state: "hidden" });
      await page.getByRole("button", { name: "Rename" }).click();
      await page.getByLabel("Name", { exact: true }).fill("Finished");
      await page.locator("dialog").getByRole("button", { name: "Rename" }).click();
      await page.locator("nav a.view", { hasText: "Finished" }).waitFor();
      await page.getByRole("link", { name: "Issues", exact: true }).first().click();
      await settled(page, await total(server));
      await page.locator("nav a.view", { hasText: "Finished" }).click();
      await page.waitForURL(/sort=creation-time/);
      await settled(page, count);
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      await page.getByRole("button", { name: "Delete the view" }).click();
      await page.locator("nav a.view").waitFor({ state: "detached" });
      await page.waitForURL(/issues\?state=resolved&sort=creation-time\+asc$/);
    },
  ],
];

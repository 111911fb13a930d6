// The flows of edits of many issues: what they change and lose, the parts that are refused, and the
// undo.
import assert from "node:assert/strict";
import { keys, proxyTo, title } from "../steps.js";

const picture = (page, name) =>
  process.env.CONSOLE_CHECK_SHOTS &&
  page.screenshot({ path: `${process.env.CONSOLE_CHECK_SHOTS}/${name}.png` });
const bar = (page) => page.locator(".edits");
const button = (page, name) => page.getByRole("button", { name, exact: true });

/** Issues with a tag of their own, and other tags in turn. */
async function make(server, tag, count, others = [[], ["old"], ["app", "old"]]) {
  const begin = 1700000000000 + Math.floor(Math.random() * 1e10);
  await server.task(
    "issues",
    "import_issues",
    Array.from({ length: count }, (_, n) => ({
      title: `${tag} ${n}`,
      created_at: begin + n,
      tags: [tag, ...others[n % others.length]],
      state_data: { state: n % 2 ? "resolved" : "new", changed_at: begin + n },
    })),
  );
}
/** The issues of a tag as they are: by title their state, tags and assignee. */
async function read(server, tag) {
  const query = `tags=${tag}&page-size=1000&sort-by=creation-time&sort-order=asc`;
  const { issues } = await server.call("GET", `v1/acme/issues?${query}`);
  return issues.map((one) => ({
    id: String(one.id),
    state: one.state_data.state,
    tags: one.tags,
    assignee: one.assignee_id,
  }));
}
/** Marks all issues of a tag and opens the dialog. */
async function mark(page, tag, count) {
  await page.locator(".issue-row", { hasText: tag }).first().waitFor();
  await keys(page, "j", "x");
  await button(page, `Mark all ${count}`).click();
  await button(page, "Edit them").click();
  await page.locator(".preview b").waitFor();
}
async function tags(page, how, text) {
  const dialog = page.locator("dialog");
  await dialog.getByLabel("Tags", { exact: true }).selectOption(how);
  await dialog.getByLabel("Which tags").fill(text);
}

export const edits = [
  [
    "an edit of many adds and replaces tags, says what is lost, and is undone after a reload",
    async ({ server, browser, open }) => {
      await make(server, "undoable", 6);
      const { profiles } = await server.call("GET", "v1/acme/agents");
      const before = await read(server, "undoable");
      // The rows of the list are older than the values that the preview shows.
      const page = await open({ path: "issues?tags=undoable" });
      await page.locator(".issue-row", { hasText: "undoable 0" }).waitFor();
      await server.call("PUT", `v1/acme/issues/${before[5].id}`, {
        "assignee-id": profiles[1].id,
      });
      before[5].assignee = profiles[1].id;
      await mark(page, "undoable", 6);
      const dialog = page.locator("dialog");
      await dialog.getByLabel("State").selectOption("resolved");
      await dialog.getByText("3 New → Resolved, 3 already Resolved").waitFor();
      await dialog.getByLabel("Assignee").selectOption({ label: "Grace Hopper" });
      const loss = dialog.locator(".loss");
      await loss.getByText("Mary Shaw (1)").waitFor();
      await tags(page, "replace", "undoable, late");
      await loss.getByText("old (4), app (2)").waitFor();
      await dialog.getByText("6 +late, 4 −old, 2 −app").waitFor();
      assert.deepEqual(await browser.axe(page), []);
      await picture(page, "edit-preview");
      await button(page, "Change 6 issues").click();
      await bar(page).getByText("6 issues changed").waitFor();
      for (const one of await read(server, "undoable"))
        assert.deepEqual(one, {
          id: one.id,
          state: "resolved",
          tags: ["undoable", "late"],
          assignee: profiles[0].id,
        });
      await page.reload();
      await bar(page).getByText("6 issues changed").waitFor();
      assert.deepEqual(await browser.axe(page), []);
      await picture(page, "edit-undo");
      // What somebody else changes since is not overwritten.
      await server.call("PUT", `v1/acme/issues/${before[2].id}`, { add_tags: ["theirs"] });
      await button(page, "Undo").click();
      await bar(page).getByText("5 undone, 1 changed since and was left as it is").waitFor();
      await bar(page)
        .getByRole("link", { name: `#${before[2].id}` })
        .waitFor();
      await picture(page, "edit-undone");
      const after = await read(server, "undoable");
      assert.deepEqual(after[2].tags, ["undoable", "late", "theirs"]);
      after.splice(2, 1);
      before.splice(2, 1);
      assert.deepEqual(after, before);
      assert.equal(await button(page, "Undo").count(), 0);
      await page.reload();
      await bar(page).getByText("5 undone").waitFor();
      await button(page, "Sign out").click();
      await page.getByLabel("API key").fill(server.key);
      await page.keyboard.press("Enter");
      await title(page, "Overview");
      assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    },
  ],
  [
    "two edits of the same issues are undone one after the other, for an hour",
    async ({ server, open }) => {
      await make(server, "twice", 4);
      const before = await read(server, "twice");
      const page = await open({ path: "issues?tags=twice" });
      for (const [how, text, said] of [
        ["add", "one, old", "tags added"],
        ["remove", "old, app", "tags removed"],
      ]) {
        await mark(page, "twice", 4);
        await tags(page, how, text);
        await button(page, "Change 4 issues").click();
        await bar(page).getByText(`4 issues changed (${said}`).waitFor();
        await page.locator(".row b", { hasText: "marked" }).waitFor({ state: "detached" });
        // The list is read again after an edit.
        await page.locator(".issue-row .tag", { hasText: "one" }).first().waitFor();
      }
      for (const one of await read(server, "twice")) assert.deepEqual(one.tags, ["twice", "one"]);
      await button(page, "Undo").first().click();
      await bar(page).getByText("4 undone").first().waitFor();
      await page.locator("summary", { hasText: "1 earlier edit" }).mouse();
      await button(page, "Undo").click();
      await page.locator("summary", { hasText: "1 earlier edit" }).waitFor();
      await page.waitForFunction(
        () => document.querySelector(".edits").textContent.match(/4 undone/g)?.length === 2,
      );
      assert.deepEqual(await read(server, "twice"), before);
      // The earlier edits stay open while they are drawn again.
      assert.equal(await bar(page).locator("details[open]").count(), 1);
      await page.evaluate(() => {
        const [name] = Object.keys(sessionStorage);
        const records = JSON.parse(sessionStorage.getItem(name));
        for (const one of records) one.at -= 3600000;
        sessionStorage.setItem(name, JSON.stringify(records));
      });
      await page.reload();
      await page.locator(".issue-row").first().waitFor();
      assert.equal(await bar(page).isVisible(), false);
    },
  ],
  [
    "an edit leaves out issues that are gone, and says which were refused",
    async ({ server, open }) => {
      await make(server, "partly", 5);
      const all = await read(server, "partly");
      // One issue has no room for another tag.
      const full = ["partly", ...Array.from({ length: 999 }, (_, n) => `t${n}`)];
      await server.call("PUT", `v1/acme/issues/${all[1].id}`, { tags: full });
      const page = await open({ path: "issues?tags=partly" });
      await mark(page, "partly", 5);
      await server.call("DELETE", `v1/acme/issues/${all[4].id}`);
      await tags(page, "add", "more");
      await button(page, "Change 5 issues").click();
      await bar(page).getByText("1 no longer exists").waitFor();
      const said = await bar(page).innerText();
      assert.match(said, /3 issues changed, 1 failed, 1 no longer exists/);
      await bar(page)
        .getByRole("link", { name: `#${all[1].id}` })
        .waitFor();
      await picture(page, "edit-refused");
      await server.call("PUT", `v1/acme/issues/${all[1].id}`, { remove_tags: ["t1"] });
      await button(page, "Try the 1 again").click();
      await bar(page).getByText("4 issues changed, 1 no longer exists").waitFor();
      const now = await read(server, "partly");
      assert.deepEqual(
        now.map((one) => one.tags.includes("more")),
        Array(4).fill(true),
      );
      await button(page, "Undo").click();
      await bar(page).getByText("4 undone").waitFor();
    },
  ],
  [
    "an edit whose answer is lost is made once, and goes on while other screens are shown",
    async ({ server, open }) => {
      await make(server, "lossy", 600, [["a"], ["b"]]);
      const cuts = /^\/v1\/acme\/issues$/;
      const { origin, close, cut } = await proxyTo(server, { cuts, bytes: 1 });
      const page = await open({ path: "issues?tags=lossy", origin });
      await mark(page, "lossy", 600);
      cut.left = 1;
      await tags(page, "add", "z");
      await button(page, "Change 600 issues").click();
      await bar(page)
        .getByText(/Editing: \d+ of 600 issues/)
        .waitFor();
      await keys(page, "g", "o");
      await title(page, "Overview");
      await keys(page, "g", "i");
      await bar(page).getByText("600 issues changed").waitFor();
      const edits = await server.call(
        "GET",
        "v1/acme/changes?actions=updated&page-size=1000&cursor=",
      );
      assert.ok(edits);
      const now = await read(server, "lossy");
      assert.equal(now.filter((one) => one.tags.at(-1) === "z").length, 600);
      await button(page, "Undo").click();
      await bar(page).getByText("600 undone").waitFor();
      assert.equal((await read(server, "z")).length, 0);
      close();
    },
  ],
  [
    "a row that is hovered over or selected shows its tags",
    async ({ open }) => {
      for (const theme of ["light", "dark"]) {
        const page = await open({ path: "issues?tags=billing", theme });
        const row = page.locator(".issue-row").nth(1);
        await row.locator(".tag").first().waitFor();
        const differs = () =>
          row.evaluate((element) => {
            const of = (one) => getComputedStyle(one).backgroundColor;
            return of(element) !== of(element.querySelector(".tag"));
          });
        await row.hover();
        assert.ok(await differs());
        await picture(page, `row-hovered-${theme}`);
        await page.mouse.move(0, 0);
        await keys(page, "j", "j");
        assert.ok(await differs());
      }
    },
  ],
];

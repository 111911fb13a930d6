// The flows: what people do in the console, against the real program, by the keyboard alone unless
// a flow says `mouse`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { gzipSync, gunzipSync } from "node:zlib";
import { csv, HOSTILE } from "./records.js";
import { keys, proxyTo, settled, total } from "./steps.js";

const title = (page, text) => page.locator("h1", { hasText: text }).waitFor();
const pick = (page, name, text, type = "text/plain") => page.locator("#file").setInputFiles({ name, mimeType: type, buffer: Buffer.from(text) });

/** Sends tasks of 10,000 creations. They wait for each other, so the last one is not over when its page
 * is there. Returns their ids in the order of the queue. */
async function manyTasks(server, name, count) {
  const lines = (part) => Array.from({ length: 10000 }, (_, n) => `{"identities":[{"uid":"${name}-${part}-${n}"}],"tags":["x"]}`);
  const sent = await Promise.all(Array.from({ length: count }, (_, part) => server.send("identity", "create_core_profiles", lines(part))));
  return sent.map((task) => task.task_id).sort();
}

export const flows = [
  ["a wrong key is refused in words, and the right one signs in", async ({ server, open }) => {
    const page = await open({ key: null });
    await page.getByLabel("API key").fill("caseload_wrong");
    await page.keyboard.press("Enter");
    await page.getByText("the API key is not known").waitFor();
    await page.getByLabel("API key").fill(server.key);
    await page.keyboard.press("Enter");
    await title(page, "Overview");
  }],
  ["a link signs in once", async ({ server, open }) => {
    const link = server.link();
    const page = await open({ key: null });
    await page.goto(link);
    await title(page, "Overview");
    assert.ok(!page.url().includes("code="), page.url());
    const other = await open({ key: null });
    await other.goto(link);
    await other.getByText("the link was used before").waitFor();
  }],
  ["signing out ends the session", async ({ open }) => {
    const page = await open();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    await page.reload();
    await page.getByLabel("API key").waitFor();
  }],
  ["a revoked key signs out", async ({ server, open }) => {
    const key = server.newKey("write");
    const page = await open({ key });
    const made = (await server.call("GET", "v1/acme/keys")).keys.findLast((one) => one.name === "write");
    await server.call("DELETE", `v1/acme/keys/${made.id}`);
    await page.getByText("The session has ended").waitFor();
  }],
  ["a read key sees no writing control", async ({ open, read, faulty }) => {
    const page = await open({ key: read, path: "issues" });
    await page.locator(".issue-row").first().waitFor();
    assert.equal(await page.getByRole("button", { name: "New issue" }).count(), 0);
    assert.equal(await page.locator(".mark").count(), 0);
    assert.equal(await page.getByRole("link", { name: "Settings" }).count(), 0);
    await keys(page, "j", "Enter");
    await page.locator(".message").first().waitFor();
    assert.equal(await page.locator("textarea, select").count(), 0);
    await page.goto(`${page.url().split("#")[0]}#/task/identity/${faulty.task_id}`);
    await page.getByText("entries with faults").waitFor();
    assert.equal(await page.getByRole("button", { name: /again/ }).count(), 0);
  }],
  ["the overview has the totals of the API", async ({ server, open }) => {
    const page = await open();
    await page.locator(".bars").waitFor();
    const shown = await page.locator(".bars td.right").first().innerText();
    assert.equal(Number(shown.replace(/\D/g, "")), await total(server, "&state=new"));
    await page.getByRole("link", { name: "waiting-for-agent" }).click();
    await settled(page, await total(server, "&state=waiting-for-agent"));
  }],
  ["issues are filtered by state, words, tag and day, and the address has it all", async ({ server, open }) => {
    const page = await open({ path: "issues" });
    await settled(page, await total(server));
    await page.getByLabel("State").selectOption("resolved");
    await settled(page, await total(server, "&state=resolved"));
    await keys(page, "/");
    await page.keyboard.type("needle");
    await page.keyboard.press("Enter");
    const both = await total(server, `&state=resolved&messages=${encodeURIComponent('{"and":["needle"]}')}`);
    assert.ok(both > 0);
    await settled(page, both);
    await page.getByRole("button", { name: "Add a filter" }).click();
    await page.getByLabel("Field").selectOption("tags");
    await page.getByLabel("Value").fill("urgent");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.locator(".chip", { hasText: "tag: urgent" }).waitFor();
    const fewer = await total(server, `&state=resolved&tags=urgent&messages=${encodeURIComponent('{"and":["needle"]}')}`);
    await settled(page, fewer);
    await page.reload();
    await settled(page, fewer);
    await page.getByRole("button", { name: "Remove the filter tag" }).click();
    await settled(page, both);
    await page.getByLabel("Search issues").fill("nothing has this");
    await page.keyboard.press("Enter");
    await page.getByText("No issue matches").waitFor();
  }],
  ["issues are sorted", async ({ open }) => {
    const page = await open({ path: "issues" });
    await page.getByLabel("Order").selectOption("creation-time asc");
    await page.locator(".issue-row .title", { hasText: /^No e-mail to reset my password 0$/ }).waitFor();
  }],
  ["j, k, Enter and Esc go through the list", async ({ open }) => {
    const page = await open({ path: "issues?sort=creation-time+asc" });
    await page.locator(".issue-row").first().waitFor();
    await keys(page, "j", "j", "j", "k");
    const chosen = await page.locator('[aria-selected="true"] .title').innerText();
    await keys(page, "Enter");
    await title(page, chosen);
    await keys(page, "Escape");
    await page.locator(".issue-row").first().waitFor();
  }],
  ["a long list has few rows in the document, and scrolls to its end", async ({ server, open }) => {
    const page = await open({ path: "issues" });
    const all = await total(server);
    await settled(page, all);
    for (let n = 0; n < 40; n++) {
      await page.locator(".long-list").evaluate((list) => (list.scrollTop = list.scrollHeight));
      await page.waitForTimeout(60);
      if ((await page.locator(".issue-row").last().getAttribute("aria-posinset")) === String(all)) break;
    }
    assert.equal(await page.locator(".issue-row").last().getAttribute("aria-posinset"), String(all));
    assert.ok((await page.locator(".issue-row").count()) < 80);
  }],
  ["an issue is answered, noted, assigned, tagged and resolved", async ({ server, open, write }) => {
    const made = await server.call("POST", "v1/acme/issues", { title: "A conversation", "message-body": "Hello?" });
    const page = await open({ path: `issue/${made.id}`, key: write });
    await title(page, "A conversation");
    await keys(page, "r");
    await page.keyboard.type("We are on it.");
    await page.getByRole("button", { name: "Send the reply" }).click();
    await page.locator(".message.ours", { hasText: "We are on it." }).waitFor();
    await page.getByLabel("Reply").fill("With a proof.");
    await page.getByLabel("Author").selectOption({ label: "Grace Hopper" });
    await page.locator('input[type="file"]').setInputFiles({ name: "proof.txt", mimeType: "text/plain", buffer: Buffer.from("proof") });
    await page.getByRole("button", { name: "Send the reply" }).click();
    await page.locator(".message.ours", { hasText: "With a proof." }).waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: /proof.txt/ }).click()]);
    assert.equal(readFileSync(await download.path(), "utf8"), "proof");
    await page.getByLabel("Private note").fill("A secret.");
    await page.getByRole("button", { name: "Add the note" }).click();
    await page.locator(".message.note", { hasText: "A secret." }).waitFor();
    await page.getByLabel("Assignee").selectOption({ label: "Grace Hopper" });
    await page.getByText("saved").waitFor();
    await page.getByLabel("Tags").fill("one, two");
    await page.keyboard.press("Enter");
    await page.waitForTimeout(300);
    await page.getByLabel("State").selectOption("resolved");
    await page.waitForTimeout(500);
    const { issues } = await server.call("GET", `v1/acme/issues/${made.id}`);
    assert.deepEqual([issues[0].state_data.state, issues[0].tags, issues[0].assignee_name, issues[0].messages.length], ["resolved", ["one", "two"], "Grace Hopper", 3]);
  }],
  ["a long conversation begins with its end, and leads back to its beginning", async ({ server, open }) => {
    const messages = Array.from({ length: 230 }, (_, n) => ({ body: `Message ${n}`, created_at: 1767225600000 + n * 1000 }));
    const done = await server.task("issues", "import_issues", [{ title: "A long talk", created_at: 1767225600000, messages }]);
    assert.equal(done.counts.succeeded, 1);
    const found = await server.call("GET", "v1/acme/issues?title=%7B%22and%22%3A%5B%22A%20long%20talk%22%5D%7D");
    const page = await open({ path: `issue/${found.issues[0].id}` });
    await page.locator(".message", { hasText: /Message 229$/ }).waitFor();
    const all = await server.call("GET", `v1/acme/issues/${found.issues[0].id}/messages?page-size=1`);
    const shown = async () => (await page.locator(".message .text").allInnerTexts()).map((text) => Number(/^Message (\d+)$/.exec(text)?.[1])).filter((n) => n >= 0);
    const more = page.getByRole("button", { name: "Show earlier ones" });
    for (let n = 0; n < 5 && (await more.count()); n++) {
      const before = (await shown()).length;
      await more.click();
      await page.waitForFunction((count) => document.querySelectorAll(".message").length > count, before);
    }
    assert.deepEqual(await shown(), Array.from({ length: 230 }, (_, n) => n));
    assert.ok(all["total-hits"] >= 230);
  }],
  ["people are found by name, e-mail, tag and country, and the address has it all", async ({ server, open }) => {
    const people = async (query) => (await server.call("GET", `v2/acme/identity/core_profiles?page-size=1${query}`))["total-hits"];
    const page = await open({ path: "people" });
    await settled(page, await people(""));
    await keys(page, "/");
    await page.keyboard.type("P7@Example.org");
    await page.keyboard.press("Enter");
    await settled(page, 1);
    await page.getByLabel("Find people").fill("byron");
    await page.keyboard.press("Enter");
    await settled(page, await people("&name=byron"));
    await page.getByLabel("Tag").fill("poet");
    await page.keyboard.press("Enter");
    const both = await people("&name=byron&tags=poet");
    assert.ok(both > 0);
    await settled(page, both);
    await page.getByLabel("Country").fill("France");
    await page.keyboard.press("Enter");
    await page.getByText("Nobody found").waitFor();
    await page.getByLabel("Country").fill("gb");
    await page.keyboard.press("Enter");
    await settled(page, both);
    await page.reload();
    await settled(page, both);
    await page.getByLabel("Country").fill("Atlantis");
    await page.keyboard.press("Enter");
    await page.getByText("is not a country").first().waitFor();
  }],
  ["people are found by language, segment and times, and tags lead to the others", async ({ server, open }) => {
    await server.task("identity", "create_core_profiles", [
      { identities: [{ uid: "lang-1" }], preferred_language: "fi", user_vip_segment: "gold", tags: ["northern", "a&b=c"] },
      { identities: [{ uid: "lang-2" }], preferred_language: "fi", user_vip_segment: "silver", tags: ["northern"] },
    ]);
    const page = await open({ path: "people" });
    await page.getByText("More filters").click();
    await page.getByLabel("Language").fill("FI");
    await page.keyboard.press("Enter");
    await settled(page, 2);
    await page.getByLabel("Segment").fill("gold");
    await page.keyboard.press("Enter");
    await settled(page, 1);
    await page.getByLabel("Created until").fill("2001-02-03");
    await page.keyboard.press("Enter");
    await page.getByText("Nobody found").waitFor();
    await page.getByLabel("Created until").fill("");
    await page.getByLabel("Changed since").fill("2001-02-03");
    await page.keyboard.press("Enter");
    await settled(page, 1);
    await page.reload();
    await settled(page, 1);
    assert.equal(await page.getByLabel("Changed since").inputValue(), "2001-02-03");
    await page.keyboard.press("Escape");
    await keys(page, "j", "Enter");
    await page.getByRole("link", { name: "northern", exact: true }).waitFor();
    await page.getByRole("link", { name: "a&b=c", exact: true }).click();
    await settled(page, 1);
    await page.goBack();
    await page.getByRole("link", { name: "northern", exact: true }).click();
    await settled(page, 2);
  }],
  ["the table of keys needs no sideways scrolling at 360 px", async ({ open }) => {
    const page = await open({ path: "settings", width: 360, height: 800 });
    const box = page.getByRole("region", { name: "Keys: table" }).first();
    await box.waitFor();
    assert.ok(await box.locator("tbody tr").count() > 0);
    const [wide, seen] = await box.evaluate((one) => [one.scrollWidth, one.clientWidth]);
    assert.ok(wide <= seen, `${wide} px in ${seen} px`);
  }],
  ["a person is found, read, changed after a preview and deleted, by keyboard", async ({ server, open, write }) => {
    await server.task("identity", "create_core_profiles", [{ identities: [{ email: "flow@example.org" }, { uid: "flow" }], names: { full_name: "Flow Person" }, last_country: "DE", age: 30, lifetime_value: "@@" }].map((one) => JSON.stringify(one).replace('"@@"', "1.10")));
    await server.task("issues", "import_issues", [{ title: "From a flow", created_at: 1700000000000, hs_user_id: "flow-pid", author_email: "FLOW@example.org" }]);
    const page = await open({ path: "people", key: write });
    await page.locator(".issue-row").first().waitFor();
    await keys(page, "/");
    await page.keyboard.type("uid:flow");
    await page.keyboard.press("Enter");
    await settled(page, 1);
    await page.keyboard.press("Escape");
    await keys(page, "j", "Enter");
    await title(page, "Flow Person");
    await page.getByText("flow-pid").waitFor();
    await page.getByRole("link", { name: "From a flow" }).waitFor();
    await page.getByText("1.10", { exact: true }).waitFor();
    const id = decodeURIComponent(page.url().split("/").pop());
    for (const country of ["FR", "DE", "FR"]) {
      await page.getByRole("button", { name: "Change", exact: true }).click();
      const text = page.getByLabel("Profile as JSON");
      const before = await text.inputValue();
      await text.fill(before.replace(/"last_country": "(..)"/, `"last_country": "${country}"`));
      await page.getByRole("button", { name: "Preview" }).click();
      await page.locator(".preview", { hasText: "last_country" }).waitFor();
      await page.getByRole("button", { name: "Save 1 change" }).click();
      await page.locator("dd", { hasText: country }).waitFor();
      await page.locator("dialog").waitFor({ state: "detached" });
      const stored = await server.call("GET", `v2/acme/identity/core_profiles/${id}`);
      assert.equal(stored.last_country, country);
    }
    await page.getByRole("button", { name: "Change", exact: true }).click();
    await page.getByLabel("Profile as JSON").fill("{");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.locator("dialog [role=alert]", { hasText: "not JSON" }).waitFor();
    await page.getByLabel("Profile as JSON").fill('{"identities":[{"email":"flow@example.org"}],"last_country":"Atlantis"}');
    await page.getByRole("button", { name: "Preview" }).click();
    await page.locator("dialog [role=alert]", { hasText: "Atlantis" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("1 app profile and 1 issue stay").waitFor();
    await page.getByRole("button", { name: "Delete the profile" }).focus();
    await keys(page, "Enter");
    await page.locator(".notice", { hasText: "deleted" }).waitFor();
    await title(page, "People");
    assert.equal((await server.call("GET", "v2/acme/identity/core_profiles?identity=uid:flow"))["total-hits"], 0);
    assert.equal((await server.call("GET", "v2/acme/identity/app_profiles?pids=flow-pid"))["total-hits"], 1);
  }],
  ["an issue leads to its author and the author to the issue, by the mouse", async ({ server, open }) => {
    await server.task("identity", "create_core_profiles", [{ identities: [{ email: "author@example.org" }], names: { full_name: "An Author" }, last_active_date: 1700000000000 }]);
    await server.call("POST", "v1/acme/issues", { title: "From an author", "message-body": "Hello?", "author-name": "An Author", email: "Author@example.org" });
    const page = await open({ path: "issues" });
    // Other flows work by the keyboard alone.
    const press = async (/** @type {any} */ shown) => {
      await shown.waitFor();
      const box = await shown.boundingBox();
      await page.mouse.click(box.x + box.width / 3, box.y + 8);
    };
    await press(page.locator(".issue-row", { hasText: "From an author" }));
    await press(page.getByRole("link", { name: "author@example.org" }));
    await press(page.locator(".person-row", { hasText: "An Author" }));
    await title(page, "An Author");
    await page.locator('time[datetime^="2023-11-14"]').waitFor();
    await press(page.getByRole("link", { name: "From an author" }));
    await title(page, "From an author");
  }],
  ["a read key finds people and changes none", async ({ open, read }) => {
    const page = await open({ key: read, path: "people" });
    await page.locator(".issue-row").first().waitFor();
    await keys(page, "j", "Enter");
    await page.locator("dl").first().waitFor();
    assert.equal(await page.getByRole("button", { name: /Change|Delete/ }).count(), 0);
  }],
  ["a new issue is written", async ({ open }) => {
    const page = await open({ path: "issues" });
    await page.getByRole("button", { name: "New issue" }).click();
    await page.getByLabel("Title").fill("Made by hand");
    await page.getByLabel("Message", { exact: true }).fill("By a person.");
    await page.getByRole("button", { name: "Create" }).click();
    await title(page, "Made by hand");
  }],
  ["many issues are edited after a preview, by keyboard", async ({ server, open }) => {
    const page = await open({ path: "issues?state=rejected" });
    await page.locator(".issue-row").first().waitFor();
    const before = await total(server, "&state=rejected");
    await keys(page, "j", "x", "j", "x", "j", "x");
    await page.getByRole("button", { name: "Edit them" }).focus();
    await keys(page, "Enter");
    await page.locator("dialog").getByLabel("State").selectOption("new");
    await page.getByText("state becomes new").waitFor();
    await page.getByRole("button", { name: "Change 3 issues" }).click();
    await page.getByText("3 issues changed").waitFor();
    assert.equal(await total(server, "&state=rejected"), before - 3);
  }],
  ["25,000 rows of CSV with 40 faults: dry run, import, a group mended, sent again, all in", async ({ server, open }) => {
    const page = await open({ path: "new-import" });
    await pick(page, "people.csv", csv(25000, 40), "text/csv");
    assert.equal(await page.getByLabel("Column country").inputValue(), "text:last_country");
    assert.match(await page.locator(".entry").first().innerText(), /"email":"c0@example.org".*"first_name":"Ada \\"0\\""/);
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByRole("button", { name: "Import 25\u202f000 entries" }).click({ timeout: 60000 });
    await page.getByText("the import is done").waitFor({ timeout: 60000 });
    await page.getByText("40 failed").waitFor();
    const faulty = page.locator("#main a[href*='faults']");
    let mended = 0;
    for (const link of await faulty.evaluateAll((links) => links.map((one) => one.getAttribute("href")))) {
      await page.goto(page.url().split("#")[0] + link);
      await page.locator(".groups button", { hasText: "unknown country" }).click();
      await page.getByRole("button", { name: /Mend all/ }).click();
      await page.getByLabel("Value", { exact: true }).fill("Germany");
      await page.getByText("values change").waitFor();
      await page.getByRole("button", { name: "Mend them" }).click();
      await page.getByRole("button", { name: /Dry run of/ }).click();
      await page.getByText(/all \d+ would succeed/).first().waitFor();
      await page.getByRole("button", { name: /Send \d+ again/ }).click();
      await page.locator(".pill.succeeded").waitFor();
      mended += Number((await page.locator(".fact.good .number").innerText()).replace(/\D/g, ""));
    }
    assert.equal(mended, 40);
    const { tasks } = await server.call("GET", "v2/acme/identity/bulk_actions?page-size=100&action=create_core_profiles");
    const real = tasks.filter((task) => !task.dry_run).map((task) => task.counts.succeeded);
    assert.ok(real.reduce((sum, one) => sum + one, 0) >= 25000);
  }],
  ["the same file again makes nothing twice", async ({ server, open }) => {
    const text = Array.from({ length: 30 }, (_, n) => `{"identities":[{"uid":"twice-${n}"}]}`).join("\n");
    const ids = [];
    for (let n = 0; n < 2; n++) {
      const page = await open({ path: "new-import" });
      await pick(page, "twice.jsonl", text);
      await page.getByRole("button", { name: "Dry run" }).click();
      if (n === 0) await page.getByText("30 would succeed").waitFor();
      await page.getByRole("button", { name: "Import 30 entries" }).click();
      await page.getByText("30 succeeded").waitFor();
      ids.push(await page.locator("td a").first().getAttribute("href"));
    }
    assert.equal(ids[0], ids[1]);
    assert.ok(server);
  }],
  ["an upsert shows what would change, and the file before it can be sent again", async ({ server, open }) => {
    const file = (age) => Array.from({ length: 30 }, (_, n) => `{"identities":[{"uid":"change-${n}"}],"age":${age},"custom_fields":{"n":${n}.50}}`).join("\n");
    for (const [n, age] of [20, 21, 20].entries()) {
      const page = await open({ path: "new-import" });
      await pick(page, "people.jsonl", file(age));
      await page.getByLabel("Action").selectOption("upsert_core_profiles");
      await page.getByRole("button", { name: "Dry run" }).click();
      await page.getByText(n ? "30 entries would change." : "30 entries would be created.").waitFor();
      if (n) {
        const row = page.getByRole("region", { name: "Changes: table" }).locator("tbody tr").first();
        assert.deepEqual(await row.locator("td").allInnerTexts(), ["1", "age", String(41 - age), String(age)]);
      }
      await page.getByRole("button", { name: "Import 30 entries" }).click();
      await page.getByText("30 succeeded").waitFor();
    }
    const found = await server.call("GET", "v2/acme/identity/core_profiles?identity=uid:change-7");
    assert.equal(found.core_profiles[0].age, 20);
    const { tasks } = await server.call("GET", "v2/acme/identity/bulk_actions?dry_run=true&action=upsert_core_profiles");
    const page = await open({ path: `task/identity/${tasks[0].task_id}` });
    await page.getByText("30 entries would change.").waitFor();
  }],
  ["people are deleted by a file", async ({ server, open }) => {
    const page = await open({ path: "new-import" });
    await pick(page, "gone.jsonl", Array.from({ length: 30 }, (_, n) => `{"identities":[{"uid":"change-${n}"}]}`).join("\n"));
    await page.getByLabel("Action").selectOption("delete_core_profiles");
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByRole("button", { name: "Delete 30 entries" }).click();
    await page.getByText("30 succeeded").waitFor();
    const found = await server.call("GET", "v2/acme/identity/core_profiles?identity=uid:change-7");
    assert.equal(found["total-hits"], 0);
  }],
  ["issues from a packed file, and a JSON array", async ({ server, open }) => {
    const before = await total(server);
    const page = await open({ path: "new-import" });
    const lines = ['{"title":"from gzip","created_at":1767225600000}', '{"title":"from gzip 2","created_at":1767225600001}'].join("\n");
    await page.locator("#file").setInputFiles({ name: "issues.jsonl.gz", mimeType: "application/gzip", buffer: gzipSync(lines) });
    assert.equal(await page.getByLabel("Action").inputValue(), "import_issues");
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByRole("button", { name: "Import 2 entries" }).click();
    await page.getByText("2 succeeded").waitFor();
    await pick(page, "array.json", '[{"title":"from an array","created_at":1767225600002},\n{"title":"and another","created_at":1767225600003}]');
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByRole("button", { name: "Import 2 entries" }).click();
    await page.getByText("2 succeeded").waitFor();
    assert.equal(await total(server), before + 4);
  }],
  ["a read key can try an import and not run it", async ({ open, read }) => {
    const page = await open({ path: "new-import", key: read });
    await pick(page, "x.jsonl", '{"identities":[{"uid":"tried"}]}');
    await page.getByLabel("Action").selectOption("create_core_profiles");
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByText("stays a dry run").waitFor();
  }],
  ["a task is followed live and cancelled", async ({ server, open }) => {
    const page = await open({ path: "imports" });
    await page.locator("td a").first().waitFor();
    const sent = await manyTasks(server, "live", 12);
    await page.goto(`${page.url().split("#")[0]}#/task/identity/${sent.at(-1)}`);
    await page.getByRole("button", { name: "Cancel" }).waitFor();
    // The tasks stand still while the keys lead to the button, which takes longer than they do.
    server.process.kill("SIGSTOP");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Cancel the task" }).click();
    server.process.kill("SIGCONT");
    await page.locator(".pill.cancelled").waitFor();
    // The next flows do not wait for the others.
    for (const id of sent.slice(0, -1)) await server.call("POST", `v2/acme/identity/bulk_actions/${id}/cancel`).catch(() => {});
    assert.equal((await server.call("GET", `v2/acme/identity/bulk_actions/${sent.at(-1)}`)).outcome, "cancelled");
  }],
  ["kill -9 in the middle of a task, and the page recovers", async ({ server, open }) => {
    const page = await open({ path: "imports" });
    await page.locator("td a").first().waitFor();
    const sent = await manyTasks(server, "kill", 4);
    await page.goto(`${page.url().split("#")[0]}#/task/identity/${sent.at(-1)}`);
    await page.locator(".fact").first().waitFor();
    await server.kill();
    assert.equal(await page.locator(".pill.succeeded").count(), 0, "the task was over before the kill");
    await new Promise((resolve) => setTimeout(resolve, 500));
    await server.start();
    await page.locator(".pill.succeeded").waitFor({ timeout: 60000 });
    await page.locator(".fact.good .number", { hasText: "10\u202f000" }).waitFor();
  }],
  ["faults are grouped, and an entry is mended in place, tried and sent", async ({ open, faulty }) => {
    const page = await open({ path: `faults/identity/${faulty.task_id}` });
    await page.getByText("120 of 400 entries failed, in 3 groups").waitFor();
    await page.locator(".groups button", { hasText: "wrong type" }).click();
    await page.locator(".fault-row").first().locator("mark.bad", { hasText: '"old"' }).waitFor();
    await keys(page, "j", "Enter");
    const text = page.getByLabel("Entry as JSON");
    await text.fill((await text.inputValue()).replace('"old"', '"older"'));
    await page.getByText('+ "age": "older"').waitFor();
    await page.getByRole("button", { name: "Keep" }).click();
    await page.getByRole("button", { name: "Dry run of 1" }).click();
    await page.getByText("1 of 1 would still fail").waitFor();
    await keys(page, "Enter");
    await text.fill("{");
    await page.getByRole("button", { name: "Keep" }).click();
    await page.getByText("this is not JSON").waitFor();
    await text.fill('{"identities":[{"uid":"mended"}],"age":33}');
    await page.getByRole("button", { name: "Keep" }).click();
    await page.getByRole("button", { name: "Send 1 again" }).click();
    await page.locator(".pill.succeeded").waitFor();
  }],
  ["while the entries of a group load, no key opens one of the group before", async ({ open, faulty }) => {
    const page = await open({ path: `faults/identity/${faulty.task_id}` });
    await page.locator(".fault-row").first().waitFor();
    const list = page.locator(".long-list");
    let answer = () => {};
    await page.route(/errors\?code=/, async (route) => {
      await new Promise((resolve) => (answer = resolve));
      await route.continue();
    });
    await page.locator(".groups button", { hasText: "wrong type" }).click();
    await page.locator('.long-list[aria-busy="true"]').waitFor();
    await keys(page, "j", "Enter");
    const { x, y } = await page.locator(".fault-row").first().boundingBox();
    await page.mouse.click(x + 50, y + 20);
    assert.equal(await page.locator("dialog").count(), 0);
    answer();
    await page.locator('.long-list[aria-busy="false"]').waitFor();
    assert.match(await list.locator(".fault-row").first().innerText(), /"old"/);
    await keys(page, "j", "Enter");
    await page.getByLabel("Entry as JSON").waitFor();
    await keys(page, "Escape");
    // An answer that fails leaves the rows and the group that were there.
    await page.unroute(/errors\?code=/);
    await page.route(/errors\?code=/, (route) => route.fulfill({ status: 503, json: { error: { code: "unavailable", message: "not now" } } }));
    const other = page.locator(".groups button", { hasNotText: "wrong type" }).last();
    await other.click();
    await page.locator('.groups button[aria-pressed="true"]', { hasText: "wrong type" }).waitFor();
    await keys(page, "j", "Enter");
    await page.getByLabel("Entry as JSON").waitFor();
  }],
  ["the failed entries of a task are sent again as they are", async ({ open, faulty }) => {
    const page = await open({ path: `task/identity/${faulty.task_id}` });
    await page.getByRole("button", { name: "Send 120 entries again as sent" }).click();
    await page.getByText("Sends entries again of").waitFor();
    await page.locator(".pill.completed_with_errors").waitFor();
  }],
  ["results and errors are downloaded", async ({ open, faulty }) => {
    const page = await open({ path: `task/identity/${faulty.task_id}` });
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "JSONL" }).last().click()]);
    assert.equal(gunzipSync(readFileSync(await download.path())).toString().trim().split("\n").length, 120);
  }],
  ["tasks are filtered by action and status", async ({ open }) => {
    const page = await open({ path: "imports" });
    await page.getByLabel("Action").selectOption("import_issues");
    await page.waitForURL(/action=import_issues/);
    await page.locator("td a", { hasText: "import issues" }).first().waitFor();
    assert.equal(await page.locator("td a", { hasText: "core profiles" }).count(), 0);
    await keys(page, "j", "Enter");
    await title(page, "import issues");
  }],
  ["keys are made, shown once and revoked", async ({ server, open }) => {
    const page = await open({ path: "settings" });
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Name", { exact: true }).last().fill("warehouse");
    await page.getByRole("button", { name: "Create the key" }).click();
    const secret = await page.locator(".secret").innerText();
    assert.equal((await server.call("GET", "v1/acme/issues?page-size=1", undefined, secret)).page, 1);
    await page.getByRole("button", { name: "Close" }).last().click();
    await page.getByRole("button", { name: "Revoke warehouse" }).click();
    await page.getByText("cannot be undone").waitFor();
    await page.getByRole("button", { name: "Revoke the key" }).click();
    await page.getByText("the key is revoked").waitFor();
    assert.equal(await page.getByRole("button", { name: "Revoke warehouse" }).count(), 0);
  }],
  ["the desk, an agent, an app and a queue are set up", async ({ open }) => {
    const page = await open({ path: "settings" });
    await page.getByLabel("Name", { exact: true }).fill("Shop support");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("saved").waitFor();
    for (const [what, fields] of [["New agent", ["Name", "E-mail"]], ["New app", ["Title"]], ["New queue", ["Name"]]]) {
      await page.getByRole("button", { name: what }).click();
      for (const name of fields) await page.locator("dialog").getByLabel(name).fill(name === "E-mail" ? "new@example.org" : `${what} of a flow`);
      await page.getByRole("button", { name: "Create", exact: true }).click();
      await page.locator("td", { hasText: `${what} of a flow` }).waitFor();
    }
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "Shop support");
  }],
  ["hostile texts stay texts, and digits stay digits", async ({ server, open }) => {
    const { issues } = await server.call("GET", "v1/acme/issues?sort-by=creation-time&page-size=50");
    const hostile = issues.filter((issue) => HOSTILE.includes(issue.title));
    assert.equal(hostile.length, HOSTILE.length);
    const page = await open({ path: "issues" });
    await page.locator(".issue-row").first().waitFor();
    for (const issue of hostile) {
      await page.goto(`${server.url}/console/#/issue/${issue.id}`);
      await page.locator(".message").first().waitFor();
      await page.getByText("12345678901234567890.10").first().waitFor();
      assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img, main iframe, a[href^='javascript']").length + (window.harmed ?? 0)), 0);
    }
    const { core_profiles: people } = await server.call("GET", "v2/acme/identity/core_profiles?tags=hostile");
    assert.equal(people.length, HOSTILE.length);
    await page.goto(`${server.url}/console/#/people?tag=hostile`);
    await settled(page, HOSTILE.length);
    for (const person of people) {
      await page.goto(`${server.url}/console/#/person/${person["core-profile-id"]}`);
      await page.getByText("12345678901234567890.10").first().waitFor();
      assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img, main iframe, a[href^='javascript']").length + (window.harmed ?? 0)), 0);
    }
    const { tasks } = await server.call("GET", "v2/acme/identity/bulk_actions?page-size=100");
    const task = tasks.find((one) => one.counts.total === 2 && one.counts.failed === 2);
    await page.goto(`${server.url}/console/#/faults/identity/${task.task_id}`);
    await page.locator(".fault-row mark", { hasText: "</script>" }).waitFor();
    await keys(page, "j", "Enter");
    await page.getByText("This is not a JSON map").waitFor();
  }],
  ["the last calls are there as curl", async ({ server, open }) => {
    const page = await open({ path: "issues?state=resolved" });
    await page.locator(".issue-row").first().waitFor();
    await keys(page, "c");
    await page.locator(".call code", { hasText: `curl -u "$KEY:" '${server.url}/v1/acme/issues?state=resolved` }).first().waitFor();
    await keys(page, "Escape");
    await page.locator(".drawer").waitFor({ state: "hidden" });
  }],
  ["keys go to every screen, and ? lists them", async ({ open }) => {
    const page = await open();
    await title(page, "Overview");
    await keys(page, "?");
    await page.getByText("next, previous").waitFor();
    await keys(page, "Escape");
    for (const [key, text] of [["i", "Issues"], ["t", "Imports"], ["n", "New import"], ["e", "Exports"], ["s", "Settings"], ["p", "People"], ["o", "Overview"]]) {
      await keys(page, "g", key);
      await title(page, text);
    }
  }],
  ["a screen or a record that is not there says so", async ({ open }) => {
    const page = await open({ path: "nowhere" });
    await page.getByText("This address names no screen").waitFor();
    await page.goto(`${page.url().split("#")[0]}#/constructor`);
    await page.getByText("This address names no screen").waitFor();
    await page.goto(`${page.url().split("#")[0]}#/issues?constructor=1`);
    await page.locator(".issue-row").first().waitFor();
    await page.goto(`${page.url().split("#")[0]}#/issue/999999999`);
    await page.getByRole("heading", { name: "Not here" }).waitFor();
  }],
  ["a server that is away is named, and tried again", async ({ server, open }) => {
    const page = await open({ path: "imports" });
    await page.locator("td a").first().waitFor();
    await server.kill();
    await keys(page, "g", "e");
    await page.getByText("cannot be reached").waitFor();
    await server.start();
    await page.getByRole("button", { name: "Try again" }).click();
    await title(page, "Exports");
  }],
  ["it works below a prefix that a proxy adds", async ({ server, browser }) => {
    const { origin, close } = await proxyTo(server, { prefix: "/support" });
    const page = await browser.page(server, { origin, prefix: "/support", path: "issues" });
    await page.locator(".issue-row").first().waitFor();
    const [cookie] = await page.context().cookies();
    assert.equal(cookie.path, "/support/");
    await page.goto(`${origin}/support/console`);
    await title(page, "Overview");
    await page.context().close();
    close();
  }],
  ["it works on plain HTTP by an address that is not localhost", async ({ server, browser }) => {
    const address = Object.values(networkInterfaces()).flat().find((one) => one.family === "IPv4" && !one.internal)?.address;
    const name = address ?? "127.0.0.2";
    const page = await browser.page(server, { key: null, origin: `http://${name}:${server.port}` });
    await page.getByLabel("API key").fill(server.key);
    await page.keyboard.press("Enter");
    await title(page, "Overview");
    await keys(page, "g", "s");
    await page.getByRole("button", { name: "New queue" }).click();
    await page.locator("dialog").getByLabel("Name").fill("over plain HTTP");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.locator("td", { hasText: "over plain HTTP" }).waitFor();
  }],
];

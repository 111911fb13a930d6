// The flows of tasks: lists, live progress, cancelling, and downloads.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { keys, title } from "../steps.js";

/** Sends tasks of 10,000 creations. They wait for each other, so the last one is not over when its page
 * is there. Returns their ids in the order of the queue. */
async function manyTasks(server, name, count) {
  const lines = (part) => Array.from({ length: 10000 }, (_, n) => `{"identities":[{"uid":"${name}-${part}-${n}"}],"tags":["x"]}`);
  const sent = await Promise.all(Array.from({ length: count }, (_, part) => server.send("identity", "create_core_profiles", lines(part))));
  return sent.map((task) => task.task_id).sort();
}

export const tasks = [
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
  ["many tasks at work are looked at in one tab, and it stays quick", async ({ server, open }) => {
    const page = await open({ path: "imports" });
    await page.locator("td a").first().waitFor();
    const sent = await manyTasks(server, "tabs", 12);
    // A browser has six connections for a server, and each screen of a task holds one.
    for (const id of sent.slice(-9)) {
      await page.goto(`${page.url().split("#")[0]}#/task/identity/${id}`);
      await page.locator(".crumbs", { hasText: id }).waitFor();
    }
    await keys(page, "g", "i");
    await page.locator(".issue-row").first().waitFor({ timeout: 10000 });
    for (const id of sent) await server.call("POST", `v2/acme/identity/bulk_actions/${id}/cancel`).catch(() => {});
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
    await page.locator("main:not([aria-busy])").waitFor();
    await page.locator("td a", { hasText: "import issues" }).first().waitFor();
    assert.equal(await page.locator("td a", { hasText: "core profiles" }).count(), 0);
    await keys(page, "j", "Enter");
    await title(page, "import issues");
  }],
];

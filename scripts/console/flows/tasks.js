// The flows of tasks: lists, live progress, cancelling, and downloads.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { keys, title } from "../steps.js";

/**
 * Sends tasks of 10,000 creations, which wait for each other. Returns their ids in the order of the
 * queue.
 */
async function manyTasks(server, name, count) {
  const lines = (part) =>
    Array.from(
      { length: 10000 },
      (_, n) => `{"identities":[{"uid":"${name}-${part}-${n}"}],"tags":["x"]}`,
    );
  const sent = await Promise.all(
    Array.from({ length: count }, (_, part) =>
      server.send("identity", "create_core_profiles", lines(part)),
    ),
  );
  return sent.map((task) => task.task_id).sort();
}

/**
 * Shows a task that is not over, and stops the server there. A server that was quicker than the
 * page gets twice as many tasks. Returns the ids of the tasks; the last one is shown.
 */
async function stoppedAtWork(server, page, name) {
  for (let count = 8; count <= 128; count *= 2) {
    const sent = await manyTasks(server, `${name}-${count}`, count);
    await page.goto(`${page.url().split("#")[0]}#/task/identity/${sent.at(-1)}`);
    await page.locator(`.crumbs [title="${sent.at(-1)}"]`).waitFor();
    await page.locator(".fact").first().waitFor();
    server.process.kill("SIGSTOP");
    if (await page.locator(".timeline li.faint", { hasText: "completed" }).count()) return sent;
    server.process.kill("SIGCONT");
  }
  throw new Error("128 tasks were over before the page of the last one was there");
}

export const tasks = [
  [
    "a task is followed live and cancelled",
    async ({ server, open }) => {
      const page = await open({ path: "imports" });
      await page.locator("td a").first().waitFor();
      // The tasks stand still while the keys lead to the button, which takes longer than they do.
      const sent = await stoppedAtWork(server, page, "live");
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "Cancel the task" }).click();
      server.process.kill("SIGCONT");
      await page.locator(".pill.cancelled").waitFor();
      // The next flows do not wait for the others.
      for (const id of sent.slice(0, -1))
        await server.call("POST", `v2/acme/identity/bulk_actions/${id}/cancel`).catch(() => {});
      assert.equal(
        (await server.call("GET", `v2/acme/identity/bulk_actions/${sent.at(-1)}`)).outcome,
        "cancelled",
      );
    },
  ],
  [
    "many tasks at work are looked at in one tab, and it stays quick",
    async ({ server, open }) => {
      const page = await open({ path: "imports" });
      await page.locator("td a").first().waitFor();
      const sent = await manyTasks(server, "tabs", 12);
      // A browser has six connections for a server, and each screen of a task holds one.
      for (const id of sent.slice(-9)) {
        await page.goto(`${page.url().split("#")[0]}#/task/identity/${id}`);
        await page.locator(`.crumbs [title="${id}"]`).waitFor();
      }
      await keys(page, "g", "i");
      await page.locator(".issue-row").first().waitFor({ timeout: 10000 });
      for (const id of sent)
        await server.call("POST", `v2/acme/identity/bulk_actions/${id}/cancel`).catch(() => {});
    },
  ],
  [
    "a hidden tab holds no stream of events, and follows its task again when it is shown",
    async ({ open, faulty }) => {
      const page = await open({
        path: "imports",
        init: () => {
          globalThis.away = false;
          Object.defineProperty(document, "hidden", { get: () => globalThis.away });
        },
      });
      const look = (away) =>
        page.evaluate((hidden) => {
          globalThis.away = hidden;
          document.dispatchEvent(new Event("visibilitychange"));
        }, away);
      // A task that never ends: its stream is open until the page closes it.
      const path = `/v2/acme/identity/bulk_actions/${faulty.task_id}`;
      const working = {
        ...faulty,
        status: "processing",
        outcome: null,
        progress: 50,
        completed_at: null,
      };
      await page.route(
        (url) => url.pathname === path,
        (route) =>
          route.request().headers().accept?.includes("event-stream")
            ? undefined
            : route.fulfill({ json: working }),
      );
      const streams = { open: 0, all: 0 };
      const isStream = (request) => request.headers().accept?.includes("event-stream");
      page.on(
        "request",
        (request) => isStream(request) && (streams.open += 1) && (streams.all += 1),
      );
      for (const over of ["requestfailed", "requestfinished"])
        page.on(over, (request) => isStream(request) && (streams.open -= 1));
      const settle = async (open, all) => {
        for (let n = 0; n < 100 && (streams.open !== open || streams.all !== all); n++)
          await page.waitForTimeout(50);
        assert.deepEqual(streams, { open, all });
      };
      await page.goto(`${page.url().split("#")[0]}#/task/identity/${faulty.task_id}`);
      await page.locator(".fact").first().waitFor();
      await settle(1, 1);
      await look(true);
      await settle(0, 1);
      await look(false);
      await settle(1, 2);
      await keys(page, "g", "i");
      await settle(0, 2);
    },
  ],
  [
    "kill -9 in the middle of a task, and the page recovers",
    async ({ server, open }) => {
      const page = await open({ path: "imports" });
      await page.locator("td a").first().waitFor();
      const sent = await stoppedAtWork(server, page, "kill");
      await server.kill();
      await new Promise((resolve) => setTimeout(resolve, 500));
      await server.start();
      // Only the last one is waited for.
      for (const id of sent.slice(0, -1))
        await server.call("POST", `v2/acme/identity/bulk_actions/${id}/cancel`).catch(() => {});
      await page.locator(".pill.succeeded").waitFor({ timeout: 60000 });
      await page.locator(".fact.good .number", { hasText: "10\u202f000" }).waitFor();
    },
  ],
  [
    "the failed entries of a task are sent again as they are",
    async ({ open, faulty }) => {
      const page = await open({ path: `task/identity/${faulty.task_id}` });
      await page.getByRole("button", { name: "Send 120 entries again as sent" }).click();
      await page.getByText("120 entries with faults: unchanged, they fail again").waitFor();
      await page.getByRole("button", { name: "Send 120 entries", exact: true }).click();
      await page.getByText("Made of entries of").waitFor();
      await page.locator(".pill.completed_with_errors").waitFor();
    },
  ],
  [
    "what is odd about entries is said before a dry run is made real",
    async ({ server, open }) => {
      const dry = await server.task(
        "identity",
        "upsert_core_profiles",
        [
          { identities: [{ email: "N/A" }, { uid: "odd a" }] },
          { identities: [{ email: "n/a" }, { uid: "odd b" }] },
          { identities: [{ email: "<b>no</b>" }] },
        ],
        { dry_run: "true" },
      );
      const page = await open({ path: `task/identity/${dry.task_id}` });
      await page.getByRole("heading", { name: "4 warnings" }).waitFor();
      const rows = page.getByRole("region", { name: "Warnings: table" }).locator("tbody tr");
      assert.equal(await rows.count(), 3);
      await rows.filter({ hasText: "joins people" }).getByText("odd a").waitFor();
      await rows.filter({ hasText: "<b>no</b>" }).waitFor();
      await page.getByText(/; 2 look like placeholders, 1 joins people.*\.$/).waitFor();
      await page.getByRole("button", { name: "Make it real" }).waitFor();
    },
  ],
  [
    "a dry run of a task is made real",
    async ({ server, open }) => {
      const dry = await server.task(
        "identity",
        "create_core_profiles",
        [{ identities: [{ uid: "run it" }] }, { identities: [] }],
        { dry_run: "true" },
      );
      const page = await open({ path: `task/identity/${dry.task_id}` });
      await page.getByText("1 new, 1 to mend.").waitFor();
      assert.equal(
        (await server.call("GET", "v2/acme/identity/core_profiles?identity=uid:run%20it"))[
          "total-hits"
        ],
        0,
      );
      await page.getByRole("button", { name: "Make it real" }).click();
      await page.getByText("Done: ").waitFor();
      await page.locator(".tag", { hasText: "dry run" }).waitFor({ state: "detached" });
      assert.equal(
        (await server.call("GET", "v2/acme/identity/core_profiles?identity=uid:run%20it"))[
          "total-hits"
        ],
        1,
      );
    },
  ],
  [
    "results and errors are downloaded",
    async ({ open, faulty }) => {
      const page = await open({ path: `task/identity/${faulty.task_id}` });
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "JSONL" }).last().click(),
      ]);
      assert.equal(
        gunzipSync(readFileSync(await download.path()))
          .toString()
          .trim()
          .split("\n").length,
        120,
      );
    },
  ],
  [
    "tasks are filtered by action, status and outcome",
    async ({ server, open }) => {
      await server.task("issues", "delete_issues", [{ "issue-id": "987654321" }]);
      const page = await open({ path: "imports" });
      await page.getByLabel("Action").selectOption("delete_issues");
      await page.waitForURL(/action=delete_issues/);
      await page.locator("main:not([aria-busy]) h1 .number", { hasText: /^[1-9]$/ }).waitFor();
      await page.getByLabel("Action").selectOption("");
      await page.getByLabel("Outcome").selectOption("completed_with_errors");
      await page.waitForURL(/outcome=completed_with_errors/);
      await page.locator("td .pill.succeeded").first().waitFor({ state: "detached" });
      await page.locator("td .pill.completed_with_errors").first().waitFor();
      await page.getByLabel("Outcome").selectOption("");
      await page.waitForURL(/imports$/);
      await page.getByLabel("Action").selectOption("import_issues");
      await page.waitForURL(/action=import_issues/);
      await page.locator("td a", { hasText: "people" }).first().waitFor({ state: "detached" });
      await page.locator("td a", { hasText: "import issues" }).first().waitFor();
      await keys(page, "j", "Enter");
      await title(page, "import issues");
    },
  ],
];

// The flows of signing in and out, of what a key may do, and of the addresses that lead to the
// console.
import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { keys, pick, proxyTo, title } from "../steps.js";

/** Words of buttons that write something. A dry run is none of them. */
const WRITES = new RegExp(
  "^(New (issue|key|agent|app|queue)|Edit them|Change|Delete|Mend|Send|Cancel$|Run it|Import|" +
    "Revoke|Save$|Add the note|Create\\b)",
);

export const access = [
  [
    "a wrong key is refused in words, and the right one signs in",
    async ({ server, open }) => {
      const page = await open({ key: null });
      await page.getByLabel("API key").fill("caseload_wrong");
      await page.keyboard.press("Enter");
      await page.getByText("the API key is not known").waitFor();
      await page.getByLabel("API key").fill(server.key);
      await page.keyboard.press("Enter");
      await title(page, "Overview");
    },
  ],
  [
    "a link signs in once",
    async ({ server, open }) => {
      const link = server.link();
      const page = await open({ key: null });
      await page.goto(link);
      await title(page, "Overview");
      assert.ok(!page.url().includes("code="), page.url());
      const other = await open({ key: null });
      await other.goto(link);
      await other.getByText("the link was used before").waitFor();
    },
  ],
  [
    "its answers have every header, and the cookie of a session is Secure over TLS",
    async ({ server }) => {
      const policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
        "require-trusted-types-for 'script'; trusted-types 'none'";
      const page = await fetch(`${server.url}/console/`, {
        headers: { "Accept-Encoding": "gzip" },
      });
      const files = [...(await page.text()).matchAll(/(?:href|src)="([^":]+)"/g)].map(
        ([, path]) => path,
      );
      assert.ok(files.length > 4);
      for (const path of ["", ...files, "session", "nowhere"]) {
        const { headers } = await fetch(`${server.url}/console/${path}`);
        const found = [
          "content-security-policy",
          "x-content-type-options",
          "referrer-policy",
          "cross-origin-opener-policy",
          "cross-origin-resource-policy",
        ].map((name) => headers.get(name));
        assert.deepEqual(
          found,
          [policy, "nosniff", "no-referrer", "same-origin", "same-origin"],
          path,
        );
        assert.match(headers.get("permissions-policy"), /camera=\(\)/);
        if (path.includes("/"))
          assert.match(
            `${headers.get("etag")} ${headers.get("cache-control")}`,
            /^"[\w.-]+" .*immutable/,
          );
      }
      for (const [proto, secure] of [
        ["https", true],
        ["http", false],
      ]) {
        const answer = await fetch(`${server.url}/console/session`, {
          method: "POST",
          headers: {
            "Content-Type": "application/json",
            "Sec-Fetch-Site": "same-origin",
            "X-Forwarded-Proto": proto,
          },
          body: JSON.stringify({ key: server.key }),
        });
        assert.equal(answer.status, 201);
        const cookie = answer.headers.get("set-cookie");
        assert.match(cookie, /; Max-Age=28800; HttpOnly; SameSite=Strict/);
        assert.equal(/; Secure/.test(cookie), secure, cookie);
        assert.equal(cookie.startsWith("__Host-"), secure, cookie);
      }
    },
  ],
  [
    "signing out ends the session",
    async ({ open }) => {
      const page = await open();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("API key").waitFor();
      await page.reload();
      await page.getByLabel("API key").waitFor();
    },
  ],
  [
    "a revoked key signs out",
    async ({ server, open }) => {
      const key = server.newKey("write");
      const page = await open({ key });
      const made = (await server.call("GET", "v1/acme/keys")).keys.findLast(
        (one) => one.name === "write",
      );
      await server.call("DELETE", `v1/acme/keys/${made.id}`);
      await page.getByText("The session has ended").waitFor();
    },
  ],
  [
    "a read key sees no writing control",
    async ({ open, read, faulty }) => {
      const page = await open({ key: read, path: "issues" });
      await page.locator(".issue-row").first().waitFor();
      assert.equal(await page.getByRole("button", { name: "New issue" }).count(), 0);
      assert.equal(await page.locator(".mark").count(), 0);
      assert.equal(await page.getByRole("link", { name: "Settings" }).count(), 0);
      await keys(page, "j", "Enter");
      await page.locator(".message").first().waitFor();
      assert.equal(await page.locator("main :is(textarea, select)").count(), 0);
      await page.goto(`${page.url().split("#")[0]}#/task/identity/${faulty.task_id}`);
      await page.getByText("entries with faults").waitFor();
      assert.equal(await page.getByRole("button", { name: /again/ }).count(), 0);
    },
  ],
  [
    "it works below a prefix that a proxy takes off",
    async ({ server, browser }) => {
      const { origin, close } = await proxyTo(server, { prefix: "/support" });
      await server.kill("SIGTERM");
      await server.start("--public-url", `${origin}/support`);
      const page = await browser.page(server, { origin, prefix: "/support", path: "issues" });
      await page.locator(".issue-row").first().waitFor();
      const [cookie] = await page.context().cookies();
      assert.equal(cookie.path, "/support/");
      await page.goto(`${origin}/support/console`);
      await title(page, "Overview");
      await page.context().close();
      close();
      await server.kill("SIGTERM");
      await server.start();
    },
  ],
  [
    "it works on plain HTTP by an address that is not localhost",
    async ({ server, browser }) => {
      const address = Object.values(networkInterfaces())
        .flat()
        .find((one) => one.family === "IPv4" && !one.internal)?.address;
      const name = address ?? "127.0.0.2";
      const page = await browser.page(server, {
        key: null,
        origin: `http://${name}:${server.port}`,
      });
      await page.getByLabel("API key").fill(server.key);
      await page.keyboard.press("Enter");
      await title(page, "Overview");
      await keys(page, "g", "s");
      await page.getByRole("button", { name: "New queue" }).click();
      await page.locator("dialog").getByLabel("Name").fill("over plain HTTP");
      await page.getByRole("button", { name: "Create", exact: true }).click();
      await page.locator("td", { hasText: "over plain HTTP" }).waitFor();
      // Such a page has no clipboard: the line is selected instead.
      await keys(page, "c");
      await page.getByRole("button", { name: "Copy" }).first().click();
      const secure = await page.evaluate(() => isSecureContext);
      await page.getByText(secure ? "copied" : "selected; copy it with the keyboard").waitFor();
      if (!secure) assert.match(await page.evaluate(() => getSelection().toString()), /^curl -u/);
    },
  ],
  [
    "a read key sees no writing control on any screen",
    async ({ server, open, read, faulty, person }) => {
      const page = await open({ key: read, path: "issues" });
      const begin = page.url().split("#")[0];
      const [issue] = (await server.call("GET", "v1/acme/issues?page-size=1")).issues;
      const seen = [];
      for (const screen of [
        "overview",
        "issues",
        `issue/${issue.id}`,
        "people",
        `person/${person}`,
        "imports",
        "new-import",
        `task/identity/${faulty.task_id}`,
        `faults/identity/${faulty.task_id}`,
        "exports",
      ]) {
        await page.goto(`${begin}#/${screen}`);
        await page.locator("main h1").first().waitFor();
        await page.waitForTimeout(400);
        seen.push(...(await page.getByRole("button").allInnerTexts()));
        // A file, a list's filters, a range and an export write nothing.
        if (!/^(overview|issues|people|imports|new-import|exports)$/.test(screen))
          assert.equal(await page.locator("main :is(input, textarea, select)").count(), 0, screen);
        assert.deepEqual(
          (await page.getByRole("button").allInnerTexts()).filter((text) =>
            WRITES.test(text.trim()),
          ),
          [],
          screen,
        );
      }
      assert.ok(seen.length > 30);
      await page.goto(`${begin}#/settings`);
      await page.getByText("This address names no screen, or your key does not open it").waitFor();
      // Entries may be mended and tried, and not sent.
      await page.goto(`${begin}#/faults/identity/${faulty.task_id}`);
      await page.locator(".groups button", { hasText: "wrong type" }).click();
      await page.locator('.long-list[aria-busy="false"]').waitFor();
      await keys(page, "j", "Enter");
      const text = page.getByLabel("Entry as JSON");
      await text.fill((await text.inputValue()).replace('"old"', "41"));
      await page.getByRole("button", { name: "Keep" }).click();
      await page.getByRole("button", { name: "Dry run of 1" }).waitFor();
      assert.equal(await page.getByRole("button", { name: /Send/ }).count(), 0);
    },
  ],
];

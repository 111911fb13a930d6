// The flows of webhooks: made, tested, changed, paused, replayed and deleted, with a receiver that
// answers as a flow wants.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { title } from "../steps.js";

/** A receiver. It answers with the status, and retains each body. */
async function receiver() {
  const got = { status: 200, bodies: [], signatures: [] };
  const listening = createServer((request, answer) => {
    let text = "";
    request.on("data", (piece) => (text += piece));
    request.on("end", () => {
      got.bodies.push(JSON.parse(text));
      got.signatures.push(request.headers["webhook-signature"]);
      answer.writeHead(got.status).end(`<b>answer ${got.status}</b>`);
    });
  });
  await new Promise((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const close = () => {
    listening.closeAllConnections();
    listening.close();
  };
  return { url: `http://127.0.0.1:${listening.address().port}/hook`, got, close };
}

const names = ({ bodies }) => bodies.flatMap((body) => body.changes.map((one) => one.id));
const agent = (server, name) =>
  server.call("POST", "v1/acme/agents", { name, email: `${name}@example.org` });
/** Waits until a button with this text has the focus, as it does soon after a dialog is closed. */
const focuses = (page, name) =>
  page.waitForFunction((text) => {
    const { tagName, textContent } = /** @type {any} */ (document.activeElement);
    return tagName === "BUTTON" && textContent === text;
  }, name);
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();

/** Makes a webhook of new agents. Returns the secret that the page shows. */
async function make(page, url) {
  await press(page, "New webhook");
  await page.getByLabel("Address").fill(url);
  await page.getByRole("checkbox", { name: "agents" }).focus();
  await page.keyboard.press("Space");
  await page.getByRole("checkbox", { name: "created" }).focus();
  await page.keyboard.press("Space");
  await press(page, "Create the webhook");
  const secret = await page.locator(".secret").innerText();
  await page.getByRole("button", { name: "Close" }).last().click();
  await title(page, url);
  return secret;
}

export const webhooks = [
  [
    "a webhook is made, tested, paused, replayed and deleted, by keyboard",
    async ({ server, open }) => {
      const { url, got, close } = await receiver();
      const page = await open({ path: "settings" });
      assert.match(await make(page, url), /^whsec_/);
      await page.getByText("agents: only created").waitFor();
      await press(page, "Send a test");
      await page.locator(".notice", { hasText: "took the test" }).waitFor();
      await focuses(page, "Send a test");
      await page.locator("td", { hasText: "<b>answer 200</b>" }).first().waitFor();
      assert.deepEqual(got.bodies, [{ changes: [], test: true }]);
      const first = await agent(server, "hook-one");
      await page.getByRole("button", { name: "Replay from" }).waitFor();
      await press(page, "Pause");
      await page.locator("dl .pill", { hasText: "paused" }).waitFor();
      await focuses(page, "Resume");
      const second = await agent(server, "hook-two");
      await press(page, "Resume");
      await page.getByRole("button", { name: "Replay from" }).nth(1).waitFor();
      assert.deepEqual(names(got), [first.id, second.id]);
      const again = page.getByRole("button", { name: "Replay from" }).last();
      await again.click();
      await press(page, "Replay");
      await page.locator(".notice", { hasText: "delivers from there" }).waitFor();
      await focuses(page, "Replay");
      for (let n = 0; names(got).length < 4 && n < 100; n++) await page.waitForTimeout(100);
      assert.deepEqual(names(got), [first.id, second.id, first.id, second.id]);
      await press(page, "Replay…");
      await press(page, "Cancel");
      await focuses(page, "Replay…");
      await press(page, "Delete");
      await page.getByText("gets no more changes").waitFor();
      await press(page, "Delete the webhook");
      await title(page, "Settings");
      await page.getByRole("button", { name: "New webhook" }).waitFor();
      assert.equal(await page.getByRole("link", { name: url }).count(), 0);
      close();
    },
  ],
  [
    "a webhook is changed, gets a new secret, and says why it is paused",
    async ({ server, open }) => {
      const { url, got, close } = await receiver();
      const page = await open({ path: "settings" });
      const old = await make(page, url);
      await press(page, "Change");
      await page.getByLabel("Address").fill("ftp://example.org");
      await press(page, "Save");
      await page.locator("dialog [role=alert]", { hasText: "http" }).waitFor();
      await page.getByLabel("Address").fill(`${url}/2`);
      await page.getByRole("checkbox", { name: "created" }).focus();
      await page.keyboard.press("Space");
      await press(page, "Save");
      await title(page, `${url}/2`);
      await page.locator("dd", { hasText: /^agents$/ }).waitFor();
      await focuses(page, "Change");
      await press(page, "New secret…");
      await page.getByText("24 hours").waitFor();
      await press(page, "Make a new secret");
      const secret = await page.locator(".secret").innerText();
      assert.notEqual(secret, old);
      await page.getByRole("button", { name: "Close" }).last().click();
      await press(page, "Send a test");
      await page.locator(".notice", { hasText: "took the test" }).waitFor();
      assert.equal(got.signatures.at(-1).split(" ").length, 2);
      got.status = 503;
      await agent(server, "hook-three");
      await page.locator("dl .pill", { hasText: "retrying" }).waitFor();
      await page.getByText("1 failed attempt").waitFor();
      got.status = 410;
      await page.locator("dl .pill", { hasText: "paused" }).waitFor();
      await page.getByText("it wants no more changes").waitFor();
      await page.getByRole("link", { name: "Settings" }).first().click();
      await page.locator("td", { hasText: "it wants no more changes" }).waitFor();
      await server.call("DELETE", `v1/acme/webhooks/${(await latest(server)).id}`);
      await page.getByRole("link", { name: `${url}/2` }).waitFor({ state: "detached" });
      close();
    },
  ],
  [
    "only an admin key opens webhooks",
    async ({ open, write, webhook }) => {
      const page = await open({ key: write, path: `webhook/${webhook.id}` });
      await page.getByText("or your key does not open it").waitFor();
    },
  ],
];

const latest = async (server) => (await server.call("GET", "v1/acme/webhooks")).webhooks.at(-1);

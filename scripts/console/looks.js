// How the screens look and load: axe in both themes, narrow and wide windows, and the budget.
import assert from "node:assert/strict";

const PACKED_BYTES_MAX = 40000;
const REQUESTS_MAX = 12;
const INTERACTIVE_MS_MAX = 200;

const screens = ({ faulty, hostile, person }) => ["overview", "issues", "issue/1", `issue/${hostile ? 1201 : 1}`, "people", "people?q=nobody-has-this", `person/${person}`, "imports", "new-import", `task/identity/${faulty.task_id}`, `faults/identity/${faulty.task_id}`, "exports", "settings", "nowhere"];

async function each(world, options, look) {
  const page = await world.open(options);
  const begin = page.url().split("#")[0];
  for (const screen of screens(world)) {
    await page.goto(`${begin}#/${screen}`);
    await page.locator("main h1").first().waitFor();
    await page.waitForTimeout(150);
    if (process.env.CONSOLE_CHECK_SHOTS) await page.screenshot({ path: `${process.env.CONSOLE_CHECK_SHOTS}/${screen.replaceAll(/[/?=]/g, "-").slice(0, 20)}-${options.theme ?? "light"}-${options.width ?? 1280}.png` });
    await look(page, screen);
  }
}

const quiet = (browser) => async (page, screen) => {
  const found = await browser.axe(page);
  assert.deepEqual(found, [], `${screen}: ${JSON.stringify(found)}`);
};

export const looks = [
  ...["light", "dark"].map((theme) => [`axe finds nothing, ${theme}`, async (world) => {
    const signIn = await world.open({ key: null, theme });
    await signIn.getByLabel("API key").waitFor();
    await quiet(world.browser)(signIn, "sign-in");
    await each(world, { theme }, quiet(world.browser));
  }]),
  ...[360, 2560].map((width) => [`nothing is wider than ${width} px`, (world) => each(world, { width, height: 800 }, async (page, screen) => {
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(over <= 0, `${screen} is ${over} px too wide`);
  })]),
  ["the first load is small and quick", async ({ browser, server, open }) => {
    const page = await open({ key: null });
    await page.getByLabel("API key").waitFor();
    const context = page.context();
    await context.request.post(`${server.url}/console/session`, { data: { key: server.key }, headers: { "Sec-Fetch-Site": "same-origin" } });
    const next = await context.newPage();
    browser.watch(next, server.url);
    const session = await context.newCDPSession(next);
    await session.send("Network.enable");
    await session.send("Network.setCacheDisabled", { cacheDisabled: true });
    const files = new Set();
    let bytes = 0;
    session.on("Network.responseReceived", ({ requestId, response }) => /\/console\//.test(response.url) && files.add(requestId));
    session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => files.has(requestId) && (bytes += encodedDataLength));
    await next.goto(`${server.url}/console/#/overview`);
    await next.locator("h1", { hasText: "Overview" }).waitFor();
    // The page, its files and the session; the data of the screen comes on top.
    const first = { requests: files.size, bytes };
    await session.send("Network.setCacheDisabled", { cacheDisabled: false });
    await next.reload();
    await next.locator("nav a").first().waitFor();
    const times = [];
    for (let n = 0; n < 5; n++) {
      await next.reload();
      await next.locator("nav a").first().waitFor();
      times.push(await next.evaluate(() => performance.now()));
    }
    times.sort((a, b) => a - b);
    console.log(`     first load: ${first.requests} files, ${first.bytes} bytes; interactive after ${Math.round(times[2])} ms (median of 5)`);
    assert.ok(first.requests <= REQUESTS_MAX, `${first.requests} requests`);
    assert.ok(first.bytes <= PACKED_BYTES_MAX, `${first.bytes} bytes`);
    assert.ok(times[2] <= INTERACTIVE_MS_MAX * (process.env.CI || process.env.CASELOAD_CHECK_SLOW ? 5 : 2), `interactive after ${times[2]} ms`);
  }],
];

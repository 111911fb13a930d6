// The flows of a test server: each screen says that everything ends with it, and no other server
// says so.
import assert from "node:assert/strict";
import { issues } from "../records.js";
import { TestServer } from "../server.js";
import { keys, title } from "../steps.js";

const WORDS = "Test server: everything here ends with this server.";
/** The screens by their keys after `g`. */
const SCREENS = { o: "Overview", i: "Issues", p: "People", t: "Imports", s: "Settings" };
/** More issues than a window has room for. */
const ISSUES = 60;
/** A shift of this size is one that a person sees. */
const SHIFT_MAX = 0.01;

/** Runs with a test server, and ends it however that goes. */
async function withTestServer(work) {
  const server = new TestServer(issues(ISSUES, Date.now() - 60000));
  try {
    await server.start();
    await work(server);
  } finally {
    await server.close();
  }
}

const banner = (page) => page.getByText(WORDS, { exact: true });

async function signIn(page, key) {
  await page.getByLabel("API key").fill(key);
  await page.keyboard.press("Enter");
  await title(page, "Overview");
}

/** Goes to each screen by its key, waits until all of it is there, and calls back. */
async function eachScreen(page, look) {
  for (const [key, name] of Object.entries(SCREENS)) {
    await keys(page, "g", key);
    await page.locator("main:not([aria-busy]) h1", { hasText: name }).waitFor();
    await page.waitForTimeout(150);
    await look(name);
  }
}

/** The banner is one line in sight at the top, and it covers nothing of the page. */
async function checkPlace(page, name) {
  const { width } = page.viewportSize();
  const box = await banner(page).boundingBox();
  assert.deepEqual([box.x, box.y, box.width], [0, 0, width], name);
  assert.ok(box.height < 32, `${name}: a banner of ${box.height} px`);
  const isWhole = await banner(page).evaluate((one) => one.scrollWidth <= one.clientWidth);
  assert.ok(isWhole, `${name}: the words are cut off`);
  const tops = await page.evaluate(() => {
    const parts = document.querySelectorAll("header:not(.row), main");
    return [...parts].map((one) => one.getBoundingClientRect().top + scrollY);
  });
  assert.ok(Math.min(...tops) >= box.height, `${name}: covered at ${tops}`);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(over <= 0, `${name} is ${over} px too wide`);
  // A list fills the window. The banner makes it shorter, and the page no longer than the window.
  if (width < 1000 || !(await page.locator("main > .fill").count())) return;
  const below = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
  assert.ok(below <= 0, `${name} is ${below} px too high`);
}

async function picture(page, name, theme, width) {
  const folder = process.env.CONSOLE_CHECK_SHOTS;
  if (folder) await page.screenshot({ path: `${folder}/banner-${name}-${theme}-${width}.png` });
}

/** Collects what moves by itself while the page loads. */
const watchShifts = () => {
  globalThis.moved = [];
  new PerformanceObserver((list) => {
    for (const one of list.getEntries())
      if (!one.hadRecentInput) moved.push([one.value, location.hash]);
  }).observe({ type: "layout-shift", buffered: true });
};

export const testServer = [
  ...["light", "dark"].map((theme) => [
    `every screen of a test server says that all ends with it, ${theme}`,
    ({ browser }) =>
      withTestServer(async (server) => {
        const page = await browser.page(server, { key: null, theme });
        await signIn(page, server.key);
        for (const width of [1280, 390, 2560]) {
          await page.setViewportSize({ width, height: 800 });
          await eachScreen(page, async (name) => {
            await checkPlace(page, name);
            assert.deepEqual(await browser.axe(page), [], name);
            await picture(page, name, theme, width);
          });
        }
      }),
  ]),
  [
    "the line of a test server stays, and moves nothing while screens load",
    ({ browser }) =>
      withTestServer(async (server) => {
        const page = await browser.page(server, { height: 500, init: watchShifts });
        await title(page, "Overview");
        await banner(page).waitFor();
        assert.equal(await page.locator(".test-server button, .test-server a").count(), 0);
        await page.waitForTimeout(1000);
        const moved = await page.evaluate(() => globalThis.moved);
        assert.deepEqual(
          moved.filter(([value]) => value > SHIFT_MAX),
          [],
        );
        await page.setViewportSize({ width: 390, height: 400 });
        const { issues: found } = await page.evaluate(() =>
          fetch("/v1/acme/issues?page-size=1").then((answer) => answer.json()),
        );
        await page.evaluate((hash) => (location.hash = hash), `#/issue/${found[0].id}`);
        // A control with a place of its own among the layers is scrolled to the line.
        const control = page.locator("main label.button").first();
        await control.waitFor();
        const over = await control.evaluate((one) => {
          scrollBy(0, one.getBoundingClientRect().top);
          const { left, top, width } = one.getBoundingClientRect();
          return [Math.round(top), document.elementFromPoint(left + width / 2, 10)?.className];
        });
        assert.deepEqual(over, [0, "test-server"]);
        assert.equal((await banner(page).boundingBox()).y, 0);
        await page.setViewportSize({ width: 390, height: 800 });
        await keys(page, "c");
        const drawer = await page.locator(".drawer").boundingBox();
        const { height } = await banner(page).boundingBox();
        assert.deepEqual([drawer.y, drawer.y + drawer.height], [height, 800]);
      }),
  ],
  [
    "an ordinary server has no line of a test server",
    async ({ server, open }) => {
      const page = await open({ key: null });
      await signIn(page, server.key);
      await eachScreen(page, async (name) => {
        assert.equal(await page.locator(".test-server").count(), 0, name);
        assert.equal(await page.getByText("Test server").count(), 0, name);
        const { y } = await page.locator("main").boundingBox();
        assert.equal(y, 0, name);
      });
    },
  ],
];

// The flow through a list that is higher than a browser lets an element be. The answers of the list
// are made up, and with CONSOLE_CHECK_ISSUES=1000000 come from a server that has so many issues.
import assert from "node:assert/strict";
import { Server } from "../server.js";
import { keys, settled, total } from "../steps.js";

const MANY = 1000000;
/** The height of a row in pixels. */
const ROW = 36;

/** A server with so many issues that its list is higher than an element may be. */
async function manyIssues(count) {
  const own = new Server();
  await own.start();
  const line = (n) =>
    JSON.stringify({
      title: `Number ${n}`,
      created_at: 1700000000000 + n * 1000,
      state_data: { state: n % 4 ? "new" : "resolved" },
    });
  for (let n = 0; n < count; n += 10000)
    await own.task(
      "issues",
      "import_issues",
      Array.from({ length: Math.min(10000, count - n) }, (_, at) => line(n + at)),
    );
  return own;
}

/**
 * What such a server answers for a page of its list, the newest first unless it is asked for
 * others.
 */
function oneOfMany(count, params) {
  const time = (n) => 1700000000000 + n * 1000;
  const every = params.get("state") ? 4 : 1;
  const first = Math.max(
    0,
    Math.ceil((Number(params.get("created-since") ?? 0) - time(0)) / 1000 / every),
  );
  const last = Math.floor(
    Math.min(count - 1, (Number(params.get("created-until") ?? Infinity) - time(0)) / 1000) / every,
  );
  const all = last - first + 1;
  const [page, size] = [Number(params.get("page") ?? 1), Number(params.get("page-size"))];
  assert.ok(page * size <= 50000, "page_too_deep");
  const after = params.get("after")?.split(",")[1];
  const from = after ? last - Number(after) / every + 1 : (page - 1) * size;
  const places = Array.from(
    { length: Math.max(0, Math.min(size, all - from)) },
    (_, n) => from + n,
  );
  const issues = places
    .map((place) => every * (params.get("sort-order") === "asc" ? first + place : last - place))
    .map((n) => ({
      id: n,
      title: `Number ${n}`,
      created_at: time(n),
      tags: [],
      state_data: { state: every > 1 ? "resolved" : "new" },
    }));
  return { issues, ...(!after && { "total-hits": all }) };
}

/** Whether the row at a place is in view, once it has the issue of this number. */
async function isShown(page, place, number) {
  const title = new RegExp(`^Number ${number}$`);
  await page.locator(`#row-${place}`).locator(".title", { hasText: title }).waitFor();
  const [top, bottom] = await page
    .locator(".long-list")
    .evaluate(
      (box, at) =>
        [box, document.getElementById(`row-${at}`)]
          .map((one) => one.getBoundingClientRect())
          .reduce((outer, inner) => [inner.top - outer.top, outer.bottom - inner.bottom]),
      place,
    );
  return top > -ROW && bottom > -ROW;
}

/** Scrolls to a share of the list. Returns the milliseconds until its rows are drawn. */
const jump = (list, part) =>
  list.evaluate(
    (box, share) =>
      new Promise((resolve) => {
        const begun = performance.now();
        new MutationObserver((_, observer) => {
          const [row] = [...box.querySelectorAll(".issue-row")].slice(10);
          if (!row) return;
          observer.disconnect();
          requestAnimationFrame(() => resolve(performance.now() - begun));
        }).observe(box, { childList: true, subtree: true });
        box.scrollTop = share * (box.scrollHeight - box.clientHeight);
      }),
    part,
  );

export const long = [
  [
    "of 1,000,000 issues each is a scroll away, and they are filtered",
    async ({ browser, server, open }) => {
      const real = Number(process.env.CONSOLE_CHECK_ISSUES ?? 0);
      const own = real ? await manyIssues(real) : server;
      const count = real || MANY;
      const page = real ? await browser.page(own) : await open();
      if (!real)
        await page.route(/v1\/acme\/issues\?/, (route) =>
          route.fulfill({ json: oneOfMany(count, new URL(route.request().url()).searchParams) }),
        );
      await page.goto(`${own.url}/console/#/issues`);
      await settled(page, count);
      const list = page.locator(".long-list");
      const shows = (place) => isShown(page, place, count - 1 - place);
      assert.ok(await shows(0));
      // The wheel moves the rows by as many pixels as in a short list.
      await list.hover();
      const times = [];
      for (const part of [0.5, 0.25, 0.9]) {
        times.push(await jump(list, part));
        const view = await list.evaluate((box) => box.clientHeight);
        const place = Math.round((part * (count * ROW - view)) / ROW);
        assert.ok(await shows(place + 1), `the middle of ${part}`);
        await page.waitForTimeout(400);
        await page.mouse.wheel(0, 10 * ROW);
        await page.waitForTimeout(400);
        assert.ok(await shows(place + 11), "after the wheel");
        await page.mouse.wheel(0, -10 * ROW);
        await page.waitForTimeout(400);
        assert.ok(await shows(place + 1), "after the wheel back");
      }
      await list.focus();
      await keys(page, "End");
      assert.ok(await shows(count - 1));
      await keys(page, "ArrowUp", "ArrowUp", "PageUp");
      assert.equal(await page.locator('[aria-selected="true"] .title').innerText(), "Number 22");
      assert.ok((await page.locator(".issue-row").count()) < 80);
      await keys(page, "Home");
      assert.ok(await shows(0));
      await page.getByLabel("State").selectOption("resolved");
      await settled(page, Math.ceil(count / 4));
      await list.focus();
      await keys(page, "End");
      await page.locator('[aria-selected="true"] .title', { hasText: /^Number 0$/ }).waitFor();
      if (real) {
        await keys(page, "/");
        const begun = Date.now();
        await page.keyboard.type("Number 77777");
        await page.keyboard.press("Enter");
        await settled(
          page,
          await total(own, `&state=resolved&text=${encodeURIComponent("Number 77777")}`),
        );
        console.log(`     a text in ${count} issues: ${Date.now() - begun} ms with the typing`);
      }
      console.log(
        `     rows of ${count} issues after a jump: ${times.map(Math.round).join(", ")} ms`,
      );
      await page.context().close();
      if (real) await own.close();
    },
  ],
];

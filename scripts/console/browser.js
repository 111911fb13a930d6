// Chromium without a window, pages that tell of every error, and what may never happen in them.
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(join(process.env.CONSOLE_CHECK_MODULES, "x.js"));
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The browser reports each answer that is no success, at which the flows look themselves, and that
 * one header has no effect on plain HTTP. */
const EXPECTED =
  /^(Failed to load resource|The Cross-Origin-Opener-Policy header has been ignored)/;

/** How long a step may take. A machine with other work has more time. */
const TIMEOUT_MS = process.env.CASELOAD_CHECK_SLOW ? 60000 : 15000;
/** What the page evaluates after axe is loaded: the violations with the first elements of each. */
const AXE_RUN = `axe.run(document, { resultTypes: ["violations"] }).then((found) => {
  const text = (node) => node.html.slice(0, 160) + " " + (node.any[0]?.message ?? "");
  const nodes = (violation) => violation.nodes.slice(0, 3).map(text);
  return JSON.stringify(found.violations.map((one) => [one.id, nodes(one)]));
})`;
/** Presses of Tab after which an element counts as out of reach. */
const TABS_MAX = 250;

/** Moves the focus to an element by the keyboard alone. */
async function reach(locator) {
  await locator.waitFor();
  const { keyboard } = locator.page();
  for (let n = 0; n < TABS_MAX; n++) {
    if (await locator.evaluate((element) => element === document.activeElement)) return;
    await keyboard.press("Tab");
  }
  throw new Error(`no Tab leads to ${locator}`);
}

/** Makes all pages act by the keyboard: a click is Tab, Tab … Enter, and a field is typed into. */
function useKeyboard(locators) {
  const { click, fill, selectOption, setInputFiles } = locators;
  locators.mouse = click;
  locators.focus = async function focus() {
    await reach(this);
  };
  locators.click = async function press({ timeout = TIMEOUT_MS } = {}) {
    await this.waitFor({ timeout });
    // A button that works is disabled until it is done.
    await click.call(this, { trial: true, timeout });
    await reach(this);
    await this.page().keyboard.press("Enter");
  };
  for (const [name, act] of Object.entries({ fill, selectOption, setInputFiles })) {
    locators[name] = async function after(...args) {
      await reach(this);
      return act.apply(this, args);
    };
  }
}

export class Browser {
  async start() {
    this.folder = mkdtempSync(join(tmpdir(), "caseload-chromium-"));
    this.chromium = await chromium.launch({
      executablePath: process.env.CONSOLE_CHECK_CHROMIUM,
      headless: true,
      args: FLAGS,
    });
    this.wrong = [];
    const context = await this.chromium.newContext();
    useKeyboard(Object.getPrototypeOf((await context.newPage()).locator("body")));
    await context.close();
  }
  /** A new page of a person who is signed in with this key. */
  async page(
    server,
    {
      key = server.key,
      path = "overview",
      theme = "light",
      width = 1280,
      height = 800,
      origin = server.url,
      prefix = "",
      zone,
      init,
    } = {},
  ) {
    const context = await this.chromium.newContext({
      viewport: { width, height },
      colorScheme: theme,
      timezoneId: zone,
      acceptDownloads: true,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    if (init) await page.addInitScript(init);
    const files = process.env.CONSOLE_CHECK_FILES;
    if (files) {
      await page.route(/\/console\/$/, async (route) => {
        const response = await route.fetch({ timeout: TIMEOUT_MS }).catch(() => null);
        if (!response) return route.abort();
        const [version] = /[0-9a-f]{16}/.exec(await response.text());
        const body = readFileSync(join(files, "index.html"), "utf8");
        return route.fulfill({ response, body: body.replaceAll("VERSION", version) });
      });
      await page.route(/\/console\/[0-9a-f]{16}\//, (route) =>
        route.fulfill({
          path: join(files, new URL(route.request().url()).pathname.split("/").at(-1)),
        }),
      );
    }
    this.watch(page, origin);
    if (key) {
      const answer = await context.request.post(`${origin}${prefix}/console/session`, {
        data: { key },
        headers: { "Sec-Fetch-Site": "same-origin" },
      });
      if (answer.status() !== 201) throw new Error(`sign-in: ${answer.status()}`);
    }
    await page.goto(`${origin}${prefix}/console/#/${path}`);
    if (key) await page.waitForSelector("nav a");
    return page;
  }
  watch(page, origin) {
    page.on("console", (message) => {
      if (message.type() === "error" && !EXPECTED.test(message.text()))
        this.wrong.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.wrong.push(`page: ${error.message}`));
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !/^(data|blob):/.test(url))
        this.wrong.push(`foreign request: ${url.slice(0, 100)}`);
    });
  }
  /** The violations that axe finds. */
  async axe(page) {
    const source = await import("node:fs").then((fs) => fs.readFileSync(axe, "utf8"));
    // The policy forbids injected scripts; the debugger may still evaluate one.
    const session = await page.context().newCDPSession(page);
    await session.send("Runtime.evaluate", { expression: source });
    const found = await session.send("Runtime.evaluate", {
      expression: AXE_RUN,
      awaitPromise: true,
      returnByValue: true,
    });
    await session.detach();
    return JSON.parse(found.result.value ?? '[["axe failed"]]');
  }
  async close() {
    await this.chromium.close();
    rmSync(this.folder, { recursive: true });
  }
}

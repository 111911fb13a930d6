// The shell: who is signed in, which screen the address names, keys, and the drawer of calls.
import { Refusal, call, calls, can, curl, has, me, onCalled, onLost, setSession } from "./api.js";
import { plain, span } from "./format.js";
import { named } from "./json.js";
import {
  button,
  copy,
  failed,
  field,
  head as heading,
  input,
  loading,
  noticeArea,
  pressMain,
  refused,
  testServer,
  themes,
} from "./ui.js";
import { fill, h, update } from "./view.js";

/** The screens: key of `g`, title, module, and whether this server and this key have it. */
const SCREENS = named(
  /** @type {Record<string, [string, string, ()=>Promise<any>, ()=>boolean]>} */ ({
    overview: ["o", "Overview", () => import("./overview.js"), () => true],
    issues: ["i", "Issues", () => import("./issues.js"), () => true],
    people: ["p", "People", () => import("./people.js"), () => has("profiles")],
    imports: ["t", "Imports", () => import("./imports.js"), () => true],
    "new-import": ["n", "New import", () => import("./new_import.js"), () => true],
    activity: ["a", "Activity", () => import("./activity.js"), () => true],
    exports: ["e", "Exports", () => import("./exports.js"), () => true],
    settings: ["s", "Settings", () => import("./settings.js"), () => can("admin")],
  }),
);
/** Screens that belong to another one in the navigation. */
const WITHIN = named(
  /** @type {Record<string, [string, ()=>Promise<any>]>} */ ({
    issue: ["issues", () => import("./issue.js")],
    import: ["imports", () => import("./task.js")],
    task: ["imports", () => import("./task.js")],
    "import-faults": ["imports", () => import("./faults.js")],
    faults: ["imports", () => import("./faults.js")],
    person: ["people", () => import("./person.js")],
    author: ["people", () => import("./author.js")],
    erase: ["people", () => import("./erase.js")],
    erasure: ["people", () => import("./erase.js")],
    webhook: ["settings", () => import("./webhook.js")],
  }),
);

const app = /** @type {any} */ (document.getElementById("app"));
const main = h("main", { id: "main", tabindex: -1 });
const nav = h("nav", { "aria-label": "Screens" });
const drawer = h("aside", { class: "drawer", hidden: true, "aria-label": "Last calls" });
let keys = /** @type {Record<string, (event:KeyboardEvent)=>void>} */ ({});
let leave = () => {};
let turn = 0;
/** How many screens of this page are behind this one, and the last address of each list. */
let depth = history.state?.depth ?? 0;
let returning = false;
let last = named(/** @type {Record<string, string>} */ ({}));
/** The named views, once their file is there. */
let views = /** @type {any} */ (null);
/** A screen that takes longer says so; until then the one before stays, so that nothing blinks. */
const LOADING_MS = 250;

/** The file of a screen could not be loaded. */
class Gone extends Refusal {}

/** The address as a screen, its argument and its parameters. */
function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name = "", ...args] = path.split("/").map(plain);
  return { name: name || "overview", args, params: new URLSearchParams(query) };
}

/**
 * Goes to a screen. From a field of this one the keys of the next one follow at once. This screen
 * takes no more keys, also before the browser tells of the new address.
 * @param {string} path
 */
function go(path) {
  const here = location.hash;
  /** @type {any} */ (document.activeElement)?.blur();
  location.hash = `/${path}`;
  if (location.hash === here) return;
  keys = {};
  main.setAttribute("aria-busy", "true");
}

/**
 * Shows another screen in the place of this one: the way back is that of this screen.
 * @param {string} path
 */
function swap(path) {
  history.replaceState({ depth }, "", `#/${path}`);
  return show();
}

/**
 * Gives this screen another address. The way back stays as it is.
 * @param {string} path
 */
function readdress(path) {
  history.replaceState({ depth }, "", `#/${path}`);
  const { name } = route();
  if (name in SCREENS) last[name] = location.hash;
  drawNav(name);
}

/**
 * Goes back to the screen before, or to this one if the page began here.
 * @param {string} otherwise
 */
function back(otherwise) {
  if (depth > 0) history.back();
  else go(otherwise);
}

const path = (/** @type {string} */ hash) => hash.split("?")[0];
let shown = "";

async function show() {
  if (!me()) return signIn();
  const { name, args, params } = route();
  const [owner, load] = WITHIN[name] ?? [name, SCREENS[name]?.[2]];
  const known = SCREENS[owner] && SCREENS[owner][3]();
  drawNav(owner);
  leave();
  leave = () => {};
  keys = {};
  turn += 1;
  const mine = turn;
  for (const one of document.querySelectorAll("dialog")) one.close();
  document.title = `${known ? SCREENS[owner][1] : "Not here"} · ${me().domain} · Caseload`;
  main.removeAttribute("aria-busy");
  if (!known)
    return fill(
      main,
      h(
        "div",
        { class: "state" },
        h("h1", null, "Not here"),
        h("p", null, "This address names no screen, or your key does not open it."),
      ),
    );
  if (name === owner) last[name] = location.hash;
  main.setAttribute("aria-busy", "true");
  const titled = (/** @type {any} */ state) => [heading(SCREENS[owner][1]), state];
  const slow = setTimeout(() => mine === turn && fill(main, titled(loading())), LOADING_MS);
  const put = (/** @type {any} */ content) => {
    clearTimeout(slow);
    if (mine !== turn) return;
    main.removeAttribute("aria-busy");
    fill(main, content);
    const isNew = shown !== path(location.hash);
    if (isNew) scrollTo(0, 0);
    shown = path(location.hash);
    focusFirst(isNew);
  };
  try {
    const screen = await load().catch(() => {
      throw new Gone(0, {
        detail: "the server cannot be reached, or has another version now; load the page again",
      });
    });
    const abort = new AbortController();
    const stops = /** @type {(()=>void)[]} */ ([() => abort.abort()]);
    const context = {
      name,
      args,
      params,
      go,
      swap,
      readdress,
      returning,
      signal: abort.signal,
      keys: (/** @type {any} */ more) => (keys = more),
      back,
      up: (/** @type {string} */ list) => last[list] ?? `#/${list}`,
      leaving: (/** @type {()=>void} */ stop) => stops.push(stop),
      reload: show,
    };
    if (mine !== turn) return;
    leave = () => stops.forEach((stop) => stop());
    put(await screen.default(context));
    if (has("views")) showViews();
  } catch (error) {
    if (me()) put(titled(failed(error, error instanceof Gone ? () => location.reload() : show)));
  }
}

/** The list of a screen, the table that is its list, or where its file is chosen. */
const LIST = '[role="listbox"], main > div > .cards > .scroll, #file';

/** The label of the part of the screen that had the focus last. */
let part = /** @type {string|null|undefined} */ (null);
main.addEventListener("focusin", (/** @type {any} */ { target }) => {
  part = target.closest("main [aria-label][tabindex]")?.ariaLabel;
});

/**
 * Gives the list of the screen the focus, else all of the screen: the one that had it is gone, or
 * belongs to the way here. A screen that is drawn again gives it to the part that had it.
 */
function focusFirst(/** @type {boolean} */ isNew) {
  const { activeElement: active } = document;
  if (active && active !== document.body && !(isNew && nav.contains(active))) return;
  const parts = [...main.querySelectorAll("[aria-label][tabindex]")];
  const same = !isNew && part && parts.find((one) => one.ariaLabel === part);
  const first = /** @type {any} */ (same || main.querySelector(LIST) || main);
  first.focus({ preventScroll: true });
}

// Who uses a mouse needs no ring around a list that got the focus by itself.
const root = document.documentElement;
addEventListener("keydown", () => (root.dataset.by = "keys"), true);
addEventListener("pointerdown", () => delete root.dataset.by, true);

function drawNav(/** @type {string} */ current) {
  const screens = Object.entries(SCREENS).filter(([, [, , , shown]]) => shown());
  const stored = has("views") ? views : null;
  const view = route().params.get("view");
  const known = [screens.map(([name]) => name), current, view, stored?.known()];
  update(nav, known, () =>
    screens.map(([name, [key, title]]) => [
      h(
        "a",
        { href: `#/${name}`, "aria-current": name === current && "page" },
        title,
        h("kbd", { "aria-hidden": "true" }, `g ${key}`),
      ),
      stored?.linksOf(name, view),
    ]),
  );
}

/** Reads the named views of the navigation. Their file is not of the first load. */
async function showViews() {
  // The navigation is there without them, and the next screen asks again.
  views ??= await import("./views.js").catch(() => null);
  if (!views) return;
  views.watch(() => {
    const { name } = route();
    if (me()) drawNav(WITHIN[name]?.[0] ?? name);
  });
  await views.refresh().catch(() => {});
}

function shell() {
  const who = me();
  fill(
    app,
    h(
      "a",
      {
        class: "skip",
        href: "#main",
        onclick: (/** @type {any} */ event) => {
          event.preventDefault();
          main.focus();
        },
      },
      "Skip to the content",
    ),
    has("test-server") && testServer(),
    h(
      "header",
      null,
      h(
        "div",
        { class: "brand" },
        h("b", null, "Caseload"),
        h("span", { class: "domain" }, who.domain),
      ),
      nav,
      h(
        "div",
        { class: "who" },
        h(
          "div",
          { class: "faint", title: who.key_id, dir: "auto" },
          `${who.key_name || who.key_id} · ${who.access} key`,
        ),
        toolsOf(),
      ),
    ),
    main,
    drawer,
    noticeArea,
  );
}

function toolsOf() {
  /** @param {string} label @param {string} key @param {()=>any} work */
  const tool = (label, key, work) =>
    button([label, h("kbd", { "aria-hidden": "true" }, key)], work, {
      class: "plain",
      "aria-keyshortcuts": key,
    });
  return h(
    "div",
    { class: "tools" },
    tool("API calls", "c", () => toggleDrawer()),
    tool("Shortcuts", "?", () => help()),
    themes(),
    button("Sign out", signOut, { class: "plain" }),
  );
}

async function signOut() {
  await call("DELETE", "console/session");
  dispatchEvent(new Event("forget"));
  try {
    sessionStorage.clear();
  } catch {
    // The browser has none, so nothing is stored there.
  }
  setSession(null);
  location.hash = "";
  signIn();
}

function signIn(/** @type {string} */ message = "") {
  leave();
  leave = () => {};
  keys = {};
  turn += 1;
  dispatchEvent(new Event("signed-out"));
  document.title = "Sign in · Caseload";
  const key = input({
    type: "password",
    name: "key",
    autocomplete: "current-password",
    required: true,
  });
  const error = h("div", { class: "bad", role: "alert" }, message);
  const form = h(
    "form",
    { class: "sign-in", onsubmit: submit },
    h("h1", null, "Caseload"),
    h("p", null, "Sign in with an API key of your domain."),
    field("API key", key),
    error,
    h("button", { type: "submit", class: "primary" }, "Sign in"),
    h(
      "p",
      { class: "faint" },
      "On the server, ",
      h("code", null, "caseload console --domain NAME"),
      " prints a link that signs in once.",
    ),
  );
  async function submit(/** @type {any} */ event) {
    event.preventDefault();
    try {
      begin(await call("POST", "console/session", { body: { key: key.value } }));
    } catch (refusal) {
      fill(error, /** @type {any} */ (refusal).message);
      key.select();
    }
  }
  fill(app, h("main", { id: "main", class: "centered" }, form), noticeArea);
  key.focus();
}

function begin(/** @type {any} */ session) {
  setSession(session);
  last = named({});
  shell();
  return show();
}

function toggleDrawer(open = drawer.hidden) {
  drawer.hidden = !open;
  if (open) drawCalls();
}

function drawCalls() {
  if (drawer.hidden) return;
  fill(
    drawer,
    h(
      "div",
      { class: "row spread" },
      h("h2", null, "Last API calls"),
      button("Close", () => toggleDrawer(false), { class: "plain" }),
    ),
    h(
      "p",
      { class: "faint" },
      "What this console did, for your shell. KEY is an API key. " +
        "A file stands for the JSON lines that the page sent.",
    ),
    calls.map((one) => {
      const line = h("code", { tabindex: 0 }, curl(one));
      return h(
        "div",
        { class: "call" },
        h(
          "div",
          { class: "row spread" },
          h(
            "span",
            null,
            h(
              "span",
              { class: one.status < 400 && one.status ? "good" : "bad" },
              one.status || "failed",
            ),
            h("span", { class: "faint" }, ` in ${span(one.ms)}`),
          ),
          button("Copy", () => copy("The call", curl(one), line), { class: "plain" }),
        ),
        line,
      );
    }),
  );
}

async function help() {
  const screens = Object.values(SCREENS).filter(([, , , shown]) => shown());
  const { shortcuts } = await import("./shortcuts.js");
  return shortcuts(screens.map(([key, title]) => [`g ${key}`, title]));
}

/** Where a key after `g` leads: to a screen, or to a named view by its number. */
function placeOf(/** @type {string} */ key) {
  const isOf = (/** @type {any[]} */ [, [mine, , , shown]]) => mine === key && shown();
  const screen = Object.entries(SCREENS).find(isOf)?.[0];
  return screen ?? (has("views") && /^[1-9]$/.test(key) && views?.placeOf(Number(key)));
}

let going = 0;
document.addEventListener("keydown", (event) => {
  if (!me() || document.querySelector("dialog[open]")) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return pressMain(main, event);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = /** @type {any} */ (event.target);
  const typing =
    /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) &&
    !/^(checkbox|radio|button|file)$/.test(target.type);
  if (typing) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (Date.now() - going < 1500) {
    going = 0;
    const place = placeOf(event.key);
    if (place) {
      event.preventDefault();
      return go(place);
    }
  }
  if (event.key === "g") going = Date.now();
  else if (event.key === "?") help();
  else if (event.key === "c") toggleDrawer();
  else if (event.key === "Escape" && !drawer.hidden) toggleDrawer(false);
  else if (event.key === "Enter" && /^(A|BUTTON|SUMMARY)$/.test(target.tagName)) return;
  else if (keys[event.key]) {
    event.preventDefault();
    keys[event.key](event);
  }
});

onLost(() => signIn("The session has ended, or its key was revoked. Sign in again."));
onCalled(drawCalls);
addEventListener("hashchange", () => {
  const before = depth;
  depth = history.state?.depth ?? before + 1;
  returning = depth < before;
  history.replaceState({ depth }, "");
  if (codeOf()) start();
  else show();
});
addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name === "AbortError" || event.reason?.status === 401) event.preventDefault();
  else if (me()) refused(event.reason);
});

const codeOf = () => /^#code=([\w-]+)$/.exec(location.hash)?.[1];

async function start() {
  const code = codeOf();
  history.replaceState({ depth }, "", code && "#/overview");
  try {
    begin(
      await call(
        code ? "POST" : "GET",
        "console/session",
        code ? { body: { code } } : { quiet: true },
      ),
    );
  } catch (error) {
    const refusal = /** @type {any} */ (error);
    signIn(code || refusal.status !== 401 ? refusal.message : "");
  }
}

start();

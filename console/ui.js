// Parts that several screens share: buttons, fields, dialogs, notices, and the states of a screen.
import { Refusal, faultsOf, screenOf } from "./api.js";
import { capital, count, short, span, time, wordsOf } from "./format.js";
import { fill, h } from "./view.js";

/** The button whose work runs. It lost the focus by being disabled. */
let working = /** @type {any} */ (null);

/** Gives an element the focus if no other one has it. */
function comeBack(/** @type {any} */ element) {
  if (document.activeElement !== document.body || !element?.isConnected) return;
  element.focus({ preventScroll: true });
}

/**
 * A button. While its work runs it is disabled, and a refusal is shown as a notice. After that it
 * has the focus again, which it lost by being disabled.
 */
export function button(
  /** @type {any} */ label,
  /** @type {()=>any} */ work,
  /** @type {any} */ props = {},
) {
  const element = h("button", { type: "button", ...props, onclick: run }, label);
  async function run() {
    if (element.disabled) return;
    const focused = document.activeElement === element;
    working = element;
    element.disabled = true;
    element.setAttribute("aria-busy", "true");
    try {
      await work();
    } catch (error) {
      refused(error);
    } finally {
      element.disabled = false;
      element.removeAttribute("aria-busy");
      if (working === element) working = null;
      if (focused) comeBack(element);
    }
  }
  return element;
}

const notices = h("div", { class: "notices", role: "status", "aria-live": "polite" });
export const noticeArea = notices;

/** The line of a test server, so that a person does not take its records for real ones. */
export const testServer = () =>
  h(
    "section",
    { class: "test-server", "aria-label": "Test server" },
    "Test server: everything here ends with this server.",
  );

/** Shows a short notice. */
export function notice(/** @type {any} */ text, kind = "") {
  const element = h(
    "div",
    { class: `notice ${kind}` },
    text,
    h(
      "button",
      { type: "button", class: "plain", "aria-label": "Close", onclick: () => element.remove() },
      "×",
    ),
  );
  notices.append(element);
  if (kind !== "bad") setTimeout(() => element.remove(), 6000);
}

/** Shows why something did not happen. */
export function refused(/** @type {any} */ error) {
  if (error?.name === "AbortError") return;
  if (!(error instanceof Refusal)) console.error(error);
  notice(problem(error), "bad");
}

/** A refusal with all its faults. */
export function problem(/** @type {any} */ error) {
  const faults = (error.errors ?? []).slice(0, 20);
  const id = error.requestId && h("div", { class: "faint mono" }, `request ${error.requestId}`);
  const lines =
    faults.length > 1 &&
    h(
      "ul",
      null,
      faults.map((/** @type {any} */ fault) =>
        h("li", null, h("b", null, fault.parameter ?? fault.pointer ?? ""), ` ${fault.detail}`),
      ),
    );
  const alone =
    faults.length === 1 &&
    faults[0].parameter &&
    !String(error.message).includes(faults[0].parameter) &&
    h("b", null, `${faults[0].parameter} `);
  return h("div", null, alone, error.message, lines, id);
}

/** The state of a screen that could not be loaded. */
export function failed(/** @type {any} */ error, /** @type {()=>void} */ again) {
  return h(
    "div",
    { class: "state", role: "alert" },
    h(
      "h2",
      null,
      error.status === 404
        ? "Not here"
        : error.status === 400
          ? "The server does not take this"
          : "This could not be loaded",
    ),
    problem(error),
    again && error.status !== 400 && button("Try again", again),
  );
}

/** The state of a list without records. */
export const empty = (/** @type {string} */ title, /** @type {any[]} */ ...text) =>
  h("div", { class: "state" }, h("h2", null, title), h("div", null, text));

export const loading = () => h("div", { class: "state loading", role: "status" }, "Loading…");

/** A link to the export of a list with these filters. */
export const exportLink = (/** @type {string} */ of, /** @type {URLSearchParams} */ params) =>
  h("a", { href: `#/exports?${new URLSearchParams([["of", of], ...params])}` }, "Export");

let fields = 0;
/** A labelled field. @param {any} label @param {any} input @param {any} [hint] */
export function field(label, input, hint) {
  fields += 1;
  const id = input.id || `field-${fields}`;
  input.id = id;
  const note = hint && h("div", { class: "faint", id: `${id}-hint` }, hint);
  if (note) input.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", { class: "field" }, h("label", { for: id }, label), input, note);
}

export const input = (/** @type {any} */ props = {}) =>
  h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...props });

/**
 * A list to choose from. If a choice acts at once, a key opens the list and Enter chooses: most
 * browsers would choose each option on the way to the wanted one.
 * @param {Record<string,string>|string[]} options @param {any} [props]
 */
export function select(options, props = {}) {
  const pairs = Array.isArray(options) ? options.map((one) => [one, one]) : Object.entries(options);
  const made = h(
    "select",
    props,
    pairs.map(([value, label]) => h("option", { value }, label)),
  );
  if (props.onchange) {
    made.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const chooses =
        /^(Arrow|Page|Home$|End$)/.test(event.key) || (event.key.length === 1 && event.key !== " ");
      if (!chooses || event.ctrlKey || event.metaKey || event.altKey || !made.showPicker) return;
      event.preventDefault();
      made.showPicker();
    });
  }
  return made;
}

/** Gives a list to choose from the focus, and opens it if the browser lets a key do so. */
export function openChoices(/** @type {any} */ list) {
  list.focus();
  try {
    list.showPicker();
  } catch {
    // The next key opens it, or chooses.
  }
}

/** Presses the main button of a place, if there is one and it does not work already. */
export function pressMain(/** @type {any} */ place, /** @type {KeyboardEvent} */ event) {
  const shown = (/** @type {any} */ one) => one.getClientRects().length > 0;
  const first = [...place.querySelectorAll(".primary")].find(shown);
  if (!first || event.repeat || event.defaultPrevented) return;
  event.preventDefault();
  first.click();
}

/** A key with Ctrl or Cmd does something, unless somebody types or a dialog is open. */
export function chord(
  /** @type {string} */ key,
  /** @type {()=>void} */ work,
  /** @type {AbortSignal} */ signal,
) {
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(/** @type {any} */ (event.target).tagName);
    if (event.key !== key || !(event.ctrlKey || event.metaKey) || event.shiftKey || typing) return;
    if (document.querySelector("dialog[open]")) return;
    event.preventDefault();
    work();
  };
  document.addEventListener("keydown", pressed, { signal });
}

/**
 * A dialog. It resolves with the result of its action, or null if it was left.
 * @param {string} title @param {any} content
 * @param {{label:string, kind?:string, work?:()=>any}} action
 */
export function dialog(title, content, action) {
  return new Promise((resolve) => {
    const error = h("div", { class: "bad", role: "alert" });
    const box = h(
      "dialog",
      { "aria-labelledby": "dialog-title" },
      h(
        "form",
        { method: "dialog", onsubmit: submit },
        h("h2", { id: "dialog-title" }, title),
        h("div", { class: "dialog-body" }, content),
        error,
        h(
          "div",
          { class: "actions" },
          h(
            "button",
            { type: "button", onclick: () => box.close() },
            action.work ? "Cancel" : "Close",
          ),
          action.work &&
            h("button", { type: "submit", class: action.kind ?? "primary" }, action.label),
        ),
      ),
    );
    let result = /** @type {any} */ (null);
    async function submit(/** @type {any} */ event) {
      event.preventDefault();
      try {
        result = (await action.work?.()) ?? true;
        box.close();
      } catch (refusal) {
        fill(error, problem(refusal));
      }
    }
    // In a text of several lines Enter alone is a new line.
    box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
      event.preventDefault();
      if (action.work) box.querySelector("form").requestSubmit();
    });
    const { activeElement: focused, body } = document;
    const opener = focused === body ? working : focused;
    box.addEventListener("close", () => {
      box.remove();
      resolve(result);
      // The button that opened it is enabled by then.
      setTimeout(() => comeBack(opener));
    });
    document.body.append(box);
    box.showModal();
    // A table that scrolls comes before its fields.
    box.querySelector(".dialog-body :is(input, select, textarea)")?.focus();
  });
}

const root = document.documentElement;
/** The themes; without a choice it is that of the system. */
const THEMES = { "": "System theme", light: "Light theme", dark: "Dark theme" };
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
} catch {
  // A browser without a store has the theme of the system.
}

function setTheme(/** @type {string} */ theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  try {
    if (theme) localStorage.setItem("theme", theme);
    else localStorage.removeItem("theme");
  } catch {
    notice("This browser stores nothing, so the theme lasts as long as the page.");
  }
}

/** The choice of the theme. */
export const themes = () =>
  select(THEMES, {
    "aria-label": "Theme",
    class: "plain",
    value: root.dataset.theme ?? "",
    onchange: (/** @type {any} */ event) => setTheme(event.target.value),
  });

/** The bar of a task's progress. */
export const bar = (/** @type {number} */ percent, label = "progress") =>
  h("progress", { max: 100, value: String(percent), "aria-label": label });

/** A table of a few rows. @param {string} caption @param {string[]} head @param {any[][]} rows */
export function table(caption, head, rows, right = /** @type {number[]} */ ([])) {
  const cls = (/** @type {number} */ at) => (right.includes(at) ? { class: "right" } : null);
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `${caption}: table` },
    h(
      "table",
      null,
      h("caption", { class: "hidden" }, caption),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          head.map((text, at) => h("th", { scope: "col", ...cls(at) }, capital(text))),
        ),
      ),
      h(
        "tbody",
        null,
        rows.map((row) =>
          h(
            "tr",
            null,
            row.map((cell, at) => h("td", { ...cls(at), "data-head": head[at] }, cell)),
          ),
        ),
      ),
    ),
  );
}

/** A state in words, with its colour. */
export const pill = (/** @type {string} */ state, label = wordsOf(state)) =>
  h("span", { class: `pill ${state}` }, capital(label));

/**
 * The title of a screen, with what can be done there at its right.
 * @param {any} title @param {...any} right
 */
export const head = (title, ...right) =>
  h(
    "div",
    { class: "head" },
    h("h1", { dir: "auto" }, title),
    right.length > 0 && h("div", { class: "row" }, right),
  );

/**
 * The way to a screen: the list that it belongs to, and a name.
 * @param {any} link @param {any} name
 */
export const crumbs = (link, name) =>
  h("p", { class: "crumbs" }, link, h("span", { class: "faint" }, " / "), name);

/** The cells of a record by their heads. */
export const cellsOf = (/** @type {any} */ record) => ({
  action: linkOf(record),
  state: stateOf(record),
  from: short(record.file_name ?? record.submitted_by?.key_name ?? "", 40),
  entries: count(record.counts.total),
  succeeded: count(record.counts.succeeded),
  failed: failedOf(record),
  sent: time(record.created_at),
  took: record.completed_at
    ? span(record.completed_at - (record.started_at ?? record.created_at))
    : "",
});

/** Its action, which leads to its page. */
const linkOf = (/** @type {any} */ record) =>
  h(
    "span",
    null,
    h("a", { href: `#/${screenOf(record)}` }, wordsOf(record.action)),
    record.dry_run && h("span", { class: "tag" }, "dry run"),
  );

/** Its outcome, or how far it is. */
const stateOf = (/** @type {any} */ record) =>
  record.status === "completed"
    ? pill(record.outcome)
    : h(
        "span",
        { class: "row" },
        pill(record.status),
        bar(record.progress, `progress of “${wordsOf(record.action)}”`),
      );

/** How many of its entries failed, which leads to their faults. */
function failedOf(/** @type {any} */ record) {
  const number = count(record.counts.failed);
  if (!record.counts.failed || record.status !== "completed") return number;
  const label = `${number} failed: see the faults`;
  return h("a", { class: "bad", href: `#/${faultsOf(record)}`, "aria-label": label }, number);
}

/**
 * Copies a text, also if the page has no clipboard.
 * @param {string} what it is @param {string} text @param {HTMLElement} shown
 */
export async function copy(what, text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    notice(`${what} is copied`, "good");
  } catch {
    const range = document.createRange();
    range.selectNodeContents(shown);
    const selection = getSelection();
    selection?.removeAllRanges();
    selection?.addRange(range);
    notice(`${what} is selected; copy it with the keyboard`);
  }
}

/** Starts a download of bytes that the page made. */
export function save(/** @type {Blob} */ blob, /** @type {string} */ name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

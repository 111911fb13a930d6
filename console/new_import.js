// New import: a file of any kind and size. The server reads the file: first a preview, then a dry
// run of all of it, whose screen has the rest: what would happen, and the button that makes it
// real.
import { ACTIONS } from "./actions.js";
import { can, screenOf } from "./api.js";
import { likely } from "./fields.js";
import { count, short, size } from "./format.js";
import { columnsView, formatWords, openColumns, rowsView } from "./preview.js";
import { OptionFields, needed } from "./read_options.js";
import { REPLACE, Upload, preview, uploading } from "./upload.js";
import { bar, button, field, head, notice, problem, refused, select } from "./ui.js";
import { fill, h, update } from "./view.js";

/** @typedef {import("./upload.js").Chosen} Chosen */

/** The actions of imports, the usual one first, each with its meaning. */
const USUAL = "upsert_core_profiles";
const WRITES = {
  [USUAL]: ACTIONS[USUAL].does,
  ...Object.fromEntries(
    Object.entries(ACTIONS)
      .filter(([, action]) => !action.reads)
      .map(([name, action]) => [name, action.does]),
  ),
  [REPLACE]: "Import issues, replacing those of the same id",
};

export default async function newImport(/** @type {any} */ context) {
  const { keys, back, leaving } = context;
  const screen = new NewImport(context);
  keys({ Escape: () => back("imports") });
  leaving(() => screen.leave());
  if (uploading.now) await screen.returnTo(uploading.now);
  const promise =
    "You see first how the file is read and what would happen. " +
    "Nothing is written until you choose to make it real.";
  const under = h("p", { class: "faint under" }, promise);
  return [head("New import"), under, screen.drop.element, screen.body];
}

class NewImport {
  constructor(/** @type {any} */ { signal, go }) {
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
    this.drop = new DropArea((file) => this.choose(file).catch(refused));
    this.body = h("div", null, examples());
    this.file = /** @type {ChosenFile|null} */ (null);
  }
  leave() {
    this.file?.leave();
  }
  /** Shows another file, of which nothing is sent yet. */
  async choose(/** @type {File} */ file) {
    uploading.now = null;
    const chosen = { file, action: USUAL, columns: new Map(), options: {} };
    await this.show(chosen);
    // What the file holds is known by its preview.
    const guess = this.file?.guess();
    if (!guess || guess === USUAL || this.file?.chosen !== chosen) return;
    await this.show({ ...chosen, action: guess });
  }
  /** Shows the file that is sent, or was refused. */
  async returnTo(/** @type {Upload} */ upload) {
    this.show(upload.chosen).catch(refused);
    this.file?.follow(upload);
  }
  async show(/** @type {Chosen} */ chosen) {
    this.leave();
    this.file = new ChosenFile(chosen, this);
    this.drop.element.classList.add("small");
    fill(this.body, this.file.view());
    await this.file.preview();
  }
}

/** Where a file is dropped or chosen. */
class DropArea {
  constructor(/** @type {(file:File)=>void} */ choose) {
    this.picker = h("input", {
      type: "file",
      id: "file",
      onchange: () => this.picker.files[0] && choose(this.picker.files[0]),
    });
    const kinds =
      "A table (CSV), a workbook (.xlsx), JSON or JSON lines, packed or not, of any size.";
    this.element = h(
      "div",
      { class: "drop" },
      h("label", { for: "file" }, h("b", null, "Drop a file here"), " or choose one"),
      this.picker,
      h("p", { class: "faint" }, kinds),
    );
    const over = (/** @type {any} */ event, /** @type {boolean} */ on) => {
      event.preventDefault();
      this.element.classList.toggle("over", on);
    };
    const listen = (/** @type {string} */ type, /** @type {(event:any)=>void} */ act) =>
      this.element.addEventListener(type, act);
    for (const type of ["dragover", "dragenter"]) listen(type, (event) => over(event, true));
    listen("dragleave", (event) => over(event, false));
    listen("drop", (event) => {
      over(event, false);
      const [file] = event.dataTransfer.files;
      if (file && !this.picker.disabled) choose(file);
    });
  }
  /** While a file is sent, no other one can be chosen. */
  disable(/** @type {boolean} */ off) {
    this.picker.disabled = off;
    this.element.classList.toggle("off", off);
  }
}

/** A file that was chosen: its action, how it is read, and how it is sent. */
class ChosenFile {
  constructor(/** @type {Chosen} */ chosen, /** @type {NewImport} */ screen) {
    this.chosen = chosen;
    this.screen = screen;
    this.found = /** @type {any} */ (null);
    this.asked = new AbortController();
    this.what = h("span", { class: "faint" });
    const changed = () => this.preview().catch(refused);
    this.action = select(WRITES, {
      value: chosen.action,
      onchange: () => {
        // The fields of another kind of record are others.
        chosen.columns.clear();
        chosen.action = this.action.value;
        changed();
      },
    });
    this.options = new OptionFields(chosen, changed);
    this.reading = h("fieldset", { class: "reading" });
    this.controls = h(
      "div",
      null,
      h("div", { class: "narrow" }, field("What to do", this.action)),
      this.options.element,
    );
    this.area = h("div");
  }
  view() {
    const { file } = this.chosen;
    return [
      h(
        "p",
        null,
        h("b", { dir: "auto" }, short(file.name, 120)),
        ` · ${size(file.size)}`,
        this.what,
      ),
      h("fieldset", { class: "reading" }, this.controls),
      this.reading,
      this.area,
    ];
  }
  leave() {
    this.asked.abort();
  }
  /** The action that the file is most likely for, if its preview says so. */
  guess() {
    const { found } = this;
    const entry = found?.entries[0]?.entry;
    if (found?.columns.length)
      return likely(found.columns.map((/** @type {any} */ one) => one.name));
    return entry && typeof entry === "object" ? likely(Object.keys(entry)) : null;
  }
  /** Asks the server how it reads the file, and shows the answer or the refusal. */
  async preview() {
    const { chosen, screen } = this;
    this.asked.abort();
    const asked = new AbortController();
    this.asked = asked;
    this.reading.setAttribute("aria-busy", "true");
    let refusal = /** @type {any} */ (null);
    try {
      const found = await preview(chosen, asked.signal);
      if (asked.signal.aborted || screen.signal.aborted) return;
      this.found = found;
    } catch (error) {
      if (asked.signal.aborted || screen.signal.aborted) return;
      this.found = null;
      refusal = error;
    }
    this.reading.removeAttribute("aria-busy");
    this.draw(refusal);
  }
  /**
   * Shows the preview, or why there is none, and why the file was refused.
   * @param {any} refusal @param {any} [reason]
   */
  draw(refusal, reason) {
    const { chosen, found } = this;
    // A file of another kind has nothing to choose.
    this.controls.hidden = refusal && / looks like (?!.*encoding)/.test(refusal.message);
    if (!found) {
      fill(this.what);
      this.options.show(needed(refusal));
      return this.drawRefusal(refusal);
    }
    fill(this.what, ` · ${formatWords(found.format)}`);
    this.options.show(needed(reason ?? found), found.format);
    fill(
      this.reading,
      found.columns.length > 0 &&
        columnsView(found, chosen, (fields) => {
          for (const [at, one] of fields) chosen.columns.set(at, one);
          this.preview().catch(refused);
        }),
      rowsView(found.entries),
    );
    if (uploading.now?.state === "sending") return;
    const open = openColumns(found).length > 0 || found.errors.length > 0;
    fill(
      this.area,
      reason && refusalView(reason),
      found.entries.length > 0 &&
        (open
          ? h(
              "p",
              { class: "faint" },
              "You can try it once each marked column has a field or is left out.",
            )
          : h(
              "div",
              { class: "row" },
              button("Try it (dry run)", () => this.send(), { class: "primary" }),
              h("span", { class: "faint" }, "Reads the whole file and writes nothing."),
            )),
    );
    this.focusNext();
  }
  /** Leads who uses the keyboard to the next column to choose, and then to the button. */
  focusNext() {
    const { activeElement: active, body, documentElement: root } = document;
    if (root.dataset.by !== "keys" || (active !== body && active?.id !== "file")) return;
    const open = this.reading.querySelector("[data-open]");
    (open ?? this.area.querySelector(".primary"))?.focus();
  }
  drawRefusal(/** @type {any} */ refusal) {
    const [, encoding] = /look like ([a-z0-9-]+): name this encoding/.exec(refusal.message) ?? [];
    const again = encoding
      ? button(`Read it as ${encoding}`, () => this.options.choose("encoding", encoding))
      : refusal.status === 0
        ? button("Try again", () => this.preview())
        : this.controls.hidden && h("p", { class: "faint" }, "Then choose the new file above.");
    fill(this.reading, refusalView(refusal, again));
    fill(this.area);
  }
  /** Begins to send the file, and shows it. */
  send() {
    uploading.now = new Upload(this.chosen);
    const sent = uploading.now.run();
    this.follow(uploading.now);
    return arrived(uploading.now, sent);
  }
  follow(/** @type {Upload} */ upload) {
    const { area, screen } = this;
    upload.shown = screen;
    const state = h("div", { role: "status" });
    fill(area, h("h2", null, "Sending the file"), state);
    upload.changed = () => {
      const sending = upload.state === "sending";
      for (const part of [this.reading, this.controls.parentElement]) part.disabled = sending;
      screen.drop.disable(sending);
      update(state, [upload.state, upload.sent], () => sendingView(upload));
      if (!sending && this.found) this.draw(null, upload.refusal);
    };
    upload.changed();
    area.scrollIntoView({ block: "nearest" });
  }
}

/** Why a file is refused. @param {any} refusal @param {any} [again] */
const refusalView = (refusal, again) =>
  h(
    "div",
    { class: "refusal", role: "alert" },
    h("h2", null, "This file cannot be imported as it is"),
    problem(refusal),
    refusal.errors[0]?.line && h("p", null, `Line ${count(refusal.errors[0].line)} of the file.`),
    again,
  );

/** Shows the import, or why there is none, to who looks at the screen or has left it. */
async function arrived(/** @type {Upload} */ upload, /** @type {Promise<any>} */ sent) {
  const isSeen = () => !upload.shown?.signal.aborted;
  try {
    const made = await sent;
    uploading.now = null;
    if (!made) return;
    if (isSeen()) upload.shown.go(screenOf(made));
    else
      notice(h("a", { href: `#/${screenOf(made)}` }, "The dry run of the file has begun"), "good");
  } catch (error) {
    uploading.now = null;
    if (!isSeen()) refused(error);
  }
}

/** How far the upload is, and the way to stop it. */
function sendingView(/** @type {Upload} */ upload) {
  if (upload.state !== "sending") return null;
  const done = upload.sent === 100;
  return [
    h(
      "div",
      { class: "row sending" },
      bar(upload.sent, "progress of the upload"),
      h("span", { class: "faint" }, done ? "The server reads the rest" : `${upload.sent} % sent`),
    ),
    h(
      "div",
      { class: "row" },
      button("Stop", () => upload.stop()),
      h("span", { class: "faint" }, "You may look at other screens. If you stop, nothing is kept."),
    ),
  ];
}

const EXAMPLES = [
  ["People as a table", "E-mail;Given name;Tags\nada@example.org;Ada;vip"],
  [
    "People, one on a line",
    '{"identities":[{"email":"ada@example.org"}],"names":{"first_name":"Ada"},"tags":["vip"]}',
  ],
  [
    "Issues, one on a line",
    '{"title":"No mail","author_email":"ada@example.org","messages":' +
      '[{"body":"Nothing arrives.","created_at":1767225600000,"origin":"end-user"}]}',
  ],
];

/** The examples; the last one is as wide as the screen. */
const examples = () => [
  !can("write") &&
    h("p", { class: "faint" }, "Your key may only read, so an import stays a dry run."),
  h(
    "div",
    { class: "columns" },
    EXAMPLES.map(([title, text], at) =>
      h(
        "section",
        { "aria-label": title, class: at === EXAMPLES.length - 1 && "whole" },
        h("h2", null, title),
        h("pre", { tabindex: 0 }, text),
      ),
    ),
  ),
];

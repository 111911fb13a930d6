// The dialog of an edit of many issues: the fields to change, and the effect on the issues as they
// are now, with all that is lost. The edit itself is elsewhere.
import { call, v1 } from "./api.js";
import { UNASSIGNED, summaryOf, tagsIn } from "./edit_plan.js";
import { readIssues } from "./edit_run.js";
import { editing, missing, startEdit } from "./edits.js";
import { STATES, choicesOf, count, short, things, wordsOf } from "./format.js";
import { named } from "./json.js";
import { dialog, field, input, notice, problem, select } from "./ui.js";
import { fill, h } from "./view.js";

/** @typedef {import("./edit_plan.js").Edit} Edit */
/** @typedef {import("./edit_plan.js").Read} Read */

/** So many lines of one kind are shown. */
const LINES_MAX = 8;
const TAG_CHARS = 60;
const HOWS = { "": "leave as they are", add: "add", remove: "remove", replace: "replace all" };
const HINTS = named(
  /** @type {Record<string, string>} */ ({
    add: "The other tags stay.",
    remove: "The other tags stay.",
    replace: "All other tags go. Leave this empty to remove every tag.",
  }),
);

/**
 * Edits issues, after showing what that means. The edit goes on when the dialog is gone: the bar
 * above the list shows how far it is. Returns whether it began.
 * @param {string[]} ids
 */
export async function editMany(ids) {
  if (editing()) {
    notice("An edit is at work. Wait until it has ended, or stop it.", "bad");
    return false;
  }
  const answer = await call("GET", v1("agents?page-size=1000"), { quiet: true });
  const form = new EditForm(ids, answer.profiles);
  const edit = await dialog("Edit the marked issues", form.content(), {
    label: /** @type {any} */ (form.label),
    kind: "primary",
    work: () => form.chosen(),
  });
  form.close();
  if (edit) startEdit(edit.ids, edit.edit, edit.words);
  return Boolean(edit);
}

class EditForm {
  /** @param {string[]} ids @param {any[]} agents */
  constructor(ids, agents) {
    this.ids = ids;
    this.names = named(Object.fromEntries(agents.map((agent) => [agent.id, agent.name])));
    this.abort = new AbortController();
    this.issues = /** @type {Read[]|null} */ (null);
    this.error = /** @type {any} */ (null);
    this.status = select({
      "": "Leave as it is",
      ...choicesOf(STATES),
    });
    this.assignee = select({ "": "Leave as it is", [UNASSIGNED]: "Unassigned", ...this.names });
    this.how = select(HOWS);
    this.tags = input({ placeholder: "billing, urgent" });
    this.hint = h("span");
    this.which = field("Which tags", this.tags, this.hint);
    this.preview = h("div", { class: "preview", role: "status" });
    this.label = h("span", null, "Change");
    this.ready = this.read();
  }
  close() {
    this.abort.abort();
  }
  content() {
    for (const one of [this.status, this.assignee, this.how, this.tags])
      one.addEventListener("input", () => this.draw());
    this.draw();
    return [
      field("State", this.status),
      field("Assignee", this.assignee),
      field("Tags", this.how),
      this.which,
      this.preview,
    ];
  }
  /** Reads the issues: the rows of the list may be old. */
  async read() {
    const each = (/** @type {number} */ n) => this.drawReading(n);
    try {
      const found = await readIssues(this.ids, { signal: this.abort.signal, each });
      this.issues = this.ids.flatMap((id) => found.get(id) ?? []);
    } catch (error) {
      if (/** @type {any} */ (error).name === "AbortError") return;
      this.error = error;
    }
    this.draw();
  }
  drawReading(/** @type {number} */ read) {
    const of = `${count(read)} of ${things(this.ids.length, "issue")}`;
    fill(this.preview, h("p", { class: "faint" }, `Reading the issues as they are now: ${of}…`));
  }
  /** @returns {Edit} */
  get edit() {
    const list = tagsIn(this.tags.value);
    const how = this.how.value;
    const tags = how && (how === "replace" || list.length) ? { how, list } : null;
    return { status: this.status.value, assignee: this.assignee.value, tags };
  }
  /** The changes in words. */
  get words() {
    const { status, assignee, tags } = this.edit;
    const list = tags?.list.map((tag) => short(tag, TAG_CHARS)).join(", ") || "none";
    const verbs = named({ add: "tags added", remove: "tags removed", replace: "tags replaced by" });
    return [
      status && `state ${wordsOf(status)}`,
      assignee &&
        (assignee === UNASSIGNED
          ? "unassigned"
          : `assigned to ${this.assignee.selectedOptions[0].textContent}`),
      tags && `${verbs[tags.how]}: ${list}`,
    ]
      .filter(Boolean)
      .join("; ");
  }
  /** The choice, for the button. */
  async chosen() {
    const { edit, words } = this;
    if (this.how.value && !edit.tags) throw new Error("Write the tags, with commas between them.");
    if (!edit.status && !edit.assignee && !edit.tags)
      throw new Error("Choose a state, an assignee or tags.");
    await this.ready;
    if (!this.issues) {
      this.error = null;
      this.ready = this.read();
      await this.ready;
    }
    if (!this.issues) throw this.error;
    const { changing } = summaryOf(this.issues, edit);
    if (!changing.length) throw new Error("All these issues are like that already.");
    return { ids: changing, edit, words };
  }
  draw() {
    const how = this.how.value;
    this.which.hidden = !how;
    fill(this.hint, HINTS[how] && `Commas separate tags. ${HINTS[how]}`);
    if (this.error) fill(this.preview, h("div", { class: "bad" }, problem(this.error)));
    else if (this.issues) this.drawPreview(this.issues);
    else this.drawReading(0);
  }
  drawPreview(/** @type {Read[]} */ issues) {
    const { edit, ids } = this;
    const sum = summaryOf(issues, edit, this.names);
    const { changing } = sum;
    const gone = ids.length - issues.length;
    this.label.textContent = `Change ${things(changing.length, "issue")}`;
    const stay = issues.length - changing.length;
    const chosen = Boolean(edit.status || edit.assignee || edit.tags);
    const first = issues.filter(({ id }) => !chosen || changing.includes(id)).slice(0, 5);
    const more = (chosen ? changing.length : issues.length) - first.length;
    fill(
      this.preview,
      h(
        "p",
        null,
        h(
          "b",
          null,
          chosen ? changeOf(changing.length, ids.length) : things(issues.length, "issue"),
        ),
        chosen && stay > 0 && `, ${count(stay)} stay as they are`,
        gone > 0 && `, ${missing(gone)}`,
      ),
      chosen ? [this.changes(sum), lossOf(sum, edit)] : h("p", null, "Choose what to change."),
      h(
        "ul",
        { class: "faint" },
        first.map(({ id, title }) => h("li", { dir: "auto" }, `#${id} ${short(title, 80)}`)),
        more > 0 && h("li", null, `and ${count(more)} more`),
      ),
    );
  }
  /** Each change with the number of issues. @param {ReturnType<typeof summaryOf>} sum */
  changes({ states, assignees, gained, gone, stay }) {
    const { status, assignee, tags } = this.edit;
    const by = assignee && !status ? " by the new assignee" : "";
    const line = (/** @type {string} */ label, /** @type {string[]} */ said) =>
      said.length > 0 && h("li", { dir: "auto" }, h("b", null, `${label}: `), said.join(", "));
    const tag = (/** @type {string} */ sign, /** @type {[string, number][]} */ all) =>
      all.map(([text, n]) => [`${sign}${short(text, TAG_CHARS)}`, n]);
    const numbered = (/** @type {any[][]} */ all) => [
      ...all.slice(0, LINES_MAX).map(([text, n]) => `${count(n)} ${text}`),
      ...(all.length > LINES_MAX ? [`and ${count(all.length - LINES_MAX)} more kinds`] : []),
    ];
    const already = (
      /** @type {any} */ chosen,
      /** @type {number} */ n,
      /** @type {string} */ what,
    ) => (chosen && n > 0 ? [`${count(n)} already ${what}`] : []);
    const name = assignee === UNASSIGNED ? "unassigned" : `of ${this.names[assignee]}`;
    return h(
      "ul",
      null,
      line(`State${by}`, [
        ...numbered(states.all),
        ...already(status, stay.state, wordsOf(status)),
      ]),
      line("Assignee", [...numbered(assignees.all), ...already(assignee, stay.assignee, name)]),
      line("Tags", [
        ...numbered([...tag("+", gained.all), ...tag("−", gone.all)]),
        ...already(tags, stay.tags, tags?.how === "remove" ? "without them" : "so"),
      ]),
    );
  }
}

/** How many of the marked issues change. */
const changeOf = (/** @type {number} */ n, /** @type {number} */ all) =>
  `${count(n)} of ${things(all, "issue")} ${n === 1 ? "changes" : "change"}`;

/** The overwritten values, loudly. @param {ReturnType<typeof summaryOf>} sum @param {Edit} edit */
function lossOf({ gone, overwritten }, { tags }) {
  const lost = tags?.how === "replace" ? gone.all : [];
  const owners = overwritten.all;
  if (!lost.length && !owners.length) return null;
  const list = (/** @type {[string, number][]} */ all) =>
    [
      ...all.slice(0, LINES_MAX).map(([text, n]) => `${short(text, TAG_CHARS)} (${count(n)})`),
      ...(all.length > LINES_MAX ? [`and ${count(all.length - LINES_MAX)} more`] : []),
    ].join(", ");
  const line = (/** @type {string} */ label, /** @type {[string, number][]} */ all) =>
    all.length > 0 && h("div", { dir: "auto" }, h("b", null, label), list(all));
  return h(
    "div",
    { class: "loss" },
    line("Tags that will be lost: ", lost),
    line("Assignees that will be overwritten: ", owners),
  );
}

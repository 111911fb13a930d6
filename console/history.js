// The history of one issue or person: who changed what, and when, newest first.
import { call, query, tasks } from "./api.js";
import { authorOf, entryOf, wordsOf } from "./change_words.js";
import { short, time, wordsOf as actionName } from "./format.js";
import { button, crumbs, head, problem } from "./ui.js";
import { fill, h } from "./view.js";

const PAGE = 20;
/** A page may have no changes before the end. So many pages are read in one step. */
const PAGES_MAX = 20;

export class History {
  /**
   * @param {string} path of the record @param {string} family of the tasks that change it
   * @param {AbortSignal} signal @param {Record<string, string>} [agents] names by id
   */
  constructor(path, family, signal, agents = {}) {
    this.path = path;
    this.family = family;
    this.signal = signal;
    this.agents = agents;
    this.cursor = /** @type {string|null} */ ("");
    /** The tasks that were asked for, by id. */
    this.tasks = /** @type {Map<string, Promise<any>>} */ (new Map());
    this.list = h("ol", { class: "history" });
    this.older = button("Show older changes", () => this.more());
    this.older.hidden = true;
    this.said = h("div", { class: "faint", role: "status" });
    this.element = h(
      "section",
      { "aria-label": "History" },
      h("h2", null, "History"),
      this.list,
      this.said,
      this.older,
    );
  }
  /** Reads the first page while the rest of the screen is there already. */
  begin() {
    this.more().catch((error) => !this.signal.aborted && fill(this.said, problem(error)));
    return this;
  }
  /** Reads until there are older changes, or no more. */
  async more() {
    const { signal } = this;
    for (let page = 0; page < PAGES_MAX && this.cursor !== null; page++) {
      const wanted = query({ cursor: this.cursor, "page-size": PAGE });
      const quiet = this.cursor !== "";
      const found = await call("GET", `${this.path}/changes${wanted}`, { signal, quiet });
      this.cursor = found["next-cursor"];
      this.list.append(...found.changes.map((/** @type {any} */ change) => this.itemOf(change)));
      if (found.changes.length) break;
    }
    this.older.hidden = this.cursor === null;
    fill(this.said, !this.list.firstChild && this.cursor === null && "No change is stored.");
  }
  itemOf(/** @type {any} */ change) {
    const { by } = change;
    const author = h("span", { dir: "auto" }, authorOf(by));
    if (by?.task_id) {
      const of = (/** @type {any} */ task) => fill(author, this.taskAuthor(by, task));
      of(null);
      this.taskOf(by.task_id).then(of, () => {});
    }
    return h(
      "li",
      null,
      h("div", { class: "lines" }, wordsOf(change, this.agents)),
      h("div", { class: "faint" }, time(change.at, true), " by ", author),
    );
  }
  /** Who sent a task, and what it does, is in the task alone. */
  taskOf(/** @type {string} */ id) {
    const options = { signal: this.signal, quiet: true };
    const path = tasks(this.family, encodeURIComponent(id));
    if (!this.tasks.has(id)) this.tasks.set(id, call("GET", path, options));
    return /** @type {Promise<any>} */ (this.tasks.get(id));
  }
  /** A task as an author: who sent it, and a link to it. */
  taskAuthor(/** @type {any} */ by, /** @type {any} */ task) {
    const sender = task?.submitted_by;
    const name = task ? actionName(task.action) : authorOf(by);
    return [
      sender && `${authorOf(sender)}, `,
      h("a", { href: `#/task/${this.family}/${encodeURIComponent(by.task_id)}` }, name),
      task?.file_name && [" of ", h("span", { dir: "auto" }, short(task.file_name, 60))],
      entryOf(by),
    ];
  }
}

/**
 * The screen of a record that is gone: its history. Fails with the refusal if it never existed.
 * @param {any} refusal @param {History} history @param {any} list @param {string} name
 */
export async function goneScreen(refusal, history, list, name) {
  if (refusal.status !== 404) throw refusal;
  await history.more();
  if (!history.list.firstChild) throw refusal;
  return [crumbs(list, h("span", { class: "faint mono" }, name)), head("Deleted"), history.element];
}

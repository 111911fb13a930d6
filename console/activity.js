// Activity: the changes of the domain as they happen, newest first, with filters in the address.
// It begins with the last hour and follows the log while somebody looks at it.
import { call, query, v1 } from "./api.js";
import {
  ACTION_OPTIONS,
  KIND_OPTIONS,
  agentNames,
  authorOf,
  entryOf,
  screenOfChange,
  screenOfTask,
  subjectOf,
  wordsOf,
} from "./change_words.js";
import { ChangeRows } from "./change_rows.js";
import { count, time } from "./format.js";
import { longList } from "./list.js";
import { button, empty, head, notice, select } from "./ui.js";
import { fill, h } from "./view.js";

const HOUR_MS = 3600000;
const PAGE = 1000;
/** So many positions of the log are read at once, at first and for earlier ones. */
const WINDOW = 5000;
/** If none of them match, so many times as many. */
const WINDOWS_MAX = 10;
const WAIT_SECONDS = 20;
/** How soon a question that failed is asked again. */
const AGAIN_MS = 1500;

export default async function activityScreen(/** @type {any} */ context) {
  const screen = new ActivityScreen(context);
  const { list } = screen;
  context.keys({
    j: () => list.move(1),
    k: () => list.move(-1),
    Enter: () => list.openSelected(),
  });
  await screen.begin();
  screen.follow();
  return h(
    "div",
    { class: "fill" },
    head("Activity", screen.newer, screen.state),
    screen.filtersOf(),
    screen.body,
    h("div", { class: "row below" }, screen.earlier, screen.said),
  );
}

class ActivityScreen {
  constructor(/** @type {any} */ { params, signal, go, reload }) {
    this.params = /** @type {URLSearchParams} */ (params);
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
    this.reload = reload;
    this.wanted = { resources: params.get("kind"), actions: params.get("action") };
    this.rows = new ChangeRows();
    this.agents = /** @type {Record<string, string>} */ ({});
    /** The positions of the log that the rows stand for: after the first, up to the second. */
    this.from = 0;
    this.cursor = 0;
    /** New rows above those in view. */
    this.above = 0;
    this.body = h("div", { class: "grow" });
    this.state = h("span", { class: "pill", role: "status" });
    this.said = h("span", { class: "faint", role: "status" });
    this.newer = button("", () => this.top(), { hidden: true });
    this.earlier = button("Show earlier changes", () => this.readEarlier());
    this.list = longList({
      height: 44,
      label: "Changes",
      row: (row, at) => this.rowOf(row, at),
      open: (row) => this.open(row),
    });
    this.list.element.addEventListener("scroll", () => !this.list.track.top && this.seen(), {
      passive: true,
    });
  }
  /** A page of the log. */
  ask(/** @type {any} */ wanted, signal = this.signal, quiet = true) {
    return call("GET", v1(`changes${query(wanted)}`), { signal, quiet });
  }
  async begin() {
    const since = Date.now() - HOUR_MS;
    const [end, hour, agents] = await Promise.all([
      this.ask({ cursor: "latest" }),
      this.ask({ since, "page-size": 1 }, this.signal, false),
      agentNames(this.signal),
    ]);
    this.agents = agents;
    this.cursor = Number(end["next-cursor"]);
    const first = hour.changes[0] ? Number(hour.changes[0].position) - 1 : this.cursor;
    this.from = Math.max(first, this.cursor - WINDOW);
    this.rows.add(await this.read(this.from, this.cursor));
    this.draw(0);
  }
  /** The changes after one position, up to another, that match the filters. */
  async read(/** @type {number} */ from, /** @type {number} */ to) {
    const found = [];
    let place = /** @type {number|string} */ (from);
    for (let at = from; at < to;) {
      const page = await this.ask({ ...this.wanted, cursor: place, "page-size": PAGE }).catch(
        (error) => {
          // The oldest changes are no longer kept.
          if (error.status === 410 && place === from) return this.oldest();
          throw error;
        },
      );
      for (const change of page.changes) if (Number(change.position) <= to) found.push(change);
      if (Number(page["next-cursor"]) <= at) break;
      place = at = Number(page["next-cursor"]);
    }
    return found;
  }
  oldest() {
    return this.ask({ ...this.wanted, cursor: "*", "page-size": PAGE });
  }
  /** Reads back until there is another row, as far as one step may. */
  async readEarlier() {
    const { rows } = this;
    for (let step = 0; step < WINDOWS_MAX && this.from > 0; step++) {
      const from = Math.max(0, this.from - WINDOW);
      const found = await this.read(from, this.from);
      this.from = from;
      if (rows.addEarlier(found)) break;
    }
    this.draw(0);
  }
  /** Shows the rows, of which some are new and at the beginning. */
  draw(/** @type {number} */ made) {
    const { rows, list } = this;
    if (!rows.rows.length) fill(this.body, this.emptyOf());
    else if (!this.body.contains(list.element)) fill(this.body, list.element);
    if (list.grow(rows.rows, made)) this.above += made;
    else this.above = 0;
    this.drawMore();
  }
  drawMore() {
    const { rows, above } = this;
    this.newer.hidden = above === 0;
    fill(this.newer, `${count(above)} newer`);
    this.earlier.hidden = this.from === 0 || rows.full;
    const kept = `The last ${count(rows.most)} rows. The API has all changes.`;
    fill(this.said, rows.full ? kept : this.from === 0 && rows.rows.length > 0 && "That is all.");
  }
  emptyOf() {
    const when = this.from > 0 ? " in the last hour" : "";
    if (!this.params.size) return empty(`No change${when}`, "The next one appears here.");
    const all = h("a", { href: "#/activity" }, "Remove all filters");
    return empty(`No change${when} matches`, all);
  }
  /** Shows the newest rows. */
  top() {
    this.list.begin();
    this.list.element.focus({ preventScroll: true });
    this.seen();
  }
  seen() {
    this.above = 0;
    this.drawMore();
  }
  /**
   * Follows the log. A browser has six connections for a server and all its tabs, so a tab that
   * nobody looks at keeps none of them; the log has what it misses.
   */
  async follow() {
    const { signal } = this;
    while (!signal.aborted) {
      try {
        if (document.hidden) {
          this.say("Paused");
          await this.change(Infinity);
          continue;
        }
        this.say("Live");
        await this.next();
      } catch (error) {
        if (signal.aborted || document.hidden) continue;
        if (/** @type {any} */ (error).status === 410) return this.skip();
        this.say("Not live");
        await this.change(AGAIN_MS);
      }
    }
  }
  /** Waits for changes, and shows them. */
  async next() {
    const { signal, wanted, cursor } = this;
    const abort = new AbortController();
    const stop = () => abort.abort();
    document.addEventListener("visibilitychange", stop);
    signal.addEventListener("abort", stop);
    try {
      const question = { ...wanted, cursor, wait: WAIT_SECONDS, "page-size": PAGE };
      const page = await this.ask(question, abort.signal);
      this.cursor = Number(page["next-cursor"]);
      if (page.changes.length) this.draw(this.rows.add(page.changes));
    } finally {
      document.removeEventListener("visibilitychange", stop);
      signal.removeEventListener("abort", stop);
    }
  }
  /** The changes after the last one shown are no longer kept: begins with those that are. */
  skip() {
    notice("Changes are missing here: the server no longer keeps them.", "bad");
    this.reload();
  }
  say(/** @type {string} */ word) {
    if (this.state.textContent === word) return;
    this.state.className = `pill ${word === "Live" ? "active" : ""}`;
    fill(this.state, word);
  }
  /** Waits, at most until the tab is shown or hidden or the screen is left. */
  change(/** @type {number} */ ms) {
    return new Promise((resolve) => {
      if (ms < Infinity) setTimeout(resolve, ms);
      document.addEventListener("visibilitychange", resolve, { once: true });
      this.signal.addEventListener("abort", resolve);
    });
  }
  rowOf(/** @type {any} */ row, /** @type {number} */ at) {
    const { change, count: records } = row;
    const partly = records > 1 && this.from > 0 && this.rows.mayGrow(at);
    const subject = (partly ? "at least " : "") + subjectOf(change, records);
    const words = wordsOf(change, this.agents).flatMap((one, at) => (at ? [" · ", one] : [one]));
    const { by } = change;
    const author = authorOf(by) + (by && records === 1 ? entryOf(by) : "");
    // A task completes by itself.
    const itself = change.resource === "task" && by?.task_id === change.id;
    return h(
      "div",
      { class: "issue-row activity-row", onclick: () => this.open(row) },
      h("span", { class: "faint clock" }, time(change.at, true)),
      h("b", { class: "clip", dir: "auto" }, subject),
      h("span", { class: "grow clip" }, words),
      h("span", { class: "who-cell faint", dir: "auto" }, !itself && `by ${author}`),
    );
  }
  open(/** @type {any} */ { change, count: records }) {
    const path = records > 1 ? screenOfTask(change.by.task_id) : screenOfChange(change);
    if (path) this.go(path);
    else notice("Your key opens no screen of this record.");
  }
  filtersOf() {
    const filter = (
      /** @type {string} */ name,
      /** @type {string} */ label,
      /** @type {Record<string, string>} */ options,
    ) =>
      select(options, {
        "aria-label": label,
        value: this.params.get(name) ?? "",
        onchange: (/** @type {any} */ event) => this.set(name, event.target.value),
      });
    return h(
      "div",
      { class: "row filters" },
      filter("kind", "Kind of record", { "": "Any record", ...KIND_OPTIONS }),
      filter("action", "Action", { "": "Any action", ...ACTION_OPTIONS }),
    );
  }
  /** Shows the list with another value of a filter, or without it. */
  set(/** @type {string} */ name, /** @type {string} */ value) {
    const next = new URLSearchParams(this.params);
    if (value) next.set(name, value);
    else next.delete(name);
    this.params = next; // Another filter may be chosen before the list of this one is there.
    this.go(`activity${next.size ? `?${next}` : ""}`);
  }
}

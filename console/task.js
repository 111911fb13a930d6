// One task, live: progress, rate, counts, its times, and what can be done with it.
import { base, call, can, has, tasks } from "./api.js";
import { addChanges, changesView, hasChanges, noChanges } from "./changes.js";
import { write } from "./json.js";
import { count, span, things, time } from "./format.js";
import { bar, button, crumbs, dialog, head, notice, pill, refused } from "./ui.js";
import { fill, h, update } from "./view.js";
import { warningWords, warningsOf, warningsView } from "./warnings.js";

const POLL_SECONDS = 20;
/** How often the title of a hidden tab follows the task. */
const HIDDEN_MS = 10000;
/** How soon a question that failed is asked again. */
const AGAIN_MS = 1500;
/** A time too short to tell a rate from. */
const SHORT_MS = 1000;

export default async function taskScreen(/** @type {any} */ context) {
  const { args, signal, keys, back, up } = context;
  const [family, id] = args;
  const task = await call("GET", tasks(family, encodeURIComponent(id)), { signal });
  const screen = new TaskScreen(context, task);
  screen.draw(task);
  if (task.status !== "completed") screen.follow();
  else screen.showEnd().catch(refused);
  keys({ Escape: () => back("imports") });
  const list = h("a", { href: up("imports") }, "Imports");
  return [crumbs(list, h("span", { class: "faint mono" }, id)), ...screen.parts()];
}

class TaskScreen {
  constructor(/** @type {any} */ { args, signal, go }, /** @type {any} */ task) {
    this.family = args[0];
    this.id = args[1];
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
    this.task = task;
    /** When the count of entries that are done changed last, and entries a second since then. */
    this.seen = { at: performance.now(), done: doneOf(task) };
    this.rate = startRate(task);
    this.top = h("div");
    this.actions = h("div", { class: "row actions-row" });
    this.rest = h("div", { class: "columns" });
    this.changes = h("div");
    this.oddities = h("div");
    this.warnings = /** @type {any[]} */ ([]);
    this.shownJson = h("pre", { tabindex: 0 });
    this.json = h(
      "details",
      { ontoggle: () => this.drawJson() },
      h("summary", null, "as JSON"),
      this.shownJson,
    );
  }
  parts() {
    return [this.top, this.actions, this.oddities, this.changes, this.rest, this.json];
  }
  /** A path of the task. */
  path(rest = "") {
    return tasks(this.family, `${encodeURIComponent(this.id)}${rest && `/${rest}`}`);
  }
  get over() {
    return this.task.status === "completed";
  }
  draw(/** @type {any} */ task) {
    const now = performance.now();
    const done = doneOf(task);
    if (done > this.seen.done) {
      this.rate = ((done - this.seen.done) * 1000) / Math.max(1, now - this.seen.at);
      this.seen = { at: now, done };
    }
    this.task = task;
    const state = this.over ? task.outcome : `${task.progress} %`;
    document.title = `${state} · ${task.action} · Caseload`;
    fill(
      this.top,
      titleOf(task),
      bar(task.progress, "progress of the task"),
      task.server_deaths > 0 && deathsOf(task),
      this.factsOf(),
    );
    const { counts, progress, warnings, ...others } = task;
    update(this.actions, [task.status, this.over && counts, task.retried_by], () =>
      this.actionsOf(),
    );
    update(this.rest, [others, this.over && counts], () => [
      timesOf(task),
      h("section", { "aria-label": "Downloads" }, this.downloadsOf(), this.relativesOf()),
    ]);
    this.drawJson();
  }
  /** The record stays as it is scrolled, and is drawn only while somebody reads it. */
  drawJson() {
    const { task } = this;
    if (this.json.open) update(this.shownJson, task, () => write(task, 2));
  }
  factsOf() {
    const { task, over } = this;
    const { counts } = task;
    const took = task.started_at && (task.completed_at ?? Date.now()) - task.started_at;
    // A rate of a few milliseconds says nothing.
    const whole = took >= SHORT_MS ? (doneOf(task) * 1000) / took : 0;
    const perSecond = over ? whole : this.rate;
    const left = (counts.unprocessed * 1000) / perSecond;
    return h(
      "div",
      { class: "facts" },
      fact("entries", count(counts.total)),
      fact("succeeded", count(counts.succeeded), "good"),
      fact("failed", count(counts.failed), counts.failed ? "bad" : ""),
      fact("unprocessed", count(counts.unprocessed)),
      task.warnings > 0 && fact("warnings", count(task.warnings)),
      took && fact(over ? "took" : "so far", span(took)),
      perSecond > 0 && fact("per second", count(Math.round(perSecond))),
      !over && perSecond > 0 && fact("left, about", span(left)),
    );
  }
  /** What can be done with the task. */
  actionsOf() {
    const { task, family, id } = this;
    if (!this.over)
      return can("write") && button("Cancel", () => this.cancel(), { class: "danger" });
    const { failed, total, unprocessed } = task.counts;
    const faulty = `See ${things(failed, "entry with faults", "entries with faults")}`;
    const left = things(failed + unprocessed, "entry", "entries");
    const all = things(total, "entry", "entries");
    return [
      failed > 0 && h("a", { class: "button primary", href: `#/faults/${family}/${id}` }, faulty),
      can("write") &&
        !task.retried_by &&
        failed + unprocessed > 0 &&
        !task.dry_run &&
        button(`Send ${left} again as sent`, () => this.retry()),
      task.dry_run &&
        can("write") &&
        has("run") &&
        button(`Run it: ${all}`, () => this.run(), { class: "primary" }),
    ];
  }
  downloadsOf() {
    if (!this.over) return false;
    const files = (/** @type {string} */ kind) =>
      h("dd", { class: "row" }, this.file(kind, "jsonl"), this.file(kind, "csv"));
    return [
      h("h2", null, "Downloads"),
      h(
        "dl",
        null,
        h("dt", null, "Results"),
        files("results"),
        this.task.errors && [h("dt", null, "Errors"), files("errors")],
      ),
    ];
  }
  file(/** @type {string} */ kind, /** @type {string} */ format) {
    const href = `${base}${this.path(kind)}?download=true&format=${format}`;
    const download = `${kind}-${this.id}.${format}.gz`;
    return h("a", { href, download }, format === "jsonl" ? "JSONL" : "CSV");
  }
  /** The tasks that this one sends again, or that send it again. */
  relativesOf() {
    const { parent_task_id: parent, retried_by: next } = this.task;
    const link = (/** @type {string} */ id) => h("a", { href: `#/task/${this.family}/${id}` }, id);
    return [
      parent && h("p", null, "Sends entries again of ", link(parent)),
      next && h("p", null, "Its failed entries were sent again by ", link(next)),
    ];
  }
  async cancel() {
    const left = count(this.task.counts.unprocessed);
    const text =
      "It stops at the end of a chunk. What is done stays done; " +
      `up to ${left} entries stay unprocessed and can be sent again.`;
    await dialog("Cancel the task?", h("p", null, text), {
      label: "Cancel the task",
      kind: "danger",
      work: async () => this.draw(await call("POST", this.path("cancel"))),
    });
  }
  retry() {
    const { failed, unprocessed } = this.task.counts;
    const faulty =
      `${things(failed, "entry", "entries")} with faults: ` +
      "unchanged, they fail again unless the cause is gone. You can mend them first.";
    const left =
      `${things(unprocessed, "entry", "entries")} that the task did not reach: ` +
      "they are applied.";
    const text = [failed > 0 && h("p", null, faulty), unprocessed > 0 && h("p", null, left)];
    return this.again("retry", "Send them again?", text, failed + unprocessed);
  }
  run() {
    const { succeeded, failed, total } = this.task.counts;
    const text =
      `The dry run says: ${things(succeeded, "entry", "entries")} would succeed, ` +
      `${count(failed)} would fail. A new task applies them now.`;
    const odd = this.warnings.length > 0 && h("p", null, `Odd: ${warningWords(this.warnings)}.`);
    return this.again("run", "Run it?", [h("p", null, text), odd], total);
  }
  /** Makes a new task of entries of this one, and shows it. */
  async again(
    /** @type {string} */ verb,
    /** @type {string} */ title,
    /** @type {any} */ text,
    /** @type {number} */ total,
  ) {
    const made = await dialog(title, text, {
      label: `Send ${things(total, "entry", "entries")}`,
      kind: "primary",
      work: () => call("POST", this.path(verb)),
    });
    if (!made) return;
    notice("a new task has begun");
    this.go(`task/${this.family}/${made.task_id}`);
  }
  async showEnd() {
    const { family, id, signal, task } = this;
    this.warnings = await warningsOf(task, family, signal);
    fill(this.oddities, this.warnings.length > 0 && warningsView(this.warnings));
    if (!task.dry_run || !hasChanges(task.action)) return;
    const found = noChanges();
    await addChanges(found, family, encodeURIComponent(id), 0, signal);
    fill(this.changes, changesView(found));
  }
  /**
   * Follows the task by events, and by questions if there are none. A browser has six connections
   * for a server and all its tabs, so a tab that nobody looks at keeps none of them.
   */
  async follow() {
    const { signal } = this;
    const ask = async (wait = "") =>
      this.draw(await call("GET", this.path() + wait, { signal, quiet: true }));
    let streams = true;
    while (!signal.aborted && !this.over) {
      try {
        if (document.hidden) await this.pause(HIDDEN_MS);
        else if (streams) streams = await this.events();
        if (document.hidden) await ask();
        else if (!streams) await ask(`?wait=${POLL_SECONDS}`);
      } catch {
        if (!signal.aborted) await this.pause(AGAIN_MS);
      }
    }
    if (!signal.aborted) this.showEnd().catch(refused);
  }
  /** Draws events until the task is over or the tab is hidden. Returns if the stream worked. */
  events() {
    return new Promise((resolve) => {
      const source = new EventSource(base + this.path());
      const end = (/** @type {any} */ event) => {
        if (event?.type === "visibilitychange" && !document.hidden) return;
        source.close();
        document.removeEventListener("visibilitychange", end);
        resolve(event?.type !== "error");
      };
      document.addEventListener("visibilitychange", end);
      this.signal.addEventListener("abort", end);
      source.onerror = end;
      source.onmessage = (event) => {
        this.draw(JSON.parse(event.data));
        if (this.over) end(null);
      };
    });
  }
  /** Waits, at most until the tab is shown or hidden or the screen is left. */
  pause(/** @type {number} */ ms) {
    return new Promise((resolve) => {
      setTimeout(resolve, ms);
      document.addEventListener("visibilitychange", resolve, { once: true });
      this.signal.addEventListener("abort", resolve);
    });
  }
}

function titleOf(/** @type {any} */ task) {
  const by = task.submitted_by;
  const name = [
    task.action.replaceAll("_", " "),
    task.dry_run && h("span", { class: "tag" }, "dry run"),
  ];
  return [
    head(name, pill(task.status === "completed" ? task.outcome : task.status)),
    by &&
      h(
        "p",
        { class: "faint under" },
        task.file_name && [h("span", { dir: "auto" }, task.file_name), " · "],
        `sent by ${by.key_name || by.key_id}`,
      ),
  ];
}

/** How often the task's server stopped, and when another try begins. */
function deathsOf(/** @type {any} */ { server_deaths: deaths, next_try_at: next }) {
  return h(
    "p",
    { class: "under" },
    `Its server stopped ${things(deaths, "time", "times")} while it worked on the task`,
    next
      ? ["; the next try is at ", time(next, true), ". You can cancel the task while it waits."]
      : "; a server tries it again.",
  );
}

const fact = (/** @type {string} */ label, /** @type {any} */ value, cls = "") =>
  h(
    "div",
    { class: `fact ${cls}` },
    h("div", { class: "number" }, value),
    h("div", { class: "faint" }, label),
  );

function timesOf(/** @type {any} */ task) {
  const times = /** @type {[string, number|null][]} */ ([
    ["sent", task.created_at],
    ["queued", task.queued_at],
    ["started", task.started_at],
    ["completed", task.completed_at],
    ["results kept until", task.expires_at],
  ]);
  const item = (/** @type {[string, number|null]} */ [label, ms]) =>
    h(
      "li",
      { class: !ms ? "faint" : ms > Date.now() ? "later" : "" },
      h("span", null, label),
      ms ? time(ms, true) : "not yet",
    );
  return h(
    "section",
    { "aria-label": "Times" },
    h("h2", null, "Times"),
    h("ol", { class: "timeline" }, times.map(item)),
  );
}

/** The rate of a task since it began, until two states of it tell the present one. */
const startRate = (/** @type {any} */ task) =>
  task.started_at && doneOf(task)
    ? (doneOf(task) * 1000) / Math.max(SHORT_MS, Date.now() - task.started_at)
    : 0;
const doneOf = (/** @type {any} */ task) => task.counts.total - task.counts.unprocessed;

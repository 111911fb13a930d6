// One task, live: progress, rate, counts, its times, and what can be done with it.
import { base, call, can, has, tasks } from "./api.js";
import { addChanges, changesView, hasChanges, noChanges } from "./changes.js";
import { write } from "./json.js";
import { count, span, things, time } from "./format.js";
import { bar, button, crumbs, dialog, head, notice, pill } from "./ui.js";
import { fill, h, update } from "./view.js";

const POLL_SECONDS = 20;
/** How often the title of a hidden tab follows the task, and how soon a question that failed is asked again. */
const HIDDEN_MS = 10000;
const AGAIN_MS = 1500;
/** A time too short to tell a rate from. */
const SHORT_MS = 1000;

export default async function taskScreen(/** @type {any} */ { args, signal, keys, go, back, up }) {
  const [family, id] = args;
  const path = (rest = "") => tasks(family, `${encodeURIComponent(id)}${rest && `/${rest}`}`);
  const top = h("div");
  const actions = h("div", { class: "row actions-row" });
  const rest = h("div", { class: "columns" });
  const changes = h("div");
  const shownJson = h("pre", { tabindex: 0 });
  const json = h(
    "details",
    { ontoggle: () => drawJson() },
    h("summary", null, "as JSON"),
    shownJson,
  );
  let task = await call("GET", path(), { signal });
  let seen = { at: performance.now(), done: doneOf(task) };
  let rate = startRate(task);
  const draw = (/** @type {any} */ next) => {
    const now = performance.now();
    const done = doneOf(next);
    if (done > seen.done) {
      rate = ((done - seen.done) * 1000) / Math.max(1, now - seen.at);
      seen = { at: now, done };
    }
    task = next;
    document.title = `${task.status === "completed" ? task.outcome : `${task.progress} %`} · ${task.action} · Caseload`;
    fill(top, topOf());
    const { counts, progress, warnings, ...others } = task;
    const over = task.status === "completed";
    update(actions, [task.status, over && counts, task.retried_by], actionsOf);
    update(rest, [others, over && counts], restOf);
    drawJson();
  };
  /** The record stays as it is scrolled, and is drawn only while somebody reads it. */
  function drawJson() {
    if (/** @type {any} */ (json).open) update(shownJson, task, () => write(task, 2));
  }
  const file = (/** @type {string} */ kind, /** @type {string} */ format) =>
    h(
      "a",
      {
        href: `${base}${path(kind)}?download=true&format=${format}`,
        download: `${kind}-${id}.${format}.gz`,
      },
      format === "jsonl" ? "JSONL" : "CSV",
    );
  function topOf() {
    const { counts } = task;
    const over = task.status === "completed";
    const took = task.started_at && (task.completed_at ?? Date.now()) - task.started_at;
    // A rate of a few milliseconds says nothing.
    const perSecond = over ? (took >= SHORT_MS ? (doneOf(task) * 1000) / took : 0) : rate;
    const fact = (/** @type {string} */ label, /** @type {any} */ value, cls = "") =>
      h(
        "div",
        { class: `fact ${cls}` },
        h("div", { class: "number" }, value),
        h("div", { class: "faint" }, label),
      );
    return [
      head(
        [task.action.replaceAll("_", " "), task.dry_run && h("span", { class: "tag" }, "dry run")],
        pill(over ? task.outcome : task.status),
      ),
      task.submitted_by &&
        h(
          "p",
          { class: "faint under" },
          task.file_name && [h("span", { dir: "auto" }, task.file_name), " · "],
          `sent by ${task.submitted_by.key_name || task.submitted_by.key_id}`,
        ),
      bar(task.progress, "progress of the task"),
      task.server_deaths > 0 &&
        h(
          "p",
          { class: "under" },
          `Its server stopped ${things(task.server_deaths, "time", "times")} while it worked on the task`,
          task.next_try_at
            ? [
                "; the next try is at ",
                time(task.next_try_at, true),
                ". You can cancel the task while it waits.",
              ]
            : "; a server tries it again.",
        ),
      h(
        "div",
        { class: "facts" },
        fact("entries", count(counts.total)),
        fact("succeeded", count(counts.succeeded), "good"),
        fact("failed", count(counts.failed), counts.failed ? "bad" : ""),
        fact("unprocessed", count(counts.unprocessed)),
        task.warnings > 0 && fact("warnings", count(task.warnings)),
        took && fact(over ? "took" : "so far", span(took)),
        perSecond > 0 && fact("per second", count(Math.round(perSecond))),
        !over &&
          perSecond > 0 &&
          fact("left, about", span((counts.unprocessed * 1000) / perSecond)),
      ),
    ];
  }
  function actionsOf() {
    const { counts } = task;
    const over = task.status === "completed";
    return [
      !over && can("write") && button("Cancel", cancel, { class: "danger" }),
      over &&
        counts.failed > 0 &&
        h(
          "a",
          { class: "button primary", href: `#/faults/${family}/${id}` },
          `See ${things(counts.failed, "entry with faults", "entries with faults")}`,
        ),
      over &&
        can("write") &&
        !task.retried_by &&
        counts.failed + counts.unprocessed > 0 &&
        !task.dry_run &&
        button(
          `Send ${things(counts.failed + counts.unprocessed, "entry", "entries")} again as sent`,
          retry,
        ),
      over &&
        task.dry_run &&
        can("write") &&
        has("run") &&
        button(`Run it: ${things(counts.total, "entry", "entries")}`, run, { class: "primary" }),
    ];
  }
  function restOf() {
    const over = task.status === "completed";
    return [
      h(
        "section",
        { "aria-label": "Times" },
        h("h2", null, "Times"),
        h(
          "ol",
          { class: "timeline" },
          [
            ["sent", task.created_at],
            ["queued", task.queued_at],
            ["started", task.started_at],
            ["completed", task.completed_at],
            ["results kept until", task.expires_at],
          ].map(([label, ms]) =>
            h(
              "li",
              { class: !ms ? "faint" : ms > Date.now() ? "later" : "" },
              h("span", null, label),
              ms ? time(/** @type {number} */ (ms), true) : "not yet",
            ),
          ),
        ),
      ),
      h(
        "section",
        { "aria-label": "Downloads" },
        over && [
          h("h2", null, "Downloads"),
          h(
            "dl",
            null,
            h("dt", null, "Results"),
            h("dd", { class: "row" }, file("results", "jsonl"), file("results", "csv")),
            task.errors && [
              h("dt", null, "Errors"),
              h("dd", { class: "row" }, file("errors", "jsonl"), file("errors", "csv")),
            ],
          ),
        ],
        task.parent_task_id &&
          h(
            "p",
            null,
            "Sends entries again of ",
            h("a", { href: `#/task/${family}/${task.parent_task_id}` }, task.parent_task_id),
          ),
        task.retried_by &&
          h(
            "p",
            null,
            "Its failed entries were sent again by ",
            h("a", { href: `#/task/${family}/${task.retried_by}` }, task.retried_by),
          ),
      ),
    ];
  }
  async function cancel() {
    const left = task.counts.unprocessed;
    await dialog(
      "Cancel the task?",
      h(
        "p",
        null,
        `It stops at the end of a chunk. What is done stays done; up to ${count(left)} entries stay unprocessed and can be sent again.`,
      ),
      {
        label: "Cancel the task",
        kind: "danger",
        work: async () => draw(await call("POST", path("cancel"))),
      },
    );
  }
  function retry() {
    const { failed, unprocessed } = task.counts;
    return again("retry", "Send them again?", [
      failed > 0 &&
        h(
          "p",
          null,
          `${things(failed, "entry", "entries")} with faults: unchanged, they fail again unless the cause is gone. You can mend them first.`,
        ),
      unprocessed > 0 &&
        h(
          "p",
          null,
          `${things(unprocessed, "entry", "entries")} that the task did not reach: they are applied.`,
        ),
    ]);
  }
  function run() {
    const { succeeded, failed } = task.counts;
    return again(
      "run",
      "Run it?",
      h(
        "p",
        null,
        `The dry run says: ${things(succeeded, "entry", "entries")} would succeed, ${count(failed)} would fail. A new task applies them now.`,
      ),
    );
  }
  async function again(
    /** @type {string} */ verb,
    /** @type {string} */ title,
    /** @type {any} */ text,
  ) {
    const total = verb === "run" ? task.counts.total : task.counts.failed + task.counts.unprocessed;
    const made = await dialog(title, text, {
      label: `Send ${things(total, "entry", "entries")}`,
      kind: "primary",
      work: () => call("POST", path(verb)),
    });
    if (!made) return;
    notice("a new task has begun");
    go(`task/${family}/${made.task_id}`);
  }
  draw(task);
  if (task.status !== "completed") follow();
  else showChanges();
  async function showChanges() {
    if (!task.dry_run || !hasChanges(task.action)) return;
    const found = noChanges();
    await addChanges(found, family, encodeURIComponent(id), 0, signal);
    fill(changes, changesView(found));
  }
  /**
   * Follows the task by events, and by questions if there are none. A browser has six connections for
   * a server and all its tabs, so a tab that nobody looks at keeps none of them.
   */
  async function follow() {
    let streams = true;
    while (!signal.aborted && task.status !== "completed") {
      try {
        if (document.hidden) await pause(HIDDEN_MS);
        else if (streams) streams = await events();
        if (document.hidden) draw(await call("GET", path(), { signal, quiet: true }));
        else if (!streams)
          draw(await call("GET", `${path()}?wait=${POLL_SECONDS}`, { signal, quiet: true }));
      } catch {
        if (!signal.aborted) await pause(AGAIN_MS);
      }
    }
    if (!signal.aborted) showChanges();
  }
  /** Draws each event until the task is over or the tab is hidden. Returns whether the stream worked. */
  function events() {
    return new Promise((resolve) => {
      const source = new EventSource(base + path());
      const end = (/** @type {any} */ event) => {
        if (event?.type === "visibilitychange" && !document.hidden) return;
        source.close();
        document.removeEventListener("visibilitychange", end);
        resolve(event?.type !== "error");
      };
      document.addEventListener("visibilitychange", end);
      signal.addEventListener("abort", end);
      source.onerror = end;
      source.onmessage = (event) => {
        draw(JSON.parse(event.data));
        if (task.status === "completed") end(null);
      };
    });
  }
  /** Waits, at most until the tab is shown or hidden or the screen is left. */
  function pause(/** @type {number} */ ms) {
    return new Promise((resolve) => {
      setTimeout(resolve, ms);
      document.addEventListener("visibilitychange", resolve, { once: true });
      signal.addEventListener("abort", resolve);
    });
  }
  keys({ Escape: () => back("imports") });
  return [
    crumbs(h("a", { href: up("imports") }, "Imports"), h("span", { class: "faint mono" }, id)),
    top,
    actions,
    changes,
    rest,
    json,
  ];
}

/** The rate of a task since it began, until two states of it tell the present one. */
const startRate = (/** @type {any} */ task) =>
  task.started_at && doneOf(task)
    ? (doneOf(task) * 1000) / Math.max(SHORT_MS, Date.now() - task.started_at)
    : 0;
const doneOf = (/** @type {any} */ task) => task.counts.total - task.counts.unprocessed;

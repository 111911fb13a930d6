// One import or one task, live: progress, counts, what became of its entries, and what can be done
// with it.
import {
  base,
  call,
  can,
  familyOf,
  faultsOf,
  has,
  idOf,
  isImport,
  nounOf,
  pathOf,
  recordOf,
  screenOf,
  v2,
} from "./api.js";
import { count, short, span, things, time, wordsOf } from "./format.js";
import { Lineage } from "./lineage.js";
import { bar, button, crumbs, dialog, refused } from "./ui.js";
import { fill, h, update } from "./view.js";
import { changesView, outcomeWords, outcomesOf } from "./changes.js";
import { groupsOf, groupsView } from "./fault_groups.js";
import { write } from "./json.js";
import {
  repeatOf,
  doublesOf,
  rejectsOf,
  relativesOf,
  titleOf,
  deathsOf,
  fact,
  timesOf,
} from "./task_parts.js";
import { warningWords, warningsOf, warningsView } from "./warnings.js";

const POLL_SECONDS = 20;
/** How often the title of a hidden tab follows the task. */
const HIDDEN_MS = 10000;
/** How soon a question that failed is asked again. */
const AGAIN_MS = 1500;
/** What the actions that delete are about: one and several. */
const RECORDS = /** @type {Record<string, [string, string]>} */ ({
  delete_core_profiles: ["person", "people"],
  delete_app_profiles: ["app profile", "app profiles"],
  delete_issues: ["issue", "issues"],
});
/** A time too short to tell a rate from. */
const SHORT_MS = 1000;

export default async function recordScreen(/** @type {any} */ context) {
  const { args, keys, back, up } = context;
  const record = await recordOf(context);
  const screen = new RecordScreen(context, record);
  screen.draw(record);
  if (record.status !== "completed") screen.follow();
  else screen.showEnd().catch(refused);
  keys({ Escape: () => back("imports") });
  const list = h("a", { href: up("imports") }, "Imports");
  const name = record.file_name
    ? h("span", { class: "faint", dir: "auto", title: args[1] }, short(record.file_name, 60))
    : h("span", { class: "faint mono" }, args[1]);
  return [crumbs(list, name), ...screen.parts()];
}

class RecordScreen {
  constructor(/** @type {any} */ { signal, go }, /** @type {any} */ record) {
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
    this.record = record;
    this.noun = nounOf(record);
    /** When the count of entries that are done changed last, and entries a second since then. */
    this.seen = { at: performance.now(), done: doneOf(record) };
    this.rate = startRate(record);
    /** The import of the same file before this one. */
    this.before = /** @type {any} */ (null);
    /** Whether the screen says what a dry run would do. Nobody makes it real before that. */
    this.known = false;
    /** The mended entries that were sent again. */
    this.lineage = new Lineage(record, this.signal);
    this.sent = h("div", { role: "status" });
    this.top = h("div");
    this.meanwhile = h("div");
    this.said = h("div", { role: "status" });
    this.actions = h("div", { class: "row actions-row" });
    this.rest = h("div", { class: "columns" });
    this.findings = h("div");
    this.shownJson = h("pre", { tabindex: 0 });
    this.json = h(
      "details",
      { ontoggle: () => this.drawJson() },
      h("summary", null, "As JSON"),
      this.shownJson,
    );
    /** The parts below the findings appear with them: they would jump if those came later. */
    this.below = h("div", { hidden: this.over }, this.rest, this.json);
  }
  parts() {
    return [
      this.top,
      this.meanwhile,
      this.said,
      this.sent,
      this.actions,
      this.findings,
      this.below,
    ];
  }
  get path() {
    return pathOf(this.record);
  }
  get over() {
    return this.record.status === "completed";
  }
  draw(/** @type {any} */ record) {
    const now = performance.now();
    const done = doneOf(record);
    if (done > this.seen.done) {
      this.rate = ((done - this.seen.done) * 1000) / Math.max(1, now - this.seen.at);
      this.seen = { at: now, done };
    }
    this.record = record;
    this.lineage.record = record;
    const state = this.over ? wordsOf(record.outcome) : `${record.progress} %`;
    document.title = `${state} · ${wordsOf(record.action)} · Caseload`;
    fill(
      this.top,
      titleOf(record),
      bar(record.progress, `progress of the ${this.noun}`),
      record.server_deaths > 0 && deathsOf(record),
      this.factsOf(),
    );
    update(this.meanwhile, [this.over, record.status, record.dry_run], () => this.meanwhileOf());
    const { counts, progress, warnings, ...others } = record;
    const { left, mended } = this.lineage;
    const shown = [record.status, this.over && counts, record.run_by, this.known, left, mended];
    update(this.actions, shown, () => this.actionsOf());
    update(this.rest, [others, this.over && counts], () => [
      timesOf(record),
      h("section", { "aria-label": "Downloads" }, this.downloadsOf(), relativesOf(record)),
    ]);
    this.drawJson();
  }
  /** The record stays as it is scrolled, and is drawn only while somebody reads it. */
  drawJson() {
    const { record } = this;
    if (this.json.open) update(this.shownJson, record, () => write(record, 2));
  }
  /** What the server does now, and what one can do until it is done. */
  meanwhileOf() {
    const { record, noun, over } = this;
    if (over) return null;
    const now =
      record.status === "processing"
        ? "The server works on it, with or without this page."
        : "It waits for its turn. The server begins it without this page.";
    return h(
      "p",
      { class: "meanwhile" },
      `${now} Meanwhile you can go to any other screen, `,
      can("write") && ["send ", h("a", { href: "#/new-import" }, "another file"), ", "],
      "or close the browser: ",
      h("a", { href: "#/imports" }, "Imports"),
      ` has this ${noun}. `,
      record.dry_run
        ? "It is a dry run: nothing is written."
        : "What is done is in force at once, and stays if you cancel the rest.",
    );
  }
  factsOf() {
    const { record, over } = this;
    const { counts } = record;
    const took = record.started_at && (record.completed_at ?? Date.now()) - record.started_at;
    // A rate of a few milliseconds says nothing.
    const whole = took >= SHORT_MS ? (doneOf(record) * 1000) / took : 0;
    const perSecond = over ? whole : this.rate;
    const left = (counts.unprocessed * 1000) / perSecond;
    return h(
      "div",
      { class: "facts" },
      over
        ? fact("entries", count(counts.total))
        : fact(`of ${things(counts.total, "entry", "entries")} done`, count(doneOf(record))),
      fact("succeeded", count(counts.succeeded), "good"),
      fact("failed", count(counts.failed), counts.failed ? "bad" : ""),
      fact(over ? "not reached" : "to do", count(counts.unprocessed)),
      record.warnings > 0 && fact("warnings", count(record.warnings)),
      took && fact(over ? "took" : "so far", span(took)),
      perSecond > 0 && fact("per second", count(Math.round(perSecond))),
      !over && perSecond > 0 && fact("left, about", span(left)),
    );
  }
  /** What can be done with it. */
  actionsOf() {
    const { record, known, lineage } = this;
    if (!this.over)
      return can("write") && button("Cancel", () => this.cancel(), { class: "danger" });
    const { failed, unprocessed } = record.counts;
    const some = things(lineage.left, "entry", "entries");
    const left = things(failed + unprocessed, "entry", "entries");
    const runs = record.dry_run && has("run") && !record.run_by;
    if (record.action === "erase_person")
      return h("a", { class: "button", href: `#/erasure/${idOf(record)}` }, "See the receipt");
    const mends = failed > 0 && { class: `button ${runs ? "" : "primary"}` };
    return [
      runs && known && can("write") && this.runButton(),
      runs &&
        !can("write") &&
        h("span", { class: "faint" }, "Your key may only read, so this stays a dry run."),
      mends &&
        h(
          "a",
          { ...mends, href: `#/${faultsOf(record)}` },
          lineage.left === 0
            ? "See the faults"
            : can("write")
              ? `Mend ${some}`
              : `See ${some} with faults`,
        ),
      isImport(record) && failed + unprocessed > 0 && rejectsOf(record, lineage.any),
      can("write") &&
        !record.dry_run &&
        !record.retried_by &&
        // The mended ones would be sent twice.
        !lineage.mended &&
        failed + unprocessed > 0 &&
        button(`Send ${left} again as sent`, () => this.retry()),
    ];
  }
  /** Makes a dry run real. */
  runButton() {
    const { action, counts } = this.record;
    const deletes = /^delete/.test(action);
    const label = deletes
      ? `Delete ${things(counts.succeeded, ...RECORDS[action])}`
      : this.before
        ? "Import it again"
        : "Make it real";
    const kind = deletes ? "danger" : "primary";
    return button(label, () => this.run(deletes && label), { class: kind });
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
        this.record.counts.failed > 0 && [h("dt", null, "Errors"), files("errors")],
      ),
    ];
  }
  file(/** @type {string} */ kind, /** @type {string} */ format) {
    const href = `${base}${this.path}/${kind}?download=true&format=${format}`;
    const download = `${kind}-${idOf(this.record)}.${format}.gz`;
    return h("a", { href, download }, format === "jsonl" ? "JSONL" : "CSV");
  }
  async cancel() {
    const { noun } = this;
    const left = count(this.record.counts.unprocessed);
    const text =
      "It stops at the end of a chunk. What is done stays done; " +
      `up to ${left} entries are not reached and can be sent again.`;
    await dialog(`Cancel the ${noun}?`, h("p", null, text), {
      label: `Cancel the ${noun}`,
      kind: "danger",
      work: async () => this.draw(await call("POST", `${this.path}/cancel`)),
    });
  }
  async retry() {
    const { failed, unprocessed } = this.record.counts;
    const faulty =
      `${things(failed, "entry", "entries")} with faults: ` +
      "unchanged, they fail again unless the cause is gone. You can mend them first.";
    const left =
      `${things(unprocessed, "entry", "entries")} that the ${this.noun} did not reach: ` +
      "they are applied.";
    const text = [failed > 0 && h("p", null, faulty), unprocessed > 0 && h("p", null, left)];
    const made = await dialog("Send them again?", text, {
      label: `Send ${things(failed + unprocessed, "entry", "entries")}`,
      kind: "primary",
      work: () => call("POST", `${this.path}/retry`),
    });
    if (made) this.go(screenOf(made));
  }
  /** Makes the dry run real. Two presses make it real once. */
  async run(/** @type {string|false} */ label) {
    const headers = { "Idempotency-Key": `console-run-${idOf(this.record)}` };
    const work = () => call("POST", `${this.path}/run`, { headers });
    const text = h("p", null, "They are gone then. No call brings them back.");
    const made = label
      ? await dialog(`${label}?`, text, { label, kind: "danger", work })
      : await work();
    if (made) this.go(screenOf(made));
  }
  /** Shows what became of the entries, and then what the screen has below that. */
  async showEnd() {
    await this.showFindings().finally(() => (this.below.hidden = false));
    await this.followSent();
  }
  /** What became of the entries, or would become of them, with faults and warnings in groups. */
  async showFindings() {
    const { record, signal } = this;
    const { action, dry_run: dry, counts, repeat_of: repeat } = record;
    const family = familyOf(action);
    fill(this.said, h("p", { class: "outcome faint" }, "Reading the results…"));
    const earlier =
      repeat && call("GET", v2(`${family}/imports/${repeat}`), { signal, quiet: true });
    const asked = [
      outcomesOf(record, signal),
      warningsOf(record, signal),
      counts.failed > 0 && call("GET", `${this.path}/errors/summary`, { signal, quiet: true }),
      earlier && earlier.catch(() => null),
    ];
    const [found, warnings, faults, before] = await Promise.all(asked);
    [this.before, this.known] = [before, true];
    const odd = warnings.length > 0 && `; ${warningWords(warnings)}`;
    const words = h("b", null, outcomeWords(record, found.outcomes), odd, ".");
    fill(
      this.said,
      h("p", { class: "outcome" }, dry ? "What would happen: " : "Done: ", words),
      before && repeatOf(record, before),
      record.doubles && doublesOf(record),
      dry && !record.run_by && h("p", { class: "faint" }, "Nothing is written yet."),
    );
    fill(
      this.findings,
      faults && groupsView(groupsOf(faults.groups.map(faultOf)), record.columns ?? {}),
      warnings.length > 0 && warningsView(warnings),
      changesView(found),
    );
    this.draw(record);
  }
  /** What became of mended entries that were sent, until all of it is over. */
  async followSent() {
    const { lineage, signal, record } = this;
    if (!lineage.any || record.counts.failed === 0) return;
    for (let wait = false; !signal.aborted; wait = true) {
      await lineage.ask(wait);
      fill(this.sent, lineage.view());
      this.draw(record);
      if (!lineage.working) return;
    }
  }
  /**
   * Follows the record by events, and by questions if there are none. A browser has six connections
   * for a server and all its tabs, so a tab that nobody looks at keeps none of them.
   */
  async follow() {
    const { signal } = this;
    const ask = async (wait = "") =>
      this.draw(await call("GET", this.path + wait, { signal, quiet: true }));
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
  /** Draws events until the record is over or the tab is hidden. Returns if the stream worked. */
  events() {
    return new Promise((resolve) => {
      const source = new EventSource(base + this.path);
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

/** A group of the summary of errors. */
const faultOf = (/** @type {any} */ one) => ({
  fault: { ...one.example, code: one.code, pointer: one.pointer },
  count: one.count,
});

/** The rate of a task since it began, until two states of it tell the present one. */
const startRate = (/** @type {any} */ task) =>
  task.started_at && doneOf(task)
    ? (doneOf(task) * 1000) / Math.max(SHORT_MS, Date.now() - task.started_at)
    : 0;
const doneOf = (/** @type {any} */ task) => task.counts.total - task.counts.unprocessed;

// Faults of an import, or of a task that belongs to none: groups by code and field, then the
// entries as a table (rejects.js). Mended entries are tried by a dry run, and sent again as an
// import, of which the screen says what became (lineage.js). The server counts the groups; entries
// are read when they come into view, and those of a group when it is mended (mending.js).
import { base, call, can, idOf, nounOf, pathOf, query, recordOf, screenOf } from "./api.js";
import { submit } from "./upload.js";
import { write } from "./json.js";
import { Pages } from "./pages.js";
import { placeName } from "./fields.js";
import { count, short, things, wordsOf } from "./format.js";
import { draftOf } from "./drafts.js";
import { filterOf, groupsOf, nameOf, recordsOf } from "./fault_groups.js";
import { Lineage, remember } from "./lineage.js";
import { GroupMending, forgetSent, isHalf, isOpen, makeDraft, mendEntry } from "./mending.js";
import { restored, showRaw, undoStep } from "./mending.js";
import { HEAD_HEIGHT, Rejects } from "./rejects.js";
import { bar, button, chord, crumbs, dialog, empty, head, notice, refused } from "./ui.js";
import { longList } from "./list.js";
import { fill, h } from "./view.js";

/** @typedef {import("./fault_groups.js").Group} Group */

/** Entries of a page. One may have megabytes. */
const PAGE = 100;
/** How long the server waits with its answer about a dry run at work. Its bar moves after each. */
const WAIT_SECONDS = 1;

export default async function faults(/** @type {any} */ context) {
  const { signal, keys, back } = context;
  const record = await recordOf(context);
  const noun = nounOf(record);
  const link = (/** @type {string} */ label) => h("a", { href: `#/${screenOf(record)}` }, label);
  if (record.status !== "completed") {
    const rest = "; its faults can be mended once it has ended.";
    return [head("Faults"), empty(`The ${noun} is still at work`, link("Follow it"), rest)];
  }
  if (record.counts.failed === 0)
    return [head("Faults"), empty("No faults", link(`The ${noun}`), " has no failed entries.")];
  const summary = await call("GET", `${pathOf(record)}/errors/summary`, { signal });
  const screen = new FaultsScreen(context, record, summary);
  const { list } = screen;
  keys({
    j: () => list.move(1),
    k: () => list.move(-1),
    Enter: () => list.openSelected(),
    e: () => list.selected && screen.rejects.editFirst(list.selected),
    u: () => screen.undo(),
    Escape: () => back(screenOf(record)),
  });
  chord("z", () => screen.undo(), signal);
  await screen.begin();
  return screen.view();
}

class FaultsScreen {
  constructor(/** @type {any} */ context, /** @type {any} */ record, /** @type {any} */ summary) {
    const { params, signal, up } = context;
    this.signal = /** @type {AbortSignal} */ (signal);
    this.up = up;
    this.path = pathOf(record);
    this.record = record;
    this.summary = summary;
    this.groups = groupsOf(
      summary.groups.map((/** @type {any} */ one) => ({
        fault: { ...one.example, code: one.code, pointer: one.pointer },
        count: one.count,
      })),
    );
    this.draft = draftOf(`faults/${this.path}`, makeDraft);
    this.lineage = new Lineage(record, this.signal);
    this.following = false;
    /** Entries with the values that they lack, by how they came. */
    this.restored = new WeakMap();
    /** The entries that failed, without what was sent, if some of them were sent again. */
    this.all = /** @type {Map<number, any>} */ (new Map());
    /** The group that was chosen, and the one whose rows are shown. They differ while rows load. */
    this.wanted = this.groups.find((group) => group.name === params.get("group"));
    // If all faults are of one group, it is the one to mend.
    const { entries, faults } = summary;
    if (this.groups.length === 1 && entries === record.counts.failed && faults === entries)
      this.wanted ??= this.groups[0];
    this.shown = this.wanted;
    this.pages = this.pagesOf(this.wanted);
    this.side = h("div", { class: "groups" });
    this.state = h("div");
    this.actions = h("div", { class: "row" });
    this.rejects = new Rejects({
      draft: this.draft,
      present: (found) => this.present(found),
      placeOf: (index) => this.lineage.places.get(index),
      open: (found) => this.open(found),
      changed: () => this.redraw(),
    });
    this.list = longList({
      height: 56,
      label: "Entries with faults",
      head: this.rejects.head,
      headHeight: HEAD_HEIGHT,
      row: (found) => this.rejects.row(found),
      missing: () => this.pages.load(this.list.seen, () => this.list.redraw()).catch(refused),
      open: (found) => this.open(found),
    });
  }
  /** The import of which a notice speaks: the reader may have left its screen. */
  get of() {
    const { file_name: name } = this.record;
    return name ? ` of ${short(name, 60)}` : "";
  }
  entries(/** @type {number} */ n) {
    return `${things(n, "entry", "entries")}${this.of}`;
  }
  async begin() {
    await Promise.all([this.pages.begin(), this.readSent()]);
    this.showColumns();
    this.draw();
    this.list.set(this.pages);
    if (this.draft.trying) this.follow().catch(refused);
    this.followSent().catch(refused);
  }
  showColumns() {
    const { shown, groups } = this;
    this.rejects.show(shown ? [shown] : groups, this.list.element);
  }
  /** Reads what became of entries that were sent, and which failed again. */
  async readSent(wait = false) {
    const { lineage, signal, draft } = this;
    if (!lineage.any) return;
    if (!this.all.size)
      for (const one of await recordsOf(this.path, signal, { excludes: ["entry"] }))
        this.all.set(one.index, one);
    await lineage.ask(wait);
    await lineage.read([...this.all.keys()]);
    const gone = [...lineage.places].filter(([, { state }]) => state !== "failed");
    forgetSent(
      draft,
      gone.map(([index]) => index),
    );
    for (const [index, { sent, state }] of lineage.places) {
      // What was sent again unchanged failed as before.
      const found = sent.entries && state === "failed" && sent.failed?.get(index);
      if (!found || draft.mended.has(index) || draft.again.has(index)) continue;
      const line = this.all.get(index)?.line ?? found.line;
      draft.again.set(index, restored({ ...found, index, line }));
    }
  }
  /** Follows what was sent to its end. */
  async followSent() {
    const { lineage, signal } = this;
    if (this.following) return;
    this.following = true;
    try {
      while (lineage.working && !signal.aborted) {
        await this.readSent(true);
        this.redraw();
      }
    } finally {
      this.following = false;
    }
  }
  view() {
    const { record } = this;
    const id = h("span", { class: "mono" }, idOf(record));
    const name = record.file_name ? short(record.file_name, 60) : id;
    return h(
      "div",
      { class: "fill" },
      crumbs(
        h("a", { href: this.up("imports") }, "Imports"),
        h("a", { href: `#/${screenOf(record)}` }, name),
      ),
      head("Faults", this.actions),
      this.state,
      h("div", { class: "fault-columns grow" }, this.side, this.list.element),
    );
  }
  /** The entries of a group, or of all. @param {Group|undefined} group */
  pagesOf(group) {
    const { path, signal } = this;
    return new Pages({
      key: "errors",
      size: PAGE,
      ask: (page) => {
        const filter = query({ ...filterOf(group), ...page });
        return call("GET", `${path}/errors${filter}`, { signal, quiet: true });
      },
    });
  }
  /** An entry as it is now: as it failed in the last dry run, or as it was sent. */
  present(/** @type {any} */ found) {
    const gone = { errors: [{ code: "erased", detail: "The entry was erased with a person." }] };
    const known = this.restored.get(found) ?? restored(found);
    this.restored.set(found, known);
    return this.draft.again.get(found.index) ?? (found.erased ? { ...found, ...gone } : known);
  }
  /** Shows a group: one of the server, one of the last dry run, or all. @param {Group} [group] */
  async choose(group) {
    this.rejects.commit();
    this.wanted = group;
    this.draw();
    const records = group?.records;
    const next = this.pagesOf(group);
    this.list.wait(true);
    try {
      if (!records) await next.begin();
    } catch (error) {
      if (this.wanted === group) {
        this.wanted = this.shown;
        this.list.wait(false);
        this.draw();
      }
      throw error;
    }
    if (this.wanted !== group) return;
    this.shown = group;
    this.showColumns();
    if (!records) this.pages = next;
    this.list.set(records ?? next);
    this.list.begin();
  }
  redraw() {
    this.draw();
    this.list.redraw();
  }
  draw() {
    const { trying } = this.draft;
    fill(
      this.state,
      h("p", trying && { class: "row sending" }, this.stateOf()),
      this.lineage.view(),
    );
    fill(this.side, this.groupsOf());
    fill(this.actions, !trying && this.actionsOf(), this.downloadOf());
  }
  /** The dry run at work, or how many entries failed and were mended. */
  stateOf() {
    const { record, groups } = this;
    const { mended, trying } = this.draft;
    if (trying) {
      const tried = things(trying.chosen.length, "entry", "entries");
      return [
        bar(trying.made.progress, "progress of the dry run"),
        h("span", { class: "faint" }, `Dry run of ${tried}`),
      ];
    }
    const total = things(record.counts.total, "entry", "entries");
    const advice =
      "Change a marked value in its cell, open an entry, or choose a group to mend all of it.";
    return [
      h("b", { class: "bad" }, count(record.counts.failed)),
      ` of ${total} failed, in ${things(groups.length, "group")}. `,
      mended.size > 0
        ? [h("b", { class: "good" }, `${count(mended.size)} mended`), this.halfOf()]
        : can("write") && h("span", { class: "faint" }, advice),
    ];
  }
  /** How many of the mended entries have a fault that is left. */
  halfOf() {
    const { draft } = this;
    const half = [...draft.mended.values()].filter(({ record }) => isHalf(draft, record)).length;
    if (!half) return ".";
    return `; ${count(half)} of them still ${half === 1 ? "has" : "have"} a marked value.`;
  }
  /** The groups to choose from: of the last dry run, then as sent. */
  groupsOf() {
    const { summary, groups } = this;
    const done = this.mendedFaults();
    const gone = this.goneFaults();
    const failing = groupsOf(this.failedAgain());
    const others = summary.faults - groups.reduce((sum, group) => sum + group.count, 0);
    const item = (/** @type {Group} */ group) => this.groupButton(group, done, gone);
    return [
      failing.length > 0 && [
        h("h2", null, "Failed again"),
        failing.map(item),
        h("h2", null, "As sent"),
      ],
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(!this.wanted),
          onclick: () => this.choose().catch(refused),
        },
        h("span", null, "All"),
        h("span", null, this.numberOf(this.lineage.left, summary.entries)),
      ),
      groups.map(item),
      others > 0 &&
        h("p", { class: "faint" }, `${things(others, "more fault")} in smaller groups, under All`),
    ];
  }
  /** How many faults of each group are in entries that were sent and did not fail again. */
  goneFaults() {
    const gone = /** @type {Map<string, number>} */ (new Map());
    for (const [index, { state }] of this.lineage.places)
      for (const fault of (state !== "failed" && this.all.get(index)?.errors) || [])
        gone.set(nameOf(fault), (gone.get(nameOf(fault)) ?? 0) + 1);
    return gone;
  }
  /** How many are left of how many, if some were sent. */
  numberOf(/** @type {number} */ left, /** @type {number} */ all) {
    return left < all && this.lineage.placed ? `${count(left)} of ${count(all)} left` : count(all);
  }
  /** How many faults of a group are in entries that are not sent or failed again. */
  leftOf(/** @type {Group} */ group, gone = this.goneFaults()) {
    return group.count - (group.records ? 0 : (gone.get(group.name) ?? 0));
  }
  groupButton(
    /** @type {Group} */ group,
    /** @type {Map<string, number>} */ done,
    /** @type {Map<string, number>} */ gone,
  ) {
    const { wanted } = this;
    const chosen = wanted?.name === group.name && !wanted.records === !group.records;
    const place = placeName(group.fault.pointer ?? "") || "the entry";
    const left = this.leftOf(group, gone);
    const all = (done.get(group.name) ?? 0) >= left;
    return h(
      "button",
      {
        type: "button",
        "aria-pressed": String(chosen),
        onclick: () => this.choose(group).catch(refused),
      },
      h(
        "span",
        null,
        h("b", null, wordsOf(group.fault.code)),
        h("br"),
        h("span", { class: "faint" }, place),
      ),
      h("span", { class: all ? "good" : "" }, this.numberOf(left, group.count)),
    );
  }
  /** Faults of the last dry run in entries that were not mended since. */
  failedAgain() {
    const { mended, again } = this.draft;
    return [...again.values()]
      .filter((record) => !mended.has(record.index))
      .flatMap((record) =>
        record.errors.map((/** @type {any} */ fault) => ({ fault, count: 1, record })),
      );
  }
  /** How many faults of each group are mended. */
  mendedFaults() {
    const done = /** @type {Map<string, number>} */ (new Map());
    const { draft } = this;
    const faults = [...draft.mended.values()].flatMap(({ record }) =>
      record.errors.filter((/** @type {any} */ fault) => !isOpen(draft, record, fault)),
    );
    for (const fault of faults) done.set(nameOf(fault), (done.get(nameOf(fault)) ?? 0) + 1);
    return done;
  }
  actionsOf() {
    const { wanted } = this;
    const { mended, steps } = this.draft;
    const { size } = mended;
    const done = wanted && !wanted.records && this.mendedFaults().get(wanted.name);
    const left = wanted ? this.leftOf(wanted) - (done || 0) : 0;
    const label = left === 1 ? "Mend the entry" : `Mend all ${count(left)}`;
    return [
      can("write") &&
        wanted?.fault.pointer &&
        left > 0 &&
        button(label, () => this.mendGroup(wanted), { class: size > 0 ? "" : "primary" }),
      size > 0 && button(`Dry run of ${count(size)}`, () => this.sendAgain(true)),
      size > 0 &&
        can("write") &&
        button(`Send ${count(size)} again`, () => this.sendAgain(false), { class: "primary" }),
      steps.length > 0 &&
        button("Undo", () => this.undo(), { "aria-keyshortcuts": "u Control+Z", title: "u" }),
      size > 0 && button("Undo all", () => this.undoAll()),
    ];
  }
  downloadOf() {
    const href = `${base}${this.path}/errors?download=true&format=csv`;
    return h("a", { href, download: `errors-${idOf(this.record)}.csv.gz` }, "Download as CSV");
  }
  /** Takes the last step back. */
  undo() {
    if (this.draft.trying || this.rejects.edited || !this.draft.steps.length) return;
    const back = undoStep(this.draft);
    notice(`${this.entries(back)} ${back === 1 ? "is" : "are"} as before the last step`);
    this.redraw();
  }
  async undoAll() {
    const { mended, steps } = this.draft;
    const work = () => {
      mended.clear();
      steps.length = 0;
      return true;
    };
    if (mended.size === 1) work();
    else {
      const entries = things(mended.size, "entry is", "entries are");
      const text = h("p", null, `${entries} again as sent. Nothing was sent yet.`);
      const label = `Undo ${things(mended.size, "change")}`;
      await dialog("Undo all changes?", text, { label, kind: "danger", work });
    }
    this.redraw();
  }
  async open(/** @type {any} */ found) {
    this.rejects.commit();
    const record = this.present(found);
    const place = this.lineage.places.get(record.index);
    if (place && place.state !== "failed") {
      const name = place.sent.made?.file_name ?? "another import";
      return notice(`Line ${count(record.line)} was sent as ${name}; it is not sent twice.`);
    }
    if (!record.entry) return showRaw(record);
    if (await mendEntry(this.draft, record)) this.redraw();
  }
  async mendGroup(/** @type {Group} */ group) {
    this.rejects.commit();
    const { draft, lineage, record: sent } = this;
    const found = group.records ?? (await recordsOf(this.path, this.signal, filterOf(group)));
    const records = found
      .map((record) => this.present(record))
      .filter(({ index }) => (lineage.places.get(index)?.state ?? "failed") === "failed");
    const mending = new GroupMending(draft, group, records, sent.action);
    if (!mending.values.length)
      return notice(`All of this group${this.of} is mended. Undo takes it back.`);
    if (await mending.ask()) this.redraw();
  }
  /** Sends the mended entries, or tries them by a dry run. */
  async sendAgain(/** @type {boolean} */ dry) {
    this.rejects.commit();
    const { record: sent, draft } = this;
    const before = draft.mended.size;
    // Another page of this browser may have sent some of them since.
    await this.readSent();
    const twice = before - draft.mended.size;
    if (twice)
      notice(`${this.entries(twice)} ${twice === 1 ? "was" : "were"} sent already, and not again`);
    const chosen = [...draft.mended.values()].sort((a, b) => a.record.index - b.record.index);
    if (!chosen.length) return this.redraw();
    const lines = chosen.map(({ entry }) => write(entry)).join("\n");
    const name = (sent.file_name ?? idOf(sent)).replace(/\.[a-z]{1,5}$/i, "");
    const { made, replayed } = await submit(sent, dry, lines, `mended-${name}.jsonl`);
    if (dry) {
      draft.trying = { made, chosen };
      return this.follow();
    }
    const indexes = chosen.map(({ record }) => record.index);
    remember(sent, made, indexes);
    forgetSent(draft, indexes);
    if (replayed)
      notice(`The same mended entries${this.of} were sent before. The screen shows their end.`);
    else notice(`Sent again: ${this.entries(chosen.length)}`);
    await this.readSent();
    this.redraw();
    this.followSent().catch(refused);
  }
  /** Follows the dry run to its end, also one that began before this screen was left. */
  async follow() {
    const { signal, draft } = this;
    const { trying } = draft;
    const path = pathOf(trying.made);
    try {
      while (trying.made.status !== "completed") {
        this.draw();
        const wait = `?wait=${WAIT_SECONDS}`;
        trying.made = await call("GET", path + wait, { signal, quiet: true });
      }
      for (const { index, errors } of await recordsOf(path, signal, {})) {
        const { record, entry } = trying.chosen[index];
        draft.again.set(record.index, restored({ ...record, errors, entry }));
        draft.mended.delete(record.index);
      }
    } finally {
      // A server that is away ends the following, and not the mended entries.
      if (!signal.aborted) {
        draft.trying = null;
        this.draw();
      }
    }
    this.list.redraw();
    const { failed } = trying.made.counts;
    const tried = count(trying.chosen.length);
    if (failed)
      notice(`${count(failed)} of ${tried} would still fail; they are marked again`, "bad");
    else notice(`All ${tried} would succeed: mended entries${this.of}`, "good");
  }
}

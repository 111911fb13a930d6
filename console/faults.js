// Faults of an import, or of a task that belongs to none: groups by code and field, then the
// entries with the faulty value marked. Mended entries are tried by a dry run, and sent again as an
// import. The server counts the groups; entries are read when they come into view, and those of a
// group when it is mended (mending.js).
import { base, call, can, idOf, nounOf, pathOf, query, recordOf, screenOf } from "./api.js";
import { submit } from "./upload.js";
import { write } from "./json.js";
import { Pages } from "./pages.js";
import { detailOf, placeName } from "./fields.js";
import { valueAt } from "./pointer.js";
import { count, short, things } from "./format.js";
import { draftOf } from "./drafts.js";
import { filterOf, groupsOf, nameOf, recordsOf, shownValue } from "./fault_groups.js";
import { GroupMending, makeDraft, mendEntry, showRaw } from "./mending.js";
import { bar, button, crumbs, dialog, empty, head, notice, refused } from "./ui.js";
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
    Escape: () => back(screenOf(record)),
  });
  await screen.begin();
  return screen.view();
}

class FaultsScreen {
  constructor(/** @type {any} */ context, /** @type {any} */ record, /** @type {any} */ summary) {
    const { params, signal, go, up } = context;
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
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
    /** The group that was chosen, and the one whose rows are shown. They differ while rows load. */
    this.wanted = this.groups.find((group) => group.name === params.get("group"));
    this.shown = this.wanted;
    this.pages = this.pagesOf(this.wanted);
    this.side = h("div", { class: "groups" });
    this.state = h("div");
    this.actions = h("div", { class: "row" });
    this.list = longList({
      height: 64,
      label: "Entries with faults",
      row: (found) => this.row(found),
      missing: () => this.pages.load(this.list.seen, () => this.list.redraw()).catch(refused),
      open: (found) => this.open(found),
    });
  }
  async begin() {
    await this.pages.begin();
    this.draw();
    this.list.set(this.pages);
    if (this.draft.trying) this.follow().catch(refused);
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
    return this.draft.again.get(found.index) ?? (found.erased ? { ...found, ...gone } : found);
  }
  row(/** @type {any} */ found) {
    const record = this.present(found);
    const { shown } = this;
    const isShown = (/** @type {any} */ one) => !shown || nameOf(one) === shown.name;
    const fault = record.errors.find(isShown) ?? record.errors[0];
    const fixed = this.draft.mended.get(record.index);
    const after = () => short(write(valueAt(fixed?.entry, fault.pointer ?? "") ?? null), 60);
    return h(
      "div",
      { class: `fault-row ${fixed ? "mended" : ""}`, onclick: () => this.open(record) },
      h("span", { class: "faint mono id" }, `line ${record.line}`),
      h(
        "span",
        { class: "grow clip" },
        h("span", null, placeName(fault.pointer ?? ""), " "),
        h("mark", { class: "bad", dir: "auto" }, short(shownValue(fault, record), 60)),
        fixed && record.entry && [" → ", h("mark", { class: "good", dir: "auto" }, after())],
        h("br"),
        h("span", { class: "faint", dir: "auto" }, short(detailOf(fault), 160)),
      ),
      record.errors.length > 1 && h("span", { class: "tag" }, `${record.errors.length} faults`),
    );
  }
  /** Shows a group: one of the server, one of the last dry run, or all. @param {Group} [group] */
  async choose(group) {
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
    fill(this.state, h("p", trying && { class: "row sending" }, this.stateOf()));
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
    const advice = "Open an entry to mend it, or choose a group to mend all of it.";
    return [
      h("b", { class: "bad" }, count(record.counts.failed)),
      ` of ${total} failed, in ${things(groups.length, "group")}. `,
      mended.size > 0
        ? h("b", { class: "good" }, `${count(mended.size)} mended.`)
        : can("write") && h("span", { class: "faint" }, advice),
    ];
  }
  /** The groups to choose from: of the last dry run, then as sent. */
  groupsOf() {
    const { summary, groups } = this;
    const done = this.mendedFaults();
    const failing = groupsOf(this.failedAgain());
    const others = summary.faults - groups.reduce((sum, group) => sum + group.count, 0);
    const item = (/** @type {Group} */ group) => this.groupButton(group, done);
    return [
      failing.length > 0 && [
        h("h2", null, "Failed in the dry run"),
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
        h("span", null, count(summary.entries)),
      ),
      groups.map(item),
      others > 0 &&
        h("p", { class: "faint" }, `${things(others, "more fault")} in smaller groups, under All`),
    ];
  }
  groupButton(/** @type {Group} */ group, /** @type {Map<string, number>} */ done) {
    const { wanted } = this;
    const chosen = wanted?.name === group.name && !wanted.records === !group.records;
    const place = placeName(group.fault.pointer ?? "") || "the entry";
    const all = done.get(group.name) === group.count;
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
        h("b", null, group.fault.code.replaceAll("_", " ")),
        h("br"),
        h("span", { class: "faint" }, place),
      ),
      h("span", { class: all ? "good" : "" }, count(group.count)),
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
  /** How many faults of each group are in mended entries. */
  mendedFaults() {
    const done = /** @type {Map<string, number>} */ (new Map());
    const faults = [...this.draft.mended.values()].flatMap(({ record }) => record.errors);
    for (const fault of faults) done.set(nameOf(fault), (done.get(nameOf(fault)) ?? 0) + 1);
    return done;
  }
  actionsOf() {
    const { wanted } = this;
    const { size } = this.draft.mended;
    const label = wanted?.count === 1 ? "Mend the entry" : `Mend all ${count(wanted?.count ?? 0)}`;
    return [
      can("write") && wanted?.fault.pointer && button(label, () => this.mendGroup(wanted)),
      size > 0 && button(`Dry run of ${count(size)}`, () => this.sendAgain(true)),
      size > 0 &&
        can("write") &&
        button(`Send ${count(size)} again`, () => this.sendAgain(false), { class: "primary" }),
      size > 0 && button("Undo all", () => this.undo()),
    ];
  }
  downloadOf() {
    const href = `${base}${this.path}/errors?download=true&format=csv`;
    return h("a", { href, download: `errors-${idOf(this.record)}.csv.gz` }, "Download as CSV");
  }
  async undo() {
    const { mended } = this.draft;
    const work = () => (mended.clear(), true);
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
    const record = this.present(found);
    if (!record.entry) return showRaw(record);
    if (await mendEntry(this.draft, record)) this.redraw();
  }
  async mendGroup(/** @type {Group} */ group) {
    const records =
      group.records ??
      (await recordsOf(this.path, this.signal, filterOf(group))).map((record) =>
        this.present(record),
      );
    if (await new GroupMending(this.draft, group, records).ask()) this.redraw();
  }
  /** Sends the mended entries, or tries them by a dry run. */
  async sendAgain(/** @type {boolean} */ dry) {
    const { record: sent } = this;
    const { mended, again } = this.draft;
    const chosen = [...mended.values()].sort((a, b) => a.record.index - b.record.index);
    const lines = chosen.map(({ entry }) => write(entry)).join("\n");
    const name = (sent.file_name ?? idOf(sent)).replace(/\.[a-z]{1,5}$/i, "");
    const { made, replayed } = await submit(sent, dry, lines, `mended-${name}.jsonl`);
    if (!dry) {
      mended.clear();
      again.clear();
      if (replayed) notice("the same mended entries were sent before; this is what became of them");
      else notice(`${things(chosen.length, "entry is", "entries are")} sent again`);
      return this.go(screenOf(made));
    }
    this.draft.trying = { made, chosen };
    return this.follow();
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
        draft.again.set(record.index, { ...record, errors, entry });
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
    else notice(`all ${tried} would succeed`, "good");
  }
}

// Faults of a task: groups by code and field, then the entries with the faulty value marked. An
// entry is mended in place or with its whole group, tried by a dry run, and sent again. The server
// counts the groups; entries are read when they come into view, and those of a group when it is mended.
import { base, call, can, eachLine, query, tasks } from "./api.js";
import { REPLACE, submit } from "./sending.js";
import { parse, write } from "./json.js";
import { Pages } from "./pages.js";
import { groupOf, valueAt, withValue } from "./pointer.js";
import { count, short, things } from "./format.js";
import { draftOf } from "./drafts.js";
import {
  bar,
  button,
  crumbs,
  dialog,
  empty,
  field,
  head as heading,
  input,
  notice,
  refused,
  select,
} from "./ui.js";
import { longList } from "./list.js";
import { fill, h } from "./view.js";

/** Entries of a page. One may have megabytes. */
const PAGE = 100;
/** How long the server waits with its answer about a dry run at work, whose bar moves after each. */
const WAIT_SECONDS = 1;
/** How the values of a group are mended: a label, and the new value. */
const HOW = /** @type {Record<string, [string, (now:any, text:string)=>any]>} */ ({
  text: ["set to the text", (_, text) => text],
  json: ["set to the JSON value", (_, text) => parsed(text)],
  remove: ["leave the field out", () => undefined],
  upper: ["capitals", (now) => String(now ?? "").toUpperCase()],
  trim: ["without blanks around it", (now) => String(now ?? "").trim()],
});

export default async function faults(
  /** @type {any} */ { args, params, signal, keys, go, back, up },
) {
  const [family, id] = args;
  const path = tasks(family, encodeURIComponent(id));
  const task = await call("GET", path, { signal });
  if (task.status !== "completed")
    return [
      heading("Faults"),
      empty(
        "The task is still at work",
        h("a", { href: `#/task/${family}/${id}` }, "Follow it"),
        "; its faults can be mended once it has ended.",
      ),
    ];
  if (task.counts.failed === 0)
    return [
      heading("Faults"),
      empty(
        "No faults",
        h("a", { href: `#/task/${family}/${id}` }, "The task"),
        " has no failed entries.",
      ),
    ];
  const summary = await call("GET", `${path}/errors/summary`, { signal });
  const groups = groupsOf(
    summary.groups.map((/** @type {any} */ one) => ({
      fault: { ...one.example, code: one.code, pointer: one.pointer },
      count: one.count,
    })),
  );
  const draft = draftOf(`faults/${family}/${id}`, makeDraft);
  const { mended, again } = draft;
  /** The group that was chosen, and the one whose rows are shown; they differ while its rows load. */
  let wanted = groups.find((group) => group.name === params.get("group"));
  let shown = wanted;
  let pages = /** @type {Pages} */ (pagesOf(wanted));
  const side = h("div", { class: "groups" });
  const head = h("div");
  const actions = h("div", { class: "row" });
  const list = longList({ height: 64, label: "Entries with faults", row, missing, open: edit });

  function missing() {
    pages.load(list.seen, () => list.redraw()).catch(refused);
  }

  /** The entries of a group, or of all. */
  function pagesOf(/** @type {any} */ group) {
    return new Pages({
      key: "errors",
      size: PAGE,
      ask: (page) =>
        call("GET", `${path}/errors${query({ ...filterOf(group), ...page })}`, {
          signal,
          quiet: true,
        }),
    });
  }
  function row(/** @type {any} */ found) {
    const record = again.get(found.index) ?? found;
    const fault =
      record.errors.find((/** @type {any} */ one) => !shown || nameOf(one) === shown.name) ??
      record.errors[0];
    const fixed = mended.get(record.index);
    return h(
      "div",
      { class: `fault-row ${fixed ? "mended" : ""}`, onclick: () => edit(record) },
      h("span", { class: "faint mono id" }, `line ${record.line}`),
      h(
        "span",
        { class: "grow clip" },
        h("span", { class: "mono" }, fault.pointer ?? "", " "),
        h("mark", { class: "bad", dir: "auto" }, short(shownValue(fault, record), 60)),
        fixed &&
          record.entry && [
            " → ",
            h(
              "mark",
              { class: "good", dir: "auto" },
              short(write(valueAt(fixed.entry, fault.pointer ?? "") ?? null), 60),
            ),
          ],
        h("br"),
        h("span", { class: "faint", dir: "auto" }, short(fault.detail, 160)),
      ),
      record.errors.length > 1 && h("span", { class: "tag" }, `${record.errors.length} faults`),
    );
  }
  /** Shows a group: one of the server, one of the last dry run, or all. */
  async function choose(/** @type {any} */ group) {
    wanted = group;
    draw();
    const next = group?.records ?? pagesOf(group);
    list.wait(true);
    try {
      if (!group?.records) await next.begin();
    } catch (error) {
      if (wanted === group) {
        wanted = shown;
        list.wait(false);
        draw();
      }
      throw error;
    }
    if (wanted !== group) return;
    shown = group;
    pages = group?.records ? pages : next;
    list.set(next);
    list.begin();
  }
  function draw() {
    const failing = groupsOf(
      [...again.values()]
        .filter((record) => !mended.has(record.index))
        .flatMap((record) =>
          record.errors.map((/** @type {any} */ fault) => ({ fault, count: 1, record })),
        ),
    );
    const done = new Map();
    for (const { record } of mended.values())
      for (const fault of record.errors)
        done.set(nameOf(fault), (done.get(nameOf(fault)) ?? 0) + 1);
    const { trying } = draft;
    if (trying)
      fill(
        head,
        h(
          "p",
          { class: "row sending" },
          bar(trying.made.progress, "progress of the dry run"),
          h(
            "span",
            { class: "faint" },
            `Dry run of ${things(trying.chosen.length, "entry", "entries")}`,
          ),
        ),
      );
    else
      fill(
        head,
        h(
          "p",
          null,
          h("b", { class: "bad" }, count(task.counts.failed)),
          ` of ${things(task.counts.total, "entry", "entries")} failed, in ${things(groups.length, "group")}. `,
          mended.size > 0
            ? h("b", { class: "good" }, `${count(mended.size)} mended.`)
            : can("write") &&
                h(
                  "span",
                  { class: "faint" },
                  "Open an entry to mend it, or choose a group to mend all of it.",
                ),
        ),
      );
    const item = (/** @type {any} */ group) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(
            wanted?.name === group.name && !wanted?.records === !group.records,
          ),
          onclick: () => choose(group).catch(refused),
        },
        h(
          "span",
          null,
          h("b", null, group.fault.code.replaceAll("_", " ")),
          h("br"),
          h("span", { class: "mono faint" }, groupOf(group.fault.pointer ?? "") || "the entry"),
        ),
        h(
          "span",
          { class: done.get(group.name) === group.count ? "good" : "" },
          count(group.count),
        ),
      );
    const others = summary.faults - groups.reduce((sum, group) => sum + group.count, 0);
    fill(
      side,
      failing.length > 0 && [
        h("h2", null, "Failed in the dry run"),
        failing.map(item),
        h("h2", null, "As sent"),
      ],
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(!wanted),
          onclick: () => choose(undefined).catch(refused),
        },
        h("span", null, "All"),
        h("span", null, count(summary.entries)),
      ),
      groups.map(item),
      others > 0 &&
        h("p", { class: "faint" }, `${things(others, "more fault")} in smaller groups, under All`),
    );
    fill(
      actions,
      !trying && [
        can("write") &&
          wanted?.fault.pointer &&
          button(wanted.count === 1 ? "Mend the entry" : `Mend all ${count(wanted.count)}`, () =>
            mendGroup(wanted),
          ),
        mended.size > 0 && button(`Dry run of ${count(mended.size)}`, () => sendAgain(true)),
        mended.size > 0 &&
          can("write") &&
          button(`Send ${count(mended.size)} again`, () => sendAgain(false), { class: "primary" }),
        mended.size > 0 && button("Undo all", undo),
      ],
      h(
        "a",
        { href: `${base}${path}/errors?download=true&format=csv`, download: `errors-${id}.csv.gz` },
        "Download as CSV",
      ),
    );
  }

  async function undo() {
    const work = () => (mended.clear(), true);
    if (mended.size === 1) work();
    else
      await dialog(
        "Undo all changes?",
        h(
          "p",
          null,
          `${things(mended.size, "entry is", "entries are")} again as sent. Nothing was sent yet.`,
        ),
        { label: `Undo ${things(mended.size, "change")}`, kind: "danger", work },
      );
    draw();
    list.redraw();
  }

  async function edit(/** @type {any} */ found) {
    const record = again.get(found.index) ?? found;
    if (!record.entry) {
      return dialog(
        `Line ${record.line}`,
        [
          h(
            "ul",
            null,
            record.errors.map((/** @type {any} */ fault) => h("li", null, fault.detail)),
          ),
          h("pre", { tabindex: 0 }, short(record.raw ?? "", 20000)),
          h(
            "p",
            { class: "faint" },
            "This is not a JSON map, so it can only be mended in the file.",
          ),
        ],
        { label: "Close" },
      );
    }
    const before = write(record.entry, 2);
    const text = h("textarea", {
      rows: 16,
      class: "mono",
      value: write(mended.get(record.index)?.entry ?? record.entry, 2),
      "aria-label": "Entry as JSON",
    });
    const changes = h("div", { role: "status" });
    const differ = () => {
      const [old, now] = [before.split("\n"), text.value.split("\n")];
      const gone = old.filter((line) => !now.includes(line)).slice(0, 20);
      const come = now.filter((/** @type {string} */ line) => !old.includes(line)).slice(0, 20);
      fill(
        changes,
        gone.map((line) => h("div", { class: "mono bad" }, `− ${short(line.trim())}`)),
        come.map((/** @type {string} */ line) =>
          h("div", { class: "mono good" }, `+ ${short(line.trim())}`),
        ),
      );
    };
    text.addEventListener("input", differ);
    differ();
    await dialog(
      `Line ${record.line}`,
      [
        h(
          "ul",
          null,
          record.errors.map((/** @type {any} */ fault) =>
            h(
              "li",
              null,
              h("span", { class: "mono" }, fault.pointer ?? ""),
              " ",
              h("mark", { class: "bad", dir: "auto" }, short(shownValue(fault, record), 100)),
              " ",
              fault.detail,
            ),
          ),
        ),
        text,
        changes,
      ],
      {
        label: "Keep",
        kind: "primary",
        work: () => {
          const next = parsed(text.value);
          if (write(next) === write(record.entry)) mended.delete(record.index);
          else mended.set(record.index, { record, entry: next });
          draw();
          list.redraw();
        },
      },
    );
  }

  async function mendGroup(/** @type {any} */ group) {
    const all =
      group.records ??
      (await recordsOf(path, signal, filterOf(group))).map(
        (record) => again.get(record.index) ?? record,
      );
    const how = select(
      Object.fromEntries(Object.entries(HOW).map(([name, [label]]) => [name, label])),
    );
    const value = input();
    const only = input({ placeholder: "any value" });
    const preview = h("div", { role: "status" });
    const plan = () => {
      if (/^(text|json)$/.test(how.value) && !value.value)
        throw new Error(
          `Write the value that ${group.count === 1 ? "the entry gets" : "they get"}.`,
        );
      const found = [];
      for (const record of all) {
        if (!record.entry) continue;
        let entry = mended.get(record.index)?.entry ?? record.entry;
        const hits = record.errors.filter(
          (/** @type {any} */ fault) => nameOf(fault) === group.name,
        );
        for (const fault of hits.reverse()) {
          const now = valueAt(entry, fault.pointer);
          if (only.value && String(now) !== only.value) continue;
          const next = HOW[how.value][1](now, value.value);
          entry = withValue(entry, fault.pointer, next);
          found.push({ record, pointer: fault.pointer, now, next, entry });
        }
      }
      return found;
    };
    const slot = field("Value", value);
    const draft = () => {
      slot.hidden = !/^(text|json)$/.test(how.value);
      try {
        const found = plan();
        fill(
          preview,
          h(
            "p",
            null,
            h(
              "b",
              null,
              found.length === 1 ? "1 value changes" : `${count(found.length)} values change`,
            ),
          ),
          found
            .slice(0, 6)
            .map((one) =>
              h(
                "div",
                { class: "mono" },
                `line ${one.record.line}: `,
                h("mark", { class: "bad" }, short(write(one.now ?? null), 40)),
                " → ",
                h(
                  "mark",
                  { class: "good" },
                  one.next === undefined ? "left out" : short(write(one.next), 40),
                ),
              ),
            ),
        );
      } catch (error) {
        fill(preview, h("p", { class: "faint" }, /** @type {any} */ (error).message));
      }
    };
    for (const one of [how, value, only]) one.addEventListener("input", draft);
    draft();
    await dialog(
      `Mend ${group.fault.code.replaceAll("_", " ")} at ${groupOf(group.fault.pointer)}`,
      [
        h("p", { class: "faint" }, group.fault.detail),
        field("How", how),
        slot,
        field("Only where the value is", only),
        preview,
      ],
      {
        label: "Mend them",
        kind: "primary",
        work: () => {
          for (const { record, entry } of plan()) mended.set(record.index, { record, entry });
          draw();
          list.redraw();
        },
      },
    );
  }

  async function sendAgain(/** @type {boolean} */ dry) {
    const chosen = [...mended.values()].sort((a, b) => a.record.index - b.record.index);
    const lines = chosen.map(({ entry }) => write(entry)).join("\n");
    const made = await submit(
      family,
      task.upsert ? REPLACE : task.action,
      dry,
      lines,
      `mended-${task.file_name ?? `${id}.jsonl`}`,
    );
    if (!dry) {
      mended.clear();
      again.clear();
      notice(`${count(chosen.length)} entries are sent again`);
      return go(`task/${family}/${made.task_id}`);
    }
    draft.trying = { made, chosen };
    return follow();
  }
  /** Follows the dry run to its end, also one that began before this screen was left. */
  async function follow() {
    const { trying } = draft;
    const { chosen } = trying;
    let { made } = trying;
    try {
      while (made.status !== "completed") {
        draw();
        made = await call("GET", `${tasks(family, made.task_id)}?wait=${WAIT_SECONDS}`, {
          signal,
          quiet: true,
        });
        trying.made = made;
      }
      for (const { index, errors } of await recordsOf(tasks(family, made.task_id), signal, {})) {
        const { record, entry } = chosen[index];
        again.set(record.index, { ...record, errors, entry });
        mended.delete(record.index);
      }
    } finally {
      // A server that is away ends the following, and not the mended entries.
      if (!signal.aborted) {
        draft.trying = null;
        draw();
      }
    }
    list.redraw();
    notice(
      made.counts.failed
        ? `${count(made.counts.failed)} of ${count(chosen.length)} would still fail; they are marked again`
        : `all ${count(chosen.length)} would succeed`,
      made.counts.failed ? "bad" : "good",
    );
  }

  keys({
    j: () => list.move(1),
    k: () => list.move(-1),
    Enter: () => list.openSelected(),
    Escape: () => back(`task/${family}/${id}`),
  });
  await pages.begin();
  draw();
  list.set(pages);
  if (draft.trying) follow().catch(refused);
  return h(
    "div",
    { class: "fill" },
    crumbs(
      h("a", { href: up("imports") }, "Imports"),
      h(
        "a",
        { href: `#/task/${family}/${id}` },
        task.file_name ? short(task.file_name, 60) : h("span", { class: "mono" }, id),
      ),
    ),
    heading("Faults", actions),
    head,
    h("div", { class: "fault-columns grow" }, side, list.element),
  );
}

/** A text as JSON, with a reason in words if it is none. */
function parsed(/** @type {string} */ text) {
  try {
    return parse(text);
  } catch (error) {
    throw new Error(`this is not JSON: ${/** @type {any} */ (error).message}`);
  }
}

/** By its index: an entry as it was mended, and one that failed again with its new faults. */
function makeDraft() {
  const mended = /** @type {Map<number, {record:any, entry:any}>} */ (new Map());
  const again = /** @type {Map<number, any>} */ (new Map());
  /** The dry run at work, and the entries that it tries. */
  const trying = /** @type {any} */ (null);
  return { mended, again, trying, unsent: () => mended.size > 0 };
}

const nameOf = (/** @type {any} */ fault) => `${fault.code} ${groupOf(fault.pointer ?? "")}`;
const shownValue = (/** @type {any} */ fault, /** @type {any} */ record) =>
  fault.value !== undefined
    ? write(fault.value)
    : record.raw !== undefined
      ? record.raw
      : fault.code === "required"
        ? "missing"
        : "";

/** Faults in groups, the largest first. @param {{fault:any, count:number, record?:any}[]} faults */
function groupsOf(faults) {
  const found =
    /** @type {Map<string, {name:string, fault:any, count:number, pointers:Set<string>, records?:any[]}>} */ (
      new Map()
    );
  for (const { fault, count: more, record } of faults) {
    const name = nameOf(fault);
    const group = found.get(name) ?? {
      name,
      fault,
      count: 0,
      pointers: new Set(),
      ...(record && { records: [] }),
    };
    group.count += more;
    group.pointers.add(fault.pointer ?? "");
    if (record && group.records?.at(-1) !== record) group.records?.push(record);
    found.set(name, group);
  }
  return [...found.values()].sort((a, b) => b.count - a.count);
}

/** The parameters that select the entries of a group. */
const filterOf = (/** @type {any} */ group) =>
  group ? { code: group.fault.code, pointer: [...group.pointers] } : {};

/** Reads all error records of a task, or those that the parameters select. */
async function recordsOf(
  /** @type {string} */ path,
  /** @type {any} */ signal,
  /** @type {any} */ params,
) {
  const found = /** @type {any[]} */ ([]);
  await eachLine(`${path}/errors${query({ ...params, format: "jsonl" })}`, signal, (_, record) =>
    found.push(record()),
  );
  return found;
}

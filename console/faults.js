// Faults of a task: groups by code and field, then the entries with the faulty value marked. An
// entry is mended in place or with its whole group, tried by a dry run, and sent again.
import { base, call, can, eachLine, tasks } from "./api.js";
import { submit } from "./new_import.js";
import { parse, write } from "./json.js";
import { groupOf, valueAt, withValue } from "./pointer.js";
import { count, short, things } from "./format.js";
import { button, dialog, empty, field, input, notice, refused, select } from "./ui.js";
import { fill, h, longList } from "./view.js";

/** Entries that are read before the screen is shown, and between two drawings of it. */
const FIRST = 50;
const DRAW_EVERY = 1000;
/** How the values of a group are mended: a label, and the new value. */
const HOW = /** @type {Record<string, [string, (now:any, text:string)=>any]>} */ ({
  text: ["set to the text", (_, text) => text],
  json: ["set to the JSON value", (_, text) => parse(text)],
  remove: ["leave the field out", () => undefined],
  upper: ["capitals", (now) => String(now ?? "").toUpperCase()],
  trim: ["without blanks around it", (now) => String(now ?? "").trim()],
});

export default async function faults(/** @type {any} */ { args, params, signal, keys, go, leaving }) {
  const [family, id] = args;
  const path = tasks(family, encodeURIComponent(id));
  const task = await call("GET", path, { signal });
  const records = /** @type {any[]} */ ([]);
  const mended = new Map();
  let wanted = params.get("group") ?? "";
  const groups = h("div", { class: "groups" });
  const head = h("div");
  const actions = h("div", { class: "row" });
  const matches = (/** @type {any} */ record) => !wanted || record.errors.some((/** @type {any} */ fault) => nameOf(fault) === wanted);
  const list = longList({ height: 64, label: "Entries with faults", row, open: edit });
  const shown = () => records.filter(matches);

  function row(/** @type {any} */ record) {
    const fault = record.errors.find((/** @type {any} */ one) => !wanted || nameOf(one) === wanted) ?? record.errors[0];
    const fixed = mended.get(record.index);
    return h("div", { class: `fault-row ${fixed ? "mended" : ""}`, onclick: () => edit(record) },
      h("span", { class: "faint mono id" }, `line ${record.line}`),
      h("span", { class: "grow clip" },
        h("span", { class: "mono" }, fault.pointer ?? "", " "),
        h("mark", { class: "bad", dir: "auto" }, short(shownValue(fault, record), 60)),
        fixed && record.entry && [" → ", h("mark", { class: "good", dir: "auto" }, short(write(valueAt(fixed, fault.pointer ?? "") ?? null), 60))],
        h("br"), h("span", { class: "faint", dir: "auto" }, short(fault.detail, 160))),
      record.errors.length > 1 && h("span", { class: "tag" }, `${record.errors.length} faults`));
  }
  function draw() {
    const found = new Map();
    for (const record of records) {
      for (const fault of record.errors) {
        const name = nameOf(fault);
        const group = found.get(name) ?? { name, fault, count: 0, mended: 0 };
        group.count += 1;
        if (mended.has(record.index)) group.mended += 1;
        found.set(name, group);
      }
    }
    const sorted = [...found.values()].sort((a, b) => b.count - a.count);
    fill(head, h("p", null, h("b", { class: "bad" }, count(task.counts.failed)), ` of ${things(task.counts.total, "entry", "entries")} failed, in ${things(sorted.length, "group")}. `, mended.size > 0 && h("b", { class: "good" }, `${count(mended.size)} mended`)));
    const choose = (/** @type {string} */ name) => { wanted = name; draw(); list.set(shown()); list.element.scrollTop = 0; };
    fill(groups,
      h("button", { type: "button", "aria-pressed": String(!wanted), onclick: () => choose("") }, h("span", null, "All"), h("span", null, count(records.length))),
      sorted.map((group) => h("button", { type: "button", "aria-pressed": String(wanted === group.name), onclick: () => choose(group.name) },
        h("span", null, h("b", null, group.fault.code.replaceAll("_", " ")), h("br"), h("span", { class: "mono faint" }, groupOf(group.fault.pointer ?? "") || "the entry")),
        h("span", { class: group.mended === group.count ? "good" : "" }, count(group.count)))));
    const group = found.get(wanted);
    fill(actions,
      can("write") && group && group.fault.pointer && button(`Mend all ${count(group.count)}`, () => mendGroup(group)),
      mended.size > 0 && button(`Dry run of ${count(mended.size)}`, () => sendAgain(true)),
      mended.size > 0 && can("write") && button(`Send ${count(mended.size)} again`, () => sendAgain(false), { class: "primary" }),
      mended.size > 0 && button("Undo all", () => { mended.clear(); draw(); list.redraw(); }),
      h("a", { href: `${base}${path}/errors?download=true&format=csv`, download: `errors-${id}.csv.gz` }, "Download as CSV"));
  }

  async function edit(/** @type {any} */ record) {
    if (!record.entry) {
      return dialog(`Line ${record.line}`, [h("ul", null, record.errors.map((/** @type {any} */ fault) => h("li", null, fault.detail))), h("pre", { tabindex: 0 }, short(record.raw ?? "", 20000)), h("p", { class: "faint" }, "This is not a JSON map, so it can only be mended in the file.")], { label: "Close" });
    }
    const before = write(record.entry, 2);
    const text = h("textarea", { rows: 16, class: "mono", value: write(mended.get(record.index) ?? record.entry, 2), "aria-label": "Entry as JSON" });
    const changes = h("div", { role: "status" });
    const differ = () => {
      const [old, now] = [before.split("\n"), text.value.split("\n")];
      const gone = old.filter((line) => !now.includes(line)).slice(0, 20);
      const come = now.filter((/** @type {string} */ line) => !old.includes(line)).slice(0, 20);
      fill(changes, gone.map((line) => h("div", { class: "mono bad" }, `− ${short(line.trim())}`)), come.map((/** @type {string} */ line) => h("div", { class: "mono good" }, `+ ${short(line.trim())}`)));
    };
    text.addEventListener("input", differ);
    differ();
    await dialog(`Line ${record.line}`, [h("ul", null, record.errors.map((/** @type {any} */ fault) => h("li", null, h("span", { class: "mono" }, fault.pointer ?? ""), " ", h("mark", { class: "bad", dir: "auto" }, short(shownValue(fault, record), 100)), " ", fault.detail))), text, changes], {
      label: "Keep", kind: "primary",
      work: () => {
        let next;
        try {
          next = parse(text.value);
        } catch (error) {
          throw new Error(`this is not JSON: ${/** @type {any} */ (error).message}`);
        }
        if (write(next) === write(record.entry)) mended.delete(record.index);
        else mended.set(record.index, next);
        draw();
        list.redraw();
      },
    });
  }

  async function mendGroup(/** @type {any} */ group) {
    const how = select(Object.fromEntries(Object.entries(HOW).map(([name, [label]]) => [name, label])));
    const value = input();
    const only = input({ placeholder: "any value" });
    const preview = h("div", { role: "status" });
    const plan = () => {
      const found = [];
      for (const record of records) {
        if (!record.entry) continue;
        let entry = mended.get(record.index) ?? record.entry;
        const hits = record.errors.filter((/** @type {any} */ fault) => nameOf(fault) === group.name);
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
    const draft = () => {
      try {
        const found = plan();
        fill(preview, h("p", null, h("b", null, `${count(found.length)} values change`)), found.slice(0, 6).map((one) => h("div", { class: "mono" }, `line ${one.record.line}: `, h("mark", { class: "bad" }, short(write(one.now ?? null), 40)), " → ", h("mark", { class: "good" }, one.next === undefined ? "left out" : short(write(one.next), 40)))));
      } catch (error) {
        fill(preview, h("p", { class: "bad" }, `this is not JSON: ${/** @type {any} */ (error).message}`));
      }
    };
    for (const one of [how, value, only]) one.addEventListener("input", draft);
    draft();
    await dialog(`Mend ${group.fault.code.replaceAll("_", " ")} at ${groupOf(group.fault.pointer)}`, [h("p", { class: "faint" }, group.fault.detail), field("How", how), field("Value", value), field("Only where the value is", only), preview], {
      label: "Mend them", kind: "primary",
      work: () => {
        for (const one of plan()) mended.set(one.record.index, one.entry);
        draw();
        list.redraw();
      },
    });
  }

  async function sendAgain(/** @type {boolean} */ dry) {
    const chosen = records.filter((record) => mended.has(record.index));
    const lines = chosen.map((record) => write(mended.get(record.index))).join("\n");
    let made = await submit(family, task.action, dry, lines, `mended-${id}`);
    if (!dry) {
      notice(`${count(chosen.length)} entries are sent again`);
      return go(`task/${family}/${made.task_id}`);
    }
    while (made.status !== "completed") made = await call("GET", `${tasks(family, made.task_id)}?wait=30`, { signal, quiet: true });
    const left = new Map();
    await errorsOf(tasks(family, made.task_id), signal, (record) => left.set(chosen[record.index].index, record.errors));
    for (const record of chosen) {
      if (left.has(record.index)) {
        record.errors = left.get(record.index);
        record.entry = mended.get(record.index);
        mended.delete(record.index);
      }
    }
    draw();
    list.set(shown());
    notice(made.counts.failed ? `${count(made.counts.failed)} of ${count(chosen.length)} would still fail; they are marked again` : `all ${count(chosen.length)} would succeed`, made.counts.failed ? "bad" : "good");
  }

  const warn = (/** @type {any} */ event) => mended.size && event.preventDefault();
  addEventListener("beforeunload", warn);
  leaving(() => removeEventListener("beforeunload", warn));
  keys({ j: () => list.move(1), k: () => list.move(-1), Enter: () => list.openSelected(), Escape: () => go(`task/${family}/${id}`) });
  await new Promise((resolve, reject) => {
    const show = () => {
      draw();
      list.set(shown());
      resolve(null);
    };
    const reading = errorsOf(path, signal, (record) => {
      records.push(record);
      if (records.length % DRAW_EVERY === FIRST) show();
    });
    reading.then(show, (error) => (records.length < FIRST ? reject(error) : refused(error)));
  });
  if (task.counts.failed === 0) return empty("No faults", h("a", { href: `#/task/${family}/${id}` }, "The task"), " has no failed entries.");
  return h("div", { class: "fill" }, h("p", null, h("a", { href: "#/imports" }, "Imports"), " / ", h("a", { href: `#/task/${family}/${id}` }, h("span", { class: "mono" }, id))), h("div", { class: "row spread" }, h("h1", null, "Faults"), actions), head, h("div", { class: "fault-columns grow" }, groups, list.element));
}

const nameOf = (/** @type {any} */ fault) => `${fault.code} ${groupOf(fault.pointer ?? "")}`;
const shownValue = (/** @type {any} */ fault, /** @type {any} */ record) => (fault.value !== undefined ? write(fault.value) : record.raw !== undefined ? record.raw : fault.code === "required" ? "missing" : "");

/** Reads the error records of a task as they arrive. */
const errorsOf = (/** @type {string} */ path, /** @type {any} */ signal, /** @type {(record:any)=>void} */ each) => eachLine(`${path}/errors?format=jsonl`, signal, (_, record) => each(record()));

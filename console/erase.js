// Erasing a person, in two screens: what would go, with the question; and the task that erases,
// which ends with a receipt. The second one is found again by its address.
import { Refusal, call, can, screenOf, tasks, v1, v2 } from "./api.js";
import { count, short, time } from "./format.js";
import { write } from "./json.js";
import { nameOf, phraseOf } from "./profile.js";
import { bar, button, crumbs, field, head, input, pill, problem, save } from "./ui.js";
import { fill, h, update } from "./view.js";

const WAIT_SECONDS = 20;
/** How soon a question that failed is asked again. */
const AGAIN_MS = 1500;
/** Ids that are shown of one kind. The receipt has all. */
const IDS_MAX = 100;
/** The ends that issues can have: the word for the server, the choice, and its meaning. */
const CHOICES = [
  [
    "redact",
    "Redact them",
    "Their texts, names and files go. State, tags, notes and replies of agents stay.",
  ],
  ["delete", "Delete them", "The whole conversations go, with notes and replies of agents."],
];

export default async function eraseScreen(/** @type {any} */ context) {
  const { name, keys, back, up } = context;
  keys({ Escape: () => back("people") });
  const list = h("a", { href: up("people") }, "People");
  return name === "erasure" ? followed(context, list) : asked(context, list);
}

async function asked(/** @type {any} */ context, /** @type {any} */ list) {
  if (!can("write")) throw new Refusal(403, { detail: "your key may only read, and not erase" });
  const target = await targetOf(context);
  const question = new Question(context, target);
  await question.ask();
  const link = h("a", { href: `#/${target.page}`, dir: "auto" }, short(target.name, 120));
  return [crumbs([list, h("span", { class: "faint" }, " / "), link], "Erase"), question.element];
}

/**
 * Who is erased: their name, what one types to go on, their page, and how the API names them. An
 * author without a profile is named by the address, or by the app profile.
 * @typedef {{name:string, phrase:string, page:string, body:Record<string, string>}} Target
 * @returns {Promise<Target>}
 */
async function targetOf(/** @type {any} */ { args: [id], params, signal }) {
  if (!id) {
    const [identity, pid] = [params.get("identity"), params.get("pid")];
    const text = identity ? identity.slice(identity.indexOf(":") + 1) : pid;
    if (!text) throw new Refusal(404, { detail: "this address names no person" });
    const known = identity ? { email: text } : { pid: text };
    const page = `author?${new URLSearchParams(/** @type {any} */ (known))}`;
    return { name: text, phrase: text, page, body: identity ? { identity } : { pid } };
  }
  const path = v2(`identity/core_profiles/${encodeURIComponent(id)}`);
  const profile = await call("GET", path, { signal });
  const page = `person/${encodeURIComponent(id)}`;
  const body = { "core-profile-id": id };
  return { name: nameOf(profile), phrase: phraseOf(profile), page, body };
}

/** What would go, and whether it should. */
class Question {
  constructor(/** @type {any} */ { signal, go }, /** @type {Target} */ target) {
    this.target = target;
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
    this.phrase = target.phrase;
    /** Two presses erase once. */
    this.key = `console-erase-${Date.now()}-${Math.random()}`;
    this.found = h("div", { role: "status" });
    this.issues = "redact";
    this.typed = input({ required: true });
    this.refusal = h("div", { class: "bad", role: "alert" });
    this.send = h("button", { type: "submit", class: "danger" }, "Erase this person");
    this.whether = h("div");
    this.element = h(
      "div",
      null,
      head(["Erase ", short(target.name, 120)]),
      h(
        "p",
        null,
        "Profiles of this person, and their texts and names in issues and tasks, " +
          "are erased for good. The server then gives you a receipt without names.",
      ),
      h("div", { class: "columns" }, this.preview(), this.form()),
    );
  }
  preview() {
    return h(
      "section",
      { "aria-label": "What is erased" },
      h("h2", null, "What is erased"),
      this.found,
    );
  }
  form() {
    const { target } = this;
    const submit = (/** @type {any} */ event) => {
      event.preventDefault();
      this.start().catch((error) => {
        if (this.signal.aborted) return;
        fill(this.refusal, problem(error));
        // A button that was disabled has lost the focus.
        if (document.activeElement === document.body) this.send.focus();
      });
    };
    return h(
      "form",
      { class: "narrow", onsubmit: submit },
      h("h2", null, "Confirm"),
      this.whether,
      field(
        ["To go on, type ", h("code", null, this.phrase)],
        this.typed,
        "This cannot be undone. Backups that you made earlier still have the person.",
      ),
      this.refusal,
      h(
        "div",
        { class: "actions" },
        button("Cancel", () => this.go(target.page)),
        this.send,
      ),
    );
  }
  choices() {
    const choice = (/** @type {string[]} */ [value, title, text]) =>
      h(
        "label",
        { class: "check" },
        h("input", {
          type: "radio",
          name: "issues",
          value,
          checked: value === this.issues,
          onchange: () => this.choose(value),
        }),
        h("span", null, title, h("div", { class: "faint" }, text)),
      );
    const legend = h("legend", null, "The issues");
    return h("fieldset", { class: "checks lines" }, legend, CHOICES.map(choice));
  }
  choose(/** @type {string} */ issues) {
    this.issues = issues;
    this.ask().catch((error) => !this.signal.aborted && fill(this.refusal, problem(error)));
  }
  get body() {
    return { ...this.target.body, issues: this.issues };
  }
  /** Asks the server what would go. */
  async ask() {
    const { issues, signal } = this;
    const body = { ...this.body, dry_run: true };
    const found = await call("POST", v1("erasures"), { body, signal });
    if (issues !== this.issues) return;
    update(this.found, found, () => [
      othersOf(found, this.target.body["core-profile-id"]),
      receiptView(found),
    ]);
    const some = found.counts.issues > 0;
    update(this.whether, some, () => some && this.choices());
  }
  async start() {
    if (this.send.disabled) return;
    fill(this.refusal);
    if (this.typed.value.trim() !== this.phrase) {
      this.typed.focus();
      throw new Error(`Nothing was erased: the field has to be ${this.phrase}`);
    }
    this.send.disabled = true;
    const headers = { "Idempotency-Key": `${this.key}-${this.issues}` };
    try {
      const task = await call("POST", v1("erasures"), { body: this.body, headers });
      this.go(`erasure/${encodeURIComponent(task.task_id)}`);
    } finally {
      this.send.disabled = false;
    }
  }
}

/** That other profiles share an identity with the person, and go too. */
function othersOf(/** @type {any} */ { core_profile_ids: ids }, /** @type {string=} */ id) {
  const others = ids.filter((/** @type {string} */ one) => one !== id);
  if (!others.length) return null;
  const text =
    others.length === 1
      ? "Another profile shares an identity or an app profile with this one. It goes, too: "
      : `${count(others.length)} other profiles are connected with this one. They go, too: `;
  return h("p", { class: "preview" }, h("b", null, text), linksTo("person", others));
}

/** Links to records, the first ones only. @param {string} screen @param {any[]} ids */
function linksTo(screen, ids) {
  const link = (/** @type {any} */ id) =>
    h(
      "a",
      { href: `#/${screen}/${encodeURIComponent(id)}` },
      screen === "issue" ? `#${id}` : String(id),
    );
  return listed(ids, link);
}

function listed(/** @type {any[]} */ ids, /** @type {(id:any)=>any} */ draw) {
  const rest = ids.length - IDS_MAX;
  const items = ids.slice(0, IDS_MAX).map((id, at) => [at > 0 && ", ", draw(id)]);
  return [items, rest > 0 && h("span", { class: "faint" }, `, and ${count(rest)} more`)];
}

/** The numbers of a receipt, or of a dry run, with the ids that it names. */
function receiptView(/** @type {any} */ { counts, erased_at: at, ...receipt }) {
  // The question has links to the other people.
  const people = at && listed(receipt.core_profile_ids, (id) => id);
  const facts = /** @type {[string, any, any?][]} */ ([
    ["People", counts.core_profiles, people],
    ["App profiles", counts.app_profiles, listed(receipt.pids, (pid) => short(pid, 80))],
    ["Issues", counts.issues, linksTo("issue", receipt.issue_ids)],
    ["Messages", counts.messages],
    ["Attachments", counts.attachments],
    ["Entries of tasks", counts.entries],
    ["Results of tasks", counts.records],
  ]);
  return h(
    "dl",
    { class: "receipt" },
    facts.map(([name, number, ids]) => [
      h("dt", null, name),
      h(
        "dd",
        { dir: "auto" },
        number ? h("b", null, count(number)) : h("span", { class: "faint" }, "none"),
        number > 0 && ids && h("div", { class: "faint" }, ids),
      ),
    ]),
  );
}

async function followed(/** @type {any} */ context, /** @type {any} */ list) {
  const id = context.args[0];
  const path = tasks("issues", encodeURIComponent(id));
  const task = await call("GET", path, { signal: context.signal });
  if (task.action !== "erase_person")
    throw new Refusal(404, { detail: "this task does not erase a person" });
  const erasure = new Erasure(path, task, context.signal);
  erasure.follow().catch((error) => !context.signal.aborted && erasure.fail(error));
  return [crumbs(list, h("span", { class: "faint mono" }, id)), erasure.element];
}

/** The task that erases a person, until it has a receipt. */
class Erasure {
  /** @param {string} path @param {any} task @param {AbortSignal} signal */
  constructor(path, task, signal) {
    this.path = path;
    this.task = task;
    this.signal = signal;
    this.title = h("div");
    this.said = h("div", { role: "status" });
    this.body = h("div");
    this.element = h("div", null, this.title, this.said, this.body);
    this.draw();
  }
  draw() {
    const { task } = this;
    const over = task.status === "completed";
    const done = over && task.outcome === "succeeded";
    const state = pill(over ? task.outcome : task.status);
    fill(this.title, head(done ? "The person is erased" : "Erasing a person", state));
    update(this.said, [over, task.progress], () => !over && this.progressOf());
  }
  progressOf() {
    return [
      bar(this.task.progress, "progress of the erasure"),
      h(
        "p",
        { class: "faint below" },
        "You may leave this page: the server goes on. Its task is in ",
        h("a", { href: "#/imports" }, "Imports"),
        ".",
      ),
    ];
  }
  async follow() {
    const { signal } = this;
    while (!signal.aborted && this.task.status !== "completed") {
      try {
        const wait = `?wait=${WAIT_SECONDS}`;
        this.task = await call("GET", this.path + wait, { signal, quiet: true });
        this.draw();
      } catch {
        // The server goes on, also while it cannot be reached.
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
    if (signal.aborted) return;
    const { outcome } = this.task;
    if (outcome === "succeeded") return this.receipt();
    if (outcome === "failed") return this.faults();
    const text = "It was cancelled. What went before that is gone; erase the person again.";
    fill(this.body, h("p", null, text), this.taskLink());
  }
  async receipt() {
    const [receipt] = await call("GET", `${this.path}/results`, { signal: this.signal });
    const name = `erasure-${this.task.task_id}.json`;
    const file = () => save(new Blob([write(receipt, 2)], { type: "application/json" }), name);
    const when = time(receipt.erased_at ?? this.task.completed_at, true);
    fill(
      this.body,
      h("p", null, "Erased at ", when, ". This receipt names no one."),
      receiptView(receipt),
      h(
        "div",
        { class: "row" },
        button("Download the receipt", file, { class: "primary" }),
        this.taskLink(),
      ),
    );
  }
  async faults() {
    const [record] = await call("GET", `${this.path}/errors`, { signal: this.signal });
    const faults = record.errors.map((/** @type {any} */ fault) => h("li", null, fault.detail));
    fill(this.body, h("p", null, "The person was not erased:"), h("ul", null, faults));
    this.body.append(this.taskLink());
  }
  fail(/** @type {any} */ error) {
    fill(this.body, h("div", { class: "bad", role: "alert" }, problem(error)));
  }
  taskLink() {
    return h("a", { href: `#/${screenOf(this.task)}` }, "See the task");
  }
}

// One issue as a conversation: messages and notes in their order, and what can be changed.
import { Refusal, call, can, has, query, v1 } from "./api.js";
import { write } from "./json.js";
import { STATES, at, choicesOf, count, short, time, wordsOf } from "./format.js";
import { agentNames } from "./change_words.js";
import { History, goneScreen } from "./history.js";
import { nameIn } from "./issue_names.js";
import { Compose } from "./compose.js";
import { marked, messageOf } from "./message.js";
import { hitsOf, walkOf } from "./walk.js";
import { authorPath } from "./profile.js";
import { button, crumbs, field, head, input, notice, pill, refused, select, table } from "./ui.js";
import { fill, h } from "./view.js";

const PAGE = 100;
/** So many messages are shown at first, if there are as many. */
const FEWEST = 50;
/** Characters of the issue as JSON that are shown. */
const JSON_SHOWN = 200000;

/** The messages of an issue, or its notes: the last ones, and earlier ones when they are wanted. */
class Talk {
  constructor(/** @type {string} */ path, /** @type {string} */ key, /** @type {any} */ signal) {
    this.ask = (/** @type {number} */ page) =>
      call("GET", v1(`${path}?page-size=${PAGE}&page=${page}`), { signal, quiet: true });
    this.key = key;
    this.items = /** @type {any[]} */ ([]);
    /** The page before the first one that was read; 0 if there is none. */
    this.before = 0;
    this.total = 0;
  }
  async begin() {
    const first = await this.ask(1);
    this.total = first["total-hits"];
    this.before = first["total-pages"];
    while (this.before && this.items.length < FEWEST)
      this.put(this.before === 1 ? first : await this.ask(this.before));
    return this;
  }
  async more() {
    this.put(await this.ask(this.before));
  }
  put(/** @type {any} */ page) {
    this.items.unshift(...page[this.key]);
    this.before -= 1;
  }
  /** From when on it has all. */
  get since() {
    return this.before ? (this.items[0]?.created_at ?? Infinity) : -Infinity;
  }
}

/** The issue, its messages and notes, and the apps. */
async function readAll(/** @type {string} */ path, /** @type {AbortSignal} */ signal) {
  const includes = ["custom_fields", "feedback", "queue", "meta"];
  const wanted = query({ includes, excludes: ["messages"] });
  const [envelope, messages, notes, { apps }] = await Promise.all([
    call("GET", v1(path + wanted), { signal }),
    new Talk(`${path}/messages`, "messages", signal).begin(),
    new Talk(`${path}/private-notes`, "private_notes", signal).begin(),
    call("GET", v1("apps"), { signal, quiet: true }),
  ]);
  const issue = envelope.issues ? envelope.issues[0] : envelope;
  if (!issue) throw new Refusal(404, { detail: "there is no such issue" });
  return { issue, messages, notes, apps };
}

export default async function issueScreen(/** @type {any} */ context) {
  const { args, params, signal, keys, back, up, reload } = context;
  const id = args[0];
  const path = `issues/${encodeURIComponent(id)}`;
  const list = h("a", { href: up("issues") }, "Issues");
  const walk = new Neighbours(id, context);
  const ways = { Escape: () => back("issues"), ...walk.keys };
  keys(ways);
  const [read, agents] = await Promise.all([
    readAll(path, signal).catch((error) => ({ error })),
    agentNames(signal),
  ]);
  const history = new History(v1(path), "issues", signal, agents);
  if ("error" in read) return [walk.element, await goneScreen(read.error, history, list, `#${id}`)];
  const { issue, messages, notes, apps } = read;
  const screen = new IssueScreen(context, issue, agents);
  const compose = can("write") ? new Compose(id, agents, reload) : null;
  if (compose) keys({ ...ways, r: () => compose.write("reply"), n: () => compose.write("note") });
  const hits = hitsOf(params);
  const conversation = new Conversation(messages, notes, hits);
  return [
    h(
      "div",
      { class: "row spread ways" },
      crumbs(list, h("span", { class: "faint mono" }, `#${issue.id}`)),
      walk.element,
    ),
    head(issue.title ? marked(short(issue.title, 300), hits) : "(without a title)"),
    h(
      "div",
      { class: "conversation" },
      h(
        "div",
        compose?.dropping(),
        conversation.element,
        compose?.element,
        history.begin().element,
      ),
      screen.asideOf(apps),
    ),
  ];
}

/** The place of the issue in its list, and the ways to its neighbours. */
class Neighbours {
  constructor(/** @type {string} */ id, /** @type {any} */ { swap }) {
    const walk = walkOf(id);
    this.keys = {};
    this.element = h("div", { class: "row", role: "group", "aria-label": "Place in the list" });
    if (!walk) {
      this.element.hidden = true;
      return;
    }
    const go = async (/** @type {number} */ by) => {
      const next = await walk.step(by);
      if (next) await swap(next);
      else notice(by > 0 ? "This is the last one of the list." : "This is the first one.");
    };
    const way = (
      /** @type {string} */ label,
      /** @type {string} */ key,
      /** @type {number} */ by,
    ) =>
      button([label, h("kbd", { "aria-hidden": "true" }, key)], () => go(by), {
        "aria-keyshortcuts": key,
      });
    this.keys = { j: () => go(1).catch(refused), k: () => go(-1).catch(refused) };
    this.element.append(
      h("span", { class: "faint" }, `${count(walk.place + 1)} of ${count(walk.length)}`),
      way("Previous", "k", -1),
      way("Next", "j", 1),
    );
  }
}

/** Messages and notes in one order, from when on all of both were read. */
class Conversation {
  constructor(
    /** @type {Talk} */ messages,
    /** @type {Talk} */ notes,
    /** @type {string[]} */ hits,
  ) {
    this.hits = hits;
    this.messages = messages;
    this.notes = notes;
    this.element = h("div", { class: "talk" });
    this.draw();
  }
  /** A note from before the first message shown would hide that other messages are between them. */
  get since() {
    return Math.max(this.messages.since, this.notes.since);
  }
  draw() {
    const { messages, notes, since } = this;
    const all = [
      ...messages.items,
      ...notes.items.map((/** @type {any} */ note) => ({ ...note, isNote: true })),
    ]
      .filter((one) => one.created_at >= since)
      .sort((a, b) => a.created_at - b.created_at);
    const hidden = messages.total + notes.total - all.length;
    const label = `Show earlier ones (${count(hidden)} more)`;
    fill(
      this.element,
      hidden > 0 && button(label, () => this.more()),
      all.map((one) => messageOf(one, this.hits)),
      all.length === 0 && h("p", { class: "faint" }, "No messages."),
    );
  }
  async more() {
    const { messages, notes, since } = this;
    const late = [messages, notes].filter((one) => one.before && one.since === since);
    await Promise.all(late.map((one) => one.more()));
    this.draw();
  }
}

/** What can be changed of an issue, and its facts. */
class IssueScreen {
  constructor(
    /** @type {any} */ { args, reload },
    /** @type {any} */ issue,
    /** @type {Record<string, string>} */ agents,
  ) {
    this.id = args[0];
    this.reload = reload;
    this.issue = issue;
    this.agents = agents;
  }
  /** Saves a change, and says which. @param {any} body @param {string} said */
  async edit(body, said) {
    try {
      await call("PUT", v1(`issues/${this.id}`), { body });
      notice(`Issue #${this.id}: ${said}, saved`, "good");
    } catch (error) {
      notice(/** @type {any} */ (error).message, "bad");
    }
    this.reload();
  }
  asideOf(/** @type {any[]} */ apps) {
    const { issue } = this;
    const facts = this.factsOf(apps).map(([name, value]) => [
      h("dt", null, name),
      h("dd", null, value),
    ]);
    const tags = issue.tags.map((/** @type {string} */ tag) => h("span", { class: "tag" }, tag));
    const custom = Object.entries(issue.custom_fields ?? {}).map(customField);
    return h(
      "aside",
      { "aria-label": "Facts" },
      h("dl", null, facts),
      can("write") ? this.tagsForm() : h("p", null, tags),
      custom.length > 0 && [
        h("h2", null, "Custom fields"),
        table("Custom fields", ["field", "value"], custom),
      ],
      h(
        "details",
        null,
        h("summary", null, "As JSON"),
        h("pre", { tabindex: 0 }, write(issue, 2).slice(0, JSON_SHOWN)),
      ),
    );
  }
  /** @returns {[string, any][]} */
  factsOf(/** @type {any[]} */ apps) {
    const { issue } = this;
    const facts = /** @type {[string, any][]} */ ([
      ["State", this.stateOf()],
      ["Assignee", this.assigneeOf()],
      ["Author", authorOf(issue)],
      ["App", apps.find((app) => app.id === issue.app_id)?.title ?? issue.app_id],
      ["Queue", issue.queue?.name ?? "none"],
      ["Language", issue.language ? nameIn(undefined, "language", issue.language) : "unknown"],
      ["Created", time(issue.created_at)],
      ["Updated", time(issue.updated_at)],
      ["State since", time(issue.state_data.changed_at)],
    ]);
    if (issue.feedback_rating === undefined) return facts;
    const comment = issue.feedback_comment ? `: ${short(issue.feedback_comment, 500)}` : "";
    return [...facts, ["Rating", `${issue.feedback_rating} of 5${comment}`]];
  }
  stateOf() {
    const { state } = this.issue.state_data;
    if (!can("write")) return pill(state);
    return select(choicesOf(STATES), {
      value: state,
      "aria-label": "State",
      onchange: (/** @type {any} */ event) => {
        const status = event.target.value;
        return this.edit({ status }, `state ${wordsOf(status)}`);
      },
    });
  }
  assigneeOf() {
    const { assignee_id: id, assignee_name: name } = this.issue;
    if (!can("write")) return name ?? (id === "unassigned" ? "unassigned" : id);
    const present = id !== "unassigned" && { [id]: name || id };
    return select(
      { unassigned: "Unassigned", ...present, ...this.agents },
      {
        value: id,
        "aria-label": "Assignee",
        onchange: (/** @type {any} */ { target }) =>
          this.edit(
            { "assignee-id": target.value },
            `assignee ${target.selectedOptions[0].textContent}`,
          ),
      },
    );
  }
  tagsForm() {
    const tags = input({ value: this.issue.tags.join(", ") });
    const save = (/** @type {any} */ event) => {
      event.preventDefault();
      const parts = tags.value.split(",").map((/** @type {string} */ tag) => tag.trim());
      this.edit({ tags: parts.filter(Boolean) }, "tags");
    };
    return h("form", { onsubmit: save }, field("Tags", tags, "Commas separate them. Enter saves."));
  }
}

/** The author, who leads to their page. */
function authorOf(/** @type {any} */ issue) {
  const { author_name: name, author_email: email } = issue;
  const path = has("profiles") && authorPath(issue);
  const shown = [
    name && h("span", { dir: "auto" }, short(name)),
    email && h("span", null, short(email)),
    !name && !email && "without a name",
  ];
  return path
    ? h("a", { class: "lines", href: `#/${path}` }, shown)
    : h("span", { class: "lines" }, shown);
}

/** A custom field as a row. @param {[string, any]} pair */
function customField([key, value]) {
  return [key, short(text(value?.value !== undefined ? value.value : value), 200)];
}

const text = (/** @type {any} */ value) =>
  typeof value === "string"
    ? value
    : typeof value === "number" && value > 1e11
      ? at(value)
      : write(value);

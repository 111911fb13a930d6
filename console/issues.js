// Issues: a list of any length with filters, order and total in the address, and edits of many.
import { call, can, has, query, v1 } from "./api.js";
import { OPEN, STATES, STATE_OPTIONS, count, dayBound, short, things, time } from "./format.js";
import { named } from "./json.js";
import {
  button,
  dialog,
  empty,
  exportLink,
  failed,
  field,
  head,
  input,
  notice,
  pill,
  refused,
  select,
} from "./ui.js";
import { Pages } from "./pages.js";
import { longList } from "./list.js";
import { authorPath } from "./profile.js";
import { opened, wordsOf } from "./walk.js";
import { fill, h } from "./view.js";

const EDIT_MAX = 5000;
/** The page of an author, if this server has people. */
const pathOfAuthor = (/** @type {any} */ issue) => (has("profiles") ? authorPath(issue) : null);
/** Issues of a page when all are marked. */
const MARK_PAGE = 1000;

/** The filters: parameter, label, and how the value goes to the API. */
const FILTERS = named(
  /** @type {Record<string, [string, (v:string)=>Record<string, any>]>} */ ({
    text: ["words", (v) => ({ text: v })],
    state: ["state", (v) => ({ state: v })],
    tags: ["tag", (v) => ({ tags: { and: v.split(",").map((tag) => tag.trim()) } })],
    assignee: [
      "assignee id",
      (v) => ({ "assignee-ids": v === "unassigned" ? { exists: false } : { or: [v] } }),
    ],
    author: ["author e-mail", (v) => ({ author_emails: { or: [v] } })],
    person: ["person", (v) => ({ "core-profile-id": v })],
    app: ["app", (v) => ({ "app-ids": v })],
    queue: ["queue", (v) => ({ queue_ids: v })],
    user: ["app profile", (v) => ({ "end-user-ids": [v] })],
    ids: ["issue ids", (v) => ({ ids: v.split(/[\s,]+/).filter(Boolean) })],
    mode: ["mode", (v) => ({ issue_modes: [v] })],
    "assignee-email": ["assignee e-mail", (v) => ({ assignee_emails: { or: [v] } })],
    language: ["language", (v) => ({ languages: { or: [v] } })],
    platform: ["platform", (v) => ({ "platform-types": v })],
    title: ["words in the title", (v) => ({ title: { and: [v] } })],
    messages: ["words in a message", (v) => ({ messages: { and: [v] } })],
    notes: ["words in a note", (v) => ({ notes: { and: [v] } })],
    feedback: ["words in feedback", (v) => ({ "feedback-comment": { and: [v] } })],
    rating: [
      "rating at most",
      (v) => ({ "feedback-rating": { and: [{ is_smaller_than: String(Number(v) + 1) }] } }),
    ],
    since: ["created since", (v) => ({ "created-since": dayBound(v, false) })],
    until: ["created until", (v) => ({ "created-until": dayBound(v, true) })],
    updated: ["updated since", (v) => ({ "updated-since": dayBound(v, false) })],
    "updated-until": ["updated until", (v) => ({ "updated-until": dayBound(v, true) })],
    changed: ["state changed since", (v) => ({ "state-since": dayBound(v, false) })],
    "changed-until": ["state changed until", (v) => ({ "state-until": dayBound(v, true) })],
    fields: ["custom fields (JSON)", (v) => ({ custom_fields: v })],
    redacted: ["redacted", (v) => ({ redacted: v })],
  }),
);
const DAYS = new Set(["since", "until", "updated", "updated-until", "changed", "changed-until"]);
const SORTS = named({
  "creation-time desc": "newest",
  "creation-time asc": "oldest",
  "update-time desc": "last changed",
  "state-change-time desc": "state last changed",
});
/** By order: the bounds of its time, and the time and the id of an issue. */
const BOUNDS = named(
  /** @type {Record<string, {since:string, until:string, of:(issue:any)=>[number, string]}>} */ ({
    "creation-time": {
      since: "created-since",
      until: "created-until",
      of: (issue) => [issue.created_at, issue.id],
    },
    "update-time": {
      since: "updated-since",
      until: "updated-until",
      of: (issue) => [issue.updated_at, issue.id],
    },
    "state-change-time": {
      since: "state-since",
      until: "state-until",
      of: (issue) => [issue.state_data.changed_at, issue.id],
    },
  }),
);

/** The parameters of the API for an address. */
export function filtersOf(/** @type {URLSearchParams} */ params) {
  const all = {};
  for (const [name, value] of params)
    if (FILTERS[name] && value) Object.assign(all, FILTERS[name][1](value));
  const sort = params.get("sort") ?? "";
  const [by, order] = (sort in SORTS ? sort : "creation-time desc").split(" ");
  return { filters: all, order: { "sort-by": by, "sort-order": order } };
}

export default async function issues(/** @type {any} */ context) {
  const { params, go, keys, reload } = context;
  const screen = new IssuesScreen(context);
  const body = h("div", { class: "grow" });
  try {
    await screen.begin();
    fill(body, screen.contents());
  } catch (error) {
    if (/** @type {any} */ (error).name === "AbortError") throw error;
    fill(body, failed(error, reload));
  }
  const { list } = screen;
  const search = input({
    type: "search",
    "aria-label": "Search issues",
    placeholder: "Words in title, messages, notes  ( / )",
    value: params.get("text") ?? "",
  });
  keys({
    j: () => list.move(1),
    k: () => list.move(-1),
    Enter: () => list.openSelected(),
    "/": () => search.focus(),
    x: () => list.selected && screen.mark(list.selected),
    a: () => screen.openAuthor(list.selected),
  });
  return h(
    "div",
    { class: "fill" },
    head(
      ["Issues ", screen.heading],
      screen.bulk,
      exportLink("issues", params),
      can("write") && button("New issue", () => create(go)),
    ),
    screen.filtersForm(search),
    body,
  );
}

class IssuesScreen {
  constructor(/** @type {any} */ { params, signal, go, reload, returning }) {
    this.params = /** @type {URLSearchParams} */ (params);
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
    this.reload = reload;
    const { filters, order } = filtersOf(params);
    this.wanted = { ...filters, ...order };
    /** Issues marked for an edit of many, by their ids. */
    this.marked = /** @type {Map<string, any>} */ (new Map());
    this.heading = h("span", { class: "number", role: "status" });
    this.bulk = h("div", { class: "row" });
    this.list = longList({
      height: 44,
      label: "Issues",
      row: (issue, at) => this.row(issue, at),
      missing: () => this.pages.load(this.list.seen, () => this.list.redraw()).catch(refused),
      open: (issue) => this.open(issue, this.list.at),
      name: `issues?${params}`,
      returning,
    });
    this.pages = new Pages({
      key: "issues",
      order: { ...BOUNDS[order["sort-by"]], newest: order["sort-order"] === "desc" },
      ask: (page) => this.ask(page),
    });
  }
  async begin() {
    const { pages } = this;
    await pages.begin();
    fill(this.heading, count(pages.length));
    document.title = `Issues (${count(pages.length)}) · Caseload`;
    this.list.set(pages);
  }
  /** The list, or why it is empty. */
  contents() {
    if (this.pages.length) return this.list.element;
    if (this.params.size)
      return empty("No issue matches", h("a", { href: "#/issues" }, "Remove all filters"));
    const link = h("a", { href: "#/new-import" }, "Import some");
    return empty("No issues yet", link, " from a file, or send them through the API.");
  }
  /** @returns {Promise<any>} */
  ask(/** @type {any} */ page, /** @type {AbortSignal|null} */ signal = this.signal) {
    const wanted = query({ ...this.wanted, excludes: ["messages"], ...page });
    const quiet = this.pages.length > 0;
    return call("GET", v1(`issues${wanted}`), { signal: signal ?? undefined, quiet });
  }
  /** Opens an issue, from which the page goes on to its neighbours after this screen is left. */
  open(/** @type {any} */ issue, /** @type {number} */ at) {
    const { params, pages } = this;
    const list = { name: `issues?${params}`, pages, query: wordsOf(params) };
    pages.ask = (page) => this.ask(page, null);
    opened(list, at);
    this.go(`issue/${issue.id}${list.query}`);
  }
  row(/** @type {any} */ issue, /** @type {number} */ at) {
    const toggle = (/** @type {any} */ event) => {
      event.stopPropagation();
      this.mark(issue);
    };
    const marked = this.marked.has(String(issue.id));
    const hint = "mark for an edit of many (x)";
    const tags = issue.tags.slice(0, 3);
    return h(
      "div",
      { class: "issue-row", onclick: () => this.open(issue, at) },
      can("write") &&
        h("span", { class: "mark", onclick: toggle, title: hint }, marked ? "☑" : "☐"),
      h("span", { class: "faint mono id" }, `#${issue.id}`),
      h("span", { class: "title", dir: "auto" }, short(issue.title) || "(without a title)"),
      h(
        "span",
        { class: "tags" },
        tags.map((/** @type {string} */ tag) => h("span", { class: "tag" }, short(tag, 24))),
      ),
      this.authorOf(issue),
      h("span", { class: "pill-cell" }, pill(issue.state_data.state)),
      h("span", { class: "faint when" }, time(issue.created_at)),
    );
  }
  /** Who wrote an issue. A click leads to that person, as `a` does. */
  authorOf(/** @type {any} */ issue) {
    const name = short(issue.author_name || issue.author_email, 60);
    const props = { class: "who-cell faint", dir: "auto" };
    if (!name || !pathOfAuthor(issue)) return h("span", props, name);
    const onclick = (/** @type {any} */ event) => {
      event.stopPropagation();
      this.openAuthor(issue);
    };
    const title = "the person, with all their issues (a)";
    return h("span", props, h("span", { class: "as-link", title, onclick }, name));
  }
  openAuthor(/** @type {any} */ issue) {
    const path = issue && pathOfAuthor(issue);
    if (path) this.go(path);
  }
  mark(/** @type {any} */ issue) {
    const { marked } = this;
    const id = String(issue.id);
    if (!can("write")) return;
    if (marked.has(id)) marked.delete(id);
    else if (marked.size < EDIT_MAX) marked.set(id, issue);
    this.drawMarks();
  }
  /** Marks every issue that the filters find. */
  async markAll() {
    const { marked, pages } = this;
    for (let page = 1; (page - 1) * MARK_PAGE < pages.length; page++) {
      for (const issue of (await this.ask({ page, "page-size": MARK_PAGE })).issues)
        if (marked.size < EDIT_MAX) marked.set(String(issue.id), issue);
    }
    this.drawMarks();
  }
  unmark() {
    this.marked.clear();
    this.drawMarks();
  }
  drawMarks() {
    const { marked, pages } = this;
    const edit = async () => {
      if (await editMany([...marked.values()])) this.reload();
    };
    fill(
      this.bulk,
      marked.size > 0 && [
        h("b", null, `${count(marked.size)} marked`),
        pages.length > marked.size &&
          pages.length <= EDIT_MAX &&
          button(`Mark all ${count(pages.length)}`, () => this.markAll()),
        button("Edit them", edit, { class: "primary" }),
        button("Unmark", () => this.unmark()),
      ],
    );
    this.list.redraw();
  }
  /** Shows the list with another value of a filter, or without it. */
  set(/** @type {string} */ name, /** @type {string} */ value) {
    const next = new URLSearchParams(this.params);
    if (value) next.set(name, value);
    else next.delete(name);
    const text = next.toString();
    this.go(`issues${text && `?${text}`}`);
  }
  filtersForm(/** @type {any} */ search) {
    const { params } = this;
    const find = (/** @type {any} */ event) => {
      event.preventDefault();
      this.set("text", search.value.trim());
    };
    return h(
      "form",
      { class: "row filters", role: "search", onsubmit: find },
      search,
      select(STATE_OPTIONS, {
        "aria-label": "State",
        value: params.get("state") ?? "",
        onchange: (/** @type {any} */ event) => this.set("state", event.target.value),
      }),
      select(SORTS, {
        "aria-label": "Order",
        value: params.get("sort") ?? "creation-time desc",
        onchange: (/** @type {any} */ event) => this.set("sort", event.target.value),
      }),
      button("Add a filter", () => addFilter((name, value) => this.set(name, value))),
      [...params]
        .filter(([name, value]) => FILTERS[name] && name !== "text" && value)
        .map(([name, value]) => this.chip(name, value)),
    );
  }
  /** A filter that is set, and the button that removes it. */
  chip(/** @type {string} */ name, /** @type {string} */ value) {
    const [label] = FILTERS[name];
    const remove = {
      type: "button",
      class: "plain",
      "aria-label": `Remove the filter ${label}`,
      onclick: () => this.set(name, ""),
    };
    const text = `${label}: ${value === OPEN ? "open" : short(value, 40)}`;
    return h("span", { class: "chip" }, text, h("button", remove, "×"));
  }
}

const VALUE_HINT =
  "Tags: several with commas mean all of them. Assignee: an id, or unassigned. " +
  'Custom fields: as the API takes them, such as {"dropdown":{"and":{"plan":{"is":"gold"}}}}.';

/** Asks for a filter. @param {(name:string, value:string)=>void} set */
async function addFilter(set) {
  const names = Object.fromEntries(
    Object.entries(FILTERS)
      .filter(([name]) => !["text", "state", "person"].includes(name))
      .map(([name, [label]]) => [name, label]),
  );
  const value = input({ required: true });
  const kind = select(names, {
    onchange: () =>
      (value.type = DAYS.has(kind.value) ? "date" : kind.value === "rating" ? "number" : "text"),
  });
  await dialog("Add a filter", [field("Field", kind), field("Value", value, VALUE_HINT)], {
    label: "Add",
    work: () => set(kind.value, value.value.trim()),
  });
}

async function create(/** @type {any} */ go) {
  const [title, text, name, email] = [
    input({ required: true }),
    h("textarea", { rows: 6, required: true }),
    input(),
    input({ type: "email" }),
  ];
  const made = await dialog(
    "New issue",
    [
      field("Title", title),
      field("Message", text),
      field("Name of the person", name),
      field("E-mail of the person", email),
    ],
    {
      label: "Create",
      kind: "primary",
      work: () =>
        call("POST", v1("issues"), {
          body: {
            title: title.value,
            "message-body": text.value,
            "author-name": name.value || undefined,
            email: email.value || undefined,
          },
        }),
    },
  );
  if (made) go(`issue/${made.id}`);
}

/** Edits many issues in one step, after showing what that means. */
async function editMany(/** @type {any[]} */ found) {
  const keep = "";
  const status = select({
    [keep]: "leave as it is",
    ...Object.fromEntries(STATES.map((state) => [state, state])),
  });
  const agents = (await call("GET", v1("agents?page-size=1000"), { quiet: true })).profiles;
  const assignee = select({
    [keep]: "leave as it is",
    unassigned: "nobody",
    ...Object.fromEntries(agents.map((/** @type {any} */ agent) => [agent.id, agent.name])),
  });
  const tags = input({ placeholder: "leave as they are" });
  const preview = h("div", { class: "preview", role: "status" });
  const draw = () => {
    const states = [...new Set(found.map((issue) => issue.state_data.state))];
    fill(
      preview,
      h("p", null, h("b", null, things(found.length, "issue")), ` (now ${states.join(", ")})`),
      h(
        "ul",
        null,
        status.value && h("li", null, `state becomes ${status.value}`),
        assignee.value && h("li", null, `assigned to ${assignee.selectedOptions[0].textContent}`),
        tags.value && h("li", null, `all tags become ${tags.value}`),
      ),
      h(
        "ul",
        { class: "faint" },
        found
          .slice(0, 5)
          .map((issue) => h("li", { dir: "auto" }, `#${issue.id} ${short(issue.title, 80)}`)),
        found.length > 5 && h("li", null, `and ${count(found.length - 5)} more`),
      ),
    );
  };
  for (const one of [status, assignee, tags]) one.addEventListener("input", draw);
  draw();
  return dialog(
    "Edit the marked issues",
    [
      field("State", status),
      field("Assignee", assignee),
      field("Tags", tags, "Replaces all tags. Commas separate them."),
      preview,
    ],
    {
      label: `Change ${things(found.length, "issue")}`,
      kind: "primary",
      work: async () => {
        if (!status.value && !assignee.value && !tags.value)
          throw new Error("Choose a state, an assignee or tags.");
        const body = {
          "issue-ids": found.map((issue) => String(issue.id)),
          status: status.value || undefined,
          "assignee-id": assignee.value || undefined,
          tags: tags.value
            ? tags.value
                .split(",")
                .map((/** @type {string} */ tag) => tag.trim())
                .filter(Boolean)
            : undefined,
        };
        const done = await call("PUT", v1("issues"), { body });
        notice(`${things(done["issue-count"], "issue")} changed`);
      },
    },
  );
}

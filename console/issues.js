// Issues: a list of any length with filters, order and total in the address, and edits of many.
import { call, can, has, query, v1 } from "./api.js";
import { STATES, count, short, things } from "./format.js";
import { meaningOf, sortOf } from "./issue_filters.js";
import { IssueBar } from "./issue_bar.js";
import {
  ROW,
  chooseColumns,
  chosenColumns,
  fitting,
  headsOf,
  membersFor,
  pathOfAuthor,
  rowOf,
  tracksOf,
} from "./issue_row.js";
import { namesOf } from "./issue_names.js";
import { named } from "./json.js";
import {
  button,
  chord,
  dialog,
  empty,
  exportLink,
  failed,
  field,
  head,
  input,
  notice,
  openChoices,
  refused,
  select,
} from "./ui.js";
import { Pages } from "./pages.js";
import { editsBar } from "./edits.js";
import { longList } from "./list.js";
import { opened, wordsOf } from "./walk.js";
import { fill, h } from "./view.js";

const EDIT_MAX = 5000;
/** Issues of a page when all are marked. */
const MARK_PAGE = 1000;

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

export default async function issues(/** @type {any} */ context) {
  const { go, keys } = context;
  const screen = new IssuesScreen(context);
  await screen.withViews();
  await screen.show(context.params, context.returning);
  const { bar } = screen;
  keys({
    j: () => screen.list.move(1),
    k: () => screen.list.move(-1),
    Enter: () => screen.list.openSelected(),
    "/": () => bar.search.focus(),
    x: () => screen.list.selected && screen.mark(screen.list.at),
    X: () => screen.list.selected && screen.markTo(screen.list.at),
    a: () => screen.openAuthor(screen.list.selected),
    f: () => openChoices(bar.choices.querySelector("select")),
    v: () => screen.views?.saveNow(),
    d: () => go(screen.exportPath),
  });
  chord("a", () => screen.markAll().catch(refused), context.signal);
  return h(
    "div",
    { class: "fill wide" },
    head(
      ["Issues ", screen.heading],
      screen.bulk,
      button("Columns", () => screen.columns()),
      screen.toExport,
      can("write") && button("New issue", () => create(go)),
    ),
    editsBar(screen),
    bar.element,
    screen.body,
  );
}

class IssuesScreen {
  constructor(/** @type {any} */ { signal, go, reload, readdress }) {
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
    this.reload = reload;
    this.readdress = readdress;
    /** Issues marked for an edit of many, by their ids, and the place that was marked last. */
    this.marked = /** @type {Map<string, any>} */ (new Map());
    this.anchor = -1;
    this.turn = 0;
    this.names = /** @type {any} */ ({});
    this.heading = h("span", { class: "number", role: "status" });
    this.bulk = h("div", { class: "row" });
    this.toExport = h("span");
    this.exportPath = "exports";
    this.heads = h("div", { class: "heads columned" });
    const toggle = () => (this.marked.size ? this.unmark() : this.markAll());
    this.every = button("☐", toggle, { class: "plain mark", title: "Ctrl + A" });
    this.body = h("div", { class: "grow lined" });
    this.views = /** @type {any} */ (null);
    this.shown = /** @type {string[]} */ ([]);
    this.fitted = "";
    this.params = new URLSearchParams();
    this.wanted = /** @type {Record<string, any>} */ (meaningOf(this.params).order);
    this.pages = this.pagesOf(this.wanted);
    this.list = this.listOf(false);
    this.bar = new IssueBar({
      signal,
      go: (/** @type {URLSearchParams} */ next) => this.goTo(next),
      search: (/** @type {URLSearchParams} */ next) => this.search(next),
    });
    if (globalThis.ResizeObserver)
      new ResizeObserver(() => this.fit() && this.list.redraw()).observe(this.body);
  }
  /** Lets the list be saved as a view, if the server stores views. */
  async withViews() {
    if (!has("views")) return;
    const { ViewBar } = await import("./views.js");
    this.views = new ViewBar({ list: "issues", signal: this.signal, go: this.go });
    this.bar.element.append(this.views.element);
  }
  /** Shows the list of an address. What a later call shows stays. */
  async show(/** @type {URLSearchParams} */ params, returning = false) {
    this.turn += 1;
    const { turn } = this;
    const { filters, order, used } = meaningOf(params);
    const wanted = { ...filters, ...order };
    const pages = this.pagesOf(wanted);
    let error = /** @type {any} */ (null);
    await Promise.all([pages.begin(), this.nameColumns()]).catch((refusal) => (error = refusal));
    if (turn !== this.turn) return;
    if (error?.name === "AbortError") throw error;
    this.params = params;
    this.wanted = wanted;
    this.pages = pages;
    this.list = this.listOf(returning);
    this.marked.clear();
    this.anchor = -1;
    this.bar.draw(params);
    this.views?.draw(params);
    const link = exportLink("issues", used);
    this.exportPath = link.getAttribute("href").slice(2);
    fill(this.toExport, link);
    fill(this.body, error ? failed(error, this.reload) : this.contents());
    fill(this.heading, error ? "" : count(pages.length));
    document.title = `Issues${error ? "" : ` (${count(pages.length)})`} · Caseload`;
    this.fit();
    this.drawMarks();
  }
  /** @param {Record<string, any>} wanted @returns {Pages} */
  pagesOf(wanted) {
    const pages = /** @type {Pages} */ (
      new Pages({
        key: "issues",
        order: { ...BOUNDS[wanted["sort-by"]], newest: wanted["sort-order"] === "desc" },
        ask: (page) => this.ask(wanted, page, pages.length > 0),
      })
    );
    return pages;
  }
  /** Reads the names that the columns show. Without them the list shows ids. */
  async nameColumns() {
    if (chosenColumns().includes("app"))
      this.names.app = await namesOf("app").catch(() => undefined);
  }
  listOf(/** @type {boolean} */ returning) {
    const { pages } = this;
    const list = longList({
      height: ROW,
      label: "Issues",
      row: (issue, at) => this.row(issue, at),
      missing: () => pages.load(list.seen, () => list.redraw()).catch(refused),
      open: (issue) => this.open(issue, list.at),
      name: `issues?${this.params}`,
      returning,
    });
    list.set(pages);
    return list;
  }
  /** The list, or why it is empty. */
  contents() {
    if (this.pages.length) return [this.heads, this.list.element];
    if (meaningOf(this.params).used.size)
      return empty("No issue matches", h("a", { href: "#/issues" }, "Remove all filters"));
    const link = h("a", { href: "#/new-import" }, "Import some");
    return empty("No issues yet", link, " from a file, or send them through the API.");
  }
  /** @returns {Promise<any>} */
  ask(
    /** @type {any} */ wanted,
    /** @type {any} */ page,
    quiet = false,
    /** @type {AbortSignal|null} */ signal = this.signal,
  ) {
    const includes = [...new Set(membersFor(chosenColumns()))];
    const members = { excludes: ["messages"], ...(includes.length && { includes }) };
    const options = { signal: signal ?? undefined, quiet };
    return call("GET", v1(`issues${query({ ...wanted, ...members, ...page })}`), options);
  }
  /** Lets the columns fit the width. Returns whether they are others than before. */
  fit() {
    const sort = sortOf(this.params);
    const shown = fitting(chosenColumns(), this.body.clientWidth || roomOf(), can("write"));
    const now = `${sort} ${shown}`;
    if (now === this.fitted) return false;
    this.fitted = now;
    this.shown = shown;
    this.body.style.setProperty("--columns", tracksOf(shown, can("write")));
    const by = (/** @type {string} */ next) => this.bar.set("sort", next);
    fill(this.heads, can("write") && this.every, headsOf(shown, sort, by));
    return true;
  }
  async columns() {
    if (await chooseColumns()) this.reload();
  }
  goTo(/** @type {URLSearchParams} */ next) {
    this.go(`issues${next.size ? `?${next}` : ""}`);
  }
  /** Shows what a search finds in the place of this list. The way back stays. */
  async search(/** @type {URLSearchParams} */ next) {
    this.readdress(`issues${next.size ? `?${next}` : ""}`);
    this.body.setAttribute("aria-busy", "true");
    await this.show(next).finally(() => this.body.removeAttribute("aria-busy"));
  }
  /** Opens an issue, from which the page goes on to its neighbours after this screen is left. */
  open(/** @type {any} */ issue, /** @type {number} */ at) {
    const { params, pages, wanted } = this;
    const list = { name: `issues?${params}`, pages, query: wordsOf(params) };
    pages.ask = (page) => this.ask(wanted, page, true, null);
    opened(list, at);
    this.go(`issue/${issue.id}${list.query}`);
  }
  row(/** @type {any} */ issue, /** @type {number} */ at) {
    const { shown, names } = this;
    const range = (/** @type {any} */ event, /** @type {()=>void} */ otherwise) => {
      event.stopPropagation();
      if (event.shiftKey && can("write")) this.markTo(at).catch(refused);
      else otherwise();
    };
    return rowOf(issue, {
      shown,
      names,
      marked: can("write") ? this.marked.has(String(issue.id)) : null,
      open: (event) => range(event, () => this.open(issue, at)),
      mark: (event) => range(event, () => this.mark(at)),
      author: (one) => this.openAuthor(one),
    });
  }
  openAuthor(/** @type {any} */ issue) {
    const path = issue && pathOfAuthor(issue);
    if (path) this.go(path);
  }
  mark(/** @type {number} */ at) {
    const { marked, pages } = this;
    const issue = pages.at(at);
    if (!can("write") || !issue) return;
    const id = String(issue.id);
    this.anchor = at;
    if (marked.has(id)) marked.delete(id);
    else if (marked.size < EDIT_MAX) marked.set(id, issue);
    this.drawMarks();
  }
  /** Marks all issues from the place that was marked or selected last to this one. */
  async markTo(/** @type {number} */ at) {
    const { marked, pages, list, anchor } = this;
    if (!can("write")) return;
    const from = anchor >= 0 ? anchor : list.at >= 0 ? list.at : at;
    const [first, last] = [Math.min(from, at), Math.max(from, at)];
    if (last - first >= EDIT_MAX) {
      notice(`At most ${count(EDIT_MAX)} issues can be marked.`, "bad");
      return;
    }
    while (pages.missing(first, last + 1) >= 0) {
      await pages.load(
        () => [first, last + 1],
        () => {},
      );
      // The list itself may be loading what is in view.
      if (pages.busy) await new Promise((resolve) => setTimeout(resolve, 50));
    }
    for (let place = first; place <= last; place++) {
      const issue = pages.at(place);
      if (issue && marked.size < EDIT_MAX) marked.set(String(issue.id), issue);
    }
    this.anchor = at;
    this.drawMarks();
  }
  /** Marks every issue that the filters find. */
  async markAll() {
    const { marked, pages, wanted } = this;
    if (!can("write")) return;
    if (pages.length > EDIT_MAX) {
      notice(`At most ${count(EDIT_MAX)} issues can be marked. Add a filter.`, "bad");
      return;
    }
    for (let page = 1; (page - 1) * MARK_PAGE < pages.length; page++) {
      const found = await this.ask(wanted, { page, "page-size": MARK_PAGE }, true);
      for (const issue of found.issues)
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
    this.every.textContent = marked.size ? "☑" : "☐";
    this.every.setAttribute("aria-label", marked.size ? "Unmark all" : "Mark all of the list");
    const edit = async () => {
      const { editMany } = await import("./edit_many.js");
      if (await editMany([...marked.keys()])) this.unmark();
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
}

/** The width that a list will have once it is in the document. */
function roomOf() {
  const main = document.getElementById("main");
  if (!main) return 1000;
  const { paddingLeft, paddingRight } = getComputedStyle(main);
  return main.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
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

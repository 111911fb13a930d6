// The columns of the list of issues: which a person chose, which of them have room, and the cells
// of a row.
import { has, me } from "./api.js";
import { count, short, time } from "./format.js";
import { nameIn } from "./issue_names.js";
import { authorPath } from "./profile.js";
import { dialog, pill } from "./ui.js";
import { h } from "./view.js";

/** The height of a row, and the space between two columns, in pixels. */
export const ROW = 36;
const GAP = 12;
/** What stands at the ends of a row: its inner space, and the box that marks it. */
const ENDS = 16;
const MARK = 24;

/**
 * A column: its title, the least width in pixels, its share of the rest, and whether its heads
 * sort. Columns with a smaller `rank` stay if not all have room.
 * @typedef {{title:string, least:number, share:number, rank:number, sort?:string,
 *   cell:(issue:any, names:any)=>any, own?:boolean, more?:string}} Column
 */
/** @type {Record<string, Column>} */
export const COLUMNS = {
  id: {
    title: "Id",
    least: 64,
    share: 0,
    rank: 9,
    own: true,
    cell: (issue) => `#${issue.id}`,
  },
  title: {
    title: "Subject",
    least: 220,
    share: 4,
    rank: 0,
    own: true,
    cell: (issue) => short(issue.title) || "(without a title)",
  },
  tags: {
    title: "Tags",
    least: 120,
    share: 1.5,
    rank: 5,
    own: true,
    cell: ({ tags }) =>
      tags.map((/** @type {string} */ tag) => h("span", { class: "tag" }, short(tag, 24))),
  },
  author: { title: "Author", least: 100, share: 1, rank: 4, own: true, cell: () => null },
  assignee: {
    title: "Assignee",
    least: 100,
    share: 1,
    rank: 3,
    own: true,
    cell: (issue) => assigneeOf(issue),
  },
  state: {
    title: "State",
    least: 172,
    share: 0,
    rank: 1,
    own: true,
    cell: (issue) => pill(issue.state_data.state),
  },
  created: {
    title: "Created",
    least: 146,
    share: 0,
    rank: 2,
    sort: "creation-time",
    own: true,
    cell: (issue) => time(issue.created_at),
  },
  updated: {
    title: "Updated",
    least: 146,
    share: 0,
    rank: 7,
    sort: "update-time",
    own: true,
    cell: (issue) => time(issue.updated_at),
  },
  changed: {
    title: "State changed",
    least: 146,
    share: 0,
    rank: 8,
    sort: "state-change-time",
    cell: (issue) => time(issue.state_data.changed_at),
  },
  queue: {
    title: "Queue",
    least: 100,
    share: 0.7,
    rank: 9,
    more: "queue",
    cell: (issue) => short(issue.queue?.name ?? "", 60),
  },
  app: {
    title: "App",
    least: 100,
    share: 0.7,
    rank: 10,
    cell: (issue, names) => short(nameIn(names.app, "app", issue.app_id ?? ""), 60),
  },
  language: {
    title: "Language",
    least: 90,
    share: 0.5,
    rank: 11,
    cell: (issue) => (issue.language ? nameIn(undefined, "language", issue.language) : ""),
  },
  rating: {
    title: "Rating",
    least: 60,
    share: 0,
    rank: 12,
    more: "feedback",
    cell: (issue) => count(issue.feedback?.rating),
  },
};

/** The assignee of an issue. An import may bring the id alone. */
function assigneeOf(/** @type {any} */ { assignee_id: id, assignee_name: name }) {
  if (name || !id || id === "unassigned") return short(name ?? "", 60);
  return h("span", { class: "faint", title: id }, "(without a name)");
}

const CLASSES = /** @type {Record<string, string>} */ ({
  id: "cell faint mono id",
  title: "cell title",
  tags: "cell tags",
  created: "cell faint",
  updated: "cell faint",
  changed: "cell faint",
});

/** The names of these columns that have room. @param {string[]} chosen @param {number} width */
export function fitting(chosen, width, marks = true) {
  const shown = ["title", ...chosen.filter((name) => name !== "title")];
  const used = () =>
    ENDS +
    (marks ? MARK + GAP : 0) +
    shown.reduce((sum, name) => sum + COLUMNS[name].least, 0) +
    (shown.length - 1) * GAP;
  while (shown.length > 2 && used() > width)
    shown.splice(
      shown.reduce((last, name, at) => (rank(name) > rank(shown[last]) ? at : last), 0),
      1,
    );
  return Object.keys(COLUMNS).filter((name) => shown.includes(name));
}
const rank = (/** @type {string} */ name) => COLUMNS[name].rank;

/** The tracks of a grid with these columns. @param {string[]} shown */
export const tracksOf = (shown, marks = true) =>
  [
    ...(marks ? [`${MARK}px`] : []),
    ...shown.map((name) => {
      const { least, share } = COLUMNS[name];
      // In a narrow window the title takes what the others leave.
      if (name === "title") return `minmax(0, ${share}fr)`;
      if (name === "state") return `clamp(140px, 40vw, ${least}px)`;
      return share ? `minmax(${least}px, ${share}fr)` : `${least}px`;
    }),
  ].join(" ");

const placeOf = () => `caseload columns ${me().domain}`;
const own = Object.keys(COLUMNS).filter((name) => COLUMNS[name].own);
/** The columns that the person chose for this domain. */
export function chosenColumns() {
  try {
    const stored = localStorage.getItem(placeOf())?.split(",") ?? own;
    const known = stored.filter((name) => name in COLUMNS);
    return known.length ? known : own;
  } catch {
    return own;
  }
}

/** Lets the person choose the columns. Resolves with whether they did. */
export function chooseColumns() {
  const now = chosenColumns();
  const boxes = Object.entries(COLUMNS)
    .filter(([name]) => name !== "title")
    .map(([name, { title }]) => {
      const box = h("input", { type: "checkbox", checked: now.includes(name) });
      return { name, box, element: h("label", { class: "check" }, box, title) };
    });
  return dialog(
    "Columns",
    [
      h("p", { class: "faint" }, "A narrow window shows fewer of them."),
      h(
        "fieldset",
        { class: "checks" },
        h("legend", null, "Show with the subject"),
        boxes.map((one) => one.element),
      ),
    ],
    {
      label: "Show them",
      work: () => {
        const chosen = ["title", ...boxes.filter(({ box }) => box.checked).map(({ name }) => name)];
        localStorage.setItem(placeOf(), chosen.join(","));
      },
    },
  );
}

/** Members that the columns need from the API. @param {string[]} chosen */
export const membersFor = (chosen) => chosen.flatMap((name) => COLUMNS[name].more ?? []);

/** The page of an author, if this server has people. */
export const pathOfAuthor = (/** @type {any} */ issue) =>
  has("profiles") ? authorPath(issue) : null;

/**
 * The heads of columns. Those of times sort, newest first and then oldest first.
 * @param {string[]} shown @param {string} sort @param {(sort:string)=>void} by
 */
export const headsOf = (shown, sort, by) =>
  shown.map((name) => {
    const { title, sort: key } = COLUMNS[name];
    if (!key) return h("span", { class: "clip" }, title);
    const [now, order] = sort.split(" ");
    const next = now === key && order === "desc" ? "asc" : "desc";
    const arrow =
      now === key && h("span", { "aria-hidden": "true" }, order === "desc" ? "\u00a0↓" : "\u00a0↑");
    const label = `${title}: sort, ${next === "desc" ? "newest" : "oldest"} first`;
    const props = { type: "button", class: "plain", "aria-label": label, title: label };
    return h("button", { ...props, onclick: () => by(`${key} ${next}`) }, title, arrow);
  });

/**
 * The row of an issue.
 * @param {any} issue
 * @param {{shown:string[], names:any, marked:boolean|null, open:(event:any)=>void,
 *   mark:(event:any)=>void, author:(issue:any)=>void}} options `marked` is null if nothing may be
 *   marked
 */
export function rowOf(issue, { shown, names, marked, open, mark, author }) {
  const hint = "mark for an edit of many (x; with Shift, all up to here)";
  const cells = shown.map((name) =>
    name === "author"
      ? authorOf(issue, author)
      : h(
          "span",
          { class: CLASSES[name] ?? "cell", dir: "auto" },
          COLUMNS[name].cell(issue, names),
        ),
  );
  return h(
    "div",
    {
      class: "issue-row columned",
      onclick: open,
      // Marking a range selects no text.
      onmousedown: (/** @type {any} */ event) => event.shiftKey && event.preventDefault(),
    },
    marked !== null && h("span", { class: "mark", onclick: mark, title: hint }, marked ? "☑" : "☐"),
    cells,
  );
}

/** Who wrote an issue. A click leads to that person, as `a` does. */
function authorOf(/** @type {any} */ issue, /** @type {(issue:any)=>void} */ author) {
  const name = short(issue.author_name || issue.author_email, 60);
  const props = { class: "cell who-cell faint", dir: "auto" };
  if (!name || !pathOfAuthor(issue)) return h("span", props, name);
  const onclick = (/** @type {any} */ event) => {
    event.stopPropagation();
    author(issue);
  };
  const title = "the person, with all their issues (a)";
  return h("span", props, h("span", { class: "as-link", title, onclick }, name));
}

// All issues of one person: by the core profile, by the addresses of the author, and by the app
// profiles. The API has a filter for each of the three. One issue may be found by several of them.
import { call, query, v1 } from "./api.js";
import { STATES, count, short, time, wordsOf } from "./format.js";
import { countsOf, issueFilters } from "./profile.js";
import { button, pill, table } from "./ui.js";
import { fill, h } from "./view.js";

const PAGE = 20;

/** The issues of a person, newest first, and how many there are of each state. */
export class PersonIssues {
  /** @param {{id?:string, emails:string[], pids:string[]}} person @param {AbortSignal} signal */
  constructor(person, signal) {
    this.signal = signal;
    this.filters = issueFilters(person);
    this.sources = this.filters.map((filter) => ({ filter, page: 1, pages: 1, waiting: [] }));
    this.seen = /** @type {Set<string>} */ (new Set());
    this.items = /** @type {any[]} */ ([]);
    this.states = /** @type {Map<string, number>} */ (new Map());
    this.total = 0;
    this.body = h("div");
    this.element = h("section", { "aria-label": "Issues" });
  }
  async begin() {
    await Promise.all([this.more(), this.countAll()]);
    this.draw();
    return this;
  }
  async countAll() {
    const found = await Promise.all(
      countsOf(this.filters).map(async ({ filter, sign }) => {
        const wanted = query({ ...filter, "group-by": "state" });
        const options = { signal: this.signal, quiet: true };
        return { sign, ...(await call("GET", v1(`issues/counts${wanted}`), options)) };
      }),
    );
    for (const { sign, groups, "total-hits": hits } of found) {
      this.total += sign * hits;
      for (const { state, count: n } of groups)
        this.states.set(state, (this.states.get(state) ?? 0) + sign * n);
    }
  }
  /** Reads the next issues of all filters. */
  async more() {
    for (let n = 0; n < PAGE;) {
      await Promise.all(this.sources.map((source) => this.read(source)));
      const [next] = this.sources
        .filter((source) => source.waiting.length)
        .sort((a, b) => order(a.waiting[0], b.waiting[0]));
      if (!next) return;
      const issue = /** @type {any} */ (next.waiting.shift());
      if (this.seen.has(String(issue.id))) continue;
      this.seen.add(String(issue.id));
      this.items.push(issue);
      n += 1;
    }
  }
  async read(/** @type {any} */ source) {
    if (source.waiting.length || source.page > source.pages) return;
    const page = { page: source.page, "page-size": PAGE, excludes: ["messages"] };
    const wanted = query({ ...source.filter, ...page });
    const found = await call("GET", v1(`issues${wanted}`), { signal: this.signal });
    source.page += 1;
    source.pages = found["total-pages"];
    source.waiting = found.issues;
  }
  draw() {
    const { total, items } = this;
    const more = async () => {
      await this.more();
      this.draw();
    };
    fill(
      this.element,
      h("h2", null, "Issues ", h("span", { class: "number" }, count(total))),
      this.states.size > 0 && h("p", { class: "row" }, this.statesOf()),
      items.length
        ? table("Issues of this person", ["issue", "state", "created"], items.map(rowOf))
        : h("p", { class: "faint" }, "No issues."),
      items.length < total && button(`Show more (${count(total - items.length)} left)`, more),
    );
  }
  statesOf() {
    const present = STATES.filter((state) => this.states.get(state));
    return present.map((state) =>
      pill(state, `${wordsOf(state)} ${count(this.states.get(state))}`),
    );
  }
}

/** Newest first, as the lists of the API are. @param {any} a @param {any} b */
const order = (a, b) => b.created_at - a.created_at || Number(b.id) - Number(a.id);

function rowOf(/** @type {any} */ issue) {
  const title = `#${issue.id} ${short(issue.title, 80) || "(without a title)"}`;
  return [
    h("a", { href: `#/issue/${issue.id}`, dir: "auto" }, title),
    pill(issue.state_data.state),
    time(issue.created_at),
  ];
}

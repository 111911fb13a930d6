// People: find profiles and authors by an identity or a part of the name, and core profiles by a
// tag, a country, a language, a segment, or the days of their creation and last change.
import { call, query, v2 } from "./api.js";
import { fieldName } from "./fields.js";
import { count, dayBound, short, things, time } from "./format.js";
import { button, empty, exportLink, failed, head, input, refused } from "./ui.js";
import { Pages } from "./pages.js";
import { Search, pageOf } from "./people_found.js";
import { identitiesOf, nameIn, nameOf, searchOf } from "./profile.js";
import { longList } from "./list.js";
import { fill, h } from "./view.js";

const DAYS = [
  ["created-since", "Created since"],
  ["created-until", "Created until"],
  ["updated-since", "Changed since"],
  ["updated-until", "Changed until"],
];

/** The filters of an address. */
export const filtersOf = (/** @type {URLSearchParams} */ params) => ({
  ...searchOf(params.get("q") ?? ""),
  ...otherFilters(params),
});
const otherFilters = (/** @type {URLSearchParams} */ params) => ({
  tags: params.get("tag") && { and: [params.get("tag")] },
  country: params.get("country") && [params.get("country")],
  language: params.get("language") && [params.get("language")],
  user_vip_segment: params.get("segment") && [params.get("segment")],
  ...Object.fromEntries(
    DAYS.map(([name]) => [
      name,
      params.get(name) && dayBound(params.get(name) ?? "", name.endsWith("until")),
    ]),
  ),
});

export default async function people(/** @type {any} */ context) {
  const { params, go, keys, reload, readdress, swap } = context;
  // Who comes from the overview wants the person, if the words find only one.
  const only = params.has("only");
  params.delete("only");
  if (only) readdress(`people?${params}`);
  const found = new PeopleList(context);
  const { list } = found;
  try {
    await found.begin();
    await (only && found.rest);
    if (only && found.length === 1) {
      swap(pageOf(found.at(0)));
      return [];
    }
  } catch (error) {
    if (/** @type {any} */ (error).name === "AbortError") throw error;
    fill(found.body, failed(error, reload));
  }
  const search = input({
    type: "search",
    value: params.get("q") ?? "",
    "aria-label": "Find people",
    placeholder: "Name, address, phone or id  ( / )",
  });
  keys({
    j: () => list.move(1),
    k: () => list.move(-1),
    Enter: () => list.openSelected(),
    "/": () => search.focus(),
  });
  return h(
    "div",
    { class: "fill" },
    head(["People ", found.heading], exportLink("core_profiles", params)),
    filtersForm(params, search, go),
    found.said,
    found.body,
  );
}

/**
 * The people whom the filters of an address find: those with the identity, the list of core
 * profiles, and people of app profiles or issues alone.
 */
class PeopleList {
  constructor(/** @type {any} */ { params, signal, go, returning }) {
    this.params = /** @type {URLSearchParams} */ (params);
    this.signal = /** @type {AbortSignal} */ (signal);
    const text = (params.get("q") ?? "").trim();
    const filters = otherFilters(params);
    this.search = text ? new Search(text, filters, this.signal) : null;
    /** The list by name, which has no one if the text is an identity. */
    this.filters = text ? { name: nameIn(text), ...filters } : filters;
    this.listed = !text || nameIn(text) !== undefined;
    this.first = /** @type {import("./people_found.js").Found[]} */ ([]);
    this.others = /** @type {import("./people_found.js").Found[]} */ ([]);
    this.heading = h("span", { class: "number", role: "status" });
    this.said = h("div", { role: "status" });
    this.body = h("div", { class: "grow" });
    /** The people who are found after the others. */
    this.rest = /** @type {Promise<any>|undefined} */ (undefined);
    /** Who asks for times of change wants the last change first. */
    this.changed = params.has("updated-since") || params.has("updated-until");
    const open = (/** @type {any} */ found) => go(pageOf(found));
    this.list = longList({
      height: 44,
      label: "People",
      missing: () =>
        this.pages
          .load(
            () => this.seen(),
            () => this.list.redraw(),
          )
          .catch(refused),
      name: `people?${params}`,
      returning,
      open,
      row: (found) => rowOf(found, () => open(found)),
    });
    const kind = this.changed ? "updated" : "created";
    this.pages = new Pages({
      ask: (page) => this.ask(page),
      key: "core_profiles",
      order: {
        since: `${kind}-since`,
        until: `${kind}-until`,
        newest: true,
        of: (person) => [person[`${kind}_at`], person["core-profile-id"]],
      },
    });
  }
  /** @returns {Promise<any>} */
  ask(/** @type {any} */ page) {
    const order = this.changed ? "update-time" : "creation-time";
    const wanted = query({ ...this.filters, "sort-by": order, ...page });
    const options = { signal: this.signal, quiet: this.pages.length > 0 };
    return call("GET", v2("identity/core_profiles") + wanted, options);
  }
  /** The places of the core profiles in view. */
  seen() {
    const { first, pages } = this;
    return this.list
      .seen()
      .map((place) => Math.min(Math.max(0, place - first.length), pages.length));
  }
  get length() {
    return this.first.length + this.pages.length + this.others.length;
  }
  /** The person at a place, as lists of the page have them. @param {number} place */
  at(place) {
    const { first, pages, others } = this;
    if (place < first.length) return first[place];
    const after = place - first.length - pages.length;
    if (after >= 0) return others[after];
    const profile = pages.at(place - first.length);
    return profile && { profile };
  }
  async begin() {
    const { search, signal } = this;
    const [first] = await Promise.all([
      search ? search.byIdentity() : [],
      this.listed && this.pages.begin(),
    ]);
    this.first = first;
    const more = () => this.more(/** @type {Search} */ (search));
    if (search && !this.length) await more();
    this.draw();
    if (search && this.length && !this.others.length)
      this.rest = more()
        .then(() => this.draw())
        .catch((error) => !signal.aborted && refused(error));
  }
  /** People without a core profile. */
  async more(/** @type {Search} */ search) {
    const { found, left } = await search.byApp(this.first);
    this.others = found;
    if (!this.length) this.others = await search.byIssue();
    if (left)
      fill(
        this.said,
        h(
          "p",
          { class: "faint" },
          `${things(left, "more app profile")} can be theirs, too. Write more of the name.`,
        ),
      );
  }
  draw() {
    const { length, list } = this;
    fill(this.heading, count(length));
    list.set(this);
    fill(this.body, length ? list.element : this.nobody());
  }
  /** Why the list is empty, and how to find somebody by a part of the address. */
  nobody() {
    const { params, search } = this;
    if (!params.size)
      return empty(
        "No people yet",
        h("a", { href: "#/new-import" }, "Import profiles"),
        " from a file.",
      );
    const look = button("Look for it in all addresses", () => this.scan());
    return empty(
      "Nobody found",
      "Write a part of the name, or a whole address, phone number or id. ",
      h("a", { href: "#/people" }, "Remove all filters"),
      search && this.listed && h("div", null, look),
    );
  }
  /** Looks for a part of an address, which reads all profiles. */
  async scan() {
    const { search } = this;
    const show = (/** @type {string} */ text) => fill(this.said, h("p", { class: "faint" }, text));
    show("Looking through all addresses…");
    await /** @type {Search} */ (search).scan((found, read) => {
      const grown = found.length !== this.others.length;
      this.others = [...found];
      show(`${things(read, "profile")} looked through.`);
      if (grown) this.draw();
    });
  }
}

/** @param {import("./people_found.js").Found} found @param {()=>void} open */
function rowOf(found, open) {
  const { profile, app, issue } = found;
  const { name, facts, tags, since } = profile
    ? ofProfile(profile)
    : app
      ? ofApp(app)
      : ofIssue(issue, found.count ?? 1);
  return h(
    "div",
    { class: "issue-row person-row", onclick: open },
    h("span", { class: "title", dir: "auto" }, short(name, 80)),
    h("span", { class: "grow faint clip" }, facts.join(" · ")),
    h(
      "span",
      { class: "tags" },
      tags.map((/** @type {string} */ tag) => h("span", { class: "tag" }, short(tag, 24))),
    ),
    h("span", { class: "faint when" }, time(since)),
  );
}

const ofProfile = (/** @type {any} */ profile) => ({
  name: nameOf(profile),
  facts: identitiesOf(profile)
    .slice(0, 3)
    .map(([type, value]) =>
      type === "email" ? short(value, 60) : `${fieldName(type)} ${short(value, 40)}`,
    ),
  tags: (profile.tags ?? []).slice(0, 3),
  since: profile.created_at,
});
const ofApp = (/** @type {any} */ app) => ({
  name: app.name || app.emails?.[0] || app.pid,
  facts: [...(app.emails ?? []).slice(0, 2), app["core-profile-id"] ? "app profile" : "no profile"],
  tags: [],
  since: app.created_at,
});
const ofIssue = (/** @type {any} */ issue, /** @type {number} */ number) => ({
  name: issue.author_name || issue.author_email || issue.hs_user_id,
  facts: [issue.author_email, `author of ${things(number, "issue")}`].filter(Boolean),
  tags: [],
  since: issue.created_at,
});

function filtersForm(
  /** @type {URLSearchParams} */ params,
  /** @type {any} */ search,
  /** @type {(path:string)=>void} */ go,
) {
  const text = (/** @type {string} */ name, /** @type {string} */ label, hint = label) =>
    input({ value: params.get(name) ?? "", "aria-label": label, placeholder: hint });
  const texts = {
    q: search,
    tag: text("tag", "Tag"),
    country: text("country", "Country", "Country, such as DE"),
    language: text("language", "Language", "Language, such as de"),
    segment: text("segment", "Segment"),
  };
  const days = DAYS.map(([name, label]) => ({
    name,
    label,
    box: input({ type: "date", value: params.get(name) ?? "" }),
  }));
  const submit = (/** @type {any} */ event) => {
    event.preventDefault();
    const pairs = [
      ...Object.entries(texts).map(([name, box]) => [name, box.value.trim()]),
      ...days.map((day) => [day.name, day.box.value]),
    ].filter(([, value]) => value);
    go(`people${pairs.length ? `?${new URLSearchParams(pairs)}` : ""}`);
  };
  const { tag, country, language, segment } = texts;
  const folded = [language, segment, ...days.map((day) => day.box)];
  const dayFields = days.map((day) => h("label", { class: "faint" }, day.label, " ", day.box));
  return h(
    "form",
    { class: "row filters", role: "search", onsubmit: submit },
    search,
    tag,
    country,
    h("button", { type: "submit" }, "Find"),
    h(
      "details",
      { class: "days", open: folded.some((box) => box.value) },
      h("summary", null, "More filters"),
      h("div", { class: "row" }, language, segment, dayFields),
    ),
  );
}

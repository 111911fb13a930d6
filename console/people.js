// People: find core profiles by an identity, a part of the name, a tag, a country, a language, a
// segment, or the days of their creation and last change.
import { call, query, v2 } from "./api.js";
import { count, dayBound, short, time } from "./format.js";
import { empty, exportLink, failed, head, input, refused } from "./ui.js";
import { Pages } from "./pages.js";
import { identitiesOf, nameOf, searchOf } from "./profile.js";
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
  const { params, go, keys, reload } = context;
  const found = new PeopleList(context);
  const { list, pages } = found;
  const heading = h("span", { class: "number", role: "status" });
  const body = h("div", { class: "grow" });
  try {
    await pages.begin();
    fill(heading, count(pages.length));
    list.set(pages);
    fill(body, pages.length ? list.element : nobody(params));
  } catch (error) {
    if (/** @type {any} */ (error).name === "AbortError") throw error;
    fill(body, failed(error, reload));
  }
  const search = input({
    type: "search",
    value: params.get("q") ?? "",
    "aria-label": "Find people",
    placeholder: "Name, e-mail or uid:…  ( / )",
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
    head(["People ", heading], exportLink("core_profiles", params)),
    filtersForm(params, search, go),
    body,
  );
}

/** The people whom the filters of an address find. */
class PeopleList {
  constructor(/** @type {any} */ { params, signal, go, returning }) {
    this.signal = /** @type {AbortSignal} */ (signal);
    this.filters = filtersOf(params);
    /** Who asks for times of change wants the last change first. */
    this.changed = params.has("updated-since") || params.has("updated-until");
    const open = (/** @type {any} */ person) => go(`person/${person["core-profile-id"]}`);
    this.list = longList({
      height: 44,
      label: "People",
      missing: () => this.pages.load(this.list.seen, () => this.list.redraw()).catch(refused),
      name: `people?${params}`,
      returning,
      open,
      row: (person) => rowOf(person, () => open(person)),
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
}

function rowOf(/** @type {any} */ person, /** @type {()=>void} */ open) {
  const identities = identitiesOf(person)
    .slice(0, 3)
    .map(([type, value]) =>
      type === "email" ? short(value, 60) : `${type.replaceAll("_", " ")} ${short(value, 40)}`,
    );
  const tags = (person.tags ?? []).slice(0, 3);
  return h(
    "div",
    { class: "issue-row person-row", onclick: open },
    h("span", { class: "title", dir: "auto" }, short(nameOf(person), 80)),
    h("span", { class: "grow faint clip" }, identities.join(" · ")),
    h(
      "span",
      { class: "tags" },
      tags.map((/** @type {string} */ tag) => h("span", { class: "tag" }, short(tag, 24))),
    ),
    h("span", { class: "faint when" }, time(person.created_at)),
  );
}

/** Why the list is empty. */
function nobody(/** @type {URLSearchParams} */ params) {
  if (!params.size)
    return empty(
      "No people yet",
      h("a", { href: "#/new-import" }, "Import profiles"),
      " from a file.",
    );
  return empty(
    "Nobody found",
    "Search for a part of the name, an e-mail address, or type:value. ",
    h("a", { href: "#/people" }, "Remove all filters"),
  );
}

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

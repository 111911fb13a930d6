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

export default async function people(
  /** @type {any} */ { params, signal, go, keys, reload, returning },
) {
  const filters = filtersOf(params);
  /** Who asks for times of change wants the last change first. */
  const changed = params.has("updated-since") || params.has("updated-until");
  const heading = h("span", { class: "number", role: "status" });
  const list = longList({
    height: 44,
    label: "People",
    missing,
    name: `people?${params}`,
    returning,
    open: (person) => go(`person/${person["core-profile-id"]}`),
    row: (person) =>
      h(
        "div",
        { class: "issue-row person-row", onclick: () => go(`person/${person["core-profile-id"]}`) },
        h("span", { class: "title", dir: "auto" }, short(nameOf(person), 80)),
        h(
          "span",
          { class: "grow faint clip" },
          identitiesOf(person)
            .slice(0, 3)
            .map(([type, value]) =>
              type === "email"
                ? short(value, 60)
                : `${type.replaceAll("_", " ")} ${short(value, 40)}`,
            )
            .join(" · "),
        ),
        h(
          "span",
          { class: "tags" },
          (person.tags ?? [])
            .slice(0, 3)
            .map((/** @type {string} */ tag) => h("span", { class: "tag" }, short(tag, 24))),
        ),
        h("span", { class: "faint when" }, time(person.created_at)),
      ),
  });
  const pages = new Pages({
    ask,
    key: "core_profiles",
    order: {
      since: changed ? "updated-since" : "created-since",
      until: changed ? "updated-until" : "created-until",
      newest: true,
      of: (person) => [changed ? person.updated_at : person.created_at, person["core-profile-id"]],
    },
  });
  /** @returns {Promise<any>} */
  function ask(/** @type {any} */ page) {
    return call(
      "GET",
      `${v2("identity/core_profiles")}${query({ ...filters, "sort-by": changed ? "update-time" : "creation-time", ...page })}`,
      { signal, quiet: pages.length > 0 },
    );
  }
  function missing() {
    pages.load(list.seen, () => list.redraw()).catch(refused);
  }
  const body = h("div", { class: "grow" });
  try {
    await pages.begin();
    fill(heading, count(pages.length));
    list.set(pages);
    fill(
      body,
      pages.length
        ? list.element
        : [...params.keys()].length
          ? empty(
              "Nobody found",
              "Search for a part of the name, an e-mail address, or type:value. ",
              h("a", { href: "#/people" }, "Remove all filters"),
            )
          : empty(
              "No people yet",
              h("a", { href: "#/new-import" }, "Import profiles"),
              " from a file.",
            ),
    );
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
  const tag = input({ value: params.get("tag") ?? "", "aria-label": "Tag", placeholder: "Tag" });
  const country = input({
    value: params.get("country") ?? "",
    "aria-label": "Country",
    placeholder: "Country, such as DE",
  });
  const language = input({
    value: params.get("language") ?? "",
    "aria-label": "Language",
    placeholder: "Language, such as de",
  });
  const segment = input({
    value: params.get("segment") ?? "",
    "aria-label": "Segment",
    placeholder: "Segment",
  });
  const days = DAYS.map(([name, label]) => ({
    name,
    label,
    box: input({ type: "date", value: params.get(name) ?? "" }),
  }));
  const folded = [language, segment, ...days.map((day) => day.box)];
  const submit = (/** @type {any} */ event) => {
    event.preventDefault();
    const pairs = Object.entries({
      q: search.value.trim(),
      tag: tag.value.trim(),
      country: country.value.trim(),
      language: language.value.trim(),
      segment: segment.value.trim(),
      ...Object.fromEntries(days.map((day) => [day.name, day.box.value])),
    }).filter(([, value]) => value);
    go(`people${pairs.length ? `?${new URLSearchParams(pairs)}` : ""}`);
  };
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
    h(
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
        h(
          "div",
          { class: "row" },
          language,
          segment,
          days.map((day) => h("label", { class: "faint" }, day.label, " ", day.box)),
        ),
      ),
    ),
    body,
  );
}

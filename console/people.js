// People: find core profiles by an identity or a part of the name.
import { call, query, v2 } from "./api.js";
import { count, short, time } from "./format.js";
import { empty, input } from "./ui.js";
import { fill, h, longList } from "./view.js";

const PAGE = 200;

/** The name of a profile, or its first identity. */
export function nameOf(/** @type {any} */ profile) {
  const names = profile.names ?? {};
  const whole = names.full_name ?? names.display_name ?? [names.first_name, names.last_name].filter(Boolean).join(" ");
  return whole || identitiesOf(profile)[0]?.[1] || profile["core-profile-id"];
}

const TYPES = ["email", "uid", "phone_number", "facebook_id", "discord_id", "whatsapp_id", "google_playstore_id", "apple_gamecenter_id", "nintendo_id", "psn_id", "xbox_live_id", "steam_id"];
/** The identities of a profile as type and value. @returns {[string, any][]} */
export const identitiesOf = (/** @type {any} */ profile) => (profile.identities ?? []).flatMap((/** @type {any} */ one) => TYPES.filter((type) => type in one).map((type) => [type, one[type]]));

/** The filter that a search means: an e-mail address, `type:value`, or a part of the name. */
export function searchOf(/** @type {string} */ text) {
  if (!text) return {};
  if (TYPES.some((type) => text.startsWith(`${type}:`))) return { identity: text };
  return text.includes("@") ? { identity: `email:${text}` } : { name: text };
}

export default async function people(/** @type {any} */ { params, signal, go, keys }) {
  const text = params.get("q") ?? "";
  let cursor = /** @type {string|null} */ ("");
  let busy = false;
  let total = /** @type {any} */ (null);
  const heading = h("span", { class: "number", role: "status" });
  const list = longList({ height: 44, label: "People", near: more, open: (person) => go(`person/${person["core-profile-id"]}`), row: (person) => h("div", { class: "issue-row", onclick: () => go(`person/${person["core-profile-id"]}`) },
    h("span", { class: "title", dir: "auto" }, short(nameOf(person), 80)),
    h("span", { class: "grow faint clip" }, identitiesOf(person).slice(0, 3).map(([type, value]) => `${type} ${short(value, 40)}`).join(" · ")),
    h("span", { class: "tags" }, (person.tags ?? []).slice(0, 3).map((/** @type {string} */ tag) => h("span", { class: "tag" }, short(tag, 24)))),
    h("span", { class: "faint when" }, time(person.created_at))) });
  async function more() {
    if (busy || cursor === null) return;
    busy = true;
    try {
      const page = await call("GET", `${v2("identity/core_profiles")}${query({ ...searchOf(text), "page-size": PAGE, count: total === null || undefined })}${`${query(searchOf(text))}` ? "&" : "&"}cursor=${encodeURIComponent(cursor)}`, { signal, quiet: total !== null });
      if (total === null) fill(heading, count((total = page["total-hits"])));
      cursor = page["next-cursor"] ?? null;
      list.set(list.items.concat(page.core_profiles));
    } finally {
      busy = false;
    }
  }
  await more();
  const search = input({ type: "search", value: text, "aria-label": "Find people", placeholder: "Name, e-mail, or uid:…   /" });
  keys({ j: () => list.move(1), k: () => list.move(-1), Enter: () => list.openSelected(), "/": () => search.focus() });
  return h("div", { class: "fill" }, h("h1", null, "People ", heading),
    h("form", { class: "row filters", role: "search", onsubmit: (/** @type {any} */ event) => { event.preventDefault(); go(`people${search.value.trim() ? `?q=${encodeURIComponent(search.value.trim())}` : ""}`); } }, search),
    list.items.length ? h("div", { class: "grow" }, list.element) : text ? empty("Nobody found", "Search for a part of the name, an e-mail address, or type:value.") : empty("No people yet", h("a", { href: "#/new-import" }, "Import profiles"), " from a file."));
}

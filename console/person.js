// One person: the core profile, its app profiles, its issues, a form to change it, and a question
// before it is deleted.
import { call, can, has, query, v2 } from "./api.js";
import { draftOf } from "./drafts.js";
import { fieldName } from "./fields.js";
import { History, goneScreen } from "./history.js";
import { refuse, sendEntry } from "./one_entry.js";
import { PersonForm, makeDraft } from "./person_form.js";
import { PersonIssues } from "./person_issues.js";
import { READ_ONLY, identitiesOf, nameOf } from "./profile.js";
import { write } from "./json.js";
import { count, short, time } from "./format.js";
import { button, crumbs, dialog, head, notice, refused, table } from "./ui.js";
import { fill, h } from "./view.js";

/** Fields that have a place of their own. */
const SHOWN_APART = [
  "identities",
  "tags",
  "names",
  "custom_fields",
  "core-profile-id",
  "created_at",
  "updated_at",
];

/**
 * App profiles, each of which is read when it is opened.
 * @param {string[]} pids @param {any} signal
 */
export const appProfiles = (pids, signal) =>
  pids.length > 0 && [h("h2", null, "App profiles"), pids.map((pid) => appProfile(pid, signal))];

function appProfile(/** @type {string} */ pid, /** @type {any} */ signal) {
  const body = h("div");
  const load = async () => {
    const path = v2(`identity/app_profiles/${encodeURIComponent(pid)}`);
    const {
      created_at: created,
      updated_at: updated,
      ...profile
    } = await call("GET", path, {
      signal,
    });
    const { custom_fields: custom = {}, ...facts } = profile;
    const shown = Object.entries(facts).filter(([, value]) => String(value) !== "");
    fill(
      body,
      h(
        "dl",
        null,
        shown.map(([name, value]) =>
          term(name, Array.isArray(value) ? value.join(", ") : plain(name, value)),
        ),
        term("created_at", time(created)),
        term("updated_at", time(updated)),
      ),
      customFieldsOf(custom),
    );
  };
  return h(
    "details",
    {
      class: "app-profile",
      ontoggle: (/** @type {any} */ event) =>
        event.target.open && !body.firstChild && load().catch(refused),
    },
    h("summary", { class: "mono" }, pid),
    body,
  );
}

const many = (/** @type {any} */ number, /** @type {string} */ noun) =>
  `${count(number)} ${String(number) === "1" ? noun : noun.replace(/y$/, "ie") + "s"}`;

export default function person(/** @type {any} */ context) {
  return corePage(context, context.args[0], {});
}

/**
 * The page of a core profile. `known` are addresses and app profiles that are its person's, too.
 * @param {any} context @param {string} id @param {{emails?:string[], pids?:string[]}} known
 */
export async function corePage(context, id, known) {
  const { signal, keys, back, up } = context;
  const path = v2(`identity/core_profiles/${encodeURIComponent(id)}`);
  const history = new History(path, "identity", signal);
  const list = h("a", { href: up("people") }, "People");
  keys({ Escape: () => back("people") });
  let profile;
  try {
    profile = await call("GET", path + query({ includes: ["app_profiles"] }), { signal });
  } catch (error) {
    return goneScreen(error, history, list, id);
  }
  const { app_profile_pids: pids = [], ...fields } = profile;
  const others = (known.pids ?? []).filter((pid) => !pids.includes(pid));
  const emails = identitiesOf(fields).flatMap(([type, value]) =>
    type === "email" ? [String(value)] : [],
  );
  for (const email of known.emails ?? [])
    if (!emails.some((one) => one.toLowerCase() === email.toLowerCase())) emails.push(email);
  const issues = await new PersonIssues({ id, emails, pids: others }, signal).begin();
  const screen = new PersonScreen(context, id, fields);
  const stay = `${many(pids.length, "app profile")} and ${many(issues.total, "issue")} stay.`;
  const section = h("section", { "aria-label": "Profile" });
  screen.showIn(section, [...pids, ...others]);
  return [
    crumbs(list, h("span", { class: "faint mono" }, id)),
    head(short(nameOf(fields), 120), can("write") && screen.actionsOf(stay)),
    h(
      "div",
      { class: "columns" },
      section,
      h("div", null, issues.element, history.begin().element),
    ),
  ];
}

/** A person whom one changes or deletes. Both are tasks of one entry. */
class PersonScreen {
  /** @param {any} context @param {string} id @param {any} profile */
  constructor({ signal, go, reload }, id, profile) {
    this.id = id;
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
    this.reload = reload;
    this.profile = profile;
    /** What can be changed. */
    this.own = Object.fromEntries(
      Object.entries(profile).filter(([name]) => !READ_ONLY.includes(name)),
    );
    this.draft = draftOf(`person/${id}`, makeDraft);
    this.change = button("Change", () => this.edit());
  }
  actionsOf(/** @type {string} */ stay) {
    const erase = () => this.go(`erase/${encodeURIComponent(this.id)}`);
    return [
      this.change,
      button("Delete", () => this.remove(stay), { class: "danger" }),
      has("erasures") && button("Erase this person…", erase, { class: "plain" }),
    ];
  }
  /** Shows the profile, or its form if it has edits that were not saved. */
  showIn(/** @type {any} */ section, /** @type {string[]} */ pids) {
    this.section = section;
    this.pids = pids;
    if (can("write") && this.draft.unsent()) this.edit(true);
    else this.read();
  }
  read() {
    const { profile, pids = [], signal } = this;
    this.change.hidden = false;
    fill(
      this.section,
      h("h2", null, "Profile"),
      fieldsOf(profile),
      customFieldsOf(profile.custom_fields ?? {}),
      appProfiles(pids, signal),
    );
  }
  edit(again = false) {
    const send = (/** @type {any} */ patch, /** @type {boolean} */ dry) => {
      const entry = { ...patch, "core-profile-id": this.id };
      return sendEntry("update_core_profiles", entry, { dry, signal: this.signal });
    };
    const form = new PersonForm(this.own, this.draft, {
      send,
      saved: this.reload,
      left: () => {
        this.read();
        this.change.focus();
      },
    });
    this.change.hidden = true;
    const said = "You did not save these edits when you left the page.";
    fill(
      this.section,
      h("h2", null, "Change this profile"),
      again && h("p", { class: "preview" }, said),
      form.element,
    );
    if (!again) form.focus();
  }
  /** Deletes the profile, after saying what stays. */
  async remove(/** @type {string} */ stay) {
    const { profile, signal } = this;
    const identities = many(identitiesOf(profile).length, "identity");
    const text = h(
      "p",
      { dir: "auto" },
      h("b", null, short(nameOf(profile), 120)),
      ` is deleted, with ${identities}. This cannot be undone.`,
    );
    const entry = { "core-profile-id": this.id };
    const work = async () =>
      refuse(await sendEntry("delete_core_profiles", entry, { dry: false, signal }));
    const action = { label: "Delete the profile", kind: "danger", work };
    const done = await dialog("Delete this profile?", [text, h("p", null, stay)], action);
    if (!done) return;
    this.draft.next = null;
    notice([h("b", { dir: "auto" }, short(nameOf(profile), 80)), " is deleted"], "good");
    this.go("people");
  }
}

/** A value as a text of at most so many characters. */
const shortly = (/** @type {any} */ value, /** @type {number} */ most) =>
  short(typeof value === "string" ? value : write(value), most);

const term = (/** @type {string} */ name, /** @type {any} */ value) => [
  h("dt", null, fieldName(name)),
  h("dd", { dir: "auto" }, value),
];

/** The value of a field as people read it. @param {string} name @param {any} value */
function plain(name, value) {
  if (name === "last_active_date") return time(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return shortly(value, 500);
}

function fieldsOf(/** @type {any} */ profile) {
  const tags = (profile.tags ?? []).map((/** @type {string} */ tag) => {
    const href = `#/people?${new URLSearchParams({ tag })}`;
    return h("a", { class: "tag", dir: "auto", href }, short(tag, 60));
  });
  const others = Object.entries(profile).filter(([name]) => !SHOWN_APART.includes(name));
  return h(
    "dl",
    null,
    Object.entries(profile.names ?? {}).map(([name, value]) => term(name, short(value, 500))),
    identitiesOf(profile).map(([type, value]) => term(type, short(value))),
    tags.length > 0 && [h("dt", null, fieldName("tags")), h("dd", { class: "tag-list" }, tags)],
    others.map(([name, value]) => term(name, plain(name, value))),
    term("created_at", time(profile.created_at)),
    term("updated_at", time(profile.updated_at)),
  );
}

function customFieldsOf(/** @type {Record<string, any>} */ fields) {
  const rows = Object.entries(fields).map(([key, value]) => [key, shortly(value, 300)]);
  if (!rows.length) return null;
  return [h("h2", null, "Custom fields"), table("Custom fields", ["name", "value"], rows)];
}

// One person: the core profile, its app profiles, its issues, and a change with its preview.
import { Refusal, call, can, has, query, tasks, v1, v2 } from "./api.js";
import { History, goneScreen } from "./history.js";
import { READ_ONLY, identitiesOf, nameOf, patchOf } from "./profile.js";
import { write } from "./json.js";
import { count, short, time } from "./format.js";
import { button, crumbs, dialog, head, notice, pill, refused, table } from "./ui.js";
import { fill, h } from "./view.js";

const ISSUES = 20;
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

/** An app profile, which is read when it is opened. */
function appProfile(/** @type {string} */ pid, /** @type {any} */ signal) {
  const body = h("div");
  const load = async () =>
    fill(
      body,
      h(
        "pre",
        { tabindex: 0 },
        write(
          await call("GET", v2(`identity/app_profiles/${encodeURIComponent(pid)}`), { signal }),
          2,
        ),
      ),
    );
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

export default async function person(/** @type {any} */ context) {
  const { args, signal, keys, back, up } = context;
  const id = args[0];
  const get = (/** @type {string} */ path) => call("GET", path, { signal });
  const path = v2(`identity/core_profiles/${encodeURIComponent(id)}`);
  const history = new History(path, "identity", signal);
  const list = h("a", { href: up("people") }, "People");
  keys({ Escape: () => back("people") });
  let profile;
  try {
    profile = await get(path + query({ includes: ["app_profiles"] }));
  } catch (error) {
    return goneScreen(error, history, list, id);
  }
  const { app_profile_pids: pids = [], ...fields } = profile;
  const of = query({ "core-profile-id": id, excludes: ["messages"], "page-size": ISSUES });
  const issues = await get(v1(`issues${of}`));
  const screen = new PersonScreen(context, fields);
  const profiles = many(pids.length, "app profile");
  const stay = `${profiles} and ${many(issues["total-hits"], "issue")} stay.`;
  return [
    crumbs(list, h("span", { class: "faint mono" }, id)),
    head(
      short(nameOf(fields), 120),
      can("write") && [
        button("Change", () => screen.edit()),
        button("Delete", () => screen.remove(stay), { class: "danger" }),
        has("erasures") &&
          button("Erase this person…", () => context.go(`erase/${encodeURIComponent(id)}`), {
            class: "plain",
          }),
      ],
    ),
    h(
      "div",
      { class: "columns" },
      h(
        "section",
        { "aria-label": "Profile" },
        h("h2", null, "Profile"),
        fieldsOf(fields),
        customFieldsOf(fields.custom_fields ?? {}),
        pids.length > 0 && [
          h("h2", null, "App profiles"),
          pids.map((/** @type {string} */ pid) => appProfile(pid, signal)),
        ],
      ),
      h("div", null, issuesOf(issues, id), history.begin().element),
    ),
  ];
}

/** A person whom one changes or deletes. Both are tasks of one entry. */
class PersonScreen {
  constructor(/** @type {any} */ { args, signal, go, reload }, /** @type {any} */ profile) {
    this.id = args[0];
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
    this.reload = reload;
    this.profile = profile;
    /** What can be changed. */
    this.own = Object.fromEntries(
      Object.entries(profile).filter(([name]) => !READ_ONLY.includes(name)),
    );
  }
  /** Sends one entry, and waits until it is applied. */
  async run(
    /** @type {string} */ action,
    /** @type {boolean} */ dry,
    /** @type {Record<string, any>} */ patch,
  ) {
    const { id, signal } = this;
    const payload = [{ ...patch, "core-profile-id": id }];
    const body = { action, dry_run: dry, payload };
    let task = await call("POST", tasks("identity"), { body });
    const path = tasks("identity", task.task_id);
    while (task.status !== "completed") task = await call("GET", `${path}?wait=30`, { signal });
    if (!task.counts.failed) return;
    const [record] = await call("GET", `${path}/errors`, { signal });
    const details = record.errors.map(
      (/** @type {any} */ fault) => `${fault.pointer ?? ""} ${fault.detail}`,
    );
    throw new Refusal(422, { detail: details.join("; ") });
  }
  async edit() {
    const patch = await this.askPatch();
    if (!patch) return;
    const names = Object.keys(patch);
    if (!names.length) return notice("nothing was changed");
    const changes = `${names.length} ${names.length === 1 ? "change" : "changes"}`;
    const rows = names.map((name) => this.changeOf(name, patch[name]));
    const done = await dialog("Save these changes?", h("dl", { class: "preview" }, rows), {
      label: `Save ${changes}`,
      kind: "primary",
      work: () => this.run("update_core_profiles", false, patch),
    });
    if (!done) return;
    notice("saved", "good");
    this.reload();
  }
  /** Asks for a changed profile. Returns the patch that makes it, once a dry run took it. */
  askPatch() {
    const text = h("textarea", {
      rows: 18,
      class: "mono",
      "aria-label": "Profile as JSON",
      value: write(this.own, 2),
    });
    const hint = h("p", { class: "faint" }, "A field that you remove is removed.");
    const work = async () => {
      const patch = patchOf(this.own, text.value);
      await this.run("update_core_profiles", true, patch);
      return patch;
    };
    const action = { label: "Preview", kind: "primary", work };
    return dialog("Change this profile", [hint, text], action);
  }
  changeOf(/** @type {string} */ name, /** @type {any} */ next) {
    const shown = (/** @type {any} */ value) =>
      value === undefined || value === null ? "nothing" : short(write(value), 300);
    const [before, after] = [h("del", null, shown(this.own[name])), h("ins", null, shown(next))];
    return [h("dt", null, name), h("dd", { dir: "auto" }, before, " → ", after)];
  }
  /** Deletes the profile, after saying what stays. */
  async remove(/** @type {string} */ stay) {
    const { profile } = this;
    const identities = many(identitiesOf(profile).length, "identity");
    const text = h(
      "p",
      { dir: "auto" },
      h("b", null, short(nameOf(profile), 120)),
      ` is deleted, with ${identities}. This cannot be undone.`,
    );
    const done = await dialog("Delete this profile?", [text, h("p", null, stay)], {
      label: "Delete the profile",
      kind: "danger",
      work: () => this.run("delete_core_profiles", false, {}),
    });
    if (!done) return;
    notice("deleted", "good");
    this.go("people");
  }
}

/** A value as a text of at most so many characters. */
const shortly = (/** @type {any} */ value, /** @type {number} */ most) =>
  short(typeof value === "string" ? value : write(value), most);

const term = (/** @type {string} */ name, /** @type {any} */ value) => [
  h("dt", null, name.replaceAll("_", " ")),
  h("dd", { dir: "auto" }, value),
];

function fieldsOf(/** @type {any} */ profile) {
  const tags = (profile.tags ?? []).map((/** @type {string} */ tag) => {
    const href = `#/people?${new URLSearchParams({ tag })}`;
    return h("a", { class: "tag", dir: "auto", href }, short(tag, 60));
  });
  const others = Object.entries(profile).filter(([name]) => !SHOWN_APART.includes(name));
  return h(
    "dl",
    null,
    identitiesOf(profile).map(([type, value]) => term(type, short(value))),
    tags.length > 0 && [h("dt", null, "tags"), h("dd", { class: "tag-list" }, tags)],
    others.map(([name, value]) =>
      term(name, name === "last_active_date" ? time(value) : shortly(value, 500)),
    ),
    h("dt", null, "created"),
    h("dd", null, time(profile.created_at)),
    h("dt", null, "updated"),
    h("dd", null, time(profile.updated_at)),
  );
}

function customFieldsOf(/** @type {Record<string, any>} */ fields) {
  const rows = Object.entries(fields).map(([key, value]) => [key, shortly(value, 300)]);
  if (!rows.length) return null;
  return [h("h2", null, "Custom fields"), table("Custom fields", ["key", "value"], rows)];
}

function issuesOf(/** @type {any} */ found, /** @type {string} */ id) {
  const href = `#/issues?person=${encodeURIComponent(id)}`;
  const rows = found.issues.map((/** @type {any} */ issue) => {
    const title = `#${issue.id} ${short(issue.title, 80)}`;
    return [
      h("a", { href: `#/issue/${issue.id}`, dir: "auto" }, title),
      pill(issue.state_data.state),
      time(issue.created_at),
    ];
  });
  return h(
    "section",
    { "aria-label": "Issues" },
    h("h2", null, "Issues ", h("a", { class: "number", href }, count(found["total-hits"]))),
    rows.length
      ? table("Issues of this person", ["issue", "state", "created"], rows)
      : h("p", { class: "faint" }, "No issues."),
  );
}

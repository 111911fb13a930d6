// The page of an issue's author: that of their core profile if there is one. Otherwise what their
// issues and app profiles know, from which a profile can be made.
import { call, can, has, query, v2 } from "./api.js";
import { short, things, time } from "./format.js";
import { fieldName } from "./fields.js";
import { faultList, refuse, sendEntry } from "./one_entry.js";
import { PersonIssues } from "./person_issues.js";
import { appProfiles, corePage } from "./person.js";
import { firstOf } from "./profile.js";
import { button, crumbs, dialog, head, notice } from "./ui.js";
import { h } from "./view.js";

/** App profiles of an address that are read. */
const PROFILES_MAX = 100;

export default async function author(/** @type {any} */ context) {
  const { params, signal, keys, back, up } = context;
  const [email, pid] = [params.get("email") ?? "", params.get("pid") ?? ""];
  const get = (/** @type {string} */ path) => call("GET", v2(path), { signal });
  const found = await known(get, email, pid);
  if (found.id) return corePage(context, found.id, { emails: found.emails, pids: found.pids });
  keys({ Escape: () => back("people") });
  const issues = await new PersonIssues(found, signal).begin();
  const screen = new Author(context, found, issues);
  const list = h("a", { href: up("people") }, "People");
  return [
    crumbs(list, h("span", { class: "faint" }, "an author without a profile")),
    head(short(screen.name, 120), screen.actionsOf()),
    h(
      "div",
      { class: "columns" },
      h(
        "section",
        { "aria-label": "Author" },
        h("h2", null, "Author"),
        screen.factsOf(),
        appProfiles(found.pids, signal),
      ),
      issues.element,
    ),
  ];
}

/**
 * What belongs to an author: the core profile of the address or of the app profile, the addresses,
 * and the app profiles.
 * @param {(path:string)=>Promise<any>} get @param {string} email @param {string} pid
 */
async function known(get, email, pid) {
  const of = { includes: ["core_profile"], "page-size": PROFILES_MAX };
  const apps = (/** @type {any} */ filter) =>
    get(`identity/app_profiles${query({ ...filter, ...of })}`);
  const cores = (/** @type {any} */ filter) =>
    get(`identity/core_profiles${query({ ...filter, "page-size": 1 })}`);
  const byEmail = { identity: [{ email }] };
  const none = { app_profiles: [], core_profiles: [] };
  const [core, own, others] = await Promise.all([
    email ? cores(byEmail) : none,
    pid ? apps({ pids: [pid] }) : none,
    email ? apps(byEmail) : none,
  ]);
  const profiles = [...own.app_profiles, ...others.app_profiles];
  const id =
    core.core_profiles[0]?.["core-profile-id"] ??
    profiles.map((one) => one["core-profile-id"]).find(Boolean);
  const emails = [email, ...own.app_profiles.flatMap((/** @type {any} */ one) => one.emails)];
  return {
    id,
    name: profiles.map((one) => one.name).find(Boolean) ?? "",
    emails: firstOf(emails.filter(Boolean), (one) => one.toLowerCase()),
    pids: firstOf([pid, ...profiles.map((one) => one.pid)].filter(Boolean), (one) => one),
  };
}

/** An author without a core profile. */
class Author {
  /** @param {any} context @param {any} found @param {PersonIssues} issues */
  constructor({ signal, go, reload }, found, issues) {
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
    this.reload = reload;
    this.found = found;
    this.issues = issues;
    const named = issues.items.find((issue) => issue.author_name);
    this.fullName = /** @type {string} */ (found.name || named?.author_name || "");
    this.name = this.fullName || found.emails[0] || "Author without a name";
  }
  factsOf() {
    const { found, fullName, issues } = this;
    const last = issues.items[0];
    const facts = /** @type {[string, any][]} */ ([
      ["Name", fullName || h("span", { class: "faint" }, "unknown")],
      ...found.emails.map((/** @type {string} */ one) => [fieldName("email"), short(one)]),
      ["Core profile", h("span", { class: "faint" }, "none")],
    ]);
    if (last) facts.push(["Last issue", time(last.created_at)]);
    return h(
      "dl",
      null,
      facts.map(([name, value]) => [h("dt", null, name), h("dd", { dir: "auto" }, value)]),
    );
  }
  actionsOf() {
    if (!can("write")) return false;
    const { emails, pids } = this.found;
    const target = /** @type {Record<string, string>} */ (
      emails.length ? { identity: `email:${emails[0]}` } : { pid: pids[0] }
    );
    const erase = () => this.go(`erase?${new URLSearchParams(target)}`);
    const create = button("Create a profile from this author", () => this.create());
    const some = this.issues.total > 0 || pids.length > 0;
    return [
      emails.length > 0 && some && create,
      has("erasures") && some && button("Erase this person…", erase, { class: "plain" }),
    ];
  }
  /** The profile that would be made. */
  get entry() {
    const { emails } = this.found;
    return {
      identities: emails.map((/** @type {string} */ email) => ({ email })),
      ...(this.fullName && { names: { full_name: this.fullName } }),
    };
  }
  /** Makes a profile, after a dry run has shown what it will be. */
  async create() {
    const { entry, signal, issues } = this;
    const action = "create_core_profiles";
    const faults = await sendEntry(action, entry, { dry: true, signal });
    if (faults.length)
      return dialog("No profile can be made from this author", faultList(faults), {
        label: "Close",
      });
    const rows = [
      ...entry.identities.map((/** @type {any} */ one) => ["email", one.email]),
      ...(entry.names ? [["full_name", entry.names.full_name]] : []),
    ].map(([name, value]) => [
      h("dt", null, fieldName(name)),
      h("dd", { dir: "auto" }, h("ins", null, short(value, 300))),
    ]);
    const stay = `Nothing else is in it. ${things(issues.total, "issue")} will belong to it.`;
    const done = await dialog(
      "Create this profile?",
      [h("dl", { class: "preview" }, rows), h("p", { class: "faint" }, stay)],
      {
        label: "Create the profile",
        kind: "primary",
        work: async () => refuse(await sendEntry(action, entry, { dry: false, signal })),
      },
    );
    if (!done) return null;
    notice("The profile of this author is made", "good");
    return this.reload();
  }
}

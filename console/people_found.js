// Whom a text finds: core profiles by an identity, an id or a part of the name; app profiles whose
// core profile is not in the list; and if there are none, the authors of issues.
import { call, eachLine, query, v1, v2 } from "./api.js";
import { firstOf, identitiesIn, nameIn } from "./profile.js";

/** App profiles that are looked at. Their ids have to fit into an address. */
const APPS_MAX = 200;
/** People that a look through all addresses shows. */
const SCAN_MAX = 1000;
/** Filters that app profiles lack. */
const CORE_ONLY = ["tags"];

/**
 * A person of the list.
 * @typedef {{profile?:any, app?:any, issue?:any, id?:string, count?:number}} Found
 */

/** The path of the page of somebody who was found. @param {Found} found */
export function pageOf({ profile, app, issue, id }) {
  const core = profile?.["core-profile-id"] ?? id;
  if (core) return `person/${encodeURIComponent(core)}`;
  const known = app
    ? { email: app.emails?.[0] ?? "", pid: app.pid }
    : { email: issue.author_email ?? "", pid: issue.hs_user_id ?? "" };
  const pairs = Object.entries(known).filter(([, value]) => value);
  return `author?${new URLSearchParams(pairs)}`;
}

export class Search {
  /** @param {string} text @param {any} filters without the text @param {AbortSignal} signal */
  constructor(text, filters, signal) {
    this.text = text;
    this.filters = filters;
    this.signal = signal;
    this.identity = identitiesIn(text);
    this.name = nameIn(text);
  }
  get(/** @type {string} */ path, /** @type {any} */ params) {
    return call("GET", path + query(params), { signal: this.signal, quiet: true });
  }
  cores(/** @type {any} */ params) {
    const page = { ...this.filters, "page-size": APPS_MAX, ...params };
    return this.get(v2("identity/core_profiles"), page).then((one) => one.core_profiles);
  }
  /** Which of these core profiles the list by name has. @param {string[]} ids */
  async named(ids) {
    if (!ids.length || this.name === undefined) return new Set();
    const found = await this.cores({ ids, name: this.name });
    return new Set(found.map((/** @type {any} */ one) => one["core-profile-id"]));
  }
  /** Core profiles with this identity or id, without those that the list by name has. */
  async byIdentity() {
    const { text, identity } = this;
    const [some, more] = await Promise.all([
      this.cores({ identity }),
      /^\d{6,15}$/.test(text) ? this.cores({ ids: [text] }) : [],
    ]);
    const found = firstOf([...some, ...more], (one) => one["core-profile-id"]);
    const named = await this.named(found.map((one) => one["core-profile-id"]));
    return found
      .filter((one) => !named.has(one["core-profile-id"]))
      .map((profile) => /** @type {Found} */ ({ profile }));
  }
  /**
   * People of app profiles who are not in the list yet, and how many app profiles were not looked
   * at.
   * @param {Found[]} listed
   */
  async byApp(listed) {
    const { text, identity, name, filters } = this;
    const has = (/** @type {string} */ one) => filters[one] !== undefined && filters[one] !== null;
    if (CORE_ONLY.some(has)) return { found: [], left: 0 };
    const ask = (/** @type {any} */ params) =>
      this.get(v2("identity/app_profiles"), {
        ...filters,
        ...params,
        includes: ["core_profile"],
        "page-size": APPS_MAX,
      });
    const lists = await Promise.all([
      ask({ identity }),
      ask({ pids: [text] }),
      ...(name === undefined ? [] : [ask({ name })]),
    ]);
    const apps = firstOf(
      lists.flatMap((one) => one.app_profiles),
      (one) => one.pid,
    );
    const ids = firstOf(apps, (one) => one["core-profile-id"])
      .map((one) => one["core-profile-id"])
      .filter(Boolean);
    const here = await this.named(ids);
    for (const { profile } of listed) here.add(profile["core-profile-id"]);
    const others = apps.filter((one) => !here.has(one["core-profile-id"]));
    const left = lists.reduce((sum, one) => sum + Math.max(0, one["total-hits"] - APPS_MAX), 0);
    return { found: firstOf(others, personOf).map(foundApp), left };
  }
  /** The authors of issues, if nothing else is known of them. @returns {Promise<Found[]>} */
  async byIssue() {
    const { text, identity } = this;
    const address = identity.map((one) => one.email).find(Boolean);
    const ask = async (/** @type {any} */ filter) => {
      const page = { ...filter, "page-size": 1, excludes: ["messages"] };
      const { issues, "total-hits": count } = await this.get(v1("issues"), page);
      return issues.map((/** @type {any} */ issue) => ({ issue, count }));
    };
    const lists = await Promise.all([
      address ? ask({ author_emails: { or: [address] } }) : [],
      ask({ "end-user-ids": [text] }),
    ]);
    return lists.flat();
  }
  /**
   * Looks through the identities and names of all profiles for a part. `each` gets those that were
   * found, and how many profiles were read, after each thousand.
   * @param {(found:Found[], read:number)=>void} each
   */
  async scan(each) {
    const part = this.text.toLowerCase();
    const found = /** @type {Found[]} */ ([]);
    const here = /** @type {Set<string>} */ (new Set());
    let read = 0;
    const look = async (
      /** @type {string} */ path,
      /** @type {any} */ params,
      /** @type {(one:any)=>Found} */ make,
    ) => {
      const wanted = query({ ...this.filters, ...params, format: "jsonl" });
      await eachLine(v2(path) + wanted, this.signal, (line, parse) => {
        read += 1;
        if (read % 1000 === 0) each(found, read);
        if (found.length >= SCAN_MAX || !line.toLowerCase().includes(part)) return;
        const one = parse();
        if (!one.pid && !one["core-profile-id"]) return;
        const key = one["core-profile-id"] ?? personOf(one);
        if (here.has(key) || !textsOf(one).some((text) => text.toLowerCase().includes(part)))
          return;
        here.add(key);
        found.push(make(one));
      });
    };
    await look("identity/core_profiles", {}, (profile) => ({ profile }));
    const has = (/** @type {string} */ one) => this.filters[one];
    if (!CORE_ONLY.some(has))
      await look("identity/app_profiles", { includes: ["core_profile"] }, foundApp);
    each(found, read);
  }
}

const foundApp = (/** @type {any} */ app) =>
  /** @type {Found} */ ({ app, id: app["core-profile-id"] ?? undefined });
/** What app profiles of one person have in common. */
const personOf = (/** @type {any} */ app) =>
  app["core-profile-id"] ?? app.emails?.[0]?.toLowerCase() ?? app.pid;

/** The values of the identities of a profile, or the addresses of an app profile. */
const textsOf = (/** @type {any} */ one) =>
  [
    ...(one.emails ?? []),
    ...(one.identities ?? []).flatMap((/** @type {any} */ id) => Object.values(id)),
  ].filter((value) => typeof value === "string");

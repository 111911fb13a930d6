// Parts of a core profile as the console shows and changes it. Nothing here needs a browser.
import { parse, write } from "./json.js";
import { withValue } from "./pointer.js";

export const READ_ONLY = ["core-profile-id", "created_at", "updated_at"];

/** The name of a profile, or its first identity. */
export function nameOf(/** @type {any} */ profile) {
  const names = profile.names ?? {};
  const whole =
    names.full_name ??
    names.display_name ??
    [names.first_name, names.last_name].filter(Boolean).join(" ");
  return whole || identitiesOf(profile)[0]?.[1] || profile["core-profile-id"];
}

/** The types of identities. */
export const TYPES = [
  "email",
  "uid",
  "phone_number",
  "facebook_id",
  "discord_id",
  "whatsapp_id",
  "google_playstore_id",
  "apple_gamecenter_id",
  "nintendo_id",
  "psn_id",
  "xbox_live_id",
  "steam_id",
];
/** The identities of a profile as type and value. @returns {[string, any][]} */
export const identitiesOf = (/** @type {any} */ profile) =>
  (profile.identities ?? [])
    .flatMap((/** @type {any} */ one) =>
      TYPES.filter((type) => type in one).map(
        (type) => /** @type {[string, any]} */ ([type, one[type]]),
      ),
    )
    .sort(
      (/** @type {[string, any]} */ a, /** @type {[string, any]} */ b) =>
        TYPES.indexOf(a[0]) - TYPES.indexOf(b[0]),
    );

/**
 * What one types to erase a person: an identity that every keyboard has and every font shows, or
 * the id.
 */
export const phraseOf = (/** @type {any} */ profile) =>
  identitiesOf(profile)
    .map(([, value]) => String(value))
    .find((value) => /^[!-~]{1,80}$/.test(value)) ?? String(profile["core-profile-id"]);

/** The type and the value of a text such as `uid:7`; null if it names no type. */
function typed(/** @type {string} */ text) {
  const at = text.indexOf(":");
  const type = text.slice(0, Math.max(0, at));
  return TYPES.includes(type) ? { [type]: text.slice(at + 1) } : null;
}

/** The filter that a search means: an e-mail address, `type:value`, or a part of the name. */
export function searchOf(/** @type {string} */ text) {
  if (!text) return {};
  const one = typed(text);
  if (one) return { identity: [one] };
  return text.includes("@") ? { identity: [{ email: text }] } : { name: text };
}

/**
 * The identities that a text can be: the one that it names, or one of each type. The server
 * compares addresses without case, and phone numbers without separators.
 * @returns {Record<string, string>[]}
 */
export function identitiesIn(/** @type {string} */ text) {
  const one = typed(text);
  return one ? [one] : TYPES.map((type) => ({ [type]: text }));
}
/** The part of a name that a text can be; undefined if it names an identity. */
export const nameIn = (/** @type {string} */ text) => (typed(text) ? undefined : text);

/** The address of the page of an issue's author. @param {any} issue @returns {string|null} */
export function authorPath({ author_email: email, hs_user_id: pid }) {
  const known = Object.entries({ email, pid }).filter(([, value]) => value);
  return known.length ? `author?${new URLSearchParams(known)}` : null;
}

/** A profile from its text. @returns {Record<string, any>} */
export function profileOf(/** @type {string} */ text) {
  let profile;
  try {
    profile = parse(text);
  } catch {
    throw new Error("this is not JSON");
  }
  if (!isMap(profile)) throw new Error("this is not a JSON map");
  return profile;
}

/** The members that differ between a profile and its text; one that the text lacks is null. */
export const patchOf = (/** @type {Record<string, any>} */ own, /** @type {string} */ text) =>
  changesOf(own, profileOf(text));

/**
 * The patch that makes a profile from another: the members that differ, and of maps their members
 * that differ. A member that is lost is null.
 * @param {Record<string, any>} own @param {Record<string, any>} next
 * @returns {Record<string, any>}
 */
export function changesOf(own, next) {
  const names = [...new Set([...Object.keys(own), ...Object.keys(next)])].filter(
    (name) => !READ_ONLY.includes(name) && written(own[name]) !== written(next[name]),
  );
  return Object.fromEntries(names.map((name) => [name, patchedTo(own[name], next[name])]));
}

const isMap = (/** @type {any} */ value) =>
  value && Object.getPrototypeOf(value) === Object.prototype;
/** An empty map or list is as good as none. */
function written(/** @type {any} */ value) {
  const text = write(value ?? null);
  return text === "{}" || text === "[]" ? "null" : text;
}

/** @param {any} from @param {any} to @returns {any} */
function patchedTo(from, to) {
  if (to === undefined || to === null) return null;
  return isMap(from) && isMap(to) ? changesOf(from, to) : to;
}

/** A profile after a patch. @param {any} own @param {any} patch @returns {any} */
export function patched(own, patch) {
  if (!isMap(patch)) return patch;
  const next = { ...(isMap(own) ? own : {}) };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete next[name];
    else next[name] = patched(next[name], value);
  }
  return next;
}

/** A profile with another value at a place. A map that loses its last member is left out. */
export function withField(
  /** @type {any} */ profile,
  /** @type {string} */ pointer,
  /** @type {any} */ value,
) {
  const next = withValue(profile, pointer, value);
  const [, parent, child] = pointer.split("/");
  if (child !== undefined && !Object.keys(next[parent] ?? {}).length) delete next[parent];
  return next;
}

/**
 * The filters that find the issues of a person. Issues of the core profile are never those of app
 * profiles that share no identity with it.
 * @param {{id?:string, emails:string[], pids:string[]}} person
 */
export function issueFilters({ id, emails, pids }) {
  const filters = /** @type {Record<string, any>[]} */ ([]);
  if (id) filters.push({ "core-profile-id": id });
  if (emails.length) filters.push({ author_emails: { or: emails } });
  if (pids.length) filters.push({ "end-user-ids": pids });
  return filters;
}

/**
 * What to count for the number of issues that any of the filters finds: those of one filter, less
 * those that two of them find.
 * @param {Record<string, any>[]} filters @returns {{filter:Record<string, any>, sign:number}[]}
 */
export function countsOf(filters) {
  const sets = [{ filter: /** @type {Record<string, any>} */ ({}), sign: -1 }];
  for (const filter of filters)
    sets.push(...sets.map((one) => ({ filter: { ...one.filter, ...filter }, sign: -one.sign })));
  return sets.slice(1);
}

/** The first of those with the same key. @param {any[]} all @param {(one:any)=>any} key */
export function firstOf(all, key) {
  const seen = new Map();
  for (const one of all) if (!seen.has(key(one))) seen.set(key(one), one);
  return [...seen.values()];
}

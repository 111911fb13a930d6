// Parts of a core profile as the console shows and changes it. Nothing here needs a browser.
import { parse, write } from "./json.js";

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

const TYPES = [
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

/** The filter that a search means: an e-mail address, `type:value`, or a part of the name. */
export function searchOf(/** @type {string} */ text) {
  if (!text) return {};
  const [type, value] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  if (TYPES.includes(type)) return { identity: [{ [type]: value }] };
  return text.includes("@") ? { identity: [{ email: text }] } : { name: text };
}

/** The members that differ between a profile and its text; one that the text lacks is null. */
export function patchOf(/** @type {Record<string, any>} */ own, /** @type {string} */ text) {
  let next;
  try {
    next = parse(text);
  } catch {
    throw new Error("this is not JSON");
  }
  if (!next || typeof next !== "object" || Array.isArray(next))
    throw new Error("this is not a JSON map");
  const names = [...new Set([...Object.keys(own), ...Object.keys(next)])].filter(
    (name) => !READ_ONLY.includes(name),
  );
  return Object.fromEntries(
    names
      .filter((name) => write(own[name] ?? null) !== write(next[name] ?? null))
      .map((name) => [name, patchedTo(own[name], next[name])]),
  );
}

/**
 * The patch of one member: a patch leaves members that it does not name, so a lost member becomes
 * null.
 */
function patchedTo(/** @type {any} */ from, /** @type {any} */ to) {
  const isMap = (/** @type {any} */ value) =>
    value && Object.getPrototypeOf(value) === Object.prototype;
  if (to === undefined || to === null) return null;
  if (!isMap(from) || !isMap(to)) return to;
  return {
    ...to,
    ...Object.fromEntries(
      Object.keys(from)
        .filter((key) => !(key in to))
        .map((key) => [key, null]),
    ),
  };
}

// The fields of profiles and issues: their names as people read them, and those that a column of a
// table can become, by what its rows are.
import { capital } from "./format.js";
import { named } from "./json.js";
import { placeOf } from "./pointer.js";

/** What each field is called, in forms, faults and imports. */
const LABELS = named({
  identities: "Identities",
  email: "E-mail",
  uid: "User id",
  phone_number: "Phone number",
  facebook_id: "Facebook id",
  discord_id: "Discord id",
  whatsapp_id: "WhatsApp id",
  google_playstore_id: "Google Play id",
  apple_gamecenter_id: "Apple Game Center id",
  nintendo_id: "Nintendo id",
  psn_id: "PlayStation Network id",
  xbox_live_id: "Xbox Live id",
  steam_id: "Steam id",
  "core-profile-id": "Profile id",
  names: "Name",
  first_name: "First name",
  last_name: "Last name",
  full_name: "Full name",
  display_name: "Display name",
  tags: "Tags",
  custom_fields: "Custom fields",
  last_country: "Country",
  last_city: "City",
  preferred_language: "Language",
  age: "Age",
  lifetime_value: "Lifetime value",
  user_persona: "Persona",
  user_vip_segment: "VIP segment",
  user_support_status: "Support status",
  accepted_t_and_c: "Terms accepted",
  full_privacy_enabled: "Full privacy",
  last_active_date: "Last active",
  pid: "App profile id",
  user_paying_segment: "Paying segment",
  user_level: "Level",
  app_status: "App status",
  app_rating: "Rating of the app",
  country: "Country",
  city: "City",
  language: "Language",
  id: "Issue id",
  title: "Title",
  message: "Message",
  author_email: "Author’s e-mail",
  author_name: "Author’s name",
  assignee_email: "Assignee’s e-mail",
  state: "State",
  created_at: "Created",
  updated_at: "Updated",
  assignee_id: "Assignee",
  app_id: "App",
  queue_id: "Queue",
  hs_user_id: "App profile",
  messages: "Messages",
  private_notes: "Notes",
  meta: "Metadata",
  feedback_rating: "Rating",
  feedback_comment: "Comment on the rating",
});

const PEOPLE = [
  "email",
  "email2",
  "uid",
  "phone_number",
  "phone_number2",
  "discord_id",
  "steam_id",
  "core-profile-id",
  "names.first_name",
  "names.last_name",
  "names.full_name",
  "names.display_name",
  "tags",
  "last_country",
  "last_city",
  "preferred_language",
  "age",
  "lifetime_value",
  "user_persona",
  "user_vip_segment",
  "user_support_status",
  "accepted_t_and_c",
  "full_privacy_enabled",
  "last_active_date",
];
const APP_PROFILES = [
  "pid",
  "user_persona",
  "user_paying_segment",
  "user_vip_segment",
  "user_level",
  "user_support_status",
  "accepted_t_and_c",
  "app_status",
  "country",
  "city",
  "language",
  "app_rating",
  "lifetime_value",
];
const ISSUES = [
  "id",
  "title",
  "message",
  "created_at",
  "author_email",
  "author_name",
  "state",
  "tags",
  "assignee_email",
];

/** The fields of the rows of an action. */
export function fieldsOf(/** @type {string} */ action) {
  if (/issues/.test(action)) return ISSUES;
  return /app_profiles/.test(action) ? APP_PROFILES : PEOPLE;
}

/** The custom field that has the name of a column, or its number if the column has none. */
export const customField = (/** @type {string} */ name, /** @type {number} */ at) =>
  `custom_fields.${name.trim() || `column ${at + 1}`}`;

/** A name without a label of its own. */
const plain = (/** @type {string} */ name) => capital(name.replace(/[_.-]+/g, " ").trim());

/** A field as people read it. @param {string} field @returns {string} */
export function fieldName(field) {
  if (field.startsWith("custom_fields.")) return `Custom field “${field.slice(14)}”`;
  if (/^(email|phone_number)2$/.test(field))
    return `Another ${lower(fieldName(field.slice(0, -1)))}`;
  const name = field.replace(/^(names|identities)\./, "");
  return LABELS[name] ?? plain(name);
}
/** A place of a record as people read it. @param {string} pointer */
export const placeName = (pointer) => pointer && fieldName(placeOf(pointer));
const lower = (/** @type {string} */ text) => text.slice(0, 1).toLowerCase() + text.slice(1);

/**
 * A text of the server about a field, with the name of the field as people read it.
 * @param {{pointer?:string|null, detail:string}} fault
 */
export function detailOf({ pointer, detail }) {
  detail = detail.replace(/\bidentity ([a-z]+_[a-z_]+)/g, (all, type) =>
    LABELS[type] ? `identity ${lower(LABELS[type])}` : all,
  );
  const name = placeOf(pointer ?? "")
    .split(".")
    .pop();
  if (!name || !name.includes("_") || !LABELS[name] || pointer?.startsWith("/custom_fields/"))
    return detail;
  return detail.replaceAll(`"${name}"`, name).replaceAll(name, LABELS[name]);
}

/** What a file most likely holds: the action for its columns, or for the members of its entry. */
export function likely(/** @type {string[]} */ names) {
  const plain = names.map((name) => name.toLowerCase().replace(/[\s_-]/g, ""));
  const has = (/** @type {RegExp} */ words) => plain.some((name) => words.test(name));
  if (has(/^(messages?|title|subject|statedata|requester|authoremail)$/)) return "import_issues";
  if (has(/^issueid$/)) return "delete_issues";
  return has(/^pid$/) ? "update_app_profiles" : "upsert_core_profiles";
}

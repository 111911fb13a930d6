// The fields that a column of a table can become, by what its rows are.

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

/** A field as people read it. @param {string} field @returns {string} */
export function fieldName(field) {
  if (field.startsWith("custom_fields.")) return `custom field “${field.slice(14)}”`;
  if (/^(email|phone_number)2$/.test(field)) return `another ${fieldName(field.slice(0, -1))}`;
  return field.replace(/^names\./, "").replaceAll("_", " ");
}

/** What a file most likely holds: the action for its columns, or for the members of its entry. */
export function likely(/** @type {string[]} */ names) {
  const plain = names.map((name) => name.toLowerCase().replace(/[\s_-]/g, ""));
  const has = (/** @type {RegExp} */ words) => plain.some((name) => words.test(name));
  if (has(/^(messages?|title|subject|statedata|requester|authoremail)$/)) return "import_issues";
  if (has(/^issueid$/)) return "delete_issues";
  return has(/^pid$/) ? "update_app_profiles" : "upsert_core_profiles";
}

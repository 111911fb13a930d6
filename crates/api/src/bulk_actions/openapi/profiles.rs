//! The shape of profiles: in entries of writing tasks, where null removes a value, and in the
//! results of get tasks. A test compares the fields with the model's tables.

use caseload_model::profile::{
    COLLECTION_ELEMENTS_MAX, IDENTITY_VALUE_CHARS_MAX, IdentityType, KEY_CHARS_MAX, TAG_CHARS_MAX,
    TEXT_CHARS_MAX, UID_VALUE_CHARS_MAX,
};
use caseload_model::tags::{ADD_TAGS, REMOVE_TAGS};
use serde_json::{Map, Value, json};

use crate::openapi::json::{
    self, array, closed, described, merged, object, record, schema, string,
};
use crate::openapi::parameters::instant;

const COUNTRY: &str = "A country: a code of ISO 3166-1, a name in English or in an official \
    language, or a short form such as `UK` or `Holland`. Case and dots of a code do not count; nor \
    do case, accents, articles and punctuation of a name.";
const LANGUAGE: &str = "A language: a code of ISO 639-1 in any case, which is stored as sent; or a \
                        three-letter code, a tag such as `pt-BR` or an English name, of which the \
                        code is stored.";

pub(super) fn schemas() -> Value {
    json!({
        "CoreProfile": stored(
            "A core profile with every stored field.",
            "core-profile-id",
            json!({"core-profile-id": profile_id()}),
            merged([core_fields(false), json!({"app_profile_pids": {
                "type": "array",
                "items": pid(),
                "description": "With `includes`: the app profiles of the same person, by code \
                                point.",
            }})]),
        ),
        "AppProfile": stored(
            "An app profile with every stored field.",
            "pid",
            merged([json!({"pid": pid()}), app_head()]),
            merged([app_fields(false), json!({"core-profile-id": {
                "type": ["string", "null"],
                "description": "With `includes`: the core profile of the same person.",
            }})]),
        ),
        "CreateCoreProfile": {
            "type": "object",
            "description": "An entry of `create_core_profiles`. It has at least one identity. Null \
                            counts as absent.",
            "required": ["identities"],
            "properties": core_fields(true),
            "additionalProperties": false,
            "examples": [{
                "identities": [{"email": "ada@example.org", "verified": "true"}, {"uid": "u-1"}],
                "names": {"first_name": "Ada"},
                "tags": ["vip"],
                "custom_fields": {"plan": "gold", "seats": 3},
                "last_country": "SE",
                "lifetime_value": 1023.99,
                "last_active_date": 1_714_627_659_283_u64,
            }],
        },
        "UpdateCoreProfile": update(
            "An entry of `update_core_profiles`, a JSON Merge Patch (RFC 7396). Without \
             `core-profile-id` it is about the profile that has one of its identities, and these \
             are added.",
            &[],
            patch_fields(),
            json!({}),
        ),
        "UpsertCoreProfile": update(
            "An entry of `upsert_core_profiles`. Without `core-profile-id` it is about the profile \
             that has one of its identities, and creates one if none has. Identities are added.",
            &[],
            patch_fields(),
            json!({}),
        ),
        "UpdateAppProfile": update(
            "An entry of `update_app_profiles`, a JSON Merge Patch (RFC 7396).",
            &["pid"],
            merged([json!({"pid": pid()}), app_fields(true)]),
            app_head(),
        ),
        "DeleteCoreProfile": deletion(),
        "GetCoreProfile": lookup("core-profile-id", any_profile_id()),
        "GetAppProfile": lookup("pid", pid()),
        "Identity": identity(),
    })
}

fn deletion() -> Value {
    json!({
        "type": "object",
        "description": "An entry of `delete_core_profiles`: either the id or the identities.",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {
            "core-profile-id": any_profile_id(),
            "identities": {
                "type": "array",
                "minItems": 1,
                "maxItems": COLLECTION_ELEMENTS_MAX,
                "items": schema("Identity"),
            },
        },
        "additionalProperties": false,
    })
}

fn stored(description: &str, id: &str, ids: Value, fields: Value) -> Value {
    let times = json!({
        "created_at": described("When the profile was created: Unix milliseconds.", instant()),
        "updated_at": described("When it last changed: Unix milliseconds.", instant()),
    });
    let required = [id, "created_at", "updated_at"];
    record(description, &required, merged([ids, fields, times]))
}

fn update(description: &str, required: &[&str], fields: Value, head: Value) -> Value {
    let description = format!(
        "{description} Null removes a value, maps merge key by key, arrays are replaced. Members \
         that only a get task returns are ignored."
    );
    let ignored = json!({"created_at": {}, "updated_at": {}});
    let head = head.as_object().into_iter().flat_map(Map::keys).map(|key| (key.clone(), json!({})));
    let mut schema = json!({
        "type": "object",
        "description": description,
        "minProperties": 1,
        "properties": merged([fields, Value::Object(head.collect()), ignored]),
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn lookup(name: &str, id: Value) -> Value {
    closed(object(&[name], json!({name: id})))
}

fn profile_id() -> Value {
    json!({
        "type": "string",
        "pattern": "^[0-9]+$",
        "description": "The id that the server gave: at most 15 digits, unique in the domain.",
        "examples": ["188474421477632"],
    })
}

fn any_profile_id() -> Value {
    json!({"oneOf": [profile_id(), {"type": "integer", "minimum": 1}]})
}

fn pid() -> Value {
    json!({
        "type": "string",
        "minLength": 1,
        "description": "The id of the app profile.",
        "examples": ["acme_profile_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c"],
    })
}

/// The members of an app profile that come from the issues of its author.
fn app_head() -> Value {
    json!({
        "app_id": json::text("The app of the issues."),
        "name": json::text("The name of the author."),
        "emails": described("The addresses of the author.", array(string())),
    })
}

/// The schema, which for a patch also takes null.
fn value(patch: bool, mut schema: Value) -> Value {
    if patch {
        let plain = schema["type"].take();
        schema["type"] = json!([plain, "null"]);
    }
    schema
}

fn text(patch: bool, about: &str) -> Value {
    value(patch, json!({"type": "string", "maxLength": TEXT_CHARS_MAX, "description": about}))
}

fn number(patch: bool, about: &str) -> Value {
    value(patch, json!({"type": "number", "description": about}))
}

fn boolean(patch: bool, about: &str) -> Value {
    value(patch, json!({"type": "boolean", "description": about}))
}

fn custom_fields(patch: bool) -> Value {
    // Null is a form of the number, for the reason that `or_null` has.
    let number = if patch { json!(["number", "null"]) } else { json!("number") };
    let text = json!({"type": "string", "maxLength": TEXT_CHARS_MAX});
    let map = json!({
        "type": "object",
        "maxProperties": COLLECTION_ELEMENTS_MAX,
        "propertyNames": {"maxLength": KEY_CHARS_MAX},
        "additionalProperties": {"anyOf": [text, {"type": number}]},
        "description": "Texts and numbers, by key.",
    });
    value(patch, map)
}

/// The members of an entry that changes a core profile.
fn patch_fields() -> Value {
    let id = json!({"core-profile-id": any_profile_id()});
    merged([id, core_fields(true), tag_changes()])
}

fn core_fields(patch: bool) -> Value {
    let component = || text(patch, "A component of the name.");
    let names = json!({
        "type": "object",
        "description": "Components of the name.",
        "properties": {
            "first_name": component(),
            "last_name": component(),
            "full_name": component(),
            "display_name": component(),
        },
        "additionalProperties": false,
    });
    let max = COLLECTION_ELEMENTS_MAX;
    let list = |about, items: Value| {
        described(about, json!({"type": "array", "maxItems": max, "items": items}))
    };
    let age = described("Age.", json!({"type": "number", "minimum": 0, "maximum": 150}));
    let active = json!({"type": "integer", "minimum": 0, "maximum": 253_402_300_799_999_u64});
    let active = described("Unix milliseconds. Entries may also have a text of ISO 8601.", active);
    json!({
        "identities": value(
            patch,
            list("Each belongs to at most one core profile of the domain.", schema("Identity")),
        ),
        "names": value(patch, names),
        "tags": tags(patch, "Tags."),
        "custom_fields": custom_fields(patch),
        "full_privacy_enabled": boolean(patch, "Whether the user enabled full privacy."),
        "last_country": text(patch, COUNTRY),
        "last_city": text(patch, "City."),
        "age": value(patch, age),
        "lifetime_value": number(patch, "Lifetime value."),
        "user_persona": text(patch, "Persona."),
        "user_vip_segment": text(patch, "VIP segmentation."),
        "user_support_status": text(patch, "Support status."),
        "accepted_t_and_c": boolean(patch, "Whether terms and conditions were accepted."),
        "preferred_language": text(patch, LANGUAGE),
        "last_active_date": value(patch, active),
    })
}

fn tags(patch: bool, about: &str) -> Value {
    let tag = json!({"type": "string", "maxLength": TAG_CHARS_MAX});
    let list = json!({"type": "array", "maxItems": COLLECTION_ELEMENTS_MAX, "items": tag});
    value(patch, described(about, list))
}

/// The members of an update that change the tags without naming all of them.
fn tag_changes() -> Value {
    let add = "Tags to add after the present ones. Not together with `tags`.";
    let remove = "Tags to remove, none of them in `add_tags`. Not together with `tags`.";
    json!({ADD_TAGS: tags(true, add), REMOVE_TAGS: tags(true, remove)})
}

fn app_fields(patch: bool) -> Value {
    json!({
        "custom_fields": custom_fields(patch),
        "user_persona": text(patch, "Persona."),
        "user_paying_segment": text(patch, "Segmentation by payments."),
        "user_vip_segment": text(patch, "VIP segmentation."),
        "user_level": number(patch, "Level."),
        "accepted_t_and_c": boolean(patch, "Whether terms and conditions were accepted."),
        "app_status": text(patch, "App status."),
        "user_support_status": text(patch, "Support status."),
        "country": text(patch, COUNTRY),
        "city": text(patch, "City."),
        "language": text(patch, LANGUAGE),
        "app_rating": number(patch, "Rating the user gave the app."),
        "lifetime_value": number(patch, "Lifetime value."),
    })
}

fn identity() -> Value {
    let kinds: Map<_, _> = IdentityType::ALL
        .iter()
        .map(|kind| {
            let chars_max = kind.value_chars_max();
            let schema = json!({"type": "string", "minLength": 1, "maxLength": chars_max});
            (kind.as_str().to_owned(), schema)
        })
        .collect();
    let one_of: Vec<_> =
        IdentityType::ALL.iter().map(|kind| json!({"required": [kind.as_str()]})).collect();
    json!({
        "type": "object",
        "description": format!(
            "Exactly one identity type and its value, at most {IDENTITY_VALUE_CHARS_MAX} \
             characters (`uid` {UID_VALUE_CHARS_MAX}); further members are metadata, stored \
             unchanged, at most {COLLECTION_ELEMENTS_MAX}, with keys of {KEY_CHARS_MAX} \
             characters. `email` compares without case, the others exactly."
        ),
        "properties": kinds,
        "oneOf": one_of,
        "additionalProperties": {"type": "string", "maxLength": TEXT_CHARS_MAX},
        "examples": [{"email": "ada@example.org", "verified": "true"}],
    })
}

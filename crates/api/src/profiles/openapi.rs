//! The description of the lists of profiles and of the single profiles. The profiles themselves are
//! described with the tasks that write them.

use caseload_model::error_code::ErrorCode;
use caseload_model::profile::IdentityType;
use caseload_model::profile_query::{ProfileKind, profile_columns_pattern};
use serde_json::{Value, json};

use crate::issues::openapi::filters::profile_fields;
use crate::issues::openapi::{cursor_envelope, envelope};
use crate::openapi::json::{array, merged, schema, string, words};
use crate::openapi::operation::{Operation, QUERY, add_lines, add_table, json_content};
use crate::openapi::parameters::{path_id, query, query_columns, query_json};

/// The parameters that both lists have.
const COMMON: [&str; 21] = [
    "created-since",
    "created-until",
    "updated-since",
    "updated-until",
    "identity",
    "country",
    "language",
    "user-vip-segment",
    "user-persona",
    "user-support-status",
    "profile-custom-fields",
    "name",
    "profile-sort-by",
    "sort-order",
    "profile-cursor",
    "profile-count",
    "list-format",
    "bom",
    "spreadsheet",
    "trailer",
    "page",
];
const CORE: &[&str] = &[
    "core-profile-ids",
    "profile-tags",
    "core-profile-after",
    CORE_INCLUDES,
    "core-profile-columns",
];
const APP: &[&str] =
    &["pids", "profile-app-ids", "app-profile-after", APP_INCLUDES, "app-profile-columns"];
const CORE_INCLUDES: &str = "core-profile-includes";
const APP_INCLUDES: &str = "app-profile-includes";

pub(crate) fn paths() -> Value {
    json!({
        "/v2/{domain}/identity/core_profiles": {"get": list(ProfileKind::Core)},
        "/v2/{domain}/identity/core_profiles/{core_profile_id}": {
            "get": single(ProfileKind::Core),
            "delete": delete(ProfileKind::Core),
        },
        "/v2/{domain}/identity/app_profiles": {"get": list(ProfileKind::App)},
        "/v2/{domain}/identity/app_profiles/{pid}": {
            "get": single(ProfileKind::App),
            "delete": delete(ProfileKind::App),
        },
    })
}

/// The words of one kind of profile.
struct Words {
    noun: &'static str,
    record: &'static str,
    key: &'static str,
    own: &'static [&'static str],
    example: Value,
}

fn words_of(kind: ProfileKind) -> Words {
    let key = kind.as_str();
    match kind {
        ProfileKind::Core => Words {
            noun: "core profile",
            record: "CoreProfile",
            key,
            own: CORE,
            example: json!({
                "core-profile-id": "188474421477632",
                "identities": [{"email": "ada@example.org"}],
                "created_at": 1_767_225_600_000_u64,
                "updated_at": 1_767_225_600_000_u64,
            }),
        },
        ProfileKind::App => Words {
            noun: "app profile",
            record: "AppProfile",
            key,
            own: APP,
            example: json!({
                "pid": "acme_profile_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
                "app_id": "acme_app_20260101000000000-1370923e4e06ab6",
                "name": "Ada",
                "emails": ["ada@example.org"],
                "created_at": 1_767_225_600_000_u64,
                "updated_at": 1_767_225_600_000_u64,
            }),
        },
    }
}

fn list(kind: ProfileKind) -> Value {
    let Words { noun, record, key, own, example } = words_of(kind);
    let mut page = json!({"page": 1, "page-size": 100});
    page[key] = json!([example]);
    page["total-hits"] = 1.into();
    page["total-pages"] = 1.into();
    let envelopes = ["Envelope", "CursorEnvelope"].map(|kind| schema(&format!("{record}{kind}")));
    let mut content = json_content(json!({"anyOf": envelopes}), page);
    let about = "Every match, one profile per line, and a last line with their number. A stream \
                 without that line was cut.";
    let lines = format!("{example}\n{{\"end\":true,\"count\":1,\"next-cursor\":\"\"}}\n");
    add_lines(&mut content, about, &lines);
    add_table(&mut content, "Every match, one profile per row.", "created_at\r\n1767225600000\r\n");
    Operation::guarded(
        &format!("list{record}s"),
        "profiles",
        &format!("List {noun}s"),
        "Filters combine with AND. Profiles with equal times are in the order of their ids. With \
         `cursor` the list continues from a position instead of a page number, to any depth. As \
         JSON lines or as a table, without `page`, it is a stream of every match.",
    )
    .takes(
        ["domain"]
            .into_iter()
            .chain(COMMON)
            .chain(own.iter().copied())
            .chain(["page-size", "If-None-Match"]),
    )
    .answers(200, "A page of profiles, a step by cursor, or a stream.", &["Link", "Tag"], &content)
    .answers(304, "The caller already has the current answer.", &["ETag"], &Value::Null)
    .fails(&QUERY)
    .fails(&[ErrorCode::PageTooDeep, ErrorCode::QueryTooExpensive])
    .build()
}

fn single(kind: ProfileKind) -> Value {
    let Words { noun, record, example, .. } = words_of(kind);
    let (id, includes) = match kind {
        ProfileKind::Core => ("core_profile_id", CORE_INCLUDES),
        ProfileKind::App => ("pid", APP_INCLUDES),
    };
    Operation::guarded(
        &format!("get{record}"),
        "profiles",
        &format!("Get one {noun}"),
        "The record as the get action returns it, without an envelope.",
    )
    .takes(["domain", id, "If-None-Match", includes])
    .answers(200, "The profile.", &["ETag"], &json_content(schema(record), example))
    .answers(304, "The caller already has the current answer.", &["ETag"], &Value::Null)
    .fails(&QUERY)
    .fails(&[ErrorCode::NotFound, ErrorCode::QueryTooExpensive])
    .build()
}

fn delete(kind: ProfileKind) -> Value {
    let Words { noun, record, .. } = words_of(kind);
    let (id, description) = match kind {
        ProfileKind::Core => (
            "core_profile_id",
            "The profile is gone with its identities, as after a task with the action \
             `delete_core_profiles`: app profiles and issues of the person stay. Needs a write \
             key.",
        ),
        ProfileKind::App => (
            "pid",
            "The profile is gone, as after a task with the action `delete_app_profiles`: the core \
             profile and the issues of the person stay. The next message or issue of that author \
             creates it again. Needs a write key.",
        ),
    };
    let summary = format!("Delete {} {noun}", if kind == ProfileKind::App { "an" } else { "a" });
    Operation::guarded(&format!("delete{record}"), "profiles", &summary, description)
        .takes(["domain", id])
        .deletes("The profile is deleted.")
        .build()
}

pub(crate) fn schemas() -> Value {
    json!({
        "CoreProfileEnvelope": envelope("core_profiles", "CoreProfile"),
        "CoreProfileCursorEnvelope": cursor_envelope("core_profiles", "CoreProfile"),
        "AppProfileEnvelope": envelope("app_profiles", "AppProfile"),
        "AppProfileCursorEnvelope": cursor_envelope("app_profiles", "AppProfile"),
    })
}

pub(crate) fn parameters() -> Value {
    merged([ids(), fields(), view(), position()])
}

/// A list of alternatives.
fn any(name: &str, description: &str, example: Value) -> Value {
    any_of(name, description, string(), example)
}

/// A list of alternatives of one schema.
fn any_of(name: &str, description: &str, item: Value, example: Value) -> Value {
    let description =
        format!("{description} A profile with any of them matches; an empty list matches none.");
    query_json(name, &description, array(item), example)
}

fn ids() -> Value {
    let kinds: Vec<_> =
        IdentityType::ALL.iter().map(|kind| format!("{}:.+", kind.as_str())).collect();
    let identity = json!({
        "type": "array",
        "items": {"oneOf": [
            {"type": "string", "pattern": format!("^({})$", kinds.join("|"))},
            schema("Identity"),
        ]},
    });
    let mut core_profile_id =
        path_id("core_profile_id", "The id of a core profile: digits.", "188474421477632");
    core_profile_id["schema"] = json!({"type": "string", "pattern": "^[0-9]+$"});
    json!({
        "core_profile_id": core_profile_id,
        "pid": path_id(
            "pid",
            "The pid of an app profile.",
            "acme_profile_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
        ),
        "core-profile-ids": any_of(
            "ids",
            "Ids of core profiles.",
            json!({"oneOf": [
                {"type": "string", "pattern": "^[0-9]+$"},
                {"type": "integer", "minimum": 0},
            ]}),
            json!(["188474421477632"]),
        ),
        "pids": any("pids", "Pids of app profiles.", json!(["acme_profile_0f1e2d3c"])),
        "profile-app-ids": any("app-ids", "Ids of apps.", json!(["mobile"])),
        "identity": query_json(
            "identity",
            "Identities, each `TYPE:VALUE` or a map. A profile with any of them matches. Those of \
             an app profile are its addresses, and the identifier of its author as a `uid`.",
            identity,
            json!([{"email": "ada@example.org"}]),
        ),
    })
}

fn fields() -> Value {
    let condition = json!({
        "type": "object",
        "properties": {
            "and": array(string()),
            "or": array(string()),
            "nor": array(string()),
            "exists": {"enum": ["true", "false", true, false]},
        },
        "additionalProperties": false,
    });
    json!({
        "profile-tags": query_json(
            "tags",
            "Tags, compared exactly. A profile must satisfy every key that is given: `and` all of \
             these, `or` any, `nor` none, `exists` whether there is a tag.",
            condition,
            json!({"or": ["vip"]}),
        ),
        "country": any_of(
            "country",
            "Countries, by code or by name: `DE` finds `Germany`, `Deutschland` and `DEU`.",
            json!({"type": "string", "format": "country"}),
            json!(["DE"]),
        ),
        "language": any_of(
            "language",
            "Languages, by code of ISO 639-1, by tag or by English name: `pt-BR` finds `pt`.",
            json!({"type": "string", "format": "language"}),
            json!(["de"]),
        ),
        "user-vip-segment": any("user-vip-segment", "Compared exactly.", json!(["gold"])),
        "user-persona": any("user-persona", "Compared exactly.", json!(["builder"])),
        "user-support-status": any("user-support-status", "Compared exactly.", json!(["active"])),
        "profile-custom-fields": query_json(
            "custom-fields",
            "Conditions on custom fields, by the type of their JSON value (`text`, `number`), then \
             `and` or `or`, then their key, with the tests of the issue list.",
            profile_fields(),
            json!({"text": {"and": {"plan": {"is_one_of": ["gold"]}}}}),
        ),
        "name": query(
            "name",
            "A literal part of any component of `names`, or of `name` of app profiles; case is \
             ignored.",
            json!({"type": "string", "minLength": 1}),
        ),
    })
}

fn view() -> Value {
    let include = |word: &str, description: &str| {
        query_json("includes", description, array(json!({"enum": [word]})), json!([word]))
    };
    let columns = |kind: ProfileKind, example: &str| {
        let example = json!([example, "custom_fields.plan"]);
        query_columns("a profile", &profile_columns_pattern(kind), example)
    };
    json!({
        "core-profile-includes": include(
            "app_profiles",
            "Members to add to each core profile: `app_profile_pids`, the app profiles that share \
             an identity.",
        ),
        "app-profile-includes": include(
            "core_profile",
            "Members to add to each app profile: `core-profile-id`, the oldest core profile that \
             shares an identity, or null.",
        ),
        "core-profile-columns": columns(ProfileKind::Core, "core-profile-id"),
        "app-profile-columns": columns(ProfileKind::App, "pid"),
    })
}

fn position() -> Value {
    json!({
        "profile-sort-by": query(
            "sort-by",
            "The time that the list is sorted by. The default is the creation time, or the update \
             time if the query has a bound on it.",
            words(&["creation-time", "update-time"]),
        ),
        "profile-cursor": query(
            "cursor",
            "Lists from a position: empty or `*` to begin, then `next-cursor` of the previous \
             answer, with the same filters and order. Cannot be combined with `page` or `after`.",
            json!({"type": "string", "format": "cursor"}),
        ),
        "core-profile-after": after("id of a core profile", "[0-9]{1,18}"),
        "app-profile-after": after("pid of an app profile", ".+"),
        "profile-count": query(
            "count",
            "Whether to include the totals. Only with `cursor`.",
            json!({"type": "boolean"}),
        ),
    })
}

fn after(id: &str, pattern: &str) -> Value {
    query(
        "after",
        &format!(
            "A cursor in plain text: the time that the list is sorted by, and the {id}; the list \
             continues after it. Cannot be combined with `page` or `cursor`."
        ),
        json!({"type": "string", "pattern": format!("^[0-9]{{1,15}},{pattern}$")}),
    )
}

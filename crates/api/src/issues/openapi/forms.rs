//! The bodies that write issues, field by field: as forms and as JSON. A form can only carry JSON
//! as text, so a list or map is a text with the schema of its content. An empty optional field of a
//! form counts as absent, except a title. A null of a JSON body counts as absent, so every optional
//! field may be null; many clients send all fields of a type. Each content type of a call has a
//! schema of its own, even with equal fields: generated clients choose the content type by the
//! class of the body.

use caseload_model::ids::{FOREIGN_ID_CHARS_MAX, ISSUE_ID_MAX};
use caseload_model::issue::write::BULK_EDIT_ISSUES_MAX;
use caseload_model::issue::{
    IssueState, MESSAGE_BODY_BYTES_MAX, TAG_CHARS_MAX, TAGS_MAX, TEXT_CHARS_MAX,
};
use caseload_model::tags::{ADD_TAGS, REMOVE_TAGS};
use caseload_model::time::read::{MOMENT_MS_MAX, MOMENT_MS_MIN};
use serde_json::{Value, json};

use crate::openapi::json::{
    array, closed, described, map, names, null_value, object, or_null, schema, words,
};
use crate::openapi::parameters::spelled;

/// The schemas of a field: in forms, and in JSON bodies.
#[derive(Clone)]
struct Field {
    form: Value,
    json: Value,
}

type Named = (&'static str, Field);

pub(super) fn schemas() -> Value {
    let name = "Another name of the author.";
    let create = [
        ("message-body", body("The first message.")),
        ("email", text("The address of the author.")),
        ("title", text("The default is the message.")),
        ("author-name", text("The name of the author.")),
        ("tags", tags()),
        ("meta", meta()),
        ("custom_fields", custom_fields()),
        ("platform-type", word("The platform that creates the issue, such as `web`.")),
        ("platform-id", id("Accepted and ignored.")),
        ("app-id", id("The id of an app. The default is the app with the publish id `1`.")),
        ("language", word("The language of the issue.")),
        ("cc", texts("Further addresses.", TEXT_CHARS_MAX)),
        ("end_user_id", id("The `pid` of the author's app profile; else it is an `identifier`.")),
        ("identifier", Field { form: text(name).form, json: id(name).json }),
    ];
    let kind = json!({"type": "string", "enum": ["Text"]});
    let kind = Field { json: json!({"oneOf": [kind, {"type": "null"}]}), form: kind };
    let message = [
        ("message-body", body("The message.")),
        ("message-type", kind),
        ("agent-id", id("The agent who writes. Without it, the author is the end user.")),
    ];
    let desk = "The agent who writes. Without it, the author is the desk";
    let in_form = id(&format!("{desk} of the domain.")).form;
    let text = json!({
        "type": "string", "minLength": 1, "maxLength": TEXT_CHARS_MAX, "description": "The note.",
    });
    let note = [
        ("note-text", same(text)),
        ("profile-id", Field { form: in_form, json: id(&format!("{desk}.")).json }),
    ];
    let files = files();
    let (edit, bulk_edit) = (edit(), bulk_edit());
    json!({
        "IssueForm": form(&create, &["message-body"]),
        "IssueUpload": form(&[&create[..], &files].concat(), &["message-body"]),
        "MessageForm": form(&message, &["message-body"]),
        "MessageUpload": form(&[&message[..], &files].concat(), &["message-body"]),
        "NoteForm": form(&note, &["note-text"]),
        "NoteUpload": form(&note, &["note-text"]),
        "EditForm": with_fields(1, form(&edit, &[])),
        "EditUpload": with_fields(1, form(&edit, &[])),
        "BulkEditForm": with_fields(2, form(&bulk_edit, &["issue-ids"])),
        "BulkEditUpload": with_fields(2, form(&bulk_edit, &["issue-ids"])),
        "IssueJson": with_fields(1, json_body(&create, &["message-body"])),
        "MessageJson": with_fields(1, json_body(&message, &["message-body"])),
        "NoteJson": with_fields(1, json_body(&note, &["note-text"])),
        "EditJson": with_fields(1, json_body(&edit, &[])),
        "BulkEditJson": with_fields(2, json_body(&bulk_edit, &["issue-ids"])),
        "GivenCustomField": custom_field(),
    })
}

fn edit() -> [Named; 11] {
    let queue = "The id of a queue. A move to another queue unassigns the issue, unless the edit \
                 names an assignee.";
    let title = json!({"type": "string", "maxLength": TEXT_CHARS_MAX});
    [
        ("title", Field { form: title, json: text("The title.").json }),
        ("tags", tags()),
        (ADD_TAGS, added_tags()),
        (REMOVE_TAGS, removed_tags()),
        ("meta", meta()),
        ("custom_fields", custom_fields()),
        ("status", status()),
        ("assignee-id", assignee()),
        ("assignee-email", text("The address of an agent.")),
        ("agent-profile-id", id("The agent who edits.")),
        ("queue_id", id(queue)),
    ]
}

fn bulk_edit() -> [Named; 10] {
    let id = json!({"oneOf": [
        {"type": "integer", "minimum": 1, "maximum": ISSUE_ID_MAX},
        {"type": "string", "pattern": "^[0-9]+$"},
    ]});
    let ids = json!({
        "type": "array", "minItems": 1, "maxItems": BULK_EDIT_ISSUES_MAX, "items": id,
    });
    let mut ids = collection("json-ids", "The issues.", ids);
    ids.json["type"] = "array".into();
    let message = "A message from the desk to each issue.";
    [
        ("issue-ids", ids),
        ("tags", tags()),
        (ADD_TAGS, added_tags()),
        (REMOVE_TAGS, removed_tags()),
        ("assignee-id", assignee()),
        ("assignee-email", text("The address of an agent.")),
        ("status", status()),
        ("message-body", value(message, MESSAGE_BODY_BYTES_MAX, &["string", "null"])),
        ("custom_fields", custom_fields()),
        (
            "action_taken_by",
            text("The author of the message: the id or address of an agent, or any name."),
        ),
    ]
}

/// The value of a custom field in JSON, by its type, or null. One schema has all five, because the
/// code that a generator writes for a choice within a choice fails its type check.
fn custom_field() -> Value {
    let of = |kinds: &[&str], value: Value| {
        closed(object(&["type"], json!({"type": words(kinds), "value": value})))
    };
    json!({
        "description": "A custom field. Null in place of it removes the field in an edit.",
        "oneOf": [
            of(
                &["singleline", "multiline", "dropdown"],
                json!({"type": ["string", "null"], "maxLength": TEXT_CHARS_MAX}),
            ),
            of(&["number"], json!({"type": ["number", "null"]})),
            of(&["date"], json!({
                "type": ["integer", "null"], "minimum": MOMENT_MS_MIN, "maximum": MOMENT_MS_MAX,
            })),
            of(&["checkbox"], json!({"anyOf": [
                {"type": ["boolean", "null"]},
                words(&["true", "false"]),
            ]})),
            null_value(),
        ],
    })
}

fn form(fields: &[Named], required: &[&str]) -> Value {
    let fields = fields.iter().map(|(name, field)| (name, field.form.clone()));
    closed(object(required, spelled(fields)))
}

fn json_body(fields: &[Named], required: &[&str]) -> Value {
    let fields = fields.iter().map(|(name, field)| (name, field.json.clone()));
    closed(object(required, spelled(fields)))
}

/// A body with at least `number` fields, so that an edit changes something. The descriptions of the
/// calls name the fields that change nothing by themselves.
fn with_fields(number: usize, mut body: Value) -> Value {
    body["minProperties"] = number.into();
    body
}

/// A field that is the same in forms and in JSON.
fn same(schema: Value) -> Field {
    Field { form: schema.clone(), json: schema }
}

/// A text. In JSON its value has one of these types.
fn value(description: &str, chars_max: usize, types: &[&str]) -> Field {
    let of =
        |types: Value| json!({"type": types, "maxLength": chars_max, "description": description});
    Field { form: of("string".into()), json: of(types.into()) }
}

fn text(description: &str) -> Field {
    value(description, TEXT_CHARS_MAX, &["string", "null"])
}

fn word(description: &str) -> Field {
    value(description, FOREIGN_ID_CHARS_MAX, &["string", "null"])
}

/// An id. An empty one counts as absent, and a number as its digits.
fn id(description: &str) -> Field {
    value(description, FOREIGN_ID_CHARS_MAX, &["string", "integer", "null"])
}

fn assignee() -> Field {
    id("The id of an agent, or `unassigned`.")
}

fn body(description: &str) -> Field {
    let description = format!("{description} At most {MESSAGE_BODY_BYTES_MAX} bytes.");
    same(json!({"type": "string", "minLength": 1, "description": description}))
}

fn status() -> Field {
    let states = names(IssueState::ALL, IssueState::as_str);
    let about = "The state, in upper or lower case.";
    Field {
        form: described(about, words(&states)),
        json: described(about, json!({"oneOf": [schema("IssueState"), {"type": "null"}]})),
    }
}

/// A list or map: in a form the JSON of it, in a JSON body itself or null.
fn collection(format: &str, description: &str, content: Value) -> Field {
    let mut json = json!({"type": [content["type"], "null"], "description": description});
    for (key, value) in content.as_object().into_iter().flatten().skip(1) {
        json[key] = value.clone();
    }
    let form = json!({
        "type": "string",
        "format": format,
        "description": description,
        "contentMediaType": "application/json",
        "contentSchema": content,
    });
    Field { form, json }
}

fn texts(description: &str, chars_max: usize) -> Field {
    let text = json!({"type": "string", "maxLength": chars_max});
    collection("json-texts", description, array(text))
}

fn tags() -> Field {
    some_tags("All tags of the issue.")
}

fn added_tags() -> Field {
    some_tags("Tags to add after the present ones. Not together with `tags`.")
}

fn removed_tags() -> Field {
    some_tags("Tags to remove, none of them in `add_tags`. Not together with `tags`.")
}

fn some_tags(about: &str) -> Field {
    let mut tags = texts(about, TAG_CHARS_MAX);
    tags.form["contentSchema"]["maxItems"] = TAGS_MAX.into();
    tags.json["maxItems"] = TAGS_MAX.into();
    tags
}

fn meta() -> Field {
    collection("json-map", "Scalars become strings. In an edit, null removes a key.", map())
}

fn custom_fields() -> Field {
    let map = json!({"type": "object", "additionalProperties": or_null(schema("CustomField"))});
    let about = "By key. In an edit, null removes a key.";
    let mut fields = collection("json-custom-fields", about, map);
    fields.json["additionalProperties"] = schema("GivenCustomField");
    fields
}

fn files() -> [Named; 2] {
    let file = json!({
        "type": "string",
        "format": "binary",
        "contentMediaType": "application/octet-stream",
        "description": "A file, at most 25 MiB.",
    });
    let about = "Several files: repeat the part.";
    let files = json!({"type": "array", "items": file, "description": about});
    [("attachment", same(file)), ("attachments", same(files))]
}

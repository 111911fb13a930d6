//! The description of named views: their calls, and a view. The schemas have the limits and the
//! patterns of the model, so that a caller who obeys them is not refused for its form.

use caseload_model::error_code::ErrorCode;
use caseload_model::named_view::{
    DOMAIN_VIEWS_MAX, KEY_VIEWS_MAX, VIEW_NAME_CHARS_MAX, VIEW_NAME_PATTERN, VIEW_QUERY_BYTES_MAX,
    VIEW_QUERY_PATTERN, ViewList, ViewScope,
};
use serde_json::{Value, json};

use crate::admin::openapi::{FORM_ERRORS, json_body};
use crate::openapi::json::{
    array, closed, described, into_members, names, object, schema, string, words,
};
use crate::openapi::operation::{Operation, json_content};
use crate::openapi::parameters::{instant, path_id, spelled};

pub(crate) fn paths() -> Value {
    json!({
        "/v1/{domain}/views": {"get": list(), "post": create()},
        "/v1/{domain}/views/{view_id}": {"put": edit(), "delete": delete()},
    })
}

fn operation(id: &str, summary: &str, description: &str) -> Operation {
    Operation::guarded(id, "console", summary, description).takes(["domain"])
}

fn on_one(id: &str, summary: &str, description: &str) -> Operation {
    operation(id, summary, description).takes(["view_id"]).fails(&[ErrorCode::NotFound])
}

fn example() -> Value {
    json!({
        "id": "view-3f0c91d2a7b45f0c", "name": "Angry gold customers", "list": "issues",
        "query": "state=new&tags=gold", "scope": "domain", "created_at": 1_767_225_600_000_u64,
        "updated_at": 1_767_225_600_000_u64,
    })
}

fn list() -> Value {
    let all = json_content(schema("NamedViews"), json!({"views": [example()]}));
    let description = "Those of the domain and those of the key of the caller, by name.";
    operation("listViews", "List the named views", description)
        .answers(200, "All of them.", &[], &all)
        .fails(&[ErrorCode::UnknownParameter, ErrorCode::InvalidValue, ErrorCode::TooMany])
        .build()
}

fn create() -> Value {
    let description = format!(
        "A view of the domain needs a key with the access `write`; the domain has at most \
         {DOMAIN_VIEWS_MAX}. Any key makes views of its own, at most {KEY_VIEWS_MAX}: no other key \
         sees them, they end with the key, and its rotation gives them to the new key."
    );
    let form = json!({
        "name": "Angry gold customers", "list": "issues", "query": "state=new&tags=gold",
        "scope": "domain",
    });
    operation("createView", "Create a named view", &description)
        .body(json_body("NamedViewForm", form))
        .answers(201, "The new view.", &[], &json_content(schema("NamedView"), example()))
        .fails(&FORM_ERRORS)
        .fails(&[ErrorCode::NameTaken, ErrorCode::LimitReached, ErrorCode::TooMany])
        .build()
}

fn edit() -> Value {
    let description = "Fields that are not sent stay. A view of the domain needs a key with the \
                       access `write`.";
    on_one("editView", "Change a named view", description)
        .body(json_body("NamedViewEdit", json!({"name": "Angry customers"})))
        .answers(200, "The view.", &[], &json_content(schema("NamedView"), example()))
        .fails(&FORM_ERRORS)
        .fails(&[ErrorCode::NameTaken, ErrorCode::TooMany])
        .build()
}

fn delete() -> Value {
    let description = "A view of the domain needs a key with the access `write`.";
    on_one("deleteView", "Delete a named view", description)
        .answers(204, "The view is deleted.", &[], &Value::Null)
        .fails(&[ErrorCode::CrossSite])
        .build()
}

pub(crate) fn parameters() -> Value {
    json!({"view_id": path_id("view_id", "The id of a named view.", "view-3f0c91d2a7b45f0c")})
}

fn name() -> Value {
    json!({
        "type": "string", "minLength": 1, "maxLength": VIEW_NAME_CHARS_MAX,
        "pattern": VIEW_NAME_PATTERN,
        "description": "Unique among the views of the list and the scope.",
    })
}

fn query() -> Value {
    json!({
        "type": "string", "maxLength": VIEW_QUERY_BYTES_MAX, "pattern": VIEW_QUERY_PATTERN,
        "description": "The query of the list's address in the console, percent-encoded. The \
                        server stores it as it is.",
    })
}

fn list_word() -> Value {
    described("The list of the console.", words(&names(ViewList::ALL, ViewList::as_str)))
}

fn scope() -> Value {
    described(
        "All keys of the domain, or one key.",
        words(&names(ViewScope::ALL, ViewScope::as_str)),
    )
}

pub(crate) fn schemas() -> Value {
    let form =
        |required: &[&str], fields: Value| closed(object(required, spelled(into_members(fields))));
    let all = ["id", "name", "list", "query", "scope", "created_at", "updated_at"];
    json!({
        "NamedView": object(&all, json!({
            "id": string(), "name": string(), "list": list_word(), "query": query(),
            "scope": scope(), "created_at": instant(), "updated_at": instant(),
        })),
        "NamedViews": object(&["views"], json!({"views": array(schema("NamedView"))})),
        "NamedViewForm": form(&all[1..5], json!({
            "name": name(), "list": list_word(), "query": query(), "scope": scope(),
        })),
        "NamedViewEdit": form(&[], json!({"name": name(), "query": query()})),
    })
}

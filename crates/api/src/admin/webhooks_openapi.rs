//! The description of webhooks: their calls, which need an admin key, the settings of one, and a
//! delivery. The pages describe the requests that a receiver gets.

use caseload_model::change::{ChangeAction, Resource};
use caseload_model::error_code::ErrorCode;
use caseload_model::webhook::{
    ANSWER_BYTES_MAX, DELIVERIES_KEPT, DOMAIN_WEBHOOKS_MAX, URL_BYTES_MAX,
};
use serde_json::{Value, json};

use super::openapi::{FORM_ERRORS, admin, json_body};
use crate::openapi::json::{
    array, closed, described, integer, into_members, names, object, schema, string, text, words,
};
use crate::openapi::operation::{Operation, json_content};
use crate::openapi::parameters::{OTHER_LISTS, instant, path_id, query, spelled};

pub(crate) fn paths() -> Value {
    json!({
        "/v1/{domain}/webhooks": {"get": list(), "post": create()},
        "/v1/{domain}/webhooks/{webhook_id}": {"get": get(), "put": edit(), "delete": delete()},
        "/v1/{domain}/webhooks/{webhook_id}/rotate-secret": {"post": rotate()},
        "/v1/{domain}/webhooks/{webhook_id}/test": {"post": test()},
        "/v1/{domain}/webhooks/{webhook_id}/replay": {"post": replay()},
        "/v1/{domain}/webhooks/{webhook_id}/deliveries": {"get": deliveries()},
    })
}

fn example() -> Value {
    json!({
        "id": "acme_webhook_20260101000000000-0123456789abcde",
        "url": "https://example.com/hook", "resources": ["task"], "actions": ["completed"],
        "include_record": false, "paused": false, "pause_reason": null,
        "created_at": 1_767_225_600_000_u64, "cursor": "42", "failures": 0, "next_try_at": null,
    })
}

fn with_secret() -> Value {
    let mut made = example();
    made["secret"] = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".into();
    made
}

/// An operation on one webhook.
fn on_one(id: &str, summary: &str, description: &str) -> Operation {
    admin(id, summary, description).takes(["webhook_id"]).fails(&[ErrorCode::NotFound])
}

fn answer(operation: Operation, description: &str) -> Operation {
    operation.answers(200, description, &[], &json_content(schema("Webhook"), example()))
}

fn list() -> Value {
    let all = json_content(schema("WebhookList"), json!({"webhooks": [example()]}));
    admin("listWebhooks", "List the webhooks", "Oldest first.")
        .answers(200, "All webhooks.", &[], &all)
        .build()
}

fn create() -> Value {
    let description = format!(
        "The server posts each change that matches to the URL, in order and at least once, as \
         `{{\"changes\":[…]}}` with the headers of the specification Standard Webhooks. `secret` \
         signs them and is in this answer only. A domain has at most {DOMAIN_WEBHOOKS_MAX} \
         webhooks."
    );
    let form = json!({
        "url": "https://example.com/hook", "resources": ["task"], "actions": ["completed"],
    });
    admin("createWebhook", "Create a webhook", &description)
        .body(json_body("WebhookForm", form))
        .answers(
            201,
            "It gets later changes.",
            &[],
            &json_content(schema("NewWebhook"), with_secret()),
        )
        .fails(&FORM_ERRORS)
        .fails(&[ErrorCode::QuotaExceeded])
        .build()
}

fn get() -> Value {
    answer(on_one("getWebhook", "Get a webhook", ""), "The webhook.").build()
}

fn edit() -> Value {
    let description = "Fields that are not sent stay. `paused=false` continues a paused webhook \
                       with the changes that it had not delivered.";
    let form = json_body("WebhookEdit", json!({"paused": true}));
    let edit = on_one("editWebhook", "Change a webhook", description).body(form);
    answer(edit, "The webhook.").fails(&FORM_ERRORS).build()
}

fn delete() -> Value {
    on_one("deleteWebhook", "Delete a webhook", "With its deliveries.")
        .answers(204, "The webhook is deleted.", &[], &Value::Null)
        .fails(&[ErrorCode::CrossSite])
        .build()
}

fn rotate() -> Value {
    let description = "For 24 hours, the old secret signs too: a delivery has both signatures.";
    on_one("rotateWebhookSecret", "Give a webhook a new secret", description)
        .answers(200, "With the secret.", &[], &json_content(schema("NewWebhook"), with_secret()))
        .fails(&[ErrorCode::CrossSite])
        .build()
}

fn test() -> Value {
    let description = "One delivery without changes, `{\"changes\":[],\"test\":true}`, even of a \
                       paused webhook. `GET …/deliveries` shows its end.";
    on_one("testWebhook", "Ask for a test", description)
        .answers(202, "The delivery follows at once.", &[], &Value::Null)
        .fails(&[ErrorCode::CrossSite])
        .build()
}

fn replay() -> Value {
    let description = "Moves the cursor, back to send changes again or forth to leave some out. A \
                       webhook that the server had paused continues.";
    let replay = on_one("replayWebhook", "Deliver from a position on", description)
        .takes(["replay-cursor"])
        .fails(&[ErrorCode::CrossSite, ErrorCode::CursorExpired, ErrorCode::InvalidValue])
        .fails(&[ErrorCode::MissingField, ErrorCode::UnknownParameter]);
    answer(replay, "The webhook.").build()
}

fn deliveries() -> Value {
    let delivery = json!({
        "at": 1_767_225_600_000_u64, "duration_ms": 12,
        "message_id": "msg_0123456789abcdef0123456789abcdef", "test": false, "changes": 1,
        "first_position": "42", "last_position": "42", "succeeded": true, "status": 204,
        "answer": "", "fault": null,
    });
    let list = json_content(schema("DeliveryList"), json!({"deliveries": [delivery]}));
    let description = format!("The last {DELIVERIES_KEPT} attempts, newest first.");
    on_one("listDeliveries", "List the deliveries of a webhook", &description)
        .answers(200, "The deliveries.", &[], &list)
        .build()
}

pub(crate) fn parameters() -> Value {
    let mut cursor = query(
        "cursor",
        "The position after which the delivery continues; `*` for the oldest stored change, \
         `latest` for the end of the log.",
        json!({"type": "string", "pattern": r"^([0-9]*|\*|latest)$", "examples": ["42"]}),
    );
    cursor["required"] = true.into();
    let id = path_id(
        "webhook_id",
        "The id of a webhook.",
        "acme_webhook_20260101000000000-0123456789abcde",
    );
    json!({"webhook_id": id, "replay-cursor": cursor})
}

/// The fields that a caller may set.
fn form() -> Value {
    let url = "An address with the scheme https or http. It may not name or resolve to an address \
               that is not on the public internet, unless the server runs with \
               `--webhook-allow-private`.";
    let list = |what: &str, all: &[&str]| {
        described(&format!("Only {what}; empty for all. {OTHER_LISTS}"), array(words(all)))
    };
    let flag = |description: &str| described(description, json!({"type": "boolean"}));
    spelled(into_members(json!({
        "url": {"type": "string", "maxLength": URL_BYTES_MAX, "description": url},
        "resources": list("changes of these records", &names(Resource::ALL, Resource::as_str)),
        "actions": list("these actions", &names(ChangeAction::ALL, ChangeAction::as_str)),
        "include-record": flag(
            "Whether changes of issues and profiles have `record`, as it is at sending; null if \
             it is gone.",
        ),
        "paused": flag("Whether nothing is delivered."),
    })))
}

/// A webhook; with its secret, if `secret` says so.
fn webhook(secret: bool) -> Value {
    let mut required = vec![
        "id",
        "url",
        "resources",
        "actions",
        "include_record",
        "paused",
        "pause_reason",
        "created_at",
        "cursor",
        "failures",
        "next_try_at",
    ];
    let mut properties = json!({
        "id": string(), "url": string(), "resources": array(string()), "actions": array(string()),
        "include_record": {"type": "boolean"}, "paused": {"type": "boolean"},
        "pause_reason": {"type": ["string", "null"], "description":
            "Why the server paused it; null if a caller did, or if it is not paused."},
        "created_at": instant(),
        "cursor": text("The position up to which everything is delivered or does not match."),
        "failures": integer(0, "Failed attempts at the changes that follow."),
        "next_try_at": or_time("When these are sent again."),
    });
    if secret {
        required.push("secret");
        properties["secret"] = text("The secret, shown only this once.");
    }
    object(&required, properties)
}

fn or_time(description: &str) -> Value {
    let mut time = described(description, instant());
    time["type"] = json!(["integer", "null"]);
    time
}

pub(crate) fn schemas() -> Value {
    let nullable =
        |kind: &str, description: &str| json!({"type": [kind, "null"], "description": description});
    let answer = format!("The first {ANSWER_BYTES_MAX} bytes of the answer.");
    let required = [
        "at",
        "duration_ms",
        "message_id",
        "test",
        "changes",
        "first_position",
        "last_position",
        "succeeded",
        "status",
        "answer",
        "fault",
    ];
    let delivery = object(
        &required,
        json!({
            "at": instant(), "duration_ms": integer(0, "Until the status of the answer."),
            "message_id": text("The header `webhook-id`: the same for the same changes."),
            "test": {"type": "boolean"}, "changes": integer(0, "How many changes it had."),
            "first_position": nullable("string", "The position of the first change."),
            "last_position": nullable("string", "The position of the last change."),
            "succeeded": {"type": "boolean"},
            "status": nullable("integer", "The status of the answer."),
            "answer": nullable("string", &answer),
            "fault": nullable("string", "Why there was no answer."),
        }),
    );
    json!({
        "Webhook": webhook(false),
        "NewWebhook": webhook(true),
        "WebhookList": object(&["webhooks"], json!({"webhooks": array(schema("Webhook"))})),
        "WebhookForm": closed(object(&["url"], form())),
        "WebhookEdit": closed(object(&[], form())),
        "Delivery": delivery,
        "DeliveryList": object(&["deliveries"], json!({"deliveries": array(schema("Delivery"))})),
    })
}

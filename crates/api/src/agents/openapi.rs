//! The description of agents: the list with its parameters, and the agent itself.

use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::PAGE_SIZE_MAX;
use serde_json::{Value, json};

use crate::admin::openapi::creation;
use crate::openapi::json::{array, map, object, schema, string};
use crate::openapi::operation::{Operation, add_lines, add_table, json_content};
use crate::openapi::parameters::query_words;

pub(crate) fn paths() -> Value {
    json!({"/v1/{domain}/agents": {"get": list(), "post": create()}})
}

fn list() -> Value {
    let page = json!({
        "page": 1, "page-size": 100, "profiles": [example()], "total-profiles": 1,
        "total-pages": 1,
    });
    let line = format!("{}\n", page["profiles"][0]);
    let mut content = json_content(schema("AgentEnvelope"), page);
    add_lines(&mut content, "The agents of the page, one per line.", &line);
    let table = "id,name,email,role\r\na1,Grace Hopper,grace@example.org,agent\r\n";
    add_table(&mut content, "The agents of the page, one per row.", table);
    Operation::desk("listAgents", "List agents", "In the order of their creation.")
        .takes(["page", "page-size", "emails", "roles", "list-format", "bom", "spreadsheet"])
        .answers(200, "A page of agents.", &[], &content)
        .fails(&[ErrorCode::ConflictingParameter, ErrorCode::InvalidValue, ErrorCode::OutOfRange])
        .build()
}

fn create() -> Value {
    let body = ("AgentForm", json!({"name": "Grace Hopper", "email": "grace@example.org"}));
    creation(("createAgent", "Create an agent"), body, ("Agent", example()))
}

fn example() -> Value {
    json!({
        "id": "acme_profile_20260101000000000-2e3e228632ec439",
        "name": "Grace Hopper",
        "email": "grace@example.org",
        "role": "agent",
        "team_name": "",
        "avatar": null,
        "availability": null,
        "groups": [],
    })
}

pub(crate) fn parameters() -> Value {
    let words = |name: &str, description: &str, example: &str| {
        let mut parameter = query_words(name, description, &[example]);
        parameter["schema"]["items"] = json!({"type": "string"});
        parameter
    };
    json!({
        "emails": words("emails", "Agents with one of these addresses.", "grace@example.org"),
        "roles": words("roles", "Agents with one of these roles; all have `agent`.", "agent"),
    })
}

pub(crate) fn schemas() -> Value {
    json!({
        "Agent": object(&["id", "name", "email", "role", "team_name"], json!({
            "id": string(),
            "name": string(),
            "email": string(),
            "role": string(),
            "team_name": string(),
            "avatar": {"type": ["string", "null"]},
            "availability": {"type": ["object", "null"], "additionalProperties": true},
            "groups": array(map()),
        })),
        "AgentEnvelope": object(
            &["page", "page-size", "profiles", "total-profiles", "total-pages"],
            json!({
                "page": {"type": "integer", "minimum": 1},
                "page-size": {"type": "integer", "minimum": 1, "maximum": PAGE_SIZE_MAX},
                "profiles": array(schema("Agent")),
                "total-profiles": {"type": "integer", "minimum": 0},
                "total-pages": {"type": "integer", "minimum": 1},
            }),
        ),
    })
}

//! Rules of domains, API keys, apps and agents that all backends share: the first app of a domain,
//! the steps of removing a domain, and the errors of commands.

use caseload_model::ids::timed_id;

use crate::{App, CreateApp, CreateDomain, StoreError};

/// The publish id of the first app of every domain.
pub const DEFAULT_APP_NUMBER: i64 = 1;
/// The tables that the first step of a removal empties, so that no caller can reach the domain.
pub const ENTRY_TABLES: [&str; 5] = ["keys", "apps", "agents", "queues", "domain_clocks"];

/// The first app of a new domain.
pub fn default_app(command: &CreateDomain) -> App {
    App {
        id: timed_id(&command.name, "app", command.now, command.random),
        publish_id: DEFAULT_APP_NUMBER.to_string(),
        title: "Web".to_owned(),
        created_at: command.now,
    }
}

/// The app that a command creates.
pub fn new_app(command: &CreateApp, publish_id: String) -> App {
    App {
        id: command.id.clone(),
        publish_id,
        title: command.title.clone(),
        created_at: command.now,
    }
}

/// How many records of a table one step of a removal deletes. A piece of an attachment has up to a
/// megabyte, so that a step deletes fewer of them.
pub fn removal_step(table: &str) -> u32 {
    if table == "attachment_pieces" { 64 } else { 2000 }
}

/// The error of a command about an unknown domain.
pub fn unknown_domain() -> StoreError {
    StoreError::NotFound { what: "the domain".to_owned() }
}

/// The error of a command that creates a record under an existing id.
pub fn already_exists(kind: &str, id: &str) -> StoreError {
    StoreError::AlreadyExists { what: format!("{kind} {id}") }
}

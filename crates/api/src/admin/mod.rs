//! The administration of a domain over HTTP: its keys, apps, agents, queues, webhooks and settings.
//! Changes need a key with the access `admin`, which only the program can make for the first time.
//! Each request is one commit.

mod creation;
mod fields;
mod keys;
pub(crate) mod openapi;
mod settings;
mod webhooks;
pub(crate) mod webhooks_openapi;

use caseload_model::change::Author;
use caseload_model::time::UnixMillis;
use caseload_store::AdminOrigin;

use crate::http::auth::Caller;
use crate::http::current_request::current_request_id;

#[cfg(test)]
pub(crate) use creation::{AGENT_FIELDS, APP_FIELDS, QUEUE_FIELDS};
pub(crate) use creation::{create_agent, create_app, create_queue};
#[cfg(test)]
pub(crate) use keys::KEY_FIELDS;
pub(crate) use keys::{KEY_PREFIX, create_key, list_keys, revoke_key};
#[cfg(test)]
pub(crate) use settings::SETTINGS_FIELDS;
pub(crate) use settings::{edit_settings, get_settings};
pub(crate) use webhooks::{
    create_webhook, delete_webhook, edit_webhook, get_webhook, list_deliveries, list_webhooks,
    replay_webhook, rotate_secret, test_webhook,
};

/// The origin of a call, for the log of changes.
fn origin(caller: &Caller, now: UnixMillis) -> AdminOrigin {
    let by = Author::Key { id: caller.key_id.clone(), name: caller.key_name.clone() };
    AdminOrigin { now, by, request_id: current_request_id() }
}

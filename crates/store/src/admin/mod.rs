//! Domains, API keys, sessions, apps, agents and queues: the commands of operators, and the lists
//! that callers read.

mod agents;
mod apps;
mod domains;
mod keys;
mod logged;
mod queues;
mod sessions;

pub use agents::{agents, create_agent};
pub use apps::{apps, create_app};
pub use domains::{
    ADD_BYTES, QUOTA_BYTES, add_bytes, create_domain, domain_by_name, domains, edit_domain,
    require_room, usage,
};
pub use keys::{create_key, key_by_hash, keys, revoke_key, rotate_key, touch_key};
pub(crate) use logged::{log_created, log_effects};
pub use queues::create_queue;
pub use sessions::{create_session, end_session, key_by_session};

/// The tables that the first step of a removal empties, so that no caller can reach the domain.
pub const ENTRY_TABLES: [&str; 7] =
    ["keys", "sessions", "apps", "agents", "queues", "webhooks", "domain_clocks"];

/// How many records of a table one step of a removal deletes. A piece of an attachment has up to a
/// megabyte, so that a step deletes fewer of them.
pub fn removal_step(table: &str) -> u32 {
    if table == "attachment_pieces" { 64 } else { 2000 }
}

//! Webhooks: followers of the change log that a server runs. Here are the rules that every part
//! shares: the settings of a webhook and how a request changes them, the addresses that a server
//! may call, the signature of a delivery, and the outcome of an attempt. The crate `webhooks`
//! sends, and a store has cursor and state.

mod address;
mod attempt;
mod request;
mod secret;
#[cfg(test)]
mod tests;
mod url;

use crate::change::{ChangeAction, Resource};

pub use address::is_public;
pub use attempt::{
    ANSWER_BYTES_MAX, Attempt, AttemptEnd, AttemptKind, NextStep, PAUSES_AT_ONCE_STATUS,
    RETRY_SECONDS, next_step,
};
pub use request::{WEBHOOK_FIELDS, WebhookRequest};
pub use secret::{
    ROTATION_OVERLAP_MS, SECRET_BYTES, Secret, Secrets, UnreadableSecret, message_id,
    webhook_timestamp,
};
pub use url::{AddressRule, HostKind, URL_BYTES_MAX, WebhookUrl};

/// Most changes of one delivery.
pub const DELIVERY_CHANGES_MAX: usize = 100;
/// Most webhooks of a domain.
pub const DOMAIN_WEBHOOKS_MAX: usize = 32;
/// How many of the last deliveries of a webhook remain.
pub const DELIVERIES_KEPT: usize = 100;
/// How long a receiver may take, from connecting to the status of its answer.
pub const DELIVERY_SECONDS_MAX: u64 = 15;

/// The settings of a webhook, which callers choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhookSettings {
    /// As the caller sent it. [`WebhookUrl::parse`] accepted it.
    pub url: String,
    /// Only changes of these resources; empty for all. Ascending, without repeats.
    pub resources: Vec<Resource>,
    /// Only these actions; empty for all. Ascending, without repeats.
    pub actions: Vec<ChangeAction>,
    /// Whether changes of issues and profiles have the record as it is at sending.
    pub include_record: bool,
    pub paused: bool,
}

//! Webhooks: their rows, the commands of callers, and leases for the servers that deliver. A
//! command locks the row of its webhook first and the domain's clock last, so commands of one
//! webhook take turns. Rows are with their domain. The search for webhooks that are due reads all
//! domains; each lease is a transaction of one domain.

mod commands;
mod delivery;
mod lease;
mod row;

pub use commands::{
    create_webhook, delete_webhook, edit_webhook, replay_webhook, rotate_secret, test_webhook,
    webhook, webhooks,
};
pub use delivery::{deliveries, record_attempt};
pub use lease::{DueWebhook, claim, due, due_in, end_all_leases, release, skip, states};

//! Delivers webhooks: follows the change log for each one and posts the changes that match to its
//! receiver. The crate has no state of record. The store holds the cursor and the failures of a
//! webhook and leases it to one server at a time, so a server may die at any moment and
//! another one sends again the changes that were not recorded as delivered. Receivers are unknown:
//! an answer is read only in part and only for a time, redirects and proxies are not followed, and
//! addresses that are not public are not called.

mod batch;
mod config;
mod counters;
mod lookup;
mod records;
mod runner;
mod sender;
#[cfg(test)]
mod tests;
mod worker;

pub use config::{DELIVERIES_AT_ONCE, WebhookConfig};
pub use lookup::{Addresses, Lookup, SystemLookup};
pub use records::{Records, StoreRecords};
pub use runner::{DeliveryStore, WebhookRunner};

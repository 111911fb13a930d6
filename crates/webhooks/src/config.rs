//! The settings of the delivery of webhooks. The program sets the server and the addresses; tests
//! set the others.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::webhook::{AddressRule, DELIVERY_SECONDS_MAX};

use crate::lookup::{Lookup, SystemLookup};

/// Webhooks that a server delivers for at the same time. Each has at most one delivery in flight,
/// so this bounds the memory (a body has at most 256 KiB unless one change has more) and the open
/// connections. It is four times the number that one domain may have: as long as fewer than four
/// domains have only receivers that are slow to the limit, every webhook that is due has
/// a place at once.
pub const DELIVERIES_AT_ONCE: usize = 4 * caseload_model::webhook::DOMAIN_WEBHOOKS_MAX;
/// How long a lease lasts, by default: longer than an attempt with everything around it.
const LEASE: Duration = Duration::from_secs(30);

/// The settings of a runner.
#[derive(Debug, Clone)]
pub struct WebhookConfig {
    /// A fresh id each time the program starts.
    pub server: String,
    /// Which addresses are called.
    pub addresses: AddressRule,
    /// Finds the addresses of names.
    pub lookup: Arc<dyn Lookup>,
    pub deliveries_at_once: usize,
    /// How often to look for webhooks that are due.
    pub poll_every: Duration,
    /// How long a webhook of a dead server waits before another server takes over. Also how long
    /// it waits after a fault of the store.
    pub lease: Duration,
    /// How long a receiver may take to answer.
    pub answer_within: Duration,
    /// Whether TLS is set up for the first delivery only, and not at the start, which would fail
    /// without it.
    pub begins_late: bool,
}

impl WebhookConfig {
    pub fn new(server: impl Into<String>, addresses: AddressRule) -> Self {
        Self {
            server: server.into(),
            addresses,
            lookup: Arc::new(SystemLookup),
            deliveries_at_once: DELIVERIES_AT_ONCE,
            poll_every: Duration::from_millis(500),
            lease: LEASE,
            answer_within: Duration::from_secs(DELIVERY_SECONDS_MAX),
            begins_late: false,
        }
    }
}

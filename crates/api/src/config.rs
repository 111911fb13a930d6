//! The settings of a server that its operator may change, with their defaults: its limits, and the
//! address under which callers reach it.

use std::time::Duration;

use caseload_model::webhook::AddressRule;

use crate::http::base_url::{PublicUrl, TrustedProxies};
use crate::http::minimum_rate::MinimumRateLimits;
use crate::http::tls::Tls;

/// The settings of the server.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// The largest request body, in bytes.
    pub body_bytes_max: usize,
    /// The largest file of an import, in bytes, unpacked.
    pub import_bytes_max: u64,
    /// The largest attachment, in bytes.
    pub attachment_bytes_max: usize,
    /// How long a read may take.
    pub query_timeout: Duration,
    /// How many requests a key may make in 60 s; 0 means no limit.
    pub rate_limit: u32,
    /// How many unfinished tasks a domain may have.
    pub unfinished_tasks_max: u32,
    /// How long payload, results and errors of a task remain.
    pub keep_results: Duration,
    /// How many bytes of compressed payload an upload may hold in memory.
    pub upload_bytes_held: usize,
    /// The same for all uploads together; above it, each upload is staged from its first megabyte
    /// on.
    pub uploads_bytes_held: usize,
    /// The memory of all connections and requests together, in bytes, apart from the page caches of
    /// the store.
    pub memory_bytes: usize,
    /// The most connections at a time. There are fewer if half of the memory has no room for so
    /// many.
    pub connections_max: usize,
    /// The most connections with keys of one domain; by default a quarter of all.
    pub connections_per_domain: Option<usize>,
    /// How slowly a client may send a body or receive an answer.
    pub minimum_rate: MinimumRateLimits,
    /// How long a client may take to send the head of a request.
    pub head_timeout: Duration,
    /// How long a connection may be silent between two requests.
    pub idle_timeout: Duration,
    /// Whether the metrics have an address of their own, so that this one does not show them.
    pub has_admin_address: bool,
    /// The URL with which all links begin; `None` if each request names its host.
    pub public_url: Option<PublicUrl>,
    /// The proxies whose word counts about how a caller addressed the server.
    pub trusted_proxies: TrustedProxies,
    /// Which addresses the URLs of webhooks may name.
    pub webhook_addresses: AddressRule,
    /// Whether the store ends with the server; the console says so.
    pub is_test_server: bool,
    /// The certificate of the server; `None` if it serves in clear.
    pub tls: Option<Tls>,
}

impl Default for ApiConfig {
    fn default() -> Self {
        Self {
            body_bytes_max: 128 << 20,
            import_bytes_max: 2 << 30,
            attachment_bytes_max: 25 << 20,
            query_timeout: Duration::from_secs(10),
            rate_limit: 1500,
            unfinished_tasks_max: 1000,
            keep_results: Duration::from_hours(24 * 30),
            upload_bytes_held: 8 << 20,
            uploads_bytes_held: 32 << 20,
            memory_bytes: 512 << 20,
            connections_max: 960,
            connections_per_domain: None,
            minimum_rate: MinimumRateLimits::default(),
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            has_admin_address: false,
            public_url: None,
            trusted_proxies: TrustedProxies::default(),
            webhook_addresses: AddressRule::Public,
            is_test_server: false,
            tls: None,
        }
    }
}

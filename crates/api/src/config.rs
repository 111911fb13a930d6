//! The settings of a server that its operator may change, with their defaults: its limits, and the
//! address under which callers reach it.

use std::time::Duration;

use crate::base_url::{PublicUrl, TrustedProxies};

/// The settings of the server.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// The largest request body, in bytes.
    pub body_bytes_max: usize,
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
    /// How long a client may pause while it sends its body.
    pub body_pause_max: Duration,
    /// How long a client may take to send the head of a request, or stay silent between two.
    pub head_timeout: Duration,
    /// The URL with which all links begin; `None` if each request names its host.
    pub public_url: Option<PublicUrl>,
    /// The proxies whose word counts about how a caller addressed the server.
    pub trusted_proxies: TrustedProxies,
}

impl Default for ApiConfig {
    fn default() -> Self {
        Self {
            body_bytes_max: 128 << 20,
            attachment_bytes_max: 25 << 20,
            query_timeout: Duration::from_secs(10),
            rate_limit: 1500,
            unfinished_tasks_max: 1000,
            keep_results: Duration::from_hours(24 * 30),
            upload_bytes_held: 8 << 20,
            uploads_bytes_held: 32 << 20,
            body_pause_max: Duration::from_mins(1),
            head_timeout: Duration::from_mins(1),
            public_url: None,
            trusted_proxies: TrustedProxies::default(),
        }
    }
}

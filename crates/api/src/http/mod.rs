//! What HTTP says about every resource: connections, credentials, forms, formats, conditions and
//! problems. No file here knows a route or a resource, except that requests are counted for the
//! metrics. Each resource has a folder of its own.

pub(crate) mod accept;
pub(crate) mod access_log;
pub(crate) mod auth;
pub(crate) mod base_url;
pub(crate) mod compression;
pub(crate) mod connection;
pub(crate) mod cpu;
pub(crate) mod csv;
pub(crate) mod current_request;
pub(crate) mod etag;
pub(crate) mod followed;
pub(crate) mod follower;
pub(crate) mod form;
pub(crate) mod format;
pub(crate) mod idempotency;
pub(crate) mod link;
pub(crate) mod log_limiter;
pub(crate) mod memory;
pub(crate) mod middleware;
pub(crate) mod minimum_rate;
pub(crate) mod path_id;
pub(crate) mod peer;
pub(crate) mod problem;
pub(crate) mod query;
pub(crate) mod random;
pub(crate) mod range;
pub(crate) mod refusal;
pub(crate) mod request_id;
pub(crate) mod same_site;
pub(crate) mod single_write;
pub(crate) mod tls;

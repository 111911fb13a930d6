//! The HTTP APIs of Caseload: routes, extractors, wire forms and error bodies. Everything that has
//! to do with HTTP is in this crate, and nothing else. It calls the store through its contract and
//! leaves the rules of profiles and issues to the model. The wire forms are promises: docs/api.md
//! describes them, tests/it checks them.

mod config;
mod router;
mod state;

mod accept;
mod auth;
mod base_url;
mod compression;
mod connection;
mod cpu;
mod csv;
mod etag;
mod form;
mod format;
mod idempotency;
mod link;
mod lists;
mod memory;
mod middleware;
mod openapi;
mod openapi_document;
mod pace;
mod peer;
mod problem;
mod query;
mod random;
mod range;
mod request_id;
mod same_site;
mod seen;
mod server;

mod admin;
mod agents;
mod apps;
mod attachments;
mod bulk_actions;
mod console;
mod front_page;
mod health;
mod issues;
mod metrics;
mod profiles;
mod queues;

#[doc(hidden)]
pub mod test_support;

use auth::Caller;
pub use base_url::{InvalidProxy, InvalidPublicUrl, PublicUrl, TrustedProxies};
pub use config::ApiConfig;
pub use connection::connections_within;
pub use openapi_document::{openapi, openapi_text};
pub use pace::PaceLimits;
pub use router::{route_paths, router};
pub use server::{SHUTDOWN_SECONDS_MAX, serve, serve_admin};
pub use state::AppState;

//! The HTTP APIs of Caseload: routes, extractors, wire forms and error bodies. Everything that has
//! to do with HTTP is in this crate, and nothing else. It calls the store through its contract and
//! leaves the rules of profiles and issues to the model. The wire forms are promises: docs/api.md
//! describes them, tests/it checks them.

mod config;
mod router;
mod server;
mod state;

mod http;
mod lists;
mod openapi;
mod openapi_document;

mod admin;
mod agents;
mod apps;
mod attachments;
mod bulk_actions;
mod changes;
mod console;
mod erasures;
mod front_page;
mod health;
mod imports;
mod issues;
mod metrics;
mod profiles;
mod queues;
mod redactions;
mod test_endpoints;
mod views;

#[doc(hidden)]
pub mod test_support;

pub use crate::http::base_url::{InvalidProxy, InvalidPublicUrl, PublicUrl, TrustedProxies};
pub use crate::http::connection::connections_within;
pub use crate::http::current_request::{CurrentRequest, with_current_request};
pub use crate::http::minimum_rate::MinimumRateLimits;
pub use crate::http::tls::{Tls, TlsError};
pub use config::ApiConfig;
pub use openapi_document::{openapi, openapi_text};
pub use router::{route_paths, router};
pub use server::{SHUTDOWN_SECONDS_MAX, serve, serve_admin, serve_tests};
pub use state::{AppState, CountWebhooks};
pub use test_endpoints::{ClockStart, Restart, Restarted, TestClock, TestEndpoints};

//! What callers see: the HTTP APIs of Caseload. Routes, extractors, wire forms and error bodies;
//! everything that has to do with HTTP is here and nothing else is. It asks the store through its
//! contract and leaves every rule about profiles and issues to the model. The wire forms are
//! promises: docs/api.md describes them, tests/it holds them.

mod config;
mod router;
mod state;

mod accept;
mod auth;
mod compression;
mod etag;
mod form;
mod idempotency;
mod link;
mod middleware;
mod openapi;
mod openapi_document;
mod problem;
mod query;
mod random;
mod range;
mod server;

mod agents;
mod apps;
mod attachments;
mod bulk_actions;
mod health;
mod issues;
mod metrics;
mod queues;

#[doc(hidden)]
pub mod test_support;

use auth::Caller;
pub use config::ApiConfig;
pub use openapi_document::{openapi, openapi_text};
pub use router::{route_paths, router};
pub use server::{SHUTDOWN_SECONDS_MAX, serve};
pub use state::AppState;

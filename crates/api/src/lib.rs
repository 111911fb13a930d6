//! What callers see: the HTTP APIs of Caseload. Routes, extractors, wire forms and error bodies;
//! everything that has to do with HTTP is here and nothing else is. It asks the store through its
//! contract and leaves every rule about profiles and issues to the model. The wire forms are
//! promises: docs/api.md describes them, tests/it holds them.

mod router;
mod state;

mod accept;
mod compression;
mod etag;
mod form;
mod idempotency;
mod metrics;
mod middleware;
mod openapi;
mod problem;
mod query;
mod range;
mod server;

mod attachments;
mod auth;
mod bulk;
mod desk;
mod health;
mod issues;
mod writing;

#[doc(hidden)]
pub mod inside;

use auth::Caller;
pub use openapi::{openapi, openapi_text};
pub use router::{route_paths, router};
pub use server::{SHUTDOWN_SECONDS_MAX, serve};
pub use state::{ApiConfig, AppState};

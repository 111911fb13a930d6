//! What only the backend for many servers has: several stores over one database, and connections
//! that break. What every backend does is in the suite.

mod database;
mod issues;

pub(crate) use database::Database;

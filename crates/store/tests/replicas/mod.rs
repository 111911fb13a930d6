//! What only the backend for many servers has: several stores over one database, a database whose
//! keys all begin with the domain, and connections that break. What every backend does is in the
//! suite.

mod cutter;
mod database;
mod distribution;
mod issues;
mod lost_connections;
mod servers;
mod sql_lint;
mod stalled;

pub(crate) use database::Database;

//! What only the backend for many servers has: several stores over one database, a database whose
//! keys all begin with the domain, and connections that break. What every backend does is in the
//! suite.

mod catalogue;
mod cuts;
mod cutter;
mod database;
mod holders;
mod issues;
mod predicates;
mod servers;

pub(crate) use database::Database;

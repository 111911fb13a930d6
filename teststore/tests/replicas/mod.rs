//! Features that only PostgreSQL has: several servers over one database, tables that can be
//! distributed by domain, and connections that break. The behaviour of every backend is in the
//! suite.

mod cutter;
mod database;
mod distribution;
mod erasures;
mod issues;
mod lost_connections;
mod people;
mod queue_order;
mod round_trips;
mod servers;
mod sql_lint;
mod stalled;
mod texts;
mod two_moments;

pub(crate) use database::Database;

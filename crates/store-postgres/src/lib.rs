//! The backend for many servers: one PostgreSQL database, any number of servers over it. This
//! module only hands each method of the contract to the room that knows it, in one transaction on a
//! connection of the pool ([`engine`]); the rooms hold the SQL. Every key begins with the domain,
//! so that the tables can be distributed by it. Nothing of the truth is in a server's memory.

mod address;
mod agents;
mod apps;
mod check;
mod contract;
mod copy;
mod domains;
mod engine;
mod idempotency;
mod issues;
mod keys;
mod notify;
mod probe;
mod profiles;
mod rows;
mod store;
mod tasks;

pub use address::{ADDRESS_EXAMPLE, PostgresAddress, shown};
pub use copy::open_copy_end;
pub use store::PostgresStore;

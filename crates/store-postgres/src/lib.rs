//! The backend for many servers: one PostgreSQL database, any number of servers over it.
//! Reads and writes run in modules with their SQL, each in one transaction on a connection of the
//! pool ([`engine`]). Every key begins with the domain, so that the tables can be
//! distributed by it. Invariant: no server has state of record in its memory.

mod address;
mod background;
mod check;
mod contract;
mod copy;
mod distribution;
mod domains;
mod engine;
mod issues;
mod look;
mod node_watch;
mod notify;
mod probe;
mod profile_lists;
mod profiles;
mod rows;
mod sessions;
mod store;
mod tasks;
mod tx;

pub use address::{ADDRESS_EXAMPLE, PostgresAddress, shown};
pub use copy::open_copy_end;
pub use distribution::{Distribution, distribute};
pub use engine::{LAYOUT, Placement, TablePlacement};
pub use look::look;
pub use store::{PostgresStore, shared};

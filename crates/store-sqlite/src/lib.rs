//! The embedded backend: one SQLite file. [`contract`] hands each method to the module with its
//! SQL, which runs on the writer thread or on a reader of the pool ([`engine`]). Every key begins
//! with the domain.

mod backup;
mod check;
mod clock;
mod contract;
mod copy;
mod domains;
mod engine;
mod in_memory;
mod issues;
mod leftovers;
mod probe;
mod profiles;
mod slot_leasing;
mod store;
mod tasks;
mod tx;

pub use copy::open_copy_end;
pub(crate) use engine::error::{Fault, boxed, store_error};
pub use in_memory::{InMemoryStore, WithLeases};
pub use store::SqliteStore;

//! The embedded backend: one SQLite file. Reads and writes run in modules with their SQL, on a
//! reader of the pool or on the writer thread ([`engine`]). Every key begins with the domain.

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
pub use engine::look;
pub use in_memory::{InMemoryStore, WithLeases};
pub use store::{SqliteStore, shared};
pub use tasks::forget_tasks;

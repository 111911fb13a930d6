//! The one place that knows all backends: parses the location of a store, opens the store on the
//! backend that the location names, copies a store to another location, and distributes one.

mod copy;
mod distribute;
mod location;

pub use caseload_store_postgres::{Distribution, LAYOUT, Placement, TablePlacement};
pub use copy::{CopyStore, copy};
pub use distribute::distribute;
pub use location::{StoreLocation, forget_tasks, look, open};

//! The one place that knows all backends: parses the location of a store, opens the store on the
//! backend that the location names, and copies a store to another location.

mod copy;
mod location;

pub use copy::{CopyStore, copy};
pub use location::{StoreLocation, open};

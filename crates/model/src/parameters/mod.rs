//! Query parameters of list requests, read into typed values. Hyphens and underscores are one
//! spelling, and every fault of a request is collected, so a caller gets all of them at once. Each
//! list defines its own parameters. Forms read their lists in the same way.

mod fault;
pub(crate) mod given;
pub(crate) mod instant;
pub(crate) mod json_value;
mod paging;
mod reader;

pub use fault::ParameterFault;
pub use given::ListForm;
pub use instant::Bound;
pub use paging::{PAGE_DEPTH_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, Paging};
pub(crate) use paging::{page_size, paging};
pub(crate) use reader::Parameters;

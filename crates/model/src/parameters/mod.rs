//! Query parameters of list requests, read into typed values. Hyphens and underscores are one
//! spelling, and every fault of a request is collected, so a caller gets all of them at once. Each
//! list defines its own parameters.

mod fault;
pub(crate) mod json_value;
mod paging;
mod reader;

pub use fault::ParameterFault;
pub(crate) use paging::paging;
pub use paging::{PAGE_DEPTH_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, Paging};
pub(crate) use reader::Parameters;

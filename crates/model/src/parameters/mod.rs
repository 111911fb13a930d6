//! Query parameters of list requests, read into typed values. Hyphens and underscores are one
//! spelling, and every fault of a request is collected, so a caller learns all of them at once.
//! Which parameters a list takes and what they mean is up to the list.

mod fault;
pub(crate) mod json_value;
mod paging;
mod reader;

pub use fault::ParameterFault;
pub(crate) use paging::paging;
pub use paging::{PAGE_DEPTH_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, Paging};
pub(crate) use reader::Parameters;

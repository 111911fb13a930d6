//! Metrics in the text format of Prometheus. The counters are written by hand: this is less code
//! than a library would need, and the counters belong to one server instead of the process.

mod count;
mod get;
pub(crate) mod openapi;
mod request_counts;
mod text;

pub(crate) use count::count;
pub(crate) use get::{get, get_open};
pub(crate) use request_counts::RequestCounts;

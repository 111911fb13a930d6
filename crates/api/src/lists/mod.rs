//! The parts that all lists of records share: the envelope of a page, reading in steps ahead of a
//! slow reader, streams of lines and of rows, and refusals. Each resource implements [`ListSteps`]
//! and knows the meaning of its parameters.

pub(crate) mod deadline;
pub(crate) mod envelope;
pub(crate) mod list_error;
pub(crate) mod refusals;
pub(crate) mod steps;
pub(crate) mod stream;
pub(crate) mod table;

pub(crate) use steps::{ListReader, ListSteps, Step};

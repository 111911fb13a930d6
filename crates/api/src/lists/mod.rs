//! The lists of issues and of profiles: one call for both, the envelope of a page, reading in steps
//! ahead of a slow reader, streams of lines and of rows, and refusals. Each resource implements
//! [`Noun`](noun::Noun) and knows the meaning of its parameters. Other lists share the parts.

pub(crate) mod call;
pub(crate) mod deadline;
pub(crate) mod envelope;
pub(crate) mod list_error;
pub(crate) mod noun;
pub(crate) mod place;
pub(crate) mod refusals;
pub(crate) mod steps;
pub(crate) mod stream;
pub(crate) mod table;

pub(crate) use call::ListCall;

//! A file of entries as payloads for the server. The file, or standard input, may be compressed. It
//! is cut into parts that the server accepts, always at the same places, and each part has an
//! idempotency key that comes from its content: the same file leads to the same requests again.

mod array;
mod csv;
mod decoded;
mod input;
mod keys;
mod lines;
mod part;
mod reader;
mod renames;

pub(crate) use csv::{HeaderFault, TableForm};
pub(crate) use input::Input;
pub(crate) use keys::{PartKeys, RunName};
pub(crate) use part::{Part, PartLimits, SplitError};
pub(crate) use reader::{Forms, PartReader};

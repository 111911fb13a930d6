//! The sets of core profiles by which lists find them: for each value of a filter the profiles that
//! have it, and all profiles in two orders, by creation and by last update. A set is stored in rows
//! of neighbours, so that its size is a sum over few rows, an order is walked without an index, and
//! a profile takes about a byte in each set. The sets change in the transaction of the profiles.
//! The model names the sets of a profile. Invariant: a profile is in the sets that its stored
//! fields and times name, in each once, and in no others.

mod changes;
mod check;
mod encoding;
mod rows;
mod store;
mod write;

pub use changes::ProfileTimes;
pub(crate) use changes::SetChanges;
pub use check::{SetSums, StoredProfile};
pub use encoding::{
    IdWord, Moment, instant_key, instant_of, is_order, read_ids, read_moments, read_words,
};
pub use rows::{SetKey, SetRow, Span};
pub use store::SetStore;
pub(crate) use write::apply;

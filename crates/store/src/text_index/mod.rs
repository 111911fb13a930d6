//! The text index: which issues may contain a text. It only narrows: every candidate's texts are
//! read before it counts as a match ([`crate::query`]). A write marks its rows, in its own
//! transaction, and marked rows are always candidates. In the background, [`indexing`] moves marked
//! rows into segments, which are replaced as a whole. Invariant: an issue of the domain is
//! marked, or the newest segment that has its row has exactly the grams of its texts.

mod check;
pub(crate) mod grams;
mod indexing;
mod issue_grams;
mod lookup;
mod postings;
mod tables;

pub use check::check;
pub use indexing::{IndexingStep, apply, plan};
pub use issue_grams::may_differ;
pub use lookup::candidates;
pub use tables::{TABLES, TextIndexStore, TextMark};

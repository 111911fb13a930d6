//! What a list of issues and a list of profiles have of their own, for the one [`ListCall`] of
//! both. The store reads the records; nothing here depends on the form of the answer.
//!
//! [`ListCall`]: super::call::ListCall

use std::fmt::Debug;

use caseload_model::ids::DomainId;
use caseload_model::issue_query::{CursorId, ListRequest, ListScope};
use caseload_store::{ListPage, ListStep, StoreFuture};

use super::call::ListCall;
use super::steps::ListReader;
use super::table::Table;

/// A request for a list of this noun.
pub(crate) type RequestOf<N> = ListRequest<<N as Noun>::Query, <N as Noun>::View, <N as Noun>::Id>;

/// The records of a list.
pub(crate) trait Noun: Sized + Send + Sync + 'static {
    type Query: Clone + Send + Sync;
    type View: Copy + Debug + Send + Sync;
    type Id: CursorId + Clone + Send + Sync;

    /// A step of a stream ends after this many records.
    const STREAM_RECORDS: u64;

    /// The key of the records in the envelope.
    fn key(query: &Self::Query) -> &'static str;

    fn scope(query: &Self::Query, domain: DomainId) -> ListScope;

    /// The list as a table, and the view that has the members for it.
    fn table(request: &RequestOf<Self>) -> (Table, Self::View);

    /// Reads the numbered page of a call.
    fn page(call: &ListCall<Self>) -> StoreFuture<'_, ListPage<Self::Id>>;

    /// Reads a step.
    fn step(reader: &ListReader<Self>) -> StoreFuture<'_, ListStep<Self::Id>>;

    /// Whether counting the matches may cost as much as reading them.
    fn is_expensive(query: &Self::Query) -> bool;

    /// Why the list passed its deadline and what would help, for its caller.
    fn too_expensive(pairs: &[(String, String)]) -> String;
}

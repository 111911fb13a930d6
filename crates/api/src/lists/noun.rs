//! The parts in which a list of issues and a list of profiles differ, for the one [`ListCall`] of
//! both. The store reads the records; nothing here depends on the form of the answer.
//!
//! [`ListCall`]: super::ListCall

use std::fmt::Debug;

use caseload_model::ids::DomainId;
use caseload_model::issue_query::{CursorId, ListPosition, ListRequest, ListScope};
use caseload_model::parameters::Paging;
use caseload_store::{ListPage, ListStep, ReadBudget, Serve, StepForm, StoreFuture};

use super::table::Table;
use crate::http::auth::Caller;

/// A request for a list of this noun.
pub(crate) type RequestOf<N> = ListRequest<<N as Noun>::Query, <N as Noun>::View, <N as Noun>::Id>;

/// A read of a list.
pub(crate) struct ListRead<'s, N: Noun> {
    pub(crate) store: &'s dyn Serve,
    pub(crate) caller: &'s Caller,
    pub(crate) query: N::Query,
    pub(crate) view: N::View,
    pub(crate) bytes_max: usize,
    pub(crate) budget: ReadBudget,
}

/// The records that a step reads.
pub(crate) struct StepRead<Id> {
    /// They follow this position.
    pub(crate) after: Option<ListPosition<Id>>,
    pub(crate) records_max: u64,
    pub(crate) form: StepForm,
    /// Whether the step has the total of the list.
    pub(crate) count: bool,
}

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

    /// Reads a numbered page.
    fn page(list: ListRead<'_, Self>, paging: Paging) -> StoreFuture<'_, ListPage<Self::Id>>;

    /// Reads a step.
    fn step(
        list: ListRead<'_, Self>,
        step: StepRead<Self::Id>,
    ) -> StoreFuture<'_, ListStep<Self::Id>>;

    /// Whether counting the matches may cost as much as reading them.
    fn is_expensive(query: &Self::Query) -> bool;

    /// Why the list passed its deadline, and a remedy, for its caller.
    fn too_expensive(pairs: &[(String, String)]) -> String;
}

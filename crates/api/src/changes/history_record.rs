//! The record whose history is read. It may be deleted; then its history remains.

use caseload_model::change::Resource;
use caseload_model::ids::CoreProfileId;
use caseload_model::issue_query::IssueView;
use caseload_model::profile_query::{ProfileId, ProfileKind, ProfileView};
use caseload_store::{GetIssue, GetProfile, HistoryPage, ReadHistory, StoreError};

use crate::http::auth::Caller;
use crate::http::memory::WAIT;
use crate::http::problem::Problem;
use crate::issues::unknown_issue;
use crate::lists::deadline::{in_time, read_into_memory};
use crate::lists::steps::PAGE_BYTES_AHEAD;
use crate::profiles::unknown_profile;
use crate::state::AppState;

/// A record that has a history.
#[derive(Debug, Clone, Copy)]
pub(super) enum Record {
    Issue(u64),
    CoreProfile(CoreProfileId),
}

impl Record {
    /// The changes before a position, newest first.
    pub(super) async fn history(
        self,
        state: &AppState,
        caller: &Caller,
        before: Option<u64>,
        changes_max: usize,
    ) -> Result<HistoryPage, StoreError> {
        let (resource, id) = match self {
            Self::Issue(id) => (Resource::Issue, id),
            Self::CoreProfile(id) => (Resource::CoreProfile, id.0),
        };
        let request = ReadHistory { domain: caller.domain_id, resource, id, before, changes_max };
        in_time(state.config.query_timeout, state.store.history(request)).await
    }

    /// Answers 404 for a record without changes that does not exist.
    pub(super) async fn require(self, state: &AppState, caller: &Caller) -> Result<(), Problem> {
        let domain = caller.domain_id;
        let (exists, unknown) = match self {
            Self::Issue(id) => {
                let view = IssueView { exclude_messages: true, ..IssueView::default() };
                let limits = (PAGE_BYTES_AHEAD, WAIT);
                let (issue, _memory) = read_into_memory(state, domain, limits, |budget| {
                    state.store.issue(GetIssue { domain, id, view, budget })
                })
                .await?;
                (issue.is_some(), unknown_issue())
            }
            Self::CoreProfile(id) => {
                let (id, view) = (ProfileId::Core(id), ProfileView::default());
                let limits = (PAGE_BYTES_AHEAD, WAIT);
                let (profile, _memory) = read_into_memory(state, domain, limits, |budget| {
                    let (domain_name, id) = (caller.domain_name.clone(), id.clone());
                    state.store.profile(GetProfile { domain, domain_name, id, view, budget })
                })
                .await?;
                (profile.is_some(), unknown_profile(ProfileKind::Core))
            }
        };
        if exists { Ok(()) } else { Err(unknown) }
    }
}

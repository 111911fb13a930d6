//! The record of a change as it is now, with every member that can be added to it.

use caseload_model::change::{Effect, Resource};
use caseload_model::ids::CoreProfileId;
use caseload_model::issue::IssueView;
use caseload_model::profile_query::{ProfileId, ProfileKind, ProfileView};
use caseload_model::task::Family;
use caseload_store::{GetIssue, GetProfile, StoreError};

use crate::bulk_actions::Subject;
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::imports::View;
use crate::state::AppState;

/// The kinds of records that are shown with their changes.
pub(super) const SHOWN: [Resource; 4] =
    [Resource::Issue, Resource::CoreProfile, Resource::AppProfile, Resource::Task];

/// The record as JSON; `null` if it is gone.
pub(super) async fn record(
    state: &AppState,
    caller: &Caller,
    base: &BaseUrl,
    effect: &Effect,
) -> Result<Vec<u8>, StoreError> {
    let (number, text) = (effect.id.number(), effect.id.to_string());
    let found = match (effect.resource, number) {
        (Resource::Issue, Some(id)) => issue(state, caller, base, id).await?,
        (Resource::CoreProfile, Some(id)) => {
            profile(state, caller, ProfileKind::Core, ProfileId::Core(CoreProfileId(id))).await?
        }
        (Resource::AppProfile, _) => {
            profile(state, caller, ProfileKind::App, ProfileId::App(text)).await?
        }
        (Resource::Task, _) => task(state, caller, base, &text).await?,
        _ => None,
    };
    Ok(found.unwrap_or_else(|| b"null".to_vec()))
}

async fn issue(
    state: &AppState,
    caller: &Caller,
    base: &BaseUrl,
    id: u64,
) -> Result<Option<Vec<u8>>, StoreError> {
    let (domain, budget) = (caller.domain_id, state.config.query_timeout.into());
    let command = GetIssue { domain, id, view: IssueView::FULL, budget };
    let found = state.store.issue(command).await?;
    Ok(found.map(|issue| base.inserted(issue.body, &issue.urls)))
}

async fn profile(
    state: &AppState,
    caller: &Caller,
    kind: ProfileKind,
    id: ProfileId,
) -> Result<Option<Vec<u8>>, StoreError> {
    let (domain, domain_name) = (caller.domain_id, caller.domain_name.clone());
    let (view, budget) = (ProfileView::adding(kind, true), state.config.query_timeout.into());
    let found = state.store.profile(GetProfile { domain, domain_name, id, view, budget }).await?;
    Ok(found.map(|profile| profile.body))
}

/// A task of either family: a change does not say which.
async fn task(
    state: &AppState,
    caller: &Caller,
    base: &BaseUrl,
    id: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    for family in Family::ALL {
        if let Some(task) = state.store.task(caller.domain_id, *family, id).await? {
            let view = View::new(&Subject::from(task), &caller.domain_name, base);
            return Ok(serde_json::to_vec(&view).ok());
        }
    }
    Ok(None)
}

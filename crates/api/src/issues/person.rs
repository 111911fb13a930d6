//! Looks up the person whose issues a list or counts are about, by the filter `core-profile-id`.

use caseload_model::ids::CoreProfileId;
use caseload_model::issue_query::IssueQuery;
use caseload_store::{AppProfilesOf, StoreError};

use crate::http::auth::Caller;
use crate::lists::deadline::in_time;
use crate::state::AppState;

/// Fills in the app profiles of the person of the query, if it has one.
pub(super) async fn look_up(
    state: &AppState,
    caller: &Caller,
    query: &mut IssueQuery,
) -> Result<(), StoreError> {
    let Some(person) = &mut query.person else { return Ok(()) };
    let budget = state.config.query_timeout;
    let read = state.store.app_profiles_of(AppProfilesOf {
        domain: caller.domain_id,
        domain_name: caller.domain_name.clone(),
        core_profile: CoreProfileId(person.core_profile_id),
        budget: budget.into(),
    });
    person.pids = in_time(budget, read).await?;
    Ok(())
}

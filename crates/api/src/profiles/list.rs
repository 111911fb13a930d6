//! `GET /v2/{domain}/identity/core_profiles` and `…/app_profiles`: the part of these lists in which
//! they differ from other lists. The forms of the answer are those of every list.

use axum::extract::State;
use axum::response::Response;
use caseload_model::ids::DomainId;
use caseload_model::issue_query::ListScope;
use caseload_model::parameters::Paging;
use caseload_model::profile_query::{
    ProfileId, ProfileKind, ProfileListRequest, ProfileQuery, ProfileView, parse_profile_list,
};
use caseload_model::spelling::{same_name, unbracketed};
use caseload_store::profile_lists::is_expensive;
use caseload_store::{ListProfiles, ProfilePage, ProfileStep, StepProfiles, StoreFuture};
use http::{HeaderMap, Uri};

use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::lists::ListCall;
use crate::lists::noun::{ListRead, Noun, StepRead};
use crate::lists::refusals::accepted;
use crate::lists::table::Table;
use crate::state::AppState;

/// The parameters that are not filters.
const NO_FILTERS: [&str; 13] = [
    "page",
    "page-size",
    "cursor",
    "after",
    "count",
    "includes",
    "format",
    "bom",
    "spreadsheet",
    "trailer",
    "columns",
    "sort-by",
    "sort-order",
];

/// `GET /v2/{domain}/identity/core_profiles`
pub(crate) async fn list_core_profiles(
    State(state): State<AppState>,
    caller: Caller,
    base: BaseUrl,
    uri: Uri,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    list(ProfileKind::Core, state, caller, (base, uri), headers, query).await
}

/// `GET /v2/{domain}/identity/app_profiles`
pub(crate) async fn list_app_profiles(
    State(state): State<AppState>,
    caller: Caller,
    base: BaseUrl,
    uri: Uri,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    list(ProfileKind::App, state, caller, (base, uri), headers, query).await
}

async fn list(
    kind: ProfileKind,
    state: AppState,
    caller: Caller,
    (base, uri): (BaseUrl, Uri),
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let request = parse_profile_list(kind, &query.0);
    let (chosen, request, is_stream) = accepted(&query, &headers, request)?;
    let pairs = query.0;
    let call = ListCall::<Profiles> { state, caller, base, uri, headers, pairs, request, chosen };
    call.answer(is_stream).await
}

/// Profiles of one kind, as a list has them.
struct Profiles;

impl Noun for Profiles {
    type Query = ProfileQuery;
    type View = ProfileView;
    type Id = ProfileId;

    /// Profiles are shorter than issues.
    const STREAM_RECORDS: u64 = 4096;

    fn key(query: &ProfileQuery) -> &'static str {
        query.kind.as_str()
    }

    fn scope(query: &ProfileQuery, domain: DomainId) -> ListScope {
        query.scope(domain)
    }

    fn table(request: &ProfileListRequest) -> (Table, ProfileView) {
        let (columns, view) = request.table();
        (Table::of_profiles(columns), view)
    }

    fn page(list: ListRead<'_, Self>, paging: Paging) -> StoreFuture<'_, ProfilePage> {
        let ListRead { store, caller, query, view, bytes_max, budget } = list;
        let (domain, domain_name) = (caller.domain_id, caller.domain_name.clone());
        let list = ListProfiles { domain, domain_name, query, view, paging, bytes_max, budget };
        store.list_profiles(list)
    }

    fn step(list: ListRead<'_, Self>, step: StepRead<ProfileId>) -> StoreFuture<'_, ProfileStep> {
        let ListRead { store, caller, query, view, bytes_max, budget } = list;
        let StepRead { after, records_max: profiles_max, form, count } = step;
        store.step_profiles(StepProfiles {
            domain: caller.domain_id,
            domain_name: caller.domain_name.clone(),
            query,
            view,
            after,
            profiles_max,
            bytes_max,
            form,
            count,
            budget,
        })
    }

    fn is_expensive(query: &ProfileQuery) -> bool {
        is_expensive(query)
    }

    fn too_expensive(pairs: &[(String, String)]) -> String {
        let names = pairs.iter().map(|(name, _)| unbracketed(name).0);
        let is_filter = |name: &&str| !NO_FILTERS.iter().any(|other| same_name(other, name));
        let mut filters: Vec<&str> = names.filter(is_filter).collect();
        filters.dedup();
        let used = if filters.is_empty() {
            "the list has too many profiles".to_owned()
        } else {
            format!("the filters are {}", filters.join(", "))
        };
        format!(
            "{used}; narrow it, for example by created_since and created_until, or read it by \
             cursor without count"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_past_its_deadline_names_its_filters() {
        let pairs = [("tags[]", "a"), ("tags[]", "b"), ("name", "x"), ("count", "true")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let why = Profiles::too_expensive(&pairs);
        assert!(why.starts_with("the filters are tags, name; narrow it"), "{why}");
        assert!(Profiles::too_expensive(&[]).starts_with("the list has too many profiles; "));
    }
}

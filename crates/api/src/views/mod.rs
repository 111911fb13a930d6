//! `/v1/{domain}/views`: named views of the console's lists. Every key reads and changes its own
//! views; those of the domain need a key that may write. A view of another key is not found.

pub(crate) mod openapi;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::ParameterFault;
use caseload_model::key::Access;
use caseload_model::named_view::{NewView, ViewEdit, ViewScope};
use caseload_model::spelling::same_name;
use caseload_store::{CreateView, NamedView, OfView, StoreError};
use http::StatusCode;
use serde_json::{Value, json};

use crate::http::auth::Caller;
use crate::http::form::{self, NoFiles};
use crate::http::format::SHORT_LIST_BYTES;
use crate::http::path_id::PathId;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::http::random::{hex, random_bytes};
use crate::state::AppState;

/// The memory of a list: all views with the longest queries, and the answer that is made of them.
const LIST_BYTES: usize = 3 * SHORT_LIST_BYTES;

/// `GET /v1/{domain}/views`
pub(crate) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    query: QueryPairs,
) -> Result<Json<Value>, Problem> {
    Problem::check(query.unknown(&[]))?;
    let _memory = state.memory.take(Some(caller.domain_id), LIST_BYTES).await?;
    let views = state.store.views(caller.domain_id, &caller.key_id).await?;
    let views: Vec<Value> = views.iter().map(view).collect();
    Ok(Json(json!({ "views": views })))
}

/// `POST /v1/{domain}/views`
pub(crate) async fn create(
    State(state): State<AppState>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let form = ViewForm::read(&state, &caller, request).await?;
    let shares = |(name, value): &(String, String)| {
        same_name("scope", name) && value == ViewScope::Domain.as_str()
    };
    if form.pairs.iter().any(shares) {
        caller.require(Access::Write, "creating a view of the domain")?;
    }
    let view_of_form = form.require(NewView::read)?;
    let id = format!("view-{}", hex(&random_bytes::<8>()?));
    let command = CreateView { of: of(&state, &caller, id), view: view_of_form };
    let made = state.store.create_view(command).await?;
    Ok((StatusCode::CREATED, Json(view(&made))).into_response())
}

/// `PUT /v1/{domain}/views/{view_id}`
pub(crate) async fn edit(
    State(state): State<AppState>,
    caller: Caller,
    PathId(id): PathId,
    request: Request,
) -> Result<Json<Value>, Problem> {
    require_access(&state, &caller, &id, "changing a view of the domain").await?;
    let edit = ViewForm::read(&state, &caller, request).await?.require(ViewEdit::read)?;
    let edited = state.store.edit_view(of(&state, &caller, id), edit).await.map_err(known)?;
    Ok(Json(view(&edited)))
}

/// `DELETE /v1/{domain}/views/{view_id}`
pub(crate) async fn delete(
    State(state): State<AppState>,
    caller: Caller,
    PathId(id): PathId,
) -> Result<StatusCode, Problem> {
    require_access(&state, &caller, &id, "deleting a view of the domain").await?;
    state.store.delete_view(of(&state, &caller, id)).await.map_err(known)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses a change of a view that the caller does not see, or of one of the domain by a key that
/// may only read. The scope of a view never changes.
async fn require_access(
    state: &AppState,
    caller: &Caller,
    id: &str,
    call: &str,
) -> Result<(), Problem> {
    let found = state.store.view(caller.domain_id, &caller.key_id, id).await?;
    match found.ok_or_else(unknown)?.scope {
        ViewScope::Domain => caller.require(Access::Write, call),
        ViewScope::Key => Ok(()),
    }
}

/// The fields of a call, and their faults.
struct ViewForm {
    pairs: Vec<(String, String)>,
    faults: Vec<Fault>,
}

impl ViewForm {
    async fn read(state: &AppState, caller: &Caller, request: Request) -> Result<Self, Problem> {
        let mut faults = QueryPairs::parse(request.uri().query().unwrap_or_default())?.unknown(&[]);
        let (fields, _, _memory) = form::read(state, caller, request, NoFiles).await?;
        faults.extend(fields.faults);
        Ok(Self { pairs: fields.pairs, faults })
    }

    /// The value that is read of the fields, or all faults.
    fn require<T>(
        mut self,
        read: impl Fn(&[(String, String)]) -> Result<T, Vec<ParameterFault>>,
    ) -> Result<T, Problem> {
        match read(&self.pairs) {
            Ok(value) if self.faults.is_empty() => Ok(value),
            read => {
                self.faults.extend(read.err().into_iter().flatten().map(Fault::from));
                Err(Problem::faults(self.faults))
            }
        }
    }
}

fn of(state: &AppState, caller: &Caller, id: String) -> OfView {
    let (domain, key_id) = (caller.domain_id, caller.key_id.clone());
    OfView { domain, key_id, id, now: state.clock.now() }
}

fn unknown() -> Problem {
    let detail = "neither the domain nor the key has a view with that id; GET /views lists them";
    Problem::new(ErrorCode::NotFound, detail)
}

fn known(error: StoreError) -> Problem {
    if matches!(error, StoreError::NotFound { .. }) { unknown() } else { error.into() }
}

fn view(view: &NamedView) -> Value {
    let NamedView { id, name, list, query, scope, created_at, updated_at } = view;
    json!({
        "id": id,
        "name": name,
        "list": list.as_str(),
        "query": query,
        "scope": scope.as_str(),
        "created_at": created_at.0,
        "updated_at": updated_at.0,
    })
}

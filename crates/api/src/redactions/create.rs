//! Prepares each request of a form: finds persons and messages, which may take long, and then lets
//! the store redact everything in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::{Request, State};
use axum::response::Response;
use caseload_model::erasure::{
    Erasure, IssuesOfErased, Person, Redaction, RequestedRedaction, Selector, read_redactions,
};
use caseload_model::key::Access;
use caseload_store::{
    FindMessages, FindPerson, Redact, RedactionCommand, RedactionTarget, StoreError,
};

use crate::bulk_actions::log_queue_full;
use crate::erasures::{content, task_of};
use crate::http::auth::Caller;
use crate::http::form::{self, NoFiles};
use crate::http::idempotency;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::http::single_write::origin;
use crate::state::AppState;

/// `POST /v1/{domain}/redactions`
pub(crate) async fn create(
    State(state): State<AppState>,
    caller: Caller,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Access::Write, "redacting")?;
    let mut faults = query.unknown(&[]);
    let key = idempotency::key(request.headers(), &mut faults);
    let _mark = idempotency::begin(&state, &caller, key.as_deref()).await?;
    let (fields, _, _memory) = form::read(&state, &caller, request, NoFiles).await?;
    let (asked, wrong) = read_redactions(&fields.pairs);
    let content = content("redacting", &fields.pairs);
    faults.extend(fields.faults);
    faults.extend(wrong.into_iter().map(Fault::from));
    Problem::check(faults)?;
    // The messages and the persons of a repeat may be gone by now.
    if let Some(first) = idempotency::first_answer(&state, &caller, key.as_deref(), content).await?
    {
        return Ok(idempotency::changed(first));
    }
    let time = state.config.query_timeout;
    let prepared = tokio::time::timeout(time, prepare(&state, &caller, asked)).await;
    let requests = prepared.unwrap_or_else(|_| Err(StoreError::DeadlinePassed.into()))?;
    let origin = origin(&state, &caller, key.map(|key| (key, content)))?;
    let redacted = state.store.redact(Redact { origin, requests }).await;
    let redacted = redacted.inspect_err(|error| log_queue_full(&state, &caller, error));
    Ok(idempotency::changed(redacted?))
}

/// The commands of the store, one for each request.
async fn prepare(
    state: &AppState,
    caller: &Caller,
    asked: Vec<RequestedRedaction>,
) -> Result<Vec<RedactionCommand>, Problem> {
    let messages = messages(state, caller, &asked).await?;
    let mut requests = Vec::with_capacity(asked.len());
    for RequestedRedaction { external_redaction_id, app_publish_id, redaction } in asked {
        let target = match redaction {
            Ok(redaction) => target(state, caller, redaction, &messages).await?,
            Err(why) => Err(why),
        };
        let external_id = external_redaction_id;
        requests.push(RedactionCommand { external_id, app_publish_id, target });
    }
    Ok(requests)
}

/// The issues of all messages that the requests name.
async fn messages(
    state: &AppState,
    caller: &Caller,
    asked: &[RequestedRedaction],
) -> Result<BTreeMap<String, BTreeSet<u64>>, Problem> {
    let ids = asked.iter().filter_map(|asked| match &asked.redaction {
        Ok(Redaction::Message(id)) => Some(id.clone()),
        _ => None,
    });
    let ids: Vec<String> = ids.collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (domain, budget) = (caller.domain_id, state.config.query_timeout.into());
    Ok(state.store.find_messages(FindMessages { domain, ids, budget }).await?)
}

/// The target of a request, or the reason why it has none.
async fn target(
    state: &AppState,
    caller: &Caller,
    redaction: Redaction,
    messages: &BTreeMap<String, BTreeSet<u64>>,
) -> Result<Result<RedactionTarget, String>, Problem> {
    let target = match redaction {
        Redaction::Title(issue) => Ok(RedactionTarget::Title(issue)),
        Redaction::Issue(issue) => Ok(RedactionTarget::Issue(issue)),
        Redaction::Attachment(id) => Ok(RedactionTarget::Attachment(id)),
        Redaction::Message(id) => {
            let mut issues = messages.get(&id).into_iter().flatten().copied();
            match (issues.next(), issues.next()) {
                (Some(issue), None) => Ok(RedactionTarget::Message { issue, id }),
                (None, _) => Err("the domain has no message with this id".to_owned()),
                (Some(first), Some(second)) => Err(format!(
                    "several issues have a message with this id, {first} and {second} among them; \
                     redact one of these issues"
                )),
            }
        }
        Redaction::IssuesOf(selector) => match person(state, caller, selector).await? {
            Ok(person) if person.issue_ids.is_empty() => {
                Err("the person is the author of no issue".to_owned())
            }
            found => found.map(RedactionTarget::IssuesOf),
        },
        Redaction::User(selector) => match person(state, caller, selector).await? {
            Ok(person) => {
                let erasure = Erasure { person, issues: IssuesOfErased::Redacted };
                Ok(RedactionTarget::User(Box::new(task_of(state, caller, &erasure)?)))
            }
            Err(why) => Err(why),
        },
    };
    Ok(target)
}

/// The person that a request names, or the reason why there is none.
async fn person(
    state: &AppState,
    caller: &Caller,
    selector: Selector,
) -> Result<Result<Person, String>, Problem> {
    let request = FindPerson {
        domain: caller.domain_id,
        selector,
        issues: IssuesOfErased::Redacted,
        count: false,
        tasks: None,
        budget: state.config.query_timeout.into(),
    };
    match state.store.find_person(request).await {
        Ok(Some(found)) => Ok(Ok(found.person)),
        Ok(None) => Ok(Err("the domain has no profile and no issue of this person".to_owned())),
        Err(StoreError::Refused(faults)) => {
            let details: Vec<String> = faults.into_iter().map(|fault| fault.detail).collect();
            Ok(Err(details.join("; ")))
        }
        Err(other) => Err(other.into()),
    }
}

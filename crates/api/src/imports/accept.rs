//! From the parts of a new import to its answer, for the calls that create one, retry one or run a
//! dry run.

use axum::response::Response;
use caseload_model::ids::DomainName;
use caseload_model::import::Import;
use caseload_model::sketch::Sketch;
use caseload_model::task::Action;
use caseload_store::{AnswerOf, CreateImport, Idempotent, NewImport, StoredAnswer};

use super::view::ImportView;
use crate::bulk_actions::{Subject, log_queue_full, new_task};
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::current_request::current_request_id;
use crate::http::idempotency;
use crate::http::problem::Problem;
use crate::state::AppState;

/// An import without entries.
pub(super) fn new_import(
    state: &AppState,
    caller: &Caller,
    action: Action,
) -> Result<CreateImport, Problem> {
    let new = new_task(state, caller, action)?;
    Ok(CreateImport {
        domain: new.domain,
        key: new.key,
        request_id: current_request_id(),
        id: new.id,
        action,
        dry_run: false,
        upsert: false,
        file: String::new(),
        digest: [0; 32],
        sketch: Sketch::default(),
        once: false,
        parts: Vec::new(),
        now: new.now,
        expires_at: new.expires_at,
        unfinished_max: new.unfinished_max,
        parent_id: None,
        runs_parent: false,
        origin: new.origin,
        idempotency: None,
    })
}

/// Gives the import to the store and answers 201, or 200 with the first import of the same file.
/// `accepted` is called when the staged blocks belong to an import.
pub(super) async fn accept(
    state: &AppState,
    caller: &Caller,
    mut command: CreateImport,
    key: Option<(String, [u8; 32])>,
    accepted: impl FnOnce(),
) -> Result<Response, Problem> {
    let domain = caller.domain_name.clone();
    let answer = AnswerOf::new(move |new: &NewImport| answer_of(&new.import, &domain));
    command.idempotency = key.map(|(text, content)| {
        let key = idempotency::stored_key(text, content, command.now, command.expires_at);
        (key, answer.clone())
    });
    let created = state.store.create_import(command).await;
    match created.inspect_err(|error| log_queue_full(state, caller, error))? {
        Idempotent::Replayed(first) => Ok(idempotency::created(Idempotent::Replayed(first))),
        Idempotent::Done(new) if new.is_repeat => {
            tracing::info!(import_id = new.import.id, "a file was sent again");
            Ok(idempotency::existing(answer.of(&new)))
        }
        Idempotent::Done(new) => {
            accepted();
            let Import { id, action, tasks, .. } = &new.import;
            tracing::info!(
                import_id = id,
                action = action.as_str(),
                entries = new.import.counts().total,
                tasks = tasks.len(),
                key = caller.key_id,
                key_name = caller.key_name,
                "an import was accepted"
            );
            Ok(idempotency::created(Idempotent::Done(answer.of(&new))))
        }
    }
}

fn answer_of(import: &Import, domain: &DomainName) -> StoredAnswer {
    let subject = Subject::from(import.clone());
    let view = ImportView::new(import, &subject.task, domain, &BaseUrl::default());
    let body = serde_json::to_vec(&view).expect("an import is rendered as JSON");
    StoredAnswer { location: view.links.this, body }
}

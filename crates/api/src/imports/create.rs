//! `POST …/imports`: reads the form as it arrives, makes blocks of the file and stages them under
//! the ids of the tasks to come, and answers 201 once the store has all of it. A refused request
//! leaves nothing in the store.

use axum::extract::{Request, State};
use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_model::issue::DeskAddresses;
use caseload_model::profile::Placeholders;
use caseload_model::task::{Family, TaskOrigin};
use caseload_store::{CreateImport, EntryContext, ImportPart};

use super::accept::{accept, new_import};
use super::file_form::FileForm;
use super::form::{FILE_UPLOAD_BYTES, ImportForm, ImportRequest, OPTIONS_BYTES_MAX, Reach};
use crate::bulk_actions::{BulkPath, StagedPart, Staging};
use crate::http::auth::Caller;
use crate::http::base_url::OwnUrls;
use crate::http::form::body::{self, FormKind};
use crate::http::form::body_reader::{BodyReader, check_length};
use crate::http::form::read_form;
use crate::http::idempotency;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::state::AppState;

const ACCEPTED_TYPES: &str = "multipart/form-data with the options, then the part file";

/// Accepts an import.
pub(crate) async fn create(
    State(state): State<AppState>,
    caller: Caller,
    BulkPath { family, .. }: BulkPath,
    query: QueryPairs,
    own_urls: OwnUrls,
    request: Request,
) -> Result<Response, Problem> {
    let mut faults = query.unknown(&[]);
    let key = idempotency::key(request.headers(), &mut faults);
    let own_urls = if family == Family::Issues { own_urls } else { OwnUrls::default() };
    let staging = Staging::new(&state, &caller).with_own_urls(own_urls);
    let request = check_kind(&state, request).await?;
    let _mark = idempotency::begin(&state, &caller, key.as_deref()).await?;
    let reach = Reach { bytes_max: state.config.import_bytes_max, is_preview: false };
    let form = read(&state, &caller, (family, request, reach), faults, staging).await?;
    let ImportRequest { options, file_name, mut payload } = form.finish().await?;
    let digest = options.digest(&payload.read.digest);
    let mode = [u8::from(options.dry_run), u8::from(options.again)];
    let content = idempotency::content_hash(&[b"import", &digest, &mode]);
    let parts = payload.staging.take().await?;
    let read = payload.read;
    let file = FileForm::new(read.format.into(), read.columns, read.header).with_digest(&digest);
    let entries = parts.iter().map(|part| part.entries).sum::<u32>();
    if entries != read.entries {
        tracing::error!(entries, read = read.entries, "the blocks of a file lack entries");
        return Err(Problem::internal());
    }
    let new = new_import(&state, &caller, options.read.action)?;
    let content_length = Some(read.content_length);
    let command = CreateImport {
        dry_run: options.dry_run,
        upsert: options.upsert,
        file: file.text(),
        digest,
        sketch: read.sketch,
        once: options.is_once(),
        parts: parts.into_iter().map(part).collect(),
        origin: TaskOrigin { file_name, content_length, ..new.origin },
        ..new
    };
    let (staging, key) = (&mut payload.staging, key.map(|key| (key, content)));
    accept(&state, &caller, command, key, || staging.set_accepted()).await
}

/// The entries of one task of a new file.
fn part(part: StagedPart) -> ImportPart {
    let StagedPart { task_id, entries, content_length, staged, blocks, .. } = part;
    ImportPart { task_id, total: entries, content_length, staged, blocks, parent_id: None }
}

/// The request, if its body is a form with a file and is not too long.
pub(super) async fn check_kind(state: &AppState, mut request: Request) -> Result<Request, Problem> {
    if body::kind(&mut request, ACCEPTED_TYPES).await? != FormKind::Multipart {
        let detail = format!("this content type carries no file; send {ACCEPTED_TYPES}");
        return Err(Problem::new(ErrorCode::UnsupportedMediaType, detail));
    }
    check_length(&request, body_bytes_max(state))?;
    Ok(request)
}

/// The most bytes of a body with a file, packed or not.
fn body_bytes_max(state: &AppState) -> u64 {
    state.config.import_bytes_max + 2 * OPTIONS_BYTES_MAX as u64
}

/// Feeds the decompressed body to a form.
pub(super) async fn read(
    state: &AppState,
    caller: &Caller,
    (family, request, reach): (Family, Request, Reach),
    faults: Vec<Fault>,
    staging: Staging,
) -> Result<ImportForm, Problem> {
    let context = context(state, caller, family).await?;
    let memory = state.memory.take(Some(caller.domain_id), FILE_UPLOAD_BYTES).await?;
    let headers = request.headers().clone();
    let body = BodyReader::of_upload(state, caller.domain_id, request).await?;
    let body = body.with_limit(body_bytes_max(state));
    let of_file = (reach, state.cpu.clone(), memory);
    let form = ImportForm::new((family, caller, context), of_file, faults, staging);
    let (form, read) = read_form(FormKind::Multipart, &headers, body, &state.cpu, form).await?;
    read?;
    Ok(form)
}

/// The values of its domain that the reader of a file needs.
async fn context(
    state: &AppState,
    caller: &Caller,
    family: Family,
) -> Result<EntryContext, Problem> {
    let name = &caller.domain_name;
    let addresses = match family {
        Family::Issues => state.store.desk_addresses(caller.domain_id).await?,
        Family::Identity => DeskAddresses::default(),
    };
    let own = state.store.domain(name).await?.and_then(|domain| domain.placeholders);
    let placeholders = own.as_deref().map(Placeholders::of_list).unwrap_or_default();
    Ok(EntryContext { domain: name.clone(), addresses, placeholders })
}

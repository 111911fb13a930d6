//! `POST …/imports/preview`: how a file would be read, from its first bytes, without writing
//! anything. Its entries are validated as their task would, but not compared with stored data.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use caseload_model::json::{parse, write_string};
use caseload_model::payload::Block;
use caseload_model::record::write_findings;
use caseload_store::{ChunkWork, PackedBlock, StoreError, unpack_block};
use http::header;

use super::create::{check_kind, read};
use super::file_form::FileFormat;
use super::file_reader::FileRead;
use super::form::{ImportRequest, Reach};
use super::options::Options;
use crate::bulk_actions::{BulkPath, Staging};
use crate::http::auth::Caller;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// The bytes of the file that are read.
const READ_BYTES: u64 = 1 << 20;
/// The most entries of an answer.
const ENTRIES_MAX: usize = 20;

/// The format, the columns and the first entries of a file.
pub(crate) async fn preview(
    State(state): State<AppState>,
    caller: Caller,
    BulkPath { family, .. }: BulkPath,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let faults = query.unknown(&[]);
    let request = check_kind(&state, request).await?;
    let staging = Staging::new(&state, &caller);
    let bytes_max = READ_BYTES.min(state.config.import_bytes_max);
    let reach = Reach { bytes_max, is_preview: true };
    let form = read(&state, &caller, (family, request, reach), faults, staging).await?;
    let ImportRequest { options, mut payload, .. } = form.finish().await?;
    let parts = payload.staging.take().await?;
    let blocks: Vec<_> = parts.into_iter().flat_map(|part| part.blocks).collect();
    let file = payload.read;
    let body = state.cpu.run(move || rendered(&options, &file, &blocks)).await??;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

fn rendered(
    options: &Options,
    file: &FileRead,
    blocks: &[PackedBlock],
) -> Result<Vec<u8>, StoreError> {
    let json = |error: serde_json::Error| StoreError::Corrupt(error.to_string());
    let mut out = b"{\"format\":".to_vec();
    let format = FileFormat::from(file.format.clone());
    serde_json::to_writer(&mut out, &format).map_err(json)?;
    out.extend_from_slice(b",\"columns\":");
    serde_json::to_writer(&mut out, &file.previews).map_err(json)?;
    out.extend_from_slice(b",\"errors\":");
    serde_json::to_writer(&mut out, &file.header_faults).map_err(json)?;
    out.extend_from_slice(b",\"entries\":[");
    let mut left = ENTRIES_MAX;
    for block in blocks {
        let mut block = Block::decode(unpack_block(&block.bytes)?)
            .map_err(|error| StoreError::Corrupt(error.to_string()))?;
        block.entries.truncate(left);
        let work = ChunkWork::prepare(options.read.action, &options.read.context, &block);
        for at in 0..work.len() {
            if left < ENTRIES_MAX {
                out.push(b',');
            }
            left -= 1;
            write_entry(&block, &work, at, &mut out);
        }
    }
    out.extend_from_slice(b"]}");
    Ok(out)
}

fn write_entry(block: &Block, work: &ChunkWork, at: usize, out: &mut Vec<u8>) {
    let entry = work.entry(at);
    let bytes = block.bytes_of(entry);
    out.extend_from_slice(format!("{{\"line\":{},\"entry\":", entry.line).as_bytes());
    match parse(bytes) {
        Ok(tree) => tree.write_to(out),
        Err(_) => write_string(&String::from_utf8_lossy(bytes), out),
    }
    out.push(b',');
    let (rejection, warnings) = work.findings(at);
    let faults = rejection.map_or(&[][..], |found| &found.faults);
    write_findings(faults, warnings, out);
    out.push(b'}');
}

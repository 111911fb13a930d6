//! Functions for law tests outside of this crate: how the server reads forms, credentials and query
//! strings, without a store and without a listener. The handlers call the same functions. This is
//! not part of the public API of the crate and may change with any commit.

use axum::extract::Request;
use caseload_model::ids::{DomainId, DomainName};
use caseload_model::key::Access;
use caseload_model::task::{Action, Family};
use caseload_model::time::UnixMillis;
use caseload_store::{Key, KeyGrant, PackedBlock};
use http::HeaderMap;

use crate::bulk_actions::{self, TaskRequest};
use crate::http::auth;
use crate::http::auth::Caller;
use crate::http::auth::Credential;
use crate::http::form::{BrokenEscape, Decoder, FieldSink};
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// A bulk request that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkForm {
    pub action: Action,
    pub dry_run: bool,
    pub entries: u32,
    /// SHA-256 of the payload as the caller sent it.
    pub hash: Option<[u8; 32]>,
    pub blocks: Vec<PackedBlock>,
}

/// The answer to a refused request: status and body.
pub type Refusal = (u16, Vec<u8>);

/// Reads a request to the bulk path of `family`, sent with a write key. The payload must be too
/// small to be staged.
pub async fn bulk_form(
    request: Request,
    family: Family,
    state: &AppState,
    domain: DomainName,
) -> Result<BulkForm, Refusal> {
    let key = Key {
        id: String::new(),
        name: String::new(),
        access: Access::Write,
        created_at: UnixMillis(0),
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
    };
    let grant = KeyGrant { domain: DomainId(1), domain_name: domain, domain_rate_limit: None, key };
    let caller = Caller::new(&grant, Credential::Key([0; 32]), state.log_limiter.clone());
    let read = async {
        let request = bulk_actions::read_only(request, family, state, &caller).await?;
        let TaskRequest { action, dry_run, mut payload, .. } = request;
        let parts = payload.staging.take().await?;
        let blocks = parts.into_iter().flat_map(|part| part.blocks).collect();
        Ok(BulkForm { action, dry_run, entries: payload.read, hash: payload.hash, blocks })
    };
    read.await.map_err(|problem: Problem| refusal(&problem))
}

/// The SHA-256 of the key in the headers, or the advice for the caller.
pub fn key_hash(headers: &HeaderMap) -> Result<[u8; 32], &'static str> {
    auth::key_hash(headers)
}

/// The parameters of a query string, decoded.
pub fn query_pairs(query: &str) -> Result<Vec<(String, String)>, Refusal> {
    QueryPairs::parse(query).map(|pairs| pairs.0).map_err(|problem| refusal(&problem))
}

/// The fields of an urlencoded body that arrives in `pieces`, or the offset of its broken escape.
pub fn urlencoded_fields<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<(String, Vec<u8>)>, u64> {
    let at = |BrokenEscape(at): BrokenEscape| at;
    let (mut decoder, mut fields) = (Decoder::default(), Fields::default());
    for piece in pieces {
        decoder.push(piece, &mut fields).map_err(at)?;
    }
    decoder.finish(&mut fields).map_err(at)?;
    assert!(!fields.open, "every field has an end");
    Ok(fields.all)
}

#[derive(Default)]
struct Fields {
    all: Vec<(String, Vec<u8>)>,
    open: bool,
}

impl FieldSink for Fields {
    fn begin(&mut self, name: &str) {
        assert!(!self.open, "a field begins only after the end of the previous one");
        self.open = true;
        self.all.push((name.to_owned(), Vec::new()));
    }

    fn data(&mut self, bytes: &[u8]) {
        assert!(self.open, "data belong to a field");
        if let Some((_, value)) = self.all.last_mut() {
            value.extend_from_slice(bytes);
        }
    }

    fn end(&mut self) {
        assert!(self.open, "only an open field ends");
        self.open = false;
    }
}

fn refusal(problem: &Problem) -> Refusal {
    (problem.status(), problem.body(""))
}

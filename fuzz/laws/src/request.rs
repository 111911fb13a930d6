//! Requests with a form, read by the api as from the network, but without one. Every outcome is
//! checked for its form here; the laws decide which outcome is right.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io::Write as _;
use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use caseload_api::test_support::{BulkForm, Refusal, bulk_form};
use caseload_api::{ApiConfig, AppState};
use caseload_location::StoreLocation;
use caseload_model::ids::DomainName;
use caseload_model::payload::Block;
use caseload_model::task::{Family, PAYLOAD_ENTRIES_MAX};
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::{OpenMode, unpack_block};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;
use http::header;
use tokio::runtime::{Builder, Runtime};

use crate::block::{Row, comes_back, rows};
use crate::pieces::cuts;

pub(crate) const URLENCODED: &str = "application/x-www-form-urlencoded";

/// A state with a store that gets no call: these requests are too small to be staged.
static STATE: LazyLock<AppState> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let location = StoreLocation::Sqlite(folder.path().join("caseload.db"));
    let opened = RUNTIME.with_borrow(|runtime| {
        runtime.block_on(caseload_location::open(&location, OpenMode::Server))
    });
    let store = opened.expect("a store can be made");
    let clock = Clock::new(|| UnixMillis(1_700_000_000_000));
    AppState::new(store, clock, ApiConfig::default())
});

thread_local! {
    static RUNTIME: RefCell<Runtime> = RefCell::new(
        Builder::new_current_thread().enable_time().build().expect("a runtime can be made"),
    );
}

/// The outcome of the api for a body of that type. Neither cuts nor compression change it.
pub(crate) fn read_in_every_form(content_type: &str, data: &[u8]) -> Result<BulkForm, Refusal> {
    let whole = read(content_type, None, &[data]);
    for pieces in cuts(data) {
        assert_eq!(read(content_type, None, &pieces), whole, "cuts do not matter");
    }
    for (coding, packed) in [("gzip", gzip(data)), ("zstd", zstd(data))] {
        assert_eq!(read(content_type, Some(coding), &[&packed]), whole, "{coding} does not matter");
    }
    whole
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

fn zstd(data: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(data, 1).expect("memory takes all")
}

/// The outcome of the api for a body of that type that arrives in `pieces`, compressed by `coding`.
pub(crate) fn read(
    content_type: &str,
    coding: Option<&str>,
    pieces: &[&[u8]],
) -> Result<BulkForm, Refusal> {
    let pieces: Vec<_> =
        pieces.iter().map(|piece| Ok::<_, Infallible>(Bytes::copy_from_slice(piece))).collect();
    let mut request = Request::builder().header(header::CONTENT_TYPE, content_type);
    if let Some(coding) = coding {
        request = request.header(header::CONTENT_ENCODING, coding);
    }
    let request = request.body(Body::from_stream(stream::iter(pieces))).expect("good headers");
    let domain = DomainName::parse("acme").expect("a domain name");
    let form = bulk_form(request, Family::Identity, &STATE, domain);
    let outcome = RUNTIME.with_borrow(|runtime| runtime.block_on(form));
    check(&outcome);
    outcome
}

fn check(outcome: &Result<BulkForm, Refusal>) {
    match outcome {
        Ok(form) => {
            let rows = payload(form);
            assert!((1..=PAYLOAD_ENTRIES_MAX).contains(&rows.len()));
            assert_eq!(rows.len(), form.entries as usize, "every entry is counted once");
            assert_eq!(form.action.family(), Family::Identity);
        }
        Err((status, body)) => {
            assert!([400, 413, 415].contains(status), "{status}");
            let body: serde_json::Value = serde_json::from_slice(body).expect("a problem is JSON");
            assert_eq!(body["status"], *status);
            let detail = body["detail"].as_str().unwrap_or_default();
            assert!(!detail.is_empty(), "a refusal says why");
        }
    }
}

/// The entries that a form holds.
pub(crate) fn payload(form: &BulkForm) -> Vec<Row> {
    let block = |packed: &caseload_store::PackedBlock| {
        let bytes = unpack_block(&packed.bytes).expect("a packed block can be unpacked");
        let block = Block::decode(bytes).expect("an encoded block can be decoded");
        let ends = (block.entries.first(), block.entries.last());
        let (Some(first), Some(last)) = ends else { panic!("a block has entries") };
        assert_eq!((first.index, last.index), (packed.first_index, packed.last_index));
        comes_back(&block);
        block
    };
    let blocks: Vec<Block> = form.blocks.iter().map(block).collect();
    rows(&blocks)
}

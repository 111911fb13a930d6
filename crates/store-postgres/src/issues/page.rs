//! Renders pages from answers of the database. The position of an issue is read from its head,
//! which has the same instants as the columns.

use std::pin::pin;

use caseload_model::issue_query::{ListPosition, SortKey};
use caseload_model::json::{self, Json};
use caseload_model::time::UnixMillis;
use futures_util::TryStreamExt as _;
use tokio_postgres::RowStream;

use crate::engine::store_error;
use crate::tx::ReadRow;
use caseload_store::StoreError;
use caseload_store::issues::{fragments, sums};
use caseload_store::query::{RenderedPage, Rendering};

/// Bytes of most issues.
const ISSUE_BYTES_USUAL: usize = 4096;

/// Issues for which room is made at first.
const ISSUES_USUAL: usize = 100;

/// Whether issues of usual size have room on a page, as many as it may have.
pub(super) fn is_roomy(rendering: &Rendering, limit: u64) -> bool {
    let issues = rendering.issues_max.min(usize::try_from(limit).unwrap_or(usize::MAX));
    issues.saturating_mul(ISSUE_BYTES_USUAL) <= rendering.bytes_max
}

/// The rows that the database sent for a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageStats {
    pub(super) rows: usize,
    /// Whether an issue had nulls that the page has room for.
    pub(super) is_incomplete: bool,
}

/// Renders issues while the database sends them, until the page is full.
pub(super) async fn render_stream(
    rows: RowStream,
    rendering: &Rendering,
    out: &mut RenderedPage,
) -> Result<PageStats, StoreError> {
    let mut rows = pin!(rows);
    let mut stats = PageStats { rows: 0, is_incomplete: false };
    let (mut full, mut last) = (false, None);
    while let Some(row) = rows.try_next().await.map_err(store_error)? {
        if stats.rows == 0 {
            let usual = rendering.issues_max.min(ISSUES_USUAL) * ISSUE_BYTES_USUAL;
            out.body.reserve(rendering.bytes_max.saturating_sub(out.body.len()).min(usual));
        }
        stats.rows += 1;
        if !full && row.get::<_, Option<&[u8]>>(0).is_none() {
            stats.is_incomplete = true;
            full = true;
        }
        // Rows after the last one that fits are taken off the wire, and dropped one by one.
        let read = ReadRow(&row);
        full = full || !out.add(&fragments(&read)?, sums(&read)?, rendering)?;
        if !full {
            last = Some(row);
        }
    }
    if let Some(last) = last {
        out.last = Some(position(fragments(&ReadRow(&last))?.head, rendering.key)?);
    }
    Ok(stats)
}

/// The position of the issue with this head in lists sorted by `key`.
fn position(head: &[u8], key: SortKey) -> Result<ListPosition, StoreError> {
    let unreadable = || StoreError::Corrupt("the head of an issue cannot be read".to_owned());
    let map = [b"{", head, b"}"].concat();
    let head = json::parse(&map).map_err(|_| unreadable())?;
    let at = match key {
        SortKey::CreationTime => head.get("created_at"),
        SortKey::UpdateTime => head.get("updated_at"),
        SortKey::StateChangeTime => head.get("state_data").and_then(|data| data.get("changed_at")),
    };
    let number = |json: Option<&Json<'_>>| match json {
        Some(Json::Number(digits)) => digits.parse::<i64>().ok(),
        _ => None,
    };
    let id = number(head.get("id")).ok_or_else(unreadable)?.unsigned_abs();
    Ok(ListPosition { at: UnixMillis(number(at).ok_or_else(unreadable)?), id })
}

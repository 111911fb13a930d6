//! The place of an answer in its list: a numbered page, or a step by cursor. The place decides the
//! totals, the links and the next cursor of the envelope; it knows no records.

use axum::body::Bytes;
use caseload_model::issue_query::{CursorPaging, Paging};
use http::HeaderValue;

use super::envelope::{Envelope, Next};
use crate::http::link;

/// A part of a list, as its caller asked for it.
pub(crate) struct Place<'p, Id = u64> {
    /// Of the list, without a query.
    pub(crate) url: String,
    pub(crate) pairs: &'p [(String, String)],
    pub(crate) paging: Paging,
    /// Set if the list is read by cursor.
    pub(crate) cursor: Option<&'p CursorPaging<Id>>,
}

impl<Id> Place<'_, Id> {
    /// The number of the page. Steps count from the beginning of the list.
    pub(crate) fn number(&self) -> u32 {
        match self.cursor {
            Some(cursor) => cursor.pages_before().saturating_add(1),
            None => u32::try_from(self.paging.page).unwrap_or(u32::MAX),
        }
    }

    /// The links of the answer. `next` is the cursor after it; after the last records of a list by
    /// cursor there is none.
    pub(crate) fn links(&self, total: Option<u64>, next: Option<&str>) -> Vec<HeaderValue> {
        if self.cursor.is_some() {
            return link::stepped(&self.url, self.pairs, next);
        }
        let (total, next) = (total.unwrap_or_default(), || next.map(str::to_owned));
        link::header(&self.url, self.pairs, self.paging, total, next)
    }

    /// The envelope of these records, of a list of `total` records.
    pub(crate) fn envelope(
        &self,
        key: &'static str,
        records: Bytes,
        total: Option<u64>,
        next: Option<String>,
    ) -> Envelope {
        let page = self.cursor.map_or(self.paging.page, |_| u64::from(self.number()));
        Envelope {
            paging: Paging { page, ..self.paging },
            key,
            records,
            total_hits: total.filter(|_| self.cursor.is_none_or(|cursor| cursor.count)),
            next: match (self.cursor, next) {
                (None, _) => Next::ByPage,
                (Some(_), Some(token)) => Next::Cursor(token),
                (Some(_), None) => Next::End,
            },
            rest: None,
        }
    }
}

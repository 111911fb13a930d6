//! Tests of texts, which no index answers: every issue that the other filters leave is read and
//! held against the model's matchers. Such a read keeps a pace, so that it ends at its deadline and
//! leaves others their share.

use caseload_model::issue_query::{
    Condition, FieldMatcher, FieldTest, IssueQuery, TextMatcher, TextPlace,
};
use roaring::RoaringBitmap;
use rusqlite::{CachedStatement, Connection, Row};

use super::super::engine::Pace;
use crate::StoreError;

/// Whether the query tests texts.
pub(in crate::sqlite) fn reads_texts(query: &IssueQuery) -> bool {
    [&query.messages, &query.notes, &query.feedback_comment].into_iter().any(has_words)
        || tests_text_of_fields(query)
}

fn has_words(condition: &Condition) -> bool {
    !condition.and.is_empty() || condition.or.is_some() || !condition.nor.is_empty()
}

fn tests_text_of_fields(query: &IssueQuery) -> bool {
    query.custom_fields.iter().any(|filter| {
        let fields = filter.and.iter().chain(filter.or.iter().flatten());
        fields
            .flat_map(|field| &field.tests)
            .any(|test| matches!(test, FieldTest::Contains(_) | FieldTest::DoesNotContain(_)))
    })
}

/// Holds the texts of issues against a query.
pub(super) struct Texts<'c> {
    fields: Option<FieldMatcher>,
    /// Short texts first, each with its column.
    matchers: Vec<(usize, TextMatcher)>,
    select: CachedStatement<'c>,
    pace: &'c mut Pace,
}

impl<'c> Texts<'c> {
    pub(super) fn new(
        conn: &'c Connection,
        query: &IssueQuery,
        pace: &'c mut Pace,
    ) -> Result<Self, StoreError> {
        let fields = tests_text_of_fields(query).then(|| FieldMatcher::new(&query.custom_fields));
        let places = [
            (1, "feedback", TextPlace::FeedbackComment, &query.feedback_comment),
            (2, "private_notes", TextPlace::Notes, &query.notes),
            (3, "messages", TextPlace::Messages, &query.messages),
        ];
        let columns = places.map(
            |(_, column, _, condition)| {
                if has_words(condition) { column } else { "NULL" }
            },
        );
        let matchers = places.into_iter().filter(|(_, _, _, condition)| has_words(condition));
        let select = format!(
            "SELECT {}, {} FROM issue_bodies WHERE row = ?1",
            if fields.is_some() { "custom_fields" } else { "NULL" },
            columns.join(", ")
        );
        Ok(Self {
            fields,
            matchers: matchers
                .map(|(column, _, place, condition)| (column, TextMatcher::new(place, condition)))
                .collect(),
            select: conn.prepare_cached(&select)?,
            pace,
        })
    }

    /// Whether the issue in `row` passes every test of texts.
    pub(super) fn hold(&mut self, row: u32) -> Result<bool, StoreError> {
        self.pace.step()?;
        let Self { fields, matchers, select, .. } = self;
        let mut found = select.query([row])?;
        let Some(issue) = found.next()? else {
            return Err(StoreError::Corrupt("an issue without fragments".to_owned()));
        };
        if let Some(fields) = fields
            && !fields.holds(fragment(issue, 0)?.unwrap_or_default())
        {
            return Ok(false);
        }
        for (column, matcher) in matchers {
            if !matcher.holds(fragment(issue, *column)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Those of the issues that pass.
    pub(super) fn filter(mut self, rows: &RoaringBitmap) -> Result<RoaringBitmap, StoreError> {
        let mut passed = RoaringBitmap::new();
        for row in rows {
            if self.hold(row)? {
                passed.insert(row);
            }
        }
        Ok(passed)
    }
}

fn fragment<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<Option<&'r [u8]>> {
    Ok(row.get_ref(column)?.as_blob_or_null()?)
}

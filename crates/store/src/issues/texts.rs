//! Tests of texts, which no index answers: every issue that the other filters leave is read and
//! held against the model's matchers. Such a read keeps a pace, so that it ends at its deadline and
//! leaves others their share.

use caseload_model::issue_query::{
    Condition, FieldMatcher, FieldTest, IssueQuery, TextMatcher, TextSource,
};
use roaring::RoaringBitmap;

use super::reads::{IssueReads, TextParts, TextsOf};
use crate::StoreError;
use crate::pace::Pace;

/// Whether the query tests texts.
pub fn reads_texts(query: &IssueQuery) -> bool {
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
pub(super) struct Texts<'p> {
    fields: Option<FieldMatcher>,
    feedback: Option<TextMatcher>,
    private_notes: Option<TextMatcher>,
    messages: Option<TextMatcher>,
    pace: &'p mut Pace,
}

impl<'p> Texts<'p> {
    pub(super) fn new(query: &IssueQuery, pace: &'p mut Pace) -> Self {
        let matcher = |place, condition: &Condition| {
            has_words(condition).then(|| TextMatcher::new(place, condition))
        };
        Self {
            fields: tests_text_of_fields(query).then(|| FieldMatcher::new(&query.custom_fields)),
            feedback: matcher(TextSource::FeedbackComment, &query.feedback_comment),
            private_notes: matcher(TextSource::Notes, &query.notes),
            messages: matcher(TextSource::Messages, &query.messages),
            pace,
        }
    }

    /// What is read of each issue.
    const fn parts(&self) -> TextParts {
        TextParts {
            custom_fields: self.fields.is_some(),
            feedback: self.feedback.is_some(),
            private_notes: self.private_notes.is_some(),
            messages: self.messages.is_some(),
        }
    }

    /// Tells of each issue in turn whether it passes every test, until that is answered by false.
    pub(super) fn test<R: IssueReads>(
        &mut self,
        reads: &R,
        rows: &[u32],
        mut tell: impl FnMut(u32, bool) -> bool,
    ) -> Result<(), StoreError> {
        reads.texts(self.parts(), rows, |row, texts| {
            self.pace.step()?;
            Ok(tell(row, self.hold(texts)))
        })
    }

    /// Whether an issue of these texts passes: short texts first.
    fn hold(&mut self, texts: TextsOf<'_>) -> bool {
        let passes = |matcher: &mut Option<TextMatcher>, text: Option<&[u8]>| {
            matcher.as_mut().is_none_or(|matcher| matcher.holds(text))
        };
        let fields = texts.custom_fields.unwrap_or_default();
        self.fields.as_mut().is_none_or(|matcher| matcher.holds(fields))
            && passes(&mut self.feedback, texts.feedback)
            && passes(&mut self.private_notes, texts.private_notes)
            && passes(&mut self.messages, texts.messages)
    }

    /// Those of the issues that pass.
    pub(super) fn filter<R: IssueReads>(
        mut self,
        reads: &R,
        rows: &RoaringBitmap,
    ) -> Result<RoaringBitmap, StoreError> {
        let mut passed = RoaringBitmap::new();
        let rows: Vec<u32> = rows.iter().collect();
        self.test(reads, &rows, |row, holds| {
            if holds {
                passed.insert(row);
            }
            true
        })?;
        Ok(passed)
    }
}

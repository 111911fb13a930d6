//! Tests of texts, which no index answers alone: each issue that the other filters and the text
//! index let through is read and held against the model's matchers. Such a read is throttled, so it
//! ends at its deadline and leaves other requests their share.

use caseload_model::issue_query::{Condition, FieldMatcher, IssueQuery, TextMatcher, TextSource};
use roaring::RoaringBitmap;

use super::matches::{has_words, tests_text_of_fields};
use super::order::RowTest;
use super::search::TextSearch;
use super::source::{IssueTexts, Source, TextFragments};
use crate::StoreError;
use crate::throttle::Throttle;

/// Holds the texts of issues against a query.
pub(super) struct TextTest<'t> {
    fields: Option<FieldMatcher>,
    /// Of the whole text, one for each place that may have it; empty if no text is given.
    anywhere: Vec<(TextSource, TextMatcher)>,
    title: Option<TextMatcher>,
    feedback: Option<TextMatcher>,
    private_notes: Option<TextMatcher>,
    messages: Option<TextMatcher>,
    throttle: &'t mut Throttle,
}

impl<'t> TextTest<'t> {
    pub(super) fn new(query: &IssueQuery, throttle: &'t mut Throttle) -> Self {
        let matcher = |place, condition: &Condition| {
            // A term decides whether there is a comment.
            let is_read = match place {
                TextSource::FeedbackComment => has_words(condition),
                TextSource::Title | TextSource::Messages | TextSource::Notes => {
                    !condition.is_unbounded()
                }
            };
            is_read.then(|| TextMatcher::new(place, condition))
        };
        Self {
            fields: tests_text_of_fields(query).then(|| FieldMatcher::new(&query.custom_fields)),
            anywhere: query.text.iter().flat_map(|text| anywhere(text)).collect(),
            title: matcher(TextSource::Title, &query.title),
            feedback: matcher(TextSource::FeedbackComment, &query.feedback_comment),
            private_notes: matcher(TextSource::Notes, &query.notes),
            messages: matcher(TextSource::Messages, &query.messages),
            throttle,
        }
    }

    /// The fragments that are read of each issue.
    const fn fragments(&self) -> TextFragments {
        let all = !self.anywhere.is_empty();
        TextFragments {
            head: all || self.title.is_some(),
            custom_fields: self.fields.is_some(),
            feedback: all || self.feedback.is_some(),
            private_notes: all || self.private_notes.is_some(),
            messages: all || self.messages.is_some(),
        }
    }

    /// Reports of each issue in turn whether it passes, until `report` returns false.
    pub(super) fn test<S: Source>(
        &mut self,
        source: &S,
        rows: &[u32],
        mut report: impl FnMut(u32, bool) -> bool,
    ) -> Result<(), StoreError> {
        source.texts(self.fragments(), rows, |row, texts| {
            self.throttle.step()?;
            Ok(report(row, self.passes(texts)))
        })
    }

    /// Whether an issue with these texts passes. Short texts come first.
    fn passes(&mut self, texts: IssueTexts<'_>) -> bool {
        let passes = |matcher: &mut Option<TextMatcher>, text: Option<&[u8]>| {
            matcher.as_mut().is_none_or(|matcher| matcher.holds(text))
        };
        let fields = texts.custom_fields.unwrap_or_default();
        self.fields.as_mut().is_none_or(|matcher| matcher.holds(fields))
            && passes(&mut self.title, texts.head)
            && passes(&mut self.feedback, texts.feedback)
            && passes(&mut self.private_notes, texts.private_notes)
            && passes(&mut self.messages, texts.messages)
            && self.passes_anywhere(texts)
    }

    /// Whether the text that is searched for is anywhere in these texts.
    fn passes_anywhere(&mut self, texts: IssueTexts<'_>) -> bool {
        self.anywhere.is_empty()
            || self.anywhere.iter_mut().any(|(place, matcher)| {
                matcher.holds(match place {
                    TextSource::Title => texts.head,
                    TextSource::FeedbackComment => texts.feedback,
                    TextSource::Notes => texts.private_notes,
                    TextSource::Messages => texts.messages,
                })
            })
    }
}

/// Matchers of one text for each place that may have it. Short places come first.
fn anywhere(text: &str) -> [(TextSource, TextMatcher); 4] {
    let condition = Condition { and: vec![text.to_owned()], ..Condition::default() };
    [TextSource::Title, TextSource::FeedbackComment, TextSource::Notes, TextSource::Messages]
        .map(|place| (place, TextMatcher::new(place, &condition)))
}

/// A test of the texts of a source.
pub(super) struct TestOf<'t, S> {
    pub(super) source: &'t S,
    pub(super) texts: TextTest<'t>,
}

impl<S: Source> RowTest for TestOf<'_, S> {
    fn at_once(&self) -> usize {
        S::TEXTS_PER_QUESTION
    }

    fn test(
        &mut self,
        rows: &[u32],
        report: &mut dyn FnMut(u32, bool) -> bool,
    ) -> Result<(), StoreError> {
        self.texts.test(self.source, rows, report)
    }
}

/// The issues of a search that pass, of those that this reader takes.
pub fn search<S: Source>(
    source: &S,
    search: &TextSearch<'_>,
    throttle: &mut Throttle,
) -> Result<RoaringBitmap, StoreError> {
    let mut test = TextTest::new(search.query(), throttle);
    let mut passed = RoaringBitmap::new();
    loop {
        let part = search.take_part();
        if part.is_empty() {
            return Ok(passed);
        }
        test.test(source, part, |row, passes| {
            if passes {
                passed.insert(row);
            }
            true
        })?;
    }
}

//! The grams of a stored issue: those of all its texts that a filter can search.

use caseload_model::issue::IssueFragments;
use caseload_model::issue_query::SearchedTexts;

use super::grams::GramSet;
use crate::query::{IssueTexts, TextFragments};

/// Every fragment with texts.
pub(super) const ALL_TEXTS: TextFragments = TextFragments {
    head: true,
    custom_fields: true,
    feedback: true,
    private_notes: true,
    messages: true,
};

/// Whether the texts of an issue may have changed.
pub fn may_differ(before: &IssueFragments<'_>, after: &IssueFragments<'_>) -> bool {
    !SearchedTexts::of(before).surely_equal(&SearchedTexts::of(after))
}

/// Reads the grams of an issue.
pub(super) fn read_grams(texts: &IssueTexts<'_>, grams: &mut GramSet) {
    grams.clear();
    let texts = SearchedTexts {
        head: texts.head.unwrap_or_default(),
        custom_fields: texts.custom_fields.unwrap_or_default(),
        feedback: texts.feedback.unwrap_or_default(),
        private_notes: texts.private_notes.unwrap_or_default(),
        messages: texts.messages.unwrap_or_default(),
    };
    texts.visit(&mut |text| grams.add(text));
}

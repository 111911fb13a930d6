//! Every text of an issue that a filter can search, as one stream: for indexes of texts. Filters
//! are decided elsewhere ([`TextMatcher`](super::TextMatcher),
//! [`FieldMatcher`](super::FieldMatcher)). Invariant: a word that one of these finds is part of one
//! of the texts here.

use std::borrow::Cow;

use super::fragment_reader::{TextSource, members, stored_field};
use crate::fold::fold_text_into;
use crate::issue::{IssueFragments, has_value, scalar_text};
use crate::json::{self, Json};

/// The fragments that hold searched texts.
#[derive(Debug, Clone, Copy, Default)]
pub struct SearchedTexts<'f> {
    pub head: &'f [u8],
    pub custom_fields: &'f [u8],
    pub feedback: &'f [u8],
    pub private_notes: &'f [u8],
    pub messages: &'f [u8],
}

impl<'f> SearchedTexts<'f> {
    pub fn of(issue: &IssueFragments<'f>) -> Self {
        Self {
            head: issue.head,
            custom_fields: issue.custom_fields,
            feedback: issue.feedback.unwrap_or_default(),
            private_notes: issue.private_notes.unwrap_or_default(),
            messages: issue.messages,
        }
    }

    /// Passes each text to `visit`, folded.
    pub fn visit(&self, visit: &mut impl FnMut(&[u8])) {
        let mut folded = Vec::new();
        let mut show = |text: &str| {
            folded.clear();
            fold_text_into(text, &mut folded);
            visit(&folded);
        };
        for (source, fragment) in [
            (TextSource::Title, self.head),
            (TextSource::FeedbackComment, self.feedback),
            (TextSource::Notes, self.private_notes),
            (TextSource::Messages, self.messages),
        ] {
            source.visit(fragment, &mut |text| {
                let text = match memchr::memchr(b'\\', text) {
                    None => Cow::Borrowed(text),
                    Some(_) => Cow::Owned(unescaped(text)),
                };
                // A broken fragment counts as empty, as it does for filters.
                show(std::str::from_utf8(&text).unwrap_or_default());
                true
            });
        }
        members(self.custom_fields, |_, field| {
            if let Some(field) = stored_field(field)
                && has_value(&field.value)
                && let Some(text) = scalar_text(&field.value)
            {
                show(&text);
            }
            true
        });
    }

    /// Whether both have the same texts. Equal texts that are stored in two ways may differ.
    pub fn surely_equal(&self, other: &Self) -> bool {
        let title = |texts: &Self| {
            let mut title: &[u8] = &[];
            TextSource::Title.visit(texts.head, &mut |text| {
                title = text;
                false
            });
            title
        };
        title(self) == title(other)
            && self.custom_fields == other.custom_fields
            && self.feedback == other.feedback
            && self.private_notes == other.private_notes
            && self.messages == other.messages
    }
}

/// A text without its escapes.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let quoted = [b"\"", text, b"\""].concat();
    match json::parse(&quoted) {
        Ok(Json::String(text)) => text.into_owned().into_bytes(),
        _ => Vec::new(),
    }
}

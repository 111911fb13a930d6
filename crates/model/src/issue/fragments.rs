//! An issue as it is stored: JSON fragments from which a view picks. Writing an issue only
//! concatenates them, so the stored bytes are served unchanged. A view with instants in the ISO
//! form is the exception: it rewrites them. Members that every issue shows and that are not stored
//! for every issue get their default here: `issue_mode_data`, and `queue` if it is asked for.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use std::ops::Range;

use super::iso_times;
use super::view::{IssueView, TimestampFormat};

/// The mode of an issue whose head has none. A test compares it with the constant.
const MODE_DEFAULT: &[u8] = b",\"issue_mode_data\":{\"issue_mode\":\"default\"}";
/// The last member of a head, if there is one. No text can be mistaken for it, because quotes
/// within a string are escaped. The finder is built once, because that takes longer than a search.
static CC: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b",\"cc\":["));

/// The fragments other than the head, owned. Each is a whole JSON value, except `feedback` and
/// `predict_labels`, which are members without braces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueBody {
    /// An array.
    pub messages: Vec<u8>,
    /// A map.
    pub meta: Vec<u8>,
    /// A map.
    pub custom_fields: Vec<u8>,
    /// The members `feedback_rating` and `feedback_comment`, as far as given.
    pub feedback: Option<Vec<u8>>,
    /// A map of `id` and `name`.
    pub queue: Option<Vec<u8>>,
    /// An array.
    pub private_notes: Option<Vec<u8>>,
    /// The members `current_predict_label` and `original_predict_label`, as far as given.
    pub predict_labels: Option<Vec<u8>>,
    pub sentiment_analysis: Option<Vec<u8>>,
    pub smart_intents: Option<Vec<u8>>,
}

/// The number of fragments of an issue.
pub const FRAGMENTS: usize = 10;

/// All fragments of an issue, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IssueFragments<'a> {
    /// The members from `id` to `cc`, without braces.
    pub head: &'a [u8],
    pub messages: &'a [u8],
    pub meta: &'a [u8],
    pub custom_fields: &'a [u8],
    pub feedback: Option<&'a [u8]>,
    pub queue: Option<&'a [u8]>,
    pub private_notes: Option<&'a [u8]>,
    pub predict_labels: Option<&'a [u8]>,
    pub sentiment_analysis: Option<&'a [u8]>,
    pub smart_intents: Option<&'a [u8]>,
}

impl<'a> IssueFragments<'a> {
    pub fn new(head: &'a [u8], body: &'a IssueBody) -> Self {
        Self {
            head,
            messages: &body.messages,
            meta: &body.meta,
            custom_fields: &body.custom_fields,
            feedback: body.feedback.as_deref(),
            queue: body.queue.as_deref(),
            private_notes: body.private_notes.as_deref(),
            predict_labels: body.predict_labels.as_deref(),
            sentiment_analysis: body.sentiment_analysis.as_deref(),
            smart_intents: body.smart_intents.as_deref(),
        }
    }

    /// All of them, in the order of the fields.
    pub const fn all(&self) -> [Option<&'a [u8]>; FRAGMENTS] {
        [
            Some(self.head),
            Some(self.messages),
            Some(self.meta),
            Some(self.custom_fields),
            self.feedback,
            self.queue,
            self.private_notes,
            self.predict_labels,
            self.sentiment_analysis,
            self.smart_intents,
        ]
    }

    /// Bytes of all fragments together, without their names.
    pub fn bytes(&self) -> usize {
        self.all().into_iter().flatten().map(<[u8]>::len).sum()
    }
}

/// Appends the issue as `view` shows it: a JSON map on one line, without a line break. Returns the
/// place of the messages in `out`, which is empty if they are not shown.
pub fn write_issue(
    issue: &IssueFragments<'_>,
    view: &IssueView,
    out: &mut Vec<u8>,
) -> Range<usize> {
    if view.timestamps == TimestampFormat::Unix {
        return concatenate(issue, view, out);
    }
    let head = iso_times::of_members(issue.head);
    let messages = (!view.exclude_messages).then(|| iso_times::of_elements(issue.messages));
    let notes = issue.private_notes.filter(|_| view.private_notes).map(iso_times::of_elements);
    let issue = IssueFragments {
        head: &head,
        messages: messages.as_deref().unwrap_or_default(),
        private_notes: notes.as_deref(),
        ..*issue
    };
    concatenate(&issue, view, out)
}

fn concatenate(issue: &IssueFragments<'_>, view: &IssueView, out: &mut Vec<u8>) -> Range<usize> {
    let value = |out: &mut Vec<u8>, wanted: bool, key: &str, fragment: Option<&[u8]>| {
        if let Some(fragment) = fragment.filter(|_| wanted) {
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(fragment);
        }
    };
    out.push(b'{');
    write_head(issue.head, out);
    value(out, !view.exclude_messages, ",\"messages\":", Some(issue.messages));
    let messages_end = out.len();
    value(out, true, ",\"meta\":", Some(issue.meta));
    value(out, view.custom_fields, ",\"custom_fields\":", Some(issue.custom_fields));
    value(out, view.feedback, ",", issue.feedback);
    value(out, view.queue, ",\"queue\":", Some(issue.queue.unwrap_or(b"null")));
    value(out, view.private_notes, ",\"private_notes\":", issue.private_notes);
    value(out, view.predict_labels, ",", issue.predict_labels);
    value(out, view.sentiment_analysis, ",\"sentiment_analysis\":", issue.sentiment_analysis);
    value(out, view.smart_intents, ",\"smart_intents\":", issue.smart_intents);
    out.push(b'}');
    let messages_bytes = if view.exclude_messages { 0 } else { issue.messages.len() };
    messages_end - messages_bytes..messages_end
}

/// Writes the head, with the default mode if it has none.
fn write_head(head: &[u8], out: &mut Vec<u8>) {
    // Only `cc` is a list at the end of a head; the mode has its place before it.
    let ends_with_list = head.last() == Some(&b']');
    let cc = if ends_with_list { CC.find(head) } else { None };
    let (before, after) = head.split_at(cc.unwrap_or(head.len()));
    out.extend_from_slice(before);
    // Of the members that may come last here, the mode alone is a map.
    if before.last() != Some(&b'}') {
        out.extend_from_slice(MODE_DEFAULT);
    }
    out.extend_from_slice(after);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::ISSUE_MODE_DEFAULT;

    fn shown(head: &str, queue: Option<&str>, view: IssueView) -> String {
        let body = IssueBody {
            meta: b"{}".to_vec(),
            queue: queue.map(|queue| queue.as_bytes().to_vec()),
            ..IssueBody::default()
        };
        let view = IssueView { exclude_messages: true, ..view };
        let mut out = Vec::new();
        write_issue(&IssueFragments::new(head.as_bytes(), &body), &view, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn an_issue_without_a_mode_shows_the_default_in_the_place_of_a_mode() {
        let default = format!(r#","issue_mode_data":{{"issue_mode":"{ISSUE_MODE_DEFAULT}"}}"#);
        let mode = r#","issue_mode_data":{"issue_mode":"chat"}"#;
        let fact = r#""state_data":{"state":"new","changed_at":1},"updated_at":1"#;
        let texts = r#","language":"de","platform_type":"}""#;
        for facts in [fact.to_owned(), format!("{fact}{texts}")] {
            for cc in ["", r#","cc":[]"#, r#","cc":["a",",\"cc\":[","}"]"#] {
                let without = shown(&format!("{facts}{cc}"), None, IssueView::default());
                assert_eq!(without, format!(r#"{{{facts}{default}{cc},"meta":{{}}}}"#));
                let with = shown(&format!("{facts}{mode}{cc}"), None, IssueView::default());
                assert_eq!(with, format!(r#"{{{facts}{mode}{cc},"meta":{{}}}}"#));
            }
        }
    }

    #[test]
    fn a_queue_that_is_asked_for_and_missing_is_shown_as_null() {
        let head = r#""id":1,"issue_mode_data":{"issue_mode":"chat"}"#;
        let view = IssueView { queue: true, ..IssueView::default() };
        assert!(shown(head, None, view).ends_with(r#","queue":null}"#));
        assert!(shown(head, Some(r#"{"id":"q"}"#), view).ends_with(r#","queue":{"id":"q"}}"#));
        assert!(!shown(head, None, IssueView::default()).contains("queue"));
    }
}

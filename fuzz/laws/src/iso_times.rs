//! Issues with their times in the ISO form. They differ from the plain form of the same issue only
//! in the times, and each time reads back as the number it was.

use caseload_model::issue::{IssueBody, IssueFragments, write_issue};
use caseload_model::issue_query::{IssueView, TimestampFormat};
use caseload_model::json::{self, Json};
use caseload_model::time::read::{MOMENT_MS_MAX, MOMENT_MS_MIN, parse_moment};

const TIMES: [&str; 3] = ["created_at", "updated_at", "original_created_at"];

/// The bytes are the members of a map, used as a head, a message and a note.
pub(crate) fn holds(data: &[u8]) {
    let map = [b"{", data, b"}"].concat();
    let Ok(json @ Json::Object(_)) = json::parse(&map) else { return };
    let map = crate::second::text(&json);
    let Json::Object(members) = &json else { return };
    let is_free = |(key, _): &(_, _)| !["messages", "meta", "private_notes"].contains(key);
    if !members.iter().map(|(key, value)| (&**key, value)).all(|member| is_free(&member)) {
        return;
    }
    let head = if members.is_empty() { b"\"id\":1" } else { &map[1..map.len() - 1] };
    let list = [b"[", &map[..], b",", &map[..], b"]"].concat();
    let body = IssueBody {
        messages: list.clone(),
        meta: map.clone(),
        private_notes: Some(list),
        ..IssueBody::default()
    };
    let shown = |timestamps| {
        let view = IssueView { private_notes: true, timestamps, ..IssueView::default() };
        let mut out = Vec::new();
        write_issue(&IssueFragments::new(head, &body), &view, &mut out);
        out
    };
    let [unix, iso] = [TimestampFormat::Unix, TimestampFormat::Iso8601].map(shown);
    // In a list a map may nest too deep to be read again.
    if json::parse(&unix).is_ok() {
        compare(&unix, &iso);
    }
}

/// Compares an issue in both forms.
pub(crate) fn compare(unix: &[u8], iso: &[u8]) {
    let unix = json::parse(unix).expect("a stored issue is JSON");
    let iso = json::parse(iso).expect("a stored issue is JSON in the other form too");
    let (Json::Object(unix), Json::Object(iso)) = (&unix, &iso) else { panic!("issues are maps") };
    assert_eq!(unix.len(), iso.len(), "nothing is lost");
    for ((key, unix), (other, iso)) in unix.iter().zip(iso) {
        assert_eq!(key, other, "keys stay, in order");
        match (key.as_ref(), unix, iso) {
            ("messages" | "private_notes", Json::Array(unix), Json::Array(iso)) => {
                assert_eq!(unix.len(), iso.len(), "nothing is lost");
                unix.iter().zip(iso).for_each(|(unix, iso)| element(unix, iso));
            }
            (key, unix, iso) => value(key, unix, iso),
        }
    }
}

fn element(unix: &Json<'_>, iso: &Json<'_>) {
    let (Json::Object(unix), Json::Object(iso)) = (unix, iso) else {
        return assert_eq!(unix, iso);
    };
    assert_eq!(unix.len(), iso.len(), "nothing is lost");
    for ((key, unix), (other, iso)) in unix.iter().zip(iso) {
        assert_eq!(key, other, "keys stay, in order");
        value(key, unix, iso);
    }
}

fn value(key: &str, unix: &Json<'_>, iso: &Json<'_>) {
    let at = match unix {
        Json::Number(digits) if TIMES.contains(&key) => digits.parse::<i64>().ok(),
        _ => None,
    };
    match at.filter(|at| (MOMENT_MS_MIN..=MOMENT_MS_MAX).contains(at)) {
        Some(at) => {
            let text = iso.as_str().expect("a time is a text in the ISO form");
            assert_eq!(parse_moment(text).map(|moment| moment.at.0), Ok(at), "{text}");
        }
        None => assert_eq!(unix, iso, "{key} stays as it is"),
    }
}

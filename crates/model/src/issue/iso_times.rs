//! Rewrites the instants of stored fragments in the ISO form, for `timestamp-format=iso-8601`: the
//! creation and update times of an issue, its messages and its notes. `changed_at` stays a number,
//! and so does an instant before the year 0 or after 9999, which the ISO form cannot express. All
//! other bytes stay the same, because the same writer renders them again.

use crate::json::{self, Json};
use crate::time::read::{MOMENT_MS_MAX, MOMENT_MS_MIN};
use crate::time::{UnixMillis, write_iso};

const TIMES: [&str; 3] = ["created_at", "updated_at", "original_created_at"];

/// A run of members without braces.
pub(super) fn of_members(members: &[u8]) -> Vec<u8> {
    let map = [b"{", members, b"}"].concat();
    let mut out = rendered(&map, with_iso_times);
    // Removes the braces.
    out.pop();
    out.drain(..1);
    out
}

/// An array of maps.
pub(super) fn of_elements(array: &[u8]) -> Vec<u8> {
    rendered(array, |json, out| {
        let Json::Array(items) = json else { return json.write_to(out) };
        json::write_array(items, out, with_iso_times);
    })
}

/// Renders `text` again with `write`. Text that cannot be parsed stays as it is; stored text never
/// is.
fn rendered(text: &[u8], write: impl Fn(&Json<'_>, &mut Vec<u8>)) -> Vec<u8> {
    let Ok(tree) = json::parse(text) else { return text.to_vec() };
    let mut out = Vec::with_capacity(text.len() + 64);
    write(&tree, &mut out);
    out
}

fn with_iso_times(json: &Json<'_>, out: &mut Vec<u8>) {
    let Json::Object(members) = json else { return json.write_to(out) };
    let members = members.iter().map(|(key, value)| (key, value));
    json::write_map(members, out, |key, value, out| match iso_form(key, value) {
        Some(at) => {
            out.push(b'"');
            write_iso(at, out);
            out.push(b'"');
        }
        None => value.write_to(out),
    });
}

/// The instant of a member that is shown in the ISO form.
fn iso_form(key: &str, value: &Json<'_>) -> Option<UnixMillis> {
    let Json::Number(digits) = value else { return None };
    let at = digits.parse().ok().filter(|_| TIMES.contains(&key)).map(UnixMillis)?;
    (MOMENT_MS_MIN..=MOMENT_MS_MAX).contains(&at.0).then_some(at)
}

#[cfg(test)]
mod tests {
    use crate::issue::{IssueBody, IssueFragments, IssueView, TimestampFormat, write_issue};

    fn written(head: &str, messages: &str, notes: Option<&str>, view: IssueView) -> String {
        let body = IssueBody {
            messages: messages.as_bytes().to_vec(),
            meta: br#"{"created_at":"7","m":1.50}"#.to_vec(),
            custom_fields: br#"{"created_at":{"type":"number","value":5}}"#.to_vec(),
            private_notes: notes.map(|notes| notes.as_bytes().to_vec()),
            ..IssueBody::default()
        };
        let mut out = Vec::new();
        write_issue(&IssueFragments::new(head.as_bytes(), &body), &view, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    const HEAD: &str = concat!(
        r#""id":7,"title":"\"created_at\":5 \u0000é\n","tags":[],"#,
        r#""state_data":{"state":"new","changed_at":5},"created_at":1672539706000,"#,
        r#""original_created_at":-1,"updated_at":253402300799999"#
    );
    const MESSAGES: &str = concat!(
        r#"[{"id":"a","body":"1672539706000","created_at":0,"author":{"name":"","created_at":3},"#,
        r#""attachments":[{"created_at":4}]},{"created_at":951782400000}]"#
    );

    #[test]
    fn only_instants_of_the_issue_its_messages_and_notes_take_the_iso_form() {
        let view = IssueView { timestamps: TimestampFormat::Iso8601, ..IssueView::FULL };
        let notes = r#"[{"body":"n","created_at":1}]"#;
        assert_eq!(
            written(HEAD, MESSAGES, Some(notes), view),
            concat!(
                r#"{"id":7,"title":"\"created_at\":5 \u0000é\n","tags":[],"#,
                r#""state_data":{"state":"new","changed_at":5},"#,
                r#""created_at":"2023-01-01T02:21:46.000Z","#,
                r#""original_created_at":"1969-12-31T23:59:59.999Z","#,
                r#""updated_at":"9999-12-31T23:59:59.999Z","#,
                r#""issue_mode_data":{"issue_mode":"default"},"#,
                r#""messages":[{"id":"a","body":"1672539706000","#,
                r#""created_at":"1970-01-01T00:00:00.000Z","#,
                r#""author":{"name":"","created_at":3},"attachments":[{"created_at":4}]},"#,
                r#"{"created_at":"2000-02-29T00:00:00.000Z"}],"#,
                r#""meta":{"created_at":"7","m":1.50},"#,
                r#""custom_fields":{"created_at":{"type":"number","value":5}},"queue":null,"#,
                r#""private_notes":[{"body":"n","created_at":"1970-01-01T00:00:00.001Z"}]}"#,
            )
        );
    }

    #[test]
    fn without_such_instants_both_forms_have_the_same_bytes() {
        let plain = IssueView::default();
        let iso = IssueView { timestamps: TimestampFormat::Iso8601, ..plain };
        for (head, messages) in [
            (r#""id":1,"title":"é\u0001 \\ /","n":1e400"#, "[]"),
            (r#""created_at":253402300800000"#, r#"[{"created_at":-62167219200001}]"#),
            (r#""created_at":9223372036854775807"#, r#"[{"created_at":99999999999999999999}]"#),
            (r#""created_at":"text","updated_at":1.5"#, r#"[{"created_at":null},3,"created_at"]"#),
        ] {
            assert_eq!(written(head, messages, None, iso), written(head, messages, None, plain));
        }
    }

    #[test]
    fn the_iso_form_shows_no_more_than_the_view_does() {
        let view = IssueView {
            timestamps: TimestampFormat::Iso8601,
            exclude_messages: true,
            ..IssueView::default()
        };
        let shown = written(HEAD, MESSAGES, Some("[{\"created_at\":1}]"), view);
        assert!(!shown.contains("messages") && !shown.contains("private_notes"), "{shown}");
    }
}

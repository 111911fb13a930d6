//! The URLs of attachments. A file that a server has is stored in its message by its path, such as
//! `/v1/acme/attachments/…`. A server puts the address under which it is reached before such a path
//! when it sends it, and an import takes that address off again. Other URLs of attachments stay as
//! they are. This module finds the paths in rendered JSON; no stored byte has a host by this.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::json::{elements_at, members_at};
use crate::spelling::is_hidden;

/// The beginning of every path that [`is_attachment_path`] accepts.
const BEGINNING: &str = "/v1/";
/// Occurs in every issue with such a path, and in few others. Built once, because building it takes
/// longer than one search.
static RENDERED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"url\":\"/v1/"));

/// Whether the path is that of an attachment of some domain.
pub fn is_attachment_path(path: &str) -> bool {
    let Some((domain, rest)) = path.strip_prefix(BEGINNING).and_then(|rest| rest.split_once('/'))
    else {
        return false;
    };
    let of_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !domain.is_empty()
        && domain.bytes().all(of_name)
        && rest.strip_prefix("attachments/").is_some_and(|id| !id.is_empty())
}

/// The path in a URL that begins with one of the base URLs of this server; any other URL as it is.
pub(super) fn without_base<'u>(url: &'u str, base_urls: &[String]) -> &'u str {
    let paths = base_urls.iter().filter_map(|base| url.strip_prefix(base.as_str()));
    paths.into_iter().find(|path| is_attachment_path(path)).unwrap_or(url)
}

/// Whether a URL from elsewhere may be shown as a link: one of the two web schemes or a path, which
/// no browser runs or takes for another host or folder. Browsers drop tabs and line breaks in a URL
/// and read a backslash as a slash, so neither may hide the beginning.
pub(super) fn is_harmless_url(url: &str) -> bool {
    let begins = |scheme: &str| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    if url.chars().any(is_hidden) || leaves_its_folder(url) {
        return false;
    }
    if begins("http://") || begins("https://") {
        return true;
    }
    let first = url.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let other_host = url.starts_with(['/', '\\']) && url[1..].starts_with(['/', '\\']);
    // A colon in the first part of a path would end a scheme.
    !first.contains(':') && !other_host && !url.starts_with(' ')
}

/// Whether a part of the URL's path is `..`, also if dots or slashes are percent-encoded.
fn leaves_its_folder(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let path = path.replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    path.split(['/', '\\']).any(|part| part == "..")
}

/// Adds to `urls` the positions of the attachments' paths in `messages`, a rendered array, each
/// increased by `offset`.
pub fn find_in_messages(messages: &[u8], offset: usize, urls: &mut Vec<usize>) {
    if RENDERED.find(messages).is_none() {
        return;
    }
    for message in elements_at(messages, 0) {
        if RENDERED.find(&messages[message.clone()]).is_some() {
            find_in_message(messages, message.start, &mut |at| urls.push(offset + at));
        }
    }
}

/// The ids in the attachments' paths in `messages`, in their order.
pub fn attachment_ids(messages: &[u8]) -> Vec<&str> {
    let mut urls = Vec::new();
    find_in_messages(messages, 0, &mut urls);
    let id = |at: usize| {
        let url = messages[at..].split(|byte| *byte == b'"').next()?;
        std::str::from_utf8(url).ok()?.split_once("/attachments/").map(|(_, id)| id)
    };
    urls.into_iter().filter_map(id).collect()
}

/// The positions of the attachments' paths in an answer: of a new issue, or of a new message.
pub fn find_in_answer(answer: &[u8]) -> Vec<usize> {
    let mut urls = Vec::new();
    if RENDERED.find(answer).is_some() {
        find_in_message(answer, 0, &mut |at| urls.push(at));
        let added = members_at(answer, 0).find(|(key, _)| *key == b"added-message");
        if let Some((_, message)) = added {
            find_in_message(answer, message.start, &mut |at| urls.push(at));
        }
    }
    urls
}

/// In the members `attachment` and `attachments` of the map at `at`, in their order.
fn find_in_message(text: &[u8], at: usize, found: &mut impl FnMut(usize)) {
    for (key, value) in members_at(text, at) {
        match key {
            b"attachment" => find_in_record(text, value.start, found),
            b"attachments" => elements_at(text, value.start)
                .for_each(|record| find_in_record(text, record.start, found)),
            _ => {}
        }
    }
}

fn find_in_record(text: &[u8], at: usize, found: &mut impl FnMut(usize)) {
    for (_, value) in members_at(text, at).filter(|(key, _)| *key == b"url") {
        let url = text[value.clone()].strip_prefix(b"\"").and_then(|url| url.strip_suffix(b"\""));
        let is_path = |url: &[u8]| std::str::from_utf8(url).is_ok_and(is_attachment_path);
        if url.is_some_and(is_path) {
            found(value.start + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts from each position to the next quote.
    fn found(text: &str, positions: &[usize]) -> Vec<String> {
        let to_quote = |at: &usize| text[*at..].split('"').next().unwrap_or_default().to_owned();
        positions.iter().map(to_quote).collect()
    }

    #[test]
    fn a_path_of_an_attachment_has_a_domain_and_an_id() {
        for (path, is_one) in [
            ("/v1/acme/attachments/x", true),
            ("/v1/a-1/attachments/x/y?z", true),
            ("/v1/acme/attachments/", false),
            ("/v1/acme/issues/x", false),
            ("/v1//attachments/x", false),
            ("/v1/Acme/attachments/x", false),
            ("/v2/acme/attachments/x", false),
            ("v1/acme/attachments/x", false),
            ("http://h/v1/acme/attachments/x", false),
            ("", false),
        ] {
            assert_eq!(is_attachment_path(path), is_one, "{path}");
        }
    }

    #[test]
    fn only_web_urls_and_paths_are_harmless() {
        for url in [
            "",
            "/v1/acme/attachments/x",
            "files/a.png",
            "a.png?at=12:30",
            "http://h/x",
            "HTTPS://h/x:y",
            "./a:b",
            "/files/report..final.pdf",
            "/files/..a/b..",
            "https://h/x?from=/../y#/../z",
        ] {
            assert!(is_harmless_url(url), "{url}");
        }
        for url in [
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            " javascript:alert(1)",
            "java\tscript:alert(1)",
            "\u{1}javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "http:evil",
            "//evil.example/x",
            "/\\evil.example/x",
            "\\\\evil.example",
            "/a\r\nb",
            "/files/gpj.\u{202e}exe",
            "..",
            "/v1/acme/attachments/../issues",
            "https://h/a/..",
            "/a\\..\\b",
            "/a/%2e%2E/b",
            "/a/.%2e/b",
            "/a%2F..%5cb",
            "/a/..?x",
        ] {
            assert!(!is_harmless_url(url), "{url:?}");
        }
    }

    #[test]
    fn only_a_base_url_before_a_path_of_an_attachment_is_taken_off() {
        let bases = ["http://h:1".to_owned(), "https://desk.example/x".to_owned()];
        for (url, stored) in [
            ("http://h:1/v1/acme/attachments/x", "/v1/acme/attachments/x"),
            ("https://desk.example/x/v1/acme/attachments/x", "/v1/acme/attachments/x"),
            ("/v1/acme/attachments/x", "/v1/acme/attachments/x"),
            ("http://h:1/files/x", "http://h:1/files/x"),
            ("http://h:12/v1/acme/attachments/x", "http://h:12/v1/acme/attachments/x"),
            ("http://other/v1/acme/attachments/x", "http://other/v1/acme/attachments/x"),
        ] {
            assert_eq!(without_base(url, &bases), stored);
        }
    }

    #[test]
    fn paths_are_found_in_the_records_of_messages_and_nowhere_else() {
        let messages = concat!(
            r#"[{"body":"{\"url\":\"/v1/acme/attachments/a\"}","attachments":["#,
            r#"{"url":"/v1/acme/attachments/b"},{"url":"http://h/v1/acme/attachments/c"},"#,
            r#"{"file_name":"f","url":"/v1/acme/attachments/d"},{"url":"/files/e"}],"#,
            r#""attachment":{"url":"/v1/acme/attachments/f"},"#,
            r#""sentiment":{"attachment":{"url":"/v1/acme/attachments/g"}}},"#,
            r#"{"attachment":null,"attachments":[]},"#,
            r#"{"sentiment":{"url":"/v1/acme/attachments/h"}}]"#
        );
        let mut urls = Vec::new();
        find_in_messages(messages.as_bytes(), 0, &mut urls);
        let paths = ["b", "d", "f"].map(|id| format!("/v1/acme/attachments/{id}"));
        assert_eq!(found(messages, &urls), paths);
        let mut moved = Vec::new();
        find_in_messages(messages.as_bytes(), 10, &mut moved);
        assert_eq!(moved, urls.iter().map(|at| at + 10).collect::<Vec<_>>());
    }

    #[test]
    fn paths_are_found_in_the_answers_to_new_issues_and_messages() {
        for (answer, ids) in [
            (
                concat!(
                    r#"{"meta":{"url":"/v1/acme/attachments/a"},"#,
                    r#""attachment":{"url":"/v1/acme/attachments/b"},"#,
                    r#""attachments":[{"url":"/v1/acme/attachments/b"}]}"#
                ),
                &["b", "b"][..],
            ),
            (
                r#"{"added-message":{"body":"x","attachment":{"url":"/v1/acme/attachments/c"}}}"#,
                &["c"],
            ),
            (r#"{"added-note":"\"url\":\"/v1/acme/attachments/d\""}"#, &[]),
            (r#"{"updated-data":{}}"#, &[]),
        ] {
            let paths: Vec<_> = ids.iter().map(|id| format!("/v1/acme/attachments/{id}")).collect();
            assert_eq!(found(answer, &find_in_answer(answer.as_bytes())), paths);
        }
    }
}

//! Attachments: the record that a message carries of a file, and the type as which the file may be
//! served. The store has the bytes. A browser must never run an uploaded file, so types that it
//! might run are served as plain bytes.

use super::Moment;
use crate::ids::{DomainName, timed_id};
use crate::issue::render::{Members, write_rendered};
use crate::spelling::bare_file_name;

/// Longest name of a file, in code points.
pub const FILE_NAME_CHARS_MAX: usize = 255;
/// Longest content type, in bytes.
pub const CONTENT_TYPE_BYTES_MAX: usize = 255;
/// The name of a file that has none.
pub const NO_NAME: &str = "attachment";
/// The served type of a file whose type is unknown or unsafe.
pub const PLAIN_BYTES: &str = "application/octet-stream";

/// Text types that cannot be run.
const TEXT_TYPES: [&str; 7] =
    ["plain", "csv", "tab-separated-values", "markdown", "calendar", "vcard", "rtf"];
/// Parts of names of types that a browser or a shell might run.
const ACTIVE_WORDS: [&str; 13] = [
    "html", "svg", "script", "xsl", "x-sh", "shell", "php", "python", "perl", "ruby", "wasm",
    "java", "flash",
];

/// The name under which an uploaded file is stored. Some clients send the whole path.
pub fn stored_name(sent: &str) -> String {
    let name = bare_file_name(sent);
    if name.is_empty() { NO_NAME.to_owned() } else { name }
}

/// The name under which an imported file is stored: of a long one, its end. Without a name it has
/// none.
pub fn imported_name(sent: &str) -> String {
    if sent.is_empty() {
        return String::new();
    }
    let name = stored_name(sent);
    let excess = name.chars().count().saturating_sub(FILE_NAME_CHARS_MAX);
    name.chars().skip(excess).collect()
}

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub id: String,
    pub file_name: String,
    /// As the caller gave it.
    pub content_type: String,
    /// Bytes.
    pub size: u64,
}

impl Attachment {
    /// The id of a new attachment.
    pub fn new_id(domain: &DomainName, moment: Moment) -> String {
        timed_id(domain, "attachment", moment.at, moment.random)
    }

    /// The path of the file.
    pub fn url(&self, domain: &DomainName) -> String {
        format!("/v1/{domain}/attachments/{}", self.id)
    }

    /// The record that messages carry.
    pub(super) fn render(&self, domain: &DomainName) -> Vec<u8> {
        let mut out = b"{".to_vec();
        let mut members = Members::new(&mut out, false);
        members.text("url", &self.url(domain));
        members.text("file_name", &self.file_name);
        members.text("content_type", &self.content_type);
        members.number("size", self.size.cast_signed());
        out.push(b'}');
        out
    }
}

/// Writes `attachment`, the first, and `attachments`, if there are any.
pub(super) fn write_attachments(
    domain: &DomainName,
    attachments: &[Attachment],
    members: &mut Members<'_>,
) {
    let records: Vec<_> = attachments.iter().map(|file| file.render(domain)).collect();
    if let Some(first) = records.first() {
        members.raw("attachment", first);
        write_rendered(&records, members.key("attachments"));
    }
}

/// The type as which a file of this declared type is served.
pub fn served_type(declared: &str) -> &str {
    let essence = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let Some((kind, name)) = essence.split_once('/') else { return PLAIN_BYTES };
    let token = |text: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
        !text.is_empty() && text.bytes().all(plain)
    };
    let is_well_formed =
        token(kind) && token(name) && declared.bytes().all(|b| matches!(b, b' '..=b'~'));
    let xml = name == "xml" || name.ends_with("+xml") || name.starts_with("xml-");
    let active = xml || ACTIVE_WORDS.iter().any(|word| name.contains(word));
    let known = match kind {
        "text" => TEXT_TYPES.contains(&name),
        "image" | "audio" | "video" | "font" | "application" => !active,
        _ => false,
    };
    if is_well_formed && known { declared.trim() } else { PLAIN_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_a_browser_might_run_are_served_as_plain_bytes() {
        for active in [
            "text/html",
            "TEXT/HTML; charset=utf-8",
            "application/xhtml+xml",
            "image/svg+xml",
            "image/svg",
            "text/xml",
            "application/xml",
            "application/rss+xml",
            "application/xml-dtd",
            "text/xsl",
            "text/javascript",
            "application/javascript",
            "application/x-javascript",
            "application/ecmascript",
            "text/vbscript",
            "application/x-sh",
            "text/x-python",
            "application/x-httpd-php",
            "application/wasm",
            "application/java-archive",
            "text/css",
            "multipart/mixed",
            "message/rfc822",
            "",
            "html",
            "text/",
            "text/plain\r\nX: y",
            "text/plain\u{e9}",
            "image/png html",
        ] {
            assert_eq!(served_type(active), PLAIN_BYTES, "{active}");
        }
    }

    #[test]
    fn types_that_are_only_displayed_stay() {
        for plain in [
            "image/png",
            "image/jpeg",
            "text/plain",
            "text/plain; charset=utf-8",
            "text/csv",
            "application/pdf",
            "application/json",
            "application/zip",
            "video/mp4",
            "audio/mpeg",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "application/octet-stream",
        ] {
            assert_eq!(served_type(plain), plain);
        }
    }
}

//! The version of a list of issues: a digest of their ids, update times and checksums, in order,
//! from which an `ETag` is made. An edit of an issue changes its `updated_at`; an import may put
//! another issue with the same id and the same time in its place, and that one has other checksums.
//! So equal versions mean equal issues, and no text has to be read. The view is not a part of the
//! version.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use sha2::{Digest, Sha256};

use super::fragments::IssueFragments;
use crate::time::UnixMillis;

/// Built once, because building it takes longer than one search.
static UPDATED_AT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b",\"updated_at\":"));

/// The version of a list.
pub type ListVersion = [u8; 16];

/// Computes the version of a list, issue by issue.
#[derive(Debug, Clone, Default)]
pub struct ListVersionHasher(Sha256);

impl ListVersionHasher {
    /// Adds an issue; `sums` are the checksums of all of its fragments.
    pub fn add(&mut self, issue: &IssueFragments<'_>, sums: &[u8]) {
        let (id, updated_at) = issue.version();
        for part in [id, b" ", updated_at, b" ", sums, b"\n"] {
            self.0.update(part);
        }
    }

    /// Adds a record that is not an issue.
    pub fn add_record(&mut self, id: &[u8], updated_at: UnixMillis) {
        for part in [id, b" ", itoa::Buffer::new().format(updated_at.0).as_bytes(), b"\n"] {
            self.0.update(part);
        }
    }

    pub fn finish(self) -> ListVersion {
        let digest = self.0.finalize();
        let mut version = ListVersion::default();
        version.copy_from_slice(&digest[..16]);
        version
    }
}

impl<'a> IssueFragments<'a> {
    /// The digits of `id` and `updated_at`. The head begins with `id`. No text before `updated_at`
    /// can be mistaken for it, because quotes within a string are escaped.
    fn version(&self) -> (&'a [u8], &'a [u8]) {
        const ID: &[u8] = b"\"id\":";
        let head = self.head;
        let value = |from: usize| {
            let rest = &head[from..];
            &rest[..memchr::memchr(b',', rest).unwrap_or(rest.len())]
        };
        let id = if head.starts_with(ID) { value(ID.len()) } else { head };
        let updated_at = UPDATED_AT.find(head);
        (id, updated_at.map_or(head, |at| value(at + UPDATED_AT.needle().len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::IssueBody;

    fn version(head: &str) -> (String, String) {
        let body = IssueBody::default();
        let fragments = IssueFragments::new(head.as_bytes(), &body);
        let (id, updated_at) = fragments.version();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(id), text(updated_at))
    }

    #[test]
    fn texts_cannot_pose_as_the_id_or_the_update_time() {
        for head in [
            r#""id":7,"title":"t","created_at":1,"updated_at":42"#,
            r#""id":7,"title":"\",\"updated_at\":5","tags":[",\"updated_at\":"],"updated_at":42"#,
            r#""id":7,"title":"updated_at","tags":["updated_at"],"updated_at":42,"cc":["x"]"#,
        ] {
            assert_eq!(version(head), ("7".to_owned(), "42".to_owned()), "{head}");
        }
    }

    #[test]
    fn versions_differ_by_ids_times_and_order() {
        let version = |issues: &[(u64, i64)]| {
            let mut version = ListVersionHasher::default();
            for (id, at) in issues {
                let head = format!("\"id\":{id},\"title\":\"\",\"updated_at\":{at}");
                version.add(&IssueFragments::new(head.as_bytes(), &IssueBody::default()), &[]);
            }
            version.finish()
        };
        let lists =
            [&[][..], &[(1, 2)], &[(1, 3)], &[(2, 2)], &[(1, 2), (2, 2)], &[(2, 2), (1, 2)]];
        for (n, a) in lists.iter().enumerate() {
            for (m, b) in lists.iter().enumerate() {
                assert_eq!(version(a) == version(b), n == m, "{a:?} {b:?}");
            }
        }
    }
}

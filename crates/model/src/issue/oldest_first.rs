//! The records of a rendered array, the messages or the private notes of an issue, in the order of
//! their times. An issue holds its messages in the order in which they were written or imported,
//! and an import may bring them in any order.

use std::ops::Range;

use super::iso_times;
use crate::json::{elements_at, members_at};
use crate::time::UnixMillis;

/// A record and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedRecord {
    pub created_at: UnixMillis,
    /// Its place in the issue, from 0, which decides between records of the same time.
    pub index: u64,
    /// Its bytes in the text.
    pub bytes: Range<usize>,
}

/// The records of the array under `member` of a rendered issue with times in Unix milliseconds,
/// oldest first. None if the issue has no such member.
pub fn oldest_first(issue: &[u8], member: &str) -> Vec<PlacedRecord> {
    let array = members_at(issue, 0).find(|(key, _)| *key == member.as_bytes());
    let Some((_, array)) = array else { return Vec::new() };
    let placed = elements_at(issue, array.start).zip(0..).map(|(bytes, index)| PlacedRecord {
        created_at: created_at(issue, bytes.start),
        index,
        bytes,
    });
    let mut records: Vec<PlacedRecord> = placed.collect();
    records.sort_by_key(|record| (record.created_at, record.index));
    records
}

fn created_at(text: &[u8], record_at: usize) -> UnixMillis {
    let time = members_at(text, record_at).find(|(key, _)| *key == b"created_at");
    let digits = time.and_then(|(_, digits)| std::str::from_utf8(&text[digits]).ok());
    digits.and_then(|digits| digits.parse().ok()).map(UnixMillis).unwrap_or_default()
}

/// An array of messages or notes with its times in the ISO form.
pub fn with_iso_times(array: &[u8]) -> Vec<u8> {
    iso_times::of_elements(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_in_the_order_of_their_times_and_else_of_the_issue() {
        let issue = concat!(
            r#"{"id":1,"messages":[{"id":"c","created_at":30},{"id":"a","created_at":10,"#,
            r#""author":{"created_at":99}},{"id":"b","created_at":10},{"created_at":-5}],"#,
            r#""private_notes":[],"meta":{"messages":[{"created_at":1}]}}"#
        );
        let found = oldest_first(issue.as_bytes(), "messages");
        let times: Vec<_> = found.iter().map(|one| (one.created_at.0, one.index)).collect();
        assert_eq!(times, [(-5, 3), (10, 1), (10, 2), (30, 0)]);
        assert_eq!(&issue[found[2].bytes.clone()], r#"{"id":"b","created_at":10}"#);
        for empty in ["private_notes", "nothing"] {
            assert_eq!(oldest_first(issue.as_bytes(), empty), [], "{empty}");
        }
    }
}

//! A whole stored issue: the start and the result of every change. Head and columns are rendered
//! from the same facts, so they always agree. Parts that a change does not name keep their bytes.

use crate::issue::fragments::{IssueBody, IssueFragments};
use crate::issue::render::write_texts;
use crate::issue::{IssueColumns, IssueFacts, IssuePart, UNASSIGNED, boolean_text};
use crate::json::{self, Json, write_decimal, write_string};
use crate::task::Family;
use crate::time::UnixMillis;

/// Most bytes of the names of an issue's parts.
const NAMES_BYTES_MAX: usize = 512;

/// Columns and fragments of one issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueRecord {
    pub columns: IssueColumns,
    /// The members from `id` to `cc`, without braces.
    pub head: Vec<u8>,
    pub body: IssueBody,
}

/// Why a valid write cannot be applied to an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IssueWriteError {
    #[error("the issue would be longer than an issue may be")]
    TooLarge,
    #[error("the issue would have more of a part than an issue may have")]
    TooMany { part: IssuePart, count: usize },
    #[error("the stored issue cannot be read")]
    Damaged,
}

impl IssueRecord {
    pub fn fragments(&self) -> IssueFragments<'_> {
        IssueFragments::new(&self.head, &self.body)
    }

    /// The changed issue, finished: its times and its head are updated and its size is checked.
    pub(super) fn finish_write(
        mut self,
        stored: &Self,
        title: Option<&str>,
        at: UnixMillis,
    ) -> Result<Self, IssueWriteError> {
        let facts = &mut self.columns.facts;
        facts.updated_at = at;
        if facts.state != stored.columns.facts.state {
            facts.changed_at = at;
        }
        self.refresh_head(title.map(|title| ("title", title)).as_slice())?;
        self.check_size()
    }

    /// Rejects an issue that could not be imported again after an export.
    pub(super) fn check_size(self) -> Result<Self, IssueWriteError> {
        if self.fragments().bytes() + NAMES_BYTES_MAX > Family::Issues.entry_bytes_max() {
            return Err(IssueWriteError::TooLarge);
        }
        Ok(self)
    }

    /// Renders the head again from the columns, with other texts under the given names.
    pub(super) fn refresh_head(&mut self, texts: &[(&str, &str)]) -> Result<(), IssueWriteError> {
        let map = [b"{", self.head.as_slice(), b"}"].concat();
        let Ok(Json::Object(members)) = json::parse(&map) else {
            return Err(IssueWriteError::Damaged);
        };
        let mut head = Vec::with_capacity(self.head.len() + 64);
        for (key, value) in &members {
            if !head.is_empty() {
                head.push(b',');
            }
            write_string(key, &mut head);
            head.push(b':');
            match texts.iter().find(|(name, _)| *name == key.as_ref()) {
                Some((_, text)) => write_string(text, &mut head),
                None => write_member(key, value, &self.columns.facts, &mut head),
            }
        }
        self.head = head;
        Ok(())
    }
}

/// Writes a member of the head: from the facts if they determine it, else unchanged.
fn write_member(key: &str, value: &Json<'_>, facts: &IssueFacts, out: &mut Vec<u8>) {
    match key {
        "hs_user_id" => write_string(&facts.hs_user_id, out),
        "redacted" => out.extend_from_slice(boolean_text(facts.redacted).as_bytes()),
        "tags" => write_texts(facts.tags.iter().map(String::as_str), out),
        "assignee_id" => write_string(facts.assignee_id.as_deref().unwrap_or(UNASSIGNED), out),
        "assignee_name" => match &facts.assignee_name {
            Some(name) => write_string(name, out),
            None => out.extend_from_slice(b"null"),
        },
        "state_data" => {
            out.extend_from_slice(b"{\"state\":");
            write_string(facts.state.as_str(), out);
            out.extend_from_slice(format!(",\"changed_at\":{}}}", facts.changed_at.0).as_bytes());
        }
        "updated_at" => write_decimal(facts.updated_at.0, out),
        _ => value.write_to(out),
    }
}

/// Appends `item` to a rendered array.
pub(super) fn append(array: &mut Vec<u8>, item: &[u8]) {
    match array.pop() {
        None => array.push(b'['),
        Some(_) if array.len() > 1 => array.push(b','),
        Some(_) => {}
    }
    array.extend_from_slice(item);
    array.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn append_extends_empty_and_filled_arrays() {
        let mut array = Vec::new();
        append(&mut array, b"1");
        assert_eq!(array, b"[1]");
        append(&mut array, b"2");
        assert_eq!(array, b"[1,2]");
        let mut empty = b"[]".to_vec();
        append(&mut empty, b"{}");
        assert_eq!(empty, b"[{}]");
    }
}

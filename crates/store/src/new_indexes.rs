//! Indexes that a migration made without the rows that the store had. Each has a mark in
//! `incomplete_indexes`. The program that opens the store first afterwards adds the rows, one index
//! in one transaction. Invariant: the transaction that completes an index removes its mark, so that
//! an index is completed once, however many servers begin.

use crate::sql::Sql;
use crate::{StoreError, values};

/// An index that some migration left without rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewIndex {
    /// The e-mail addresses of app profiles.
    AppIdentities,
    /// What core profiles are found by.
    ProfileSets,
    /// Issues by spans of days and of numbers.
    IssueSpans,
}

impl NewIndex {
    const ALL: [Self; 3] = [Self::AppIdentities, Self::ProfileSets, Self::IssueSpans];

    /// The name of its mark. A released migration wrote it, so it never changes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AppIdentities => "identities",
            Self::ProfileSets => "profile sets",
            Self::IssueSpans => "issue spans",
        }
    }
}

/// The indexes that have a mark.
pub fn incomplete(sql: &impl Sql) -> Result<Vec<NewIndex>, StoreError> {
    let marks: Vec<String> =
        sql.list("SELECT name FROM incomplete_indexes", &[], |row| row.get(0))?;
    let is_marked = |index: &NewIndex| marks.iter().any(|name| name == index.name());
    Ok(NewIndex::ALL.into_iter().filter(is_marked).collect())
}

/// Removes the mark, in the transaction that completes the index. False if another server
/// completed it before.
pub fn take(sql: &impl Sql, index: NewIndex) -> Result<bool, StoreError> {
    let removed =
        sql.change("DELETE FROM incomplete_indexes WHERE name = ?1", values![index.name()])?;
    Ok(removed > 0)
}

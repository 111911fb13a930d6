//! Rows of sets as they are stored: a key, the number of members, and the members. The key has the
//! first member: its id, and as the value its instant if the set is an order.

use caseload_model::profile_query::{ProfileSet, ProfileSetKind};

use super::encoding::{
    Moment, damaged, instant_key, instant_of, read_ids, read_moments, write_ids, write_moments,
};
use crate::StoreError;
use crate::sql::Row;

/// The key of a row in its domain.
pub type SetKey = (ProfileSetKind, Vec<u8>, i64);

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetRow {
    pub key: SetKey,
    pub count: i64,
    pub members: Vec<u8>,
}

/// Rows that may have some members: the last row that does not begin after `from`, and all rows
/// that begin from then on until `until`; the first row of the set if all begin after `from`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// Of a set of ids.
    Ids { set: ProfileSet, from: i64, until: i64 },
    /// Of an order, by instants.
    Instants { kind: ProfileSetKind, from: i64, until: i64 },
}

impl SetRow {
    /// Reads `kind`, `value`, `first_id`, `n` and `ids` from the columns from `column` on.
    pub fn read_at(row: &dyn Row, column: usize) -> Result<Self, StoreError> {
        let kind = row.word(column, ProfileSetKind::from_code)?;
        Ok(Self {
            key: (kind, row.get(column + 1)?, row.get(column + 2)?),
            count: row.get(column + 3)?,
            members: row.get(column + 4)?,
        })
    }
}

/// A member of a set: an id or a moment.
pub(super) trait Member: Ord + Copy {
    fn id(self) -> i64;
    /// The key of the row that begins with this member.
    fn key(set: &ProfileSet, first: Self) -> SetKey;
    fn first(row: &SetRow) -> Result<Self, StoreError>;
    fn read(first: Self, bytes: &[u8], into: &mut Vec<Self>) -> Result<(), StoreError>;
    fn write(members: &[Self]) -> Vec<u8>;
}

impl Member for i64 {
    fn id(self) -> i64 {
        self
    }

    fn key(set: &ProfileSet, first: Self) -> SetKey {
        (set.0, set.1.clone(), first)
    }

    fn first(row: &SetRow) -> Result<Self, StoreError> {
        Ok(row.key.2)
    }

    fn read(first: Self, bytes: &[u8], into: &mut Vec<Self>) -> Result<(), StoreError> {
        read_ids(first, bytes, into)
    }

    fn write(members: &[Self]) -> Vec<u8> {
        write_ids(members)
    }
}

impl Member for Moment {
    fn id(self) -> i64 {
        self.1
    }

    fn key(set: &ProfileSet, first: Self) -> SetKey {
        (set.0, instant_key(first.0), first.1)
    }

    fn first(row: &SetRow) -> Result<Self, StoreError> {
        Ok((instant_of(&row.key.1)?, row.key.2))
    }

    fn read(first: Self, bytes: &[u8], into: &mut Vec<Self>) -> Result<(), StoreError> {
        read_moments(first, bytes, into)
    }

    fn write(members: &[Self]) -> Vec<u8> {
        write_moments(members)
    }
}

/// The members of a row; damage if there are not as many as it says or they are out of order.
pub(super) fn members<M: Member>(row: &SetRow) -> Result<Vec<M>, StoreError> {
    let mut found = Vec::new();
    M::read(M::first(row)?, &row.members, &mut found)?;
    if found.len() as i64 != row.count || !found.is_sorted_by(|a, b| a < b) {
        return Err(damaged());
    }
    Ok(found)
}

/// The row of these members, of which there is one at least.
pub(super) fn row<M: Member>(set: &ProfileSet, members: &[M]) -> SetRow {
    SetRow { key: M::key(set, members[0]), count: members.len() as i64, members: M::write(members) }
}

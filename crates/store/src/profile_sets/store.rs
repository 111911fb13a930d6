//! The statements on sets in the transaction of a write. A backend has them for many rows at once.

use super::rows::{SetKey, SetRow, Span};
use crate::StoreError;
use crate::idempotency::CommandStore;

/// Statements on the sets of one domain, which only one transaction changes at a time.
pub trait SetStore: CommandStore {
    /// The rows of the spans, in any order; a row may come several times.
    fn set_rows(&self, spans: &[Span]) -> Result<Vec<SetRow>, StoreError>;

    /// Deletes rows; how many were there.
    fn delete_set_rows(&self, keys: &[SetKey]) -> Result<u64, StoreError>;

    /// Inserts rows, or replaces those with the same keys.
    fn put_set_rows(&self, rows: &[SetRow]) -> Result<(), StoreError>;
}

//! Completes the indexes that a migration made without the stored rows, when the store is opened.

use caseload_store::new_indexes::{NewIndex, incomplete, take};
use caseload_store::profiles::complete_index;
use rusqlite::Connection;

use crate::Fault;
use crate::issues::complete_spans;
use crate::profiles::sets;
use crate::tx::Tx;

/// Adds the stored rows to new indexes.
pub(crate) fn complete_indexes(conn: &Connection) -> Result<(), Fault> {
    for index in incomplete(&Tx(conn))? {
        let tx = conn.unchecked_transaction()?;
        if take(&Tx(conn), index)? {
            match index {
                NewIndex::AppIdentities => complete_index(&Tx(conn))?,
                NewIndex::ProfileSets => sets::complete(conn)?,
                NewIndex::IssueSpans => complete_spans(conn)?,
            }
        }
        tx.commit()?;
    }
    Ok(())
}

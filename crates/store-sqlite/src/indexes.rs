//! Completes the indexes that a migration made without the stored rows. The program that opens the
//! store first afterwards does it, each index in one transaction.

use caseload_store::issues::spans_are_missing;
use caseload_store::profile_sets::is_incomplete;
use caseload_store::profiles::{complete_index, index_is_incomplete};
use rusqlite::Connection;

use crate::Fault;
use crate::issues::complete_spans;
use crate::profiles::sets;
use crate::tx::Tx;

/// Adds the stored rows to new indexes.
pub(crate) fn complete_indexes(conn: &Connection) -> Result<(), Fault> {
    if index_is_incomplete(&Tx(conn))? {
        let tx = conn.unchecked_transaction()?;
        complete_index(&Tx(conn))?;
        tx.commit()?;
    }
    if is_incomplete(&Tx(conn))? {
        let tx = conn.unchecked_transaction()?;
        sets::complete(conn)?;
        tx.commit()?;
    }
    if spans_are_missing(&Tx(conn))? {
        let tx = conn.unchecked_transaction()?;
        complete_spans(conn)?;
        tx.commit()?;
    }
    Ok(())
}

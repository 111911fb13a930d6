//! Makes the sets of spans of a store from before them, once, when the store is opened. The rules
//! are shared ([`SpanSets`]); here are the statements that read and write sets.

use caseload_store::issues::{SpanSets, UNITED};
use caseload_store::rowset::decode;
use roaring::RoaringBitmap;
use rusqlite::{Connection, params};

use super::index::table_of;
use super::sets::blob;
use crate::Fault;

/// Makes the missing sets, in the transaction of the caller.
pub(crate) fn complete_spans(conn: &Connection) -> Result<(), Fault> {
    let mut blocks = conn
        .prepare("SELECT DISTINCT domain_id, block FROM issue_sets WHERE kind = 1 ORDER BY 1, 2")?;
    let blocks = blocks.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for block in blocks.collect::<Result<Vec<(i64, u32)>, _>>()? {
        complete_block(conn, block)?;
    }
    Ok(())
}

fn complete_block(conn: &Connection, (domain, block): (i64, u32)) -> Result<(), Fault> {
    let mut sets = SpanSets::default();
    for kind in UNITED {
        let mut stored = conn.prepare_cached(&format!(
            "SELECT value, rows FROM {} WHERE domain_id = ?1 AND kind = ?2 AND block = ?3",
            table_of(kind)
        ))?;
        let mut stored = stored.query(params![domain, kind.code(), block])?;
        while let Some(row) = stored.next()? {
            let mut rows = RoaringBitmap::new();
            decode(block, blob(row, 1)?, &mut rows)?;
            sets.add(kind, blob(row, 0)?, &rows);
        }
    }
    for (kind, value, rows) in sets.finish()? {
        let mut insert = conn.prepare_cached(&format!(
            "INSERT INTO {} (domain_id, kind, value, block, rows) VALUES (?1, ?2, ?3, ?4, ?5)",
            table_of(kind)
        ))?;
        insert.execute(params![domain, kind.code(), value, block, rows])?;
    }
    Ok(())
}

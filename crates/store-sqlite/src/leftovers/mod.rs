//! Clears the remains of deleted rows in the file: in free pages, and in unused bytes of others.
//! SQLite would overwrite them only as it needs the space. All pages are looked at, a few in each
//! write, so that other writes go on in between; pages that have nothing to clear are not written.
//! `secure_delete` would not be enough, even if it were always on: rows that SQLite moved when it
//! split a page left copies. An SQLite library that was built without its table of pages
//! (`sqlite_dbpage`) rewrites the whole file instead. Invariant: no row changes.

mod page;

use std::collections::HashSet;

use caseload_store::StoreError;
use rusqlite::{CachedStatement, Connection, OptionalExtension};

use crate::Fault;
use page::{Overflow, clear, clear_tree_page, long};

/// Pages that one step looks at.
const STEP_PAGES: u32 = 256;
/// The first byte of the range that SQLite locks; the page with it is never used.
const LOCKED_BYTE: u32 = 1 << 30;
/// The place of the number of the first trunk page in the first page, and the bytes before the list
/// of pages in a trunk page.
const FIRST_TRUNK_AT: usize = 32;
const TRUNK_HEADER_BYTES: usize = 8;
/// Bytes of an overflow page before its content.
const OVERFLOW_HEADER_BYTES: usize = 4;

/// Whether the SQLite library has its table of pages.
pub(super) fn has_page_table(conn: &Connection) -> Result<bool, Fault> {
    let known = "SELECT 1 FROM pragma_module_list WHERE name = 'sqlite_dbpage'";
    Ok(conn.prepare_cached(known)?.exists([])?)
}

/// Rewrites the whole file, without anything that belongs to no row. No transaction may be open
/// on the connection. Every other write waits until it ends, and the disk needs room for two more
/// copies of the file.
pub(super) fn rewrite(conn: &Connection) -> Result<(), Fault> {
    tracing::info!("this SQLite library has no table of pages: the whole store is rewritten");
    // The new file is written to the disk first, not to memory.
    Ok(conn.execute_batch("PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY")?)
}

/// While it lives, SQLite overwrites the rows that the connection deletes.
pub(super) struct SecureDelete<'c>(&'c Connection);

impl<'c> SecureDelete<'c> {
    pub(super) fn begin(conn: &'c Connection) -> Result<Self, Fault> {
        set_secure_delete(conn, "ON")?;
        Ok(Self(conn))
    }
}

impl Drop for SecureDelete<'_> {
    fn drop(&mut self) {
        if let Err(error) = set_secure_delete(self.0, "OFF") {
            tracing::warn!(%error, "deleted rows are still overwritten");
        }
    }
}

fn set_secure_delete(conn: &Connection, value: &str) -> Result<(), Fault> {
    Ok(conn.query_row(&format!("PRAGMA secure_delete = {value}"), [], |_| Ok(()))?)
}

/// Clears the next pages, from the page `from` on, in the transaction of the connection. Returns
/// the page at which the next step begins; `None` after the last page.
pub(super) fn clear_step(conn: &Connection, from: u32) -> Result<Option<u32>, Fault> {
    let number = |pragma| conn.query_row(pragma, [], |row| row.get::<_, u32>(0));
    let pages = number("PRAGMA page_count")?;
    let page_bytes = number("PRAGMA page_size")?;
    let mut file = Pages {
        read: conn.prepare_cached("SELECT data FROM sqlite_dbpage WHERE pgno = ?1")?,
        write: conn.prepare_cached("UPDATE sqlite_dbpage SET data = ?2 WHERE pgno = ?1")?,
    };
    let free = FreePages::of(&mut file)?;
    let end = pages.min(from.saturating_add(STEP_PAGES - 1));
    for number in from..=end {
        if number != LOCKED_BYTE / page_bytes + 1 {
            file.clear(number, &free)?;
        }
    }
    Ok((end < pages).then_some(end + 1))
}

/// Reads and writes whole pages.
struct Pages<'c> {
    read: CachedStatement<'c>,
    write: CachedStatement<'c>,
}

impl Pages<'_> {
    fn read(&mut self, number: u32) -> Result<Vec<u8>, Fault> {
        let page = self.read.query_row([number], |row| row.get(0)).optional()?;
        Ok(page.ok_or_else(|| StoreError::Corrupt(format!("there is no page {number}")))?)
    }

    fn write(&mut self, number: u32, page: &[u8]) -> Result<(), Fault> {
        self.write.execute(rusqlite::params![number, page])?;
        Ok(())
    }

    fn clear(&mut self, number: u32, free: &FreePages) -> Result<(), Fault> {
        let mut page = self.read(number)?;
        let changed = if free.leaves.contains(&number) {
            clear(&mut page)
        } else if free.trunks.contains(&number) {
            let listed = long(&page, 4).unwrap_or_default() as usize;
            page.get_mut(TRUNK_HEADER_BYTES + 4 * listed..).is_some_and(clear)
        } else {
            // The other pages continue payloads: each is cleared with the cell that it belongs to.
            let Some((changed, overflows)) = clear_tree_page(&mut page, number == 1) else {
                return Ok(());
            };
            for overflow in overflows {
                self.clear_overflow(overflow)?;
            }
            changed
        };
        if changed { self.write(number, &page) } else { Ok(()) }
    }

    /// Clears the bytes after the end of a payload in its last page.
    fn clear_overflow(&mut self, Overflow { first_page, bytes }: Overflow) -> Result<(), Fault> {
        let (mut number, mut left) = (first_page, bytes);
        loop {
            let mut page = self.read(number)?;
            let room = page.len() - OVERFLOW_HEADER_BYTES;
            if left <= room {
                let changed = clear(&mut page[OVERFLOW_HEADER_BYTES + left..]);
                return if changed { self.write(number, &page) } else { Ok(()) };
            }
            left -= room;
            number = long(&page, 0).unwrap_or_default();
        }
    }
}

/// The pages that no table uses: trunks list the others.
#[derive(Debug, Default)]
struct FreePages {
    trunks: HashSet<u32>,
    leaves: HashSet<u32>,
}

impl FreePages {
    fn of(file: &mut Pages<'_>) -> Result<Self, Fault> {
        let mut free = Self::default();
        let mut trunk = long(&file.read(1)?, FIRST_TRUNK_AT).unwrap_or_default();
        while trunk != 0 && free.trunks.insert(trunk) {
            let page = file.read(trunk)?;
            let listed = long(&page, 4).unwrap_or_default() as usize;
            let places = (0..listed).map(|n| TRUNK_HEADER_BYTES + 4 * n);
            free.leaves.extend(places.filter_map(|at| long(&page, at)));
            trunk = long(&page, 0).unwrap_or_default();
        }
        Ok(free)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    /// A library without the table of pages cannot be had in a test, so that the way that such a
    /// library takes is called directly.
    #[test]
    fn rewriting_the_file_leaves_no_deleted_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let conn = Connection::open(&path).unwrap();
        assert!(has_page_table(&conn).unwrap(), "this build has the table of pages");
        conn.execute_batch(
            "PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT);
             WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2000)
             INSERT INTO t SELECT n, iif(n % 2, 'a secret word ', 'a stored word ') || n FROM n;
             DELETE FROM t WHERE id % 2; PRAGMA wal_checkpoint(TRUNCATE)",
        )
        .unwrap();
        let count = |text: &[u8]| {
            let file = std::fs::read(&path).unwrap();
            file.windows(text.len()).filter(|window| *window == text).count()
        };
        assert!(count(b"a secret word") > 0, "SQLite leaves deleted rows in the file");
        rewrite(&conn).unwrap();
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        assert_eq!(count(b"a secret word"), 0);
        let kept = "SELECT count(*) FROM t WHERE text GLOB 'a stored word *'";
        assert_eq!(conn.query_row(kept, [], |row| row.get::<_, i64>(0)).unwrap(), 1000);
    }
}

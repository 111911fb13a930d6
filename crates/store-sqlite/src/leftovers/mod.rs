//! Clears the remains of deleted rows in the file: in free pages, and in unused bytes of others.
//! SQLite would overwrite them only as it needs the space. Readers look at all pages; those that
//! have something to clear are written, a few in each write, so that other writes go on in between.
//! `secure_delete` would not be enough, even if it were always on: rows that SQLite moved when it
//! split a page left copies. An SQLite library that was built without its table of pages
//! (`sqlite_dbpage`) rewrites the whole file instead. Invariant: no row changes.

mod page;

use std::collections::HashSet;

use caseload_store::StoreError;
use rusqlite::{CachedStatement, Connection, OptionalExtension};

use crate::Fault;
use page::{Overflow, clear, clear_tree_page, long};

/// Pages that one step looks at, and pages that one transaction writes.
const STEP_PAGES: u32 = 1 << 13;
pub(super) const WRITTEN_PAGES: usize = 256;
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

/// The pages of a step that have something to clear, and the page at which the next step begins;
/// `None` after the last page.
pub(super) struct Found {
    pub(super) pages: Vec<u32>,
    pub(super) next: Option<u32>,
}

/// Looks at the next pages, from the page `from` on. A reader may do that: a page is cleared as it
/// is then. A row that is deleted already leaves nothing in a page in which it has left nothing.
pub(super) fn find(conn: &Connection, from: u32) -> Result<Found, Fault> {
    let pages = number(conn, "PRAGMA page_count")?;
    let end = pages.min(from.saturating_add(STEP_PAGES - 1));
    let mut found = HashSet::new();
    let mut file = Pages::of(conn, Sink::Found(&mut found))?;
    file.clear_all(from..=end)?;
    drop(file);
    let mut pages_found: Vec<u32> = found.into_iter().collect();
    pages_found.sort_unstable();
    Ok(Found { pages: pages_found, next: (end < pages).then_some(end + 1) })
}

/// Clears these pages in the transaction of the connection.
pub(super) fn clear_pages(conn: &Connection, pages: &[u32]) -> Result<(), Fault> {
    let write = conn.prepare_cached("UPDATE sqlite_dbpage SET data = ?2 WHERE pgno = ?1")?;
    // The file may have become shorter.
    let count = number(conn, "PRAGMA page_count")?;
    let pages = pages.iter().copied().filter(|page| *page <= count);
    Pages::of(conn, Sink::File(write))?.clear_all(pages)
}

fn number(conn: &Connection, pragma: &str) -> Result<u32, Fault> {
    Ok(conn.query_row(pragma, [], |row| row.get(0))?)
}

/// The destination of a page that has something to clear.
enum Sink<'c> {
    File(CachedStatement<'c>),
    Found(&'c mut HashSet<u32>),
}

/// Reads whole pages, and writes or finds those that have something to clear.
struct Pages<'c> {
    read: CachedStatement<'c>,
    sink: Sink<'c>,
    free: FreePages,
    /// The page that SQLite never uses.
    locked: u32,
}

impl<'c> Pages<'c> {
    fn of(conn: &'c Connection, sink: Sink<'c>) -> Result<Self, Fault> {
        let mut read = conn.prepare_cached("SELECT data FROM sqlite_dbpage WHERE pgno = ?1")?;
        let free = FreePages::of(&mut read)?;
        let locked = LOCKED_BYTE / number(conn, "PRAGMA page_size")? + 1;
        Ok(Self { read, sink, free, locked })
    }

    fn clear_all(&mut self, pages: impl IntoIterator<Item = u32>) -> Result<(), Fault> {
        let mut page = Vec::new();
        for number in pages {
            if number != self.locked {
                self.clear(number, &mut page)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, number: u32, page: &[u8]) -> Result<(), Fault> {
        match &mut self.sink {
            Sink::File(write) => drop(write.execute(rusqlite::params![number, page])?),
            Sink::Found(found) => drop(found.insert(number)),
        }
        Ok(())
    }

    /// Clears a page; `page` is room for it.
    fn clear(&mut self, number: u32, page: &mut Vec<u8>) -> Result<(), Fault> {
        read_page(&mut self.read, number, page)?;
        let changed = if self.free.leaves.contains(&number) {
            clear(page)
        } else if self.free.trunks.contains(&number) {
            let listed = long(page, 4).unwrap_or_default() as usize;
            page.get_mut(TRUNK_HEADER_BYTES + 4 * listed..).is_some_and(clear)
        } else {
            // The other pages continue payloads: each is cleared with the cell that it belongs to.
            let Some((changed, overflows)) = clear_tree_page(page, number == 1) else {
                return Ok(());
            };
            let mut has_more = false;
            for overflow in overflows {
                has_more |= self.clear_overflow(overflow)?;
            }
            changed || has_more && matches!(self.sink, Sink::Found(_))
        };
        if changed { self.write(number, page) } else { Ok(()) }
    }

    /// Clears the bytes after the end of a payload in its last page; whether there were any.
    fn clear_overflow(&mut self, Overflow { first_page, bytes }: Overflow) -> Result<bool, Fault> {
        let (mut number, mut left, mut page) = (first_page, bytes, Vec::new());
        loop {
            read_page(&mut self.read, number, &mut page)?;
            let room = page.len() - OVERFLOW_HEADER_BYTES;
            if left <= room {
                let changed = clear(&mut page[OVERFLOW_HEADER_BYTES + left..]);
                if changed {
                    self.write(number, &page)?;
                }
                return Ok(changed);
            }
            left -= room;
            number = long(&page, 0).unwrap_or_default();
        }
    }
}

fn read_page(read: &mut CachedStatement<'_>, number: u32, page: &mut Vec<u8>) -> Result<(), Fault> {
    page.clear();
    let found = read.query_row([number], |row| {
        page.extend_from_slice(row.get_ref(0)?.as_blob()?);
        Ok(())
    });
    Ok(found
        .optional()?
        .ok_or_else(|| StoreError::Corrupt(format!("there is no page {number}")))?)
}

/// The pages that no table uses: trunks list the others.
#[derive(Debug, Default)]
struct FreePages {
    trunks: HashSet<u32>,
    leaves: HashSet<u32>,
}

impl FreePages {
    fn of(read: &mut CachedStatement<'_>) -> Result<Self, Fault> {
        let (mut free, mut page) = (Self::default(), Vec::new());
        read_page(read, 1, &mut page)?;
        let mut trunk = long(&page, FIRST_TRUNK_AT).unwrap_or_default();
        while trunk != 0 && free.trunks.insert(trunk) {
            read_page(read, trunk, &mut page)?;
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

//! The statements on sets of profiles ([`SetStore`]), each for one row. They run in the transaction
//! of the profiles.

use caseload_store::profile_sets::{SetKey, SetRow, SetStore, Span, instant_key};
use caseload_store::sql::Sql;
use caseload_store::{StoreError, values};
use rusqlite::params;

use crate::store_error;
use crate::tx::DomainTx;

const ROWS_OF_IDS: &str = "SELECT kind, value, first_id, n, ids FROM profile_sets
     WHERE domain_id = ?1 AND kind = ?2 AND value = ?3
     AND first_id >= coalesce((SELECT max(first_id) FROM profile_sets
         WHERE domain_id = ?1 AND kind = ?2 AND value = ?3 AND first_id <= ?4), ?4)
     AND first_id <= max(?5, coalesce((SELECT min(first_id) FROM profile_sets
         WHERE domain_id = ?1 AND kind = ?2 AND value = ?3), ?5))";
const ROWS_OF_INSTANTS: &str = "SELECT kind, value, first_id, n, ids FROM profile_sets
     WHERE domain_id = ?1 AND kind = ?2
     AND value >= coalesce((SELECT max(value) FROM profile_sets
         WHERE domain_id = ?1 AND kind = ?2 AND value < ?3), ?3)
     AND value <= max(?4, coalesce((SELECT min(value) FROM profile_sets
         WHERE domain_id = ?1 AND kind = ?2), ?4))";

impl SetStore for DomainTx<'_> {
    fn set_rows(&self, spans: &[Span]) -> Result<Vec<SetRow>, StoreError> {
        let mut rows = Vec::new();
        for span in spans {
            let found = match span {
                Span::Ids { set: (kind, value), from, until } => {
                    let code = kind.code();
                    let values = values![self.domain, code, value, from, until];
                    self.list(ROWS_OF_IDS, values, |row| SetRow::read_at(row, 0))?
                }
                Span::Instants { kind, from, until } => {
                    let (code, from, until) =
                        (kind.code(), instant_key(*from), instant_key(*until));
                    let values = values![self.domain, code, from, until];
                    self.list(ROWS_OF_INSTANTS, values, |row| SetRow::read_at(row, 0))?
                }
            };
            rows.extend(found);
        }
        Ok(rows)
    }

    fn delete_set_rows(&self, keys: &[SetKey]) -> Result<u64, StoreError> {
        self.execute_each(
            "DELETE FROM profile_sets
             WHERE domain_id = ?1 AND kind = ?2 AND value = ?3 AND first_id = ?4",
            keys,
            |(kind, value, first)| (self.domain.0, kind.code(), value, first),
        )
    }

    fn put_set_rows(&self, rows: &[SetRow]) -> Result<(), StoreError> {
        let insert = "INSERT OR REPLACE INTO profile_sets
             (domain_id, kind, value, first_id, n, ids) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let mut insert = self.conn.prepare_cached(insert).map_err(store_error)?;
        for SetRow { key: (kind, value, first), count, members } in rows {
            let row = params![self.domain.0, kind.code(), value, first, count, members];
            insert.execute(row).map_err(store_error)?;
        }
        Ok(())
    }
}

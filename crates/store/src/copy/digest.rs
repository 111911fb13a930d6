//! The number of rows of a table and a digest of their contents. The digest is the sum of the
//! digests of the rows, so that it does not depend on the order in which a backend returns them. A
//! missing, repeated or changed row changes the digest.

use sha2::{Digest as _, Sha256};

use super::rows::{Rows, Value};
use super::tables::{Kind, Table};

/// Rows of a table, counted and digested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableDigest {
    pub rows: u64,
    pub digest: u128,
}

/// Digests a table, batch after batch.
#[derive(Debug)]
pub(super) struct Digester {
    table: &'static Table,
    found: TableDigest,
    /// The current domain and the number of its rows so far.
    in_domain: (i64, i64),
}

impl Digester {
    pub(super) fn new(table: &'static Table) -> Self {
        Self { table, found: TableDigest::default(), in_domain: (0, 0) }
    }

    /// Adds the next rows.
    pub(super) fn add(&mut self, rows: &Rows) {
        let domain = self.table.offset_of("domain_id");
        for row in rows.iter() {
            let mut hash = Sha256::new();
            for (column, value) in self.table.columns.iter().zip(row.values()) {
                let value = match column.kind {
                    Kind::Order => self.order(domain.map_or(0, |place| row.integer(place))),
                    _ => value,
                };
                update(&mut hash, value);
            }
            let hash: [u8; 32] = hash.finalize().into();
            let (half, _) = hash.split_first_chunk::<16>().unwrap_or((&[0; 16], &[]));
            self.found.digest = self.found.digest.wrapping_add(u128::from_le_bytes(*half));
            self.found.rows += 1;
        }
    }

    /// Replaces an order number by the position of the row in its domain. Rows arrive in that
    /// order.
    fn order(&mut self, domain: i64) -> Value<'static> {
        let seen = if self.in_domain.0 == domain { self.in_domain.1 } else { 0 };
        self.in_domain = (domain, seen + 1);
        Value::Integer(seen)
    }

    pub(super) const fn found(&self) -> TableDigest {
        self.found
    }
}

fn update(hash: &mut Sha256, value: Value<'_>) {
    match value {
        Value::Null => hash.update([0]),
        Value::Integer(number) => {
            hash.update([1]);
            hash.update(number.to_le_bytes());
        }
        Value::Bytes(bytes) => {
            hash.update([2]);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
    }
}

//! The statements on sets of profiles ([`SetStore`]), each for many rows.

use caseload_store::profile_sets::{SetKey, SetRow, SetStore, Span, instant_key};
use caseload_store::sql::{Sql, Value};
use caseload_store::{StoreError, values};

use crate::tx::DomainTx;

const ROWS_OF_IDS: &str = "SELECT s.kind, s.value, s.first_id, s.n, s.ids
     FROM unnest($2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[])
         AS w (kind, value, low, high)
     JOIN profile_sets s ON s.domain_id = $1 AND s.kind = w.kind AND s.value = w.value
     AND s.first_id >= coalesce((SELECT max(b.first_id) FROM profile_sets b WHERE b.domain_id = $1
         AND b.kind = w.kind AND b.value = w.value AND b.first_id <= w.low), w.low)
     AND s.first_id <= greatest(w.high, (SELECT min(b.first_id) FROM profile_sets b
         WHERE b.domain_id = $1 AND b.kind = w.kind AND b.value = w.value))";
const ROWS_OF_INSTANTS: &str = "SELECT s.kind, s.value, s.first_id, s.n, s.ids
     FROM unnest($2::bigint[], $3::bytea[], $4::bytea[]) AS w (kind, low, high)
     JOIN profile_sets s ON s.domain_id = $1 AND s.kind = w.kind
     AND s.value >= coalesce((SELECT b.value FROM profile_sets b WHERE b.domain_id = $1
         AND b.kind = w.kind AND b.value < w.low ORDER BY b.value DESC LIMIT 1), w.low)
     AND s.value <= greatest(w.high, (SELECT b.value FROM profile_sets b
         WHERE b.domain_id = $1 AND b.kind = w.kind ORDER BY b.value LIMIT 1))";

impl SetStore for DomainTx<'_> {
    fn set_rows(&self, spans: &[Span]) -> Result<Vec<SetRow>, StoreError> {
        let (mut of_ids, mut of_instants) = (Spans::default(), Spans::default());
        for span in spans {
            match span {
                Span::Ids { set: (kind, value), from, until } => {
                    of_ids.kinds.push(kind.code());
                    of_ids.values.push(value.clone());
                    of_ids.froms.push(*from);
                    of_ids.untils.push(*until);
                }
                Span::Instants { kind, from, until } => {
                    of_instants.kinds.push(kind.code());
                    of_instants.values.push(instant_key(*from));
                    of_instants.ends.push(instant_key(*until));
                }
            }
        }
        let mut rows = Vec::new();
        if !of_ids.kinds.is_empty() {
            let Spans { kinds, values, froms, untils, .. } = &of_ids;
            let values = blobs(values);
            let spans = values![self.domain, kinds, values, froms, untils];
            rows = self.list(ROWS_OF_IDS, spans, |row| SetRow::read_at(row, 0))?;
        }
        if !of_instants.kinds.is_empty() {
            let Spans { kinds, values, ends, .. } = &of_instants;
            let (values, ends) = (blobs(values), blobs(ends));
            let spans = values![self.domain, kinds, values, ends];
            rows.extend(self.list(ROWS_OF_INSTANTS, spans, |row| SetRow::read_at(row, 0))?);
        }
        Ok(rows)
    }

    fn delete_set_rows(&self, keys: &[SetKey]) -> Result<u64, StoreError> {
        let kinds: Vec<i64> = keys.iter().map(|key| key.0.code()).collect();
        let values: Vec<&[u8]> = keys.iter().map(|key| &key.1[..]).collect();
        let firsts: Vec<i64> = keys.iter().map(|key| key.2).collect();
        self.change(
            "DELETE FROM profile_sets s
             USING unnest($2::bigint[], $3::bytea[], $4::bigint[]) AS n (kind, value, first_id)
             WHERE s.domain_id = $1 AND s.kind = n.kind AND s.value = n.value
             AND s.first_id = n.first_id",
            values![self.domain, kinds, values, firsts],
        )
    }

    fn put_set_rows(&self, rows: &[SetRow]) -> Result<(), StoreError> {
        let kinds: Vec<i64> = rows.iter().map(|row| row.key.0.code()).collect();
        let values: Vec<&[u8]> = rows.iter().map(|row| &row.key.1[..]).collect();
        let firsts: Vec<i64> = rows.iter().map(|row| row.key.2).collect();
        let counts: Vec<i64> = rows.iter().map(|row| row.count).collect();
        let members: Vec<&[u8]> = rows.iter().map(|row| &row.members[..]).collect();
        let put: &[Value<'_>] = values![self.domain, kinds, values, firsts, counts, members];
        self.change(
            "INSERT INTO profile_sets (domain_id, kind, value, first_id, n, ids)
             SELECT $1, n.kind, n.value, n.first_id, n.n, n.ids
             FROM unnest($2::bigint[], $3::bytea[], $4::bigint[], $5::integer[], $6::bytea[])
             AS n (kind, value, first_id, n, ids)
             ON CONFLICT (domain_id, kind, value, first_id)
             DO UPDATE SET n = excluded.n, ids = excluded.ids",
            put,
        )
        .map(drop)
    }
}

/// Spans in columns.
#[derive(Debug, Default)]
struct Spans {
    kinds: Vec<i64>,
    values: Vec<Vec<u8>>,
    froms: Vec<i64>,
    untils: Vec<i64>,
    ends: Vec<Vec<u8>>,
}

fn blobs(values: &[Vec<u8>]) -> Vec<&[u8]> {
    values.iter().map(Vec::as_slice).collect()
}

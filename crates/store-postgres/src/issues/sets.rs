//! The statements on the sets of terms ([`SetStore`]). A set of issues is a base for each term and
//! block, and the deltas of transactions since the base was written. Invariant: base and deltas
//! give the same set before and after compaction.

use caseload_model::issue::TermKind;
use caseload_model::issue_query::SortOrder;
use caseload_store::StoreError;
use caseload_store::query::SetStore;
use caseload_store::query::stored_sets::{Noun, Question, Wanted, direction};
use caseload_store::sql::Row;
use futures_util::future::try_join_all;

use crate::tx::{DomainTx, ReadRow, bound, native, parameters};

const BASE: &str = "value, block, rows, NULL::bytea, 0::bigint AS seq";
const DELTA: &str = "value, block, entered, gone, seq";
const DELTAS: &str = "issue_set_deltas";

/// The blocks of a domain that may have rows, as a table.
const BLOCKS: &str = "generate_series(0, (SELECT last_issue_row >> 16 FROM domain_clocks
     WHERE domain_id = ?1)) AS blocks(block)";

impl SetStore for DomainTx<'_> {
    const LEAVES_TOGETHER: bool = true;
    const PORTION_FIRST: i64 = 256;
    const ISSUE_ROWS: &'static str = "unnest(?2::bigint[]) AS wanted(number)
         CROSS JOIN LATERAL (SELECT * FROM issues
         WHERE domain_id = ?1 AND row = wanted.number OFFSET 0) i";
    const CORE_ROWS: &'static str = "core_profiles WHERE domain_id = ?1 AND row = ANY (?2)";

    fn has_deltas(noun: Noun) -> bool {
        noun == Noun::Issue
    }

    fn select(noun: Noun, kind: TermKind, wanted: Wanted) -> String {
        if noun == Noun::CoreProfile {
            return select("profile_sets", BASE, false, wanted);
        }
        let table = if kind.is_sparse() { "issue_values" } else { "issue_sets" };
        format!(
            "{} UNION ALL {} ORDER BY 1, 2, 5",
            select(table, BASE, kind.is_sparse(), wanted),
            select(DELTAS, DELTA, false, wanted)
        )
    }

    fn select_portion(noun: Noun, order: SortOrder) -> Vec<String> {
        let way = direction(order);
        let portion = |table: &str, columns: &str, ties: &str| {
            format!(
                "SELECT {columns} FROM {table} WHERE domain_id = ?1 AND kind = ?2
                 AND value BETWEEN ?3 AND ?4 ORDER BY value {way}, block {way}{ties} LIMIT ?5"
            )
        };
        match noun {
            Noun::CoreProfile => vec![portion("profile_sets", BASE, "")],
            Noun::Issue => vec![
                portion("issue_sets", BASE, ""),
                portion(DELTAS, DELTA, &format!(", seq {way}")),
            ],
        }
    }

    fn each_of(
        &self,
        questions: &[Question<'_>],
        read: &mut dyn FnMut(usize, &dyn Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let values: Vec<_> = questions.iter().map(|(_, values)| bound(values)).collect();
        let values: Vec<_> = values.iter().map(|values| parameters(values)).collect();
        let answers = self.wait(async {
            let client = self.client();
            // Everything is prepared before anything is sent.
            let mut statements = Vec::with_capacity(questions.len());
            for (sql, _) in questions {
                statements.push(client.prepare(&native(sql)).await?);
            }
            let asked = statements.iter().zip(&values);
            try_join_all(asked.map(|(sql, values)| client.prepared_rows(sql, values))).await
        })?;
        for (number, rows) in answers.iter().enumerate() {
            rows.iter().try_for_each(|row| read(number, &ReadRow(row)))?;
        }
        Ok(())
    }
}

/// Selects the wanted sets of a table, in each block by itself if the block comes before the value
/// in its key. With `OFFSET 0`, the planner chooses no other join.
fn select(table: &str, columns: &str, by_block: bool, wanted: Wanted) -> String {
    let mut from = Vec::new();
    let mut tests = "domain_id = ?1 AND kind = ?2".to_owned();
    if by_block {
        from.push(BLOCKS);
        tests.push_str(" AND block = blocks.block");
    }
    match wanted {
        Wanted::Value => tests.push_str(" AND value = ?3 AND block BETWEEN ?4 AND ?5"),
        Wanted::Values => {
            from.push("unnest(?3::bytea[]) AS wanted(value)");
            tests.push_str(" AND value = wanted.value AND block BETWEEN ?4 AND ?5");
        }
        Wanted::Range => tests.push_str(" AND value >= ?3 AND value < ?4"),
        Wanted::Every => {}
    }
    let sets = format!("SELECT {columns} FROM {table} WHERE {tests}");
    if from.is_empty() {
        return sets;
    }
    let from = from.join(" CROSS JOIN ");
    format!("SELECT s.* FROM {from} CROSS JOIN LATERAL ({sets} OFFSET 0) s")
}

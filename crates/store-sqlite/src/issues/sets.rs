//! The statements on the sets of terms ([`SetStore`]). A set is in memory and at most as large as
//! the domain has issues or profiles (125 kB for a million).

use caseload_model::issue::TermKind;
use caseload_model::issue_query::SortOrder;
use caseload_store::query::SetStore;
use caseload_store::query::stored_sets::{Noun, Wanted, direction};

use crate::tx::DomainTx;

/// A stored set, which is never a delta.
const COLUMNS: &str = "s.value, s.block, s.rows, NULL, 0";

// Searching for each value or row is faster than `IN`, which first puts them in order.
impl SetStore for DomainTx<'_> {
    const LEAVES_TOGETHER: bool = false;
    const PORTION_FIRST: i64 = 16;
    const ISSUE_ROWS: &'static str = "rarray(?2) wanted CROSS JOIN issues
         ON row = wanted.value WHERE domain_id = ?1";
    const CORE_ROWS: &'static str = "rarray(?2) wanted CROSS JOIN core_profiles
         ON row = wanted.value WHERE domain_id = ?1";

    fn has_deltas(_: Noun) -> bool {
        false
    }

    fn select(noun: Noun, kind: TermKind, wanted: Wanted) -> String {
        let tests = match wanted {
            Wanted::Value => "s.value = ?3 AND s.block BETWEEN ?4 AND ?5",
            Wanted::Values => "s.value = wanted.value AND s.block BETWEEN ?4 AND ?5",
            Wanted::Range => "s.value >= ?3 AND s.value < ?4",
            Wanted::Every => "1 = 1 ORDER BY s.value, s.block",
        };
        let values = if wanted == Wanted::Values { "rarray(?3) wanted CROSS JOIN " } else { "" };
        if noun == Noun::Issue && kind.is_sparse() {
            // In each block in which the domain has issues.
            return format!(
                "SELECT {COLUMNS} FROM {values}issue_sets b CROSS JOIN issue_values s
                 WHERE b.domain_id = ?1 AND b.kind = {} AND b.value = x''
                 AND s.domain_id = ?1 AND s.kind = ?2 AND s.block = b.block AND {tests}",
                TermKind::All.code()
            );
        }
        let table = table(noun);
        format!(
            "SELECT {COLUMNS} FROM {values}{table} s
             WHERE s.domain_id = ?1 AND s.kind = ?2 AND {tests}"
        )
    }

    fn select_portion(noun: Noun, order: SortOrder) -> Vec<String> {
        let (table, way) = (table(noun), direction(order));
        vec![format!(
            "SELECT {COLUMNS} FROM {table} s WHERE domain_id = ?1 AND kind = ?2
             AND value BETWEEN ?3 AND ?4 ORDER BY value {way}, block {way} LIMIT ?5"
        )]
    }
}

/// The table of the sets of kinds that are not sparse.
const fn table(noun: Noun) -> &'static str {
    match noun {
        Noun::Issue => "issue_sets",
        Noun::CoreProfile => "profile_sets",
    }
}

//! The statements of lists of profiles ([`ProfileSource`]). The rules of the store say when each of
//! them is asked.

use caseload_store::profile_lists::ProfileSource;

use crate::tx::DomainTx;

impl ProfileSource for DomainTx<'_> {
    // Searching for each id or row is faster than `IN`, which first puts them in order.
    const CORE_AMONG: &'static str = "rarray(?2) wanted CROSS JOIN core_profiles
         ON domain_id = ?1 AND id = wanted.value";
    // With the sign, the planner does not walk along the index of the domain.
    const CORE_BETWEEN: &'static str =
        "core_profiles WHERE +domain_id = ?1 AND row BETWEEN ?2 AND ?3";
    const APP_AMONG: &'static str = "app_profiles WHERE domain_id = ?1 AND pid = ANY (?2)";
    /// Most profiles of a batch: the processor's cache holds them until they are rendered.
    const BATCH_MAX: u64 = 256;
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use caseload_store::query::SetStore;

    use super::*;
    use crate::engine;
    use crate::issues::numbers;

    /// The steps of the plan of a statement.
    fn plan(selected: &str) -> String {
        let conn = engine::open_in_memory().unwrap();
        let selected = selected.replace("= ANY (", "IN rarray(");
        let sql = format!("EXPLAIN QUERY PLAN SELECT fields FROM {selected}");
        let mut statement = conn.prepare(&sql).unwrap();
        if statement.parameter_count() == 3 {
            statement.raw_bind_parameter(3, 2).unwrap();
        }
        statement.raw_bind_parameter(2, numbers([1, 2])).unwrap();
        let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3));
        steps.map(Result::unwrap).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn named_profiles_are_looked_up_and_not_searched_for_in_their_domain() {
        let core = plan(<DomainTx<'_> as ProfileSource>::CORE_AMONG);
        assert!(core.contains("core_profiles_by_id (domain_id=? AND id=?)"), "{core}");
        let rows = plan(<DomainTx<'_> as SetStore>::CORE_ROWS);
        assert!(rows.contains("core_profiles USING INTEGER PRIMARY KEY (rowid=?)"), "{rows}");
        let between = plan(<DomainTx<'_> as ProfileSource>::CORE_BETWEEN);
        assert!(between.contains("PRIMARY KEY (rowid>? AND rowid<?)"), "{between}");
        let app = plan(<DomainTx<'_> as ProfileSource>::APP_AMONG);
        assert!(app.contains("(domain_id=? AND pid=?)"), "{app}");
        for plan in [core, rows, between, app] {
            assert!(!plan.contains("(domain_id=?)") && !plan.contains("SCAN core"), "{plan}");
        }
    }
}

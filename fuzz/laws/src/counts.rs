//! The parameters of counts by groups, as a query string. They lead to one or two different groups
//! and the query that the list reads from the same filters, or to faults that name parameters which
//! were given; the order of the parameters does not matter.

use caseload_api::test_support::query_pairs;
use caseload_model::issue_query::{CountRequest, GROUPS_MAX, parse_counts, parse_list};
use caseload_model::spelling::unbracketed;

use crate::issue_query::check;

/// The parameters that the list does not have.
const OWN: [&str; 3] = ["group-by", "timezone", "limit"];

pub(crate) fn holds(data: &[u8]) {
    let Ok(Ok(pairs)) = std::str::from_utf8(data).map(query_pairs) else { return };
    let outcome = parse_counts(&pairs);
    let is_own = |(name, _): &&(String, String)| {
        let plain = unbracketed(name).0.replace('_', "-");
        OWN.contains(&plain.as_str())
    };
    let reversed: Vec<_> = pairs.iter().rev().cloned().collect();
    assert_eq!(parse_counts(&reversed).is_ok(), outcome.is_ok(), "in any order");
    match outcome {
        Ok(CountRequest { query, grouping }) => {
            assert!(
                (1..=2).contains(&grouping.by.len()) && grouping.by.first() != grouping.by.get(1)
            );
            assert!((1..=GROUPS_MAX).contains(&(grouping.limit as u64)));
            let filters: Vec<_> = pairs.iter().filter(|pair| !is_own(pair)).cloned().collect();
            let list = parse_list(&filters).expect("the list has these filters");
            assert_eq!(list.query, query, "counts are those of the list");
        }
        Err(mut faults) => {
            assert!(!faults.is_empty(), "a refusal has faults");
            // No caller gives a parameter that is missing.
            faults.retain(|fault| fault.code.as_str() != "missing_field");
            if !faults.is_empty() {
                check(&pairs, Some(&faults));
            }
        }
    }
}

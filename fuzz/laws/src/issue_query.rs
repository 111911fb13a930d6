//! The parameters of the issue list, as a query string. They come to a query within all limits, or
//! to faults that name parameters which were given; neither the order of parameters nor the
//! spelling of their names matters.

use std::collections::HashMap;

use caseload_api::test_support::query_pairs;
use caseload_model::issue_query::{
    ListRequest, PAGE_DEPTH_MAX, PAGE_SIZE_MAX, ParameterFault, parse_list, parse_single,
};
use caseload_model::spelling::unbracketed;

type Pairs = Vec<(String, String)>;

pub(crate) fn holds(data: &[u8]) {
    let Ok(query) = std::str::from_utf8(data) else { return };
    let Ok(pairs) = query_pairs(query) else { return };
    let outcome = parse_list(&pairs);
    check(&pairs, outcome.as_ref().err());
    check(&pairs, parse_single(&pairs).as_ref().err());
    if let Ok(request) = &outcome {
        within_limits(request);
    }
    let reversed: Pairs = pairs.iter().rev().cloned().collect();
    assert_eq!(parse_list(&reversed).ok(), outcome.as_ref().ok().cloned(), "in any order");
    let (from, to) = if query.len() % 2 == 0 { ('-', "_") } else { ('_', "-") };
    if has_both_spellings(&pairs) {
        return;
    }
    let respelled: Pairs =
        pairs.iter().map(|(name, value)| (name.replace(from, to), value.clone())).collect();
    match (parse_list(&respelled), &outcome) {
        (Ok(request), Ok(first)) => assert_eq!(request, *first, "in any spelling"),
        (Err(faults), Err(first)) => assert_eq!(codes(&faults), codes(first)),
        (again, first) => panic!("the spelling matters: {first:?}, {again:?}"),
    }
}

/// Whether a name comes in two spellings. Different values of a list are then a fault; in one
/// spelling they are one list.
fn has_both_spellings(pairs: &Pairs) -> bool {
    let mut spelled: HashMap<String, &str> = HashMap::new();
    pairs.iter().any(|(name, _)| {
        let (name, _) = unbracketed(name);
        let plain = name.replace('-', "_");
        *spelled.entry(plain).or_insert(name) != name
    })
}

fn codes(faults: &[ParameterFault]) -> Vec<&'static str> {
    faults.iter().map(|fault| fault.code.as_str()).collect()
}

/// Each fault of a refusal names a parameter that was given.
pub(crate) fn check(pairs: &Pairs, faults: Option<&Vec<ParameterFault>>) {
    for fault in faults.into_iter().flatten() {
        let given = pairs.iter().any(|(name, _)| *name == fault.parameter);
        // A page that is too deep by its size alone is the page's fault.
        let unsaid = fault.parameter == "page" && fault.code.as_str() == "page_too_deep";
        assert!(given || unsaid, "{fault:?} names a parameter that was not given");
        assert!(!fault.detail.is_empty());
    }
    assert!(faults.is_none_or(|faults| !faults.is_empty()), "a refusal has faults");
}

fn within_limits(ListRequest { query, paging, .. }: &ListRequest) {
    assert!(paging.page >= 1 && (1..=PAGE_SIZE_MAX).contains(&paging.page_size));
    assert!(paging.page * paging.page_size <= PAGE_DEPTH_MAX);
    assert!(paging.offset() < PAGE_DEPTH_MAX);
    assert!(query.ids.as_ref().is_none_or(|ids| ids.is_sorted_by(|a, b| a < b)));
    assert!(query.states.as_ref().is_none_or(|states| states.is_sorted_by(|a, b| a < b)));
    for texts in [&query.app_ids, &query.platform_types, &query.queue_ids, &query.end_user_ids] {
        assert!(texts.as_ref().is_none_or(|texts| texts.is_sorted_by(|a, b| a < b)));
    }
}

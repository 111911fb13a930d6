//! The parameters of the lists of profiles, and the meaning of a query. The first line is a query
//! string, the others are entries of creations. Parameters lead to a query within all limits, or to
//! faults that name parameters which were given, in any order. The fast paths that find profiles,
//! the look at stored bytes and the terms, agree with the naive meaning of the query.

use std::convert::Infallible;

use caseload_api::test_support::query_pairs;
use caseload_model::ids::CoreProfileId;
use caseload_model::issue_query::{PAGE_DEPTH_MAX, PAGE_SIZE_MAX};
use caseload_model::profile::{Placeholders, prepare_creates};
use caseload_model::profile_query::{
    ProfileId, ProfileKind, ProfileListRequest, ProfileQuery, ProfileScan, SearchableProfile,
    parse_profile_list, parse_single_profile,
};
use caseload_model::task::Family;
use caseload_model::time::UnixMillis;
use caseload_store::profile_lists::filters;
use caseload_store::profiles::IndexedProfile;
use caseload_store::query::{Leaf, Rows};

use crate::entries::blocks_of;
use crate::issue_query::check;

pub(crate) fn holds(data: &[u8]) {
    let line = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Ok(Ok(pairs)) = std::str::from_utf8(line).map(query_pairs) else { return };
    for kind in [ProfileKind::Core, ProfileKind::App] {
        let outcome = parse_profile_list(kind, &pairs);
        check(&pairs, outcome.as_ref().err());
        check(&pairs, parse_single_profile(kind, &pairs).as_ref().err());
        let reversed: Vec<_> = pairs.iter().rev().cloned().collect();
        assert_eq!(parse_profile_list(kind, &reversed).ok(), outcome.clone().ok(), "in any order");
        if let Ok(request) = &outcome {
            within_limits(request);
        }
    }
    let Ok(request) = parse_profile_list(ProfileKind::Core, &pairs) else { return };
    for block in blocks_of(data.get(line.len() + 1..).unwrap_or_default(), Family::Identity) {
        for profile in prepare_creates(&block, &Placeholders::default())
            .iter()
            .filter_map(|entry| entry.item.as_ref().ok())
        {
            agree(&request.query, &profile.fields);
        }
    }
}

fn within_limits(ProfileListRequest { query, paging, .. }: &ProfileListRequest) {
    assert!(paging.page >= 1 && (1..=PAGE_SIZE_MAX).contains(&paging.page_size));
    assert!(paging.page * paging.page_size <= PAGE_DEPTH_MAX);
    assert!(query.ids.as_ref().is_none_or(|ids| ids.is_sorted_by(|a, b| a < b)));
    for texts in [&query.pids, &query.app_ids, &query.countries, &query.languages] {
        assert!(texts.as_ref().is_none_or(|texts| texts.is_sorted_by(|a, b| a < b)));
    }
}

/// The stored fields of a profile, judged in three ways.
fn agree(query: &ProfileQuery, fields: &[u8]) {
    let profile = SearchableProfile {
        id: &ProfileId::Core(CoreProfileId(17)),
        created_at: UnixMillis(1000),
        updated_at: UnixMillis(2000),
        fields,
        app: None,
    };
    let matches = query.matches(&profile);
    assert!(!matches || ProfileScan::of(query).may_match(fields), "the scan drops a match");
    let (created_at, updated_at) = (profile.created_at, profile.updated_at);
    let terms = IndexedProfile { row: 0, created_at, updated_at }.terms(fields);
    let is_in = |leaf: &Leaf| match leaf {
        Leaf::Term { kind, values } => {
            values.iter().any(|value| terms.contains(&(kind.code(), value.clone())))
        }
        Leaf::Ranges(ranges) => ranges.iter().any(|range| {
            let bounds =
                (range.kind.code(), range.from.clone())..(range.kind.code(), range.until.clone());
            terms.range(bounds).next().is_some()
        }),
        Leaf::Ids(_) | Leaf::Text(_) => panic!("no set of profiles has such a filter"),
    };
    let row = |leaf: &Leaf| Ok::<_, Infallible>((0..u32::from(is_in(leaf))).collect());
    let Ok(rows) = filters(query).eval(&mut { row });
    let Rows::In(rows) = rows else { panic!("the filters have no bound: {query:?}") };
    let by_terms = rows.contains(0);
    if query.reads_beyond_terms() {
        assert!(!matches || by_terms, "the terms drop a match: {query:?}");
    } else {
        assert_eq!(by_terms && query.matches_columns(&profile), matches, "{query:?}");
    }
}

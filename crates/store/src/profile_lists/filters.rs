//! The filters of a query for core profiles as a set expression. Invariant: a profile is in the set
//! exactly if it matches all filters that terms decide.

use caseload_model::issue::{OptionalField, TermKind, text_term};
use caseload_model::profile_query::ProfileQuery;

use crate::query::{DaySplit, Leaf, Set};

/// The profiles that pass the filters that terms decide. Filters that usually match few come first.
pub fn filters(query: &ProfileQuery) -> Set {
    let mut sets = Vec::new();
    let any = |kind, values: &[String]| Set::any(kind, values.iter().map(|value| text_term(value)));
    let tags = &query.tags;
    sets.extend(tags.and.iter().map(|tag| any(TermKind::Tag, std::slice::from_ref(tag))));
    sets.extend(tags.or.iter().map(|values| any(TermKind::Tag, values)));
    for (kind, values) in [
        (TermKind::VipSegment, &query.vip_segments),
        (TermKind::Persona, &query.personas),
        (TermKind::SupportStatus, &query.support_statuses),
        (TermKind::Country, &query.countries),
        (TermKind::Language, &query.languages),
    ] {
        sets.extend(values.iter().map(|values| any(kind, values)));
    }
    for (kind, range) in [(TermKind::Created, query.created), (TermKind::Updated, query.updated)] {
        if !range.is_unbounded() {
            sets.push(Set::Leaf(Leaf::Ranges(DaySplit::of(range).terms(kind))));
        }
    }
    if let Some(exists) = tags.exists {
        let tagged = Set::term(TermKind::Presence, OptionalField::Tags.term());
        sets.push(tagged.only_if(exists));
    }
    if !tags.nor.is_empty() {
        sets.push(any(TermKind::Tag, &tags.nor).not());
    }
    if sets.iter().all(Set::is_complement) {
        sets.push(Set::term(TermKind::All, b""));
    }
    Set::And(sets)
}

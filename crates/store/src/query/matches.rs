//! The matches of a query as data: a set expression of its filters, the spans of time that narrow
//! it, and whether texts are read after that. The text index only says which issues may contain a
//! text, so a query that tests texts takes every issue that the other filters and the index let
//! through. Invariant: without tests of texts, the set
//! within the spans has exactly the issues that the model's `IssueQuery` matches.

use caseload_model::decimal::Decimal;
use caseload_model::fold::fold;
use caseload_model::issue::{
    FieldType, ISSUE_MODE_DEFAULT, OptionalField, TermKind, TermRange, choice_term, field_term,
    number_term, numbers_above, numbers_below, text_term,
};
use caseload_model::issue_query::{
    Comparison, Condition, FieldFilter, FieldTest, FieldTests, IssueQuery, RatingSet, SortKey,
    TimeRange,
};

use super::counters::range_of;
use super::set::{Leaf, Set};
use crate::text_index::grams::has_grams;

/// How the matches of a query are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    pub filters: Set,
    /// Each narrows the set further.
    pub spans: Vec<Span>,
    /// Whether the issues found are only candidates, whose texts are read.
    pub texts: bool,
}

/// A span of one of an issue's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub key: SortKey,
    pub range: TimeRange,
}

impl Matches {
    /// `assignees` are the ids of the agents that the condition on their addresses selects; they
    /// are used only if the query has one.
    pub(super) fn of(query: &IssueQuery, assignees: &[String]) -> Self {
        let spans: Vec<Span> =
            [SortKey::CreationTime, SortKey::UpdateTime, SortKey::StateChangeTime]
                .into_iter()
                .map(|key| Span { key, range: range_of(query, key) })
                .filter(|span| !span.range.is_unbounded())
                .collect();
        let mut sets = filters(query, assignees);
        may_contain(&mut sets, query);
        // A candidate of the text index may be a row that is gone.
        let is_exact = |set: &Set| matches!(set, Set::Leaf(leaf) if !matches!(leaf, Leaf::Text(_)));
        if sets.iter().any(Set::has_text) && !sets.iter().any(is_exact) {
            sets.push(Set::term(TermKind::All, b""));
        }
        if spans.is_empty() && sets.iter().all(Set::is_complement) {
            sets.push(Set::term(TermKind::All, b""));
        }
        Self { filters: Set::And(sets), spans, texts: tests_texts(query) }
    }
}

impl Matches {
    /// Every issue.
    pub fn every() -> Self {
        let filters = Set::term(TermKind::All, b"");
        Self { filters, spans: Vec::new(), texts: false }
    }
}

/// The candidates of the texts that the query asks for. Short ones are left out.
fn may_contain(sets: &mut Vec<Set>, query: &IssueQuery) {
    let conditions = [&query.title, &query.messages, &query.notes, &query.feedback_comment];
    let all = query.text.iter().chain(conditions.into_iter().flat_map(|texts| &texts.and));
    sets.extend(all.filter_map(|text| may_contain_any(std::slice::from_ref(text))));
    sets.extend(conditions.into_iter().filter_map(|texts| may_contain_any(texts.or.as_deref()?)));
}

/// The issues that may contain one of these texts; `None` if a text is too short.
fn may_contain_any(texts: &[String]) -> Option<Set> {
    if !texts.iter().all(|text| has_grams(text)) {
        return None;
    }
    match texts {
        [text] => Some(Set::Leaf(Leaf::Text(text.clone()))),
        _ => Some(Set::Or(texts.iter().map(|text| Set::Leaf(Leaf::Text(text.clone()))).collect())),
    }
}

/// Whether the query tests texts.
pub fn tests_texts(query: &IssueQuery) -> bool {
    // A term says which issues have a comment; none says which have a message or a note.
    query.text.is_some()
        || has_words(&query.feedback_comment)
        || [&query.title, &query.messages, &query.notes]
            .into_iter()
            .any(|texts| !texts.is_unbounded())
        || tests_text_of_fields(query)
}

/// Values of filters from which on a query reads a large union of sets.
const UNION_VALUES_MAX: usize = 100;

/// Whether answering the query may take long: it tests texts, or reads very many sets.
pub fn is_expensive(query: &IssueQuery) -> bool {
    let lists = [
        &query.app_ids,
        &query.platform_types,
        &query.queue_ids,
        &query.end_user_ids,
        &query.issue_modes,
    ];
    let conditions = [&query.tags, &query.languages, &query.assignee_ids, &query.assignee_emails];
    let pids = query.person.as_ref().map(|person| person.pids.len());
    let of_lists = lists.into_iter().flatten().map(Vec::len).chain(pids);
    let of_conditions = conditions.into_iter().chain([&query.author_emails]).map(|condition| {
        condition.and.len() + condition.or.as_ref().map_or(0, Vec::len) + condition.nor.len()
    });
    tests_texts(query) || of_lists.chain(of_conditions).sum::<usize>() > UNION_VALUES_MAX
}

/// Whether the condition tests a text and not only whether there is one.
pub(super) fn has_words(condition: &Condition) -> bool {
    !condition.and.is_empty() || condition.or.is_some() || !condition.nor.is_empty()
}

pub(super) fn tests_text_of_fields(query: &IssueQuery) -> bool {
    query.custom_fields.iter().any(|filter| {
        let fields = filter.and.iter().chain(filter.or.iter().flatten());
        fields
            .flat_map(|field| &field.tests)
            .any(|test| matches!(test, FieldTest::Contains(_) | FieldTest::DoesNotContain(_)))
    })
}

/// Whether an agent of this address is one that the condition on assignees selects.
pub(super) fn selects_agent(condition: &Condition, email: &str) -> bool {
    let email = fold(email);
    condition.holds(!email.is_empty(), |wanted| !email.is_empty() && wanted == email)
}

/// Every filter but the spans of time. Filters that usually match few issues come first.
fn filters(query: &IssueQuery, assignees: &[String]) -> Vec<Set> {
    let mut sets = Vec::new();
    if let Some(ids) = &query.ids {
        sets.push(Set::Leaf(Leaf::Ids(ids.clone())));
    }
    texts(&mut sets, TermKind::EndUser, query.end_user_ids.as_deref());
    condition(
        &mut sets,
        TermKind::AuthorEmail,
        &query.author_emails,
        Some(OptionalField::AuthorEmail),
    );
    assignee_emails(&mut sets, &query.assignee_emails, assignees);
    condition(&mut sets, TermKind::Tag, &query.tags, Some(OptionalField::Tags));
    condition(&mut sets, TermKind::Assignee, &query.assignee_ids, None);
    texts(&mut sets, TermKind::Queue, query.queue_ids.as_deref());
    texts(&mut sets, TermKind::App, query.app_ids.as_deref());
    condition(&mut sets, TermKind::Language, &query.languages, Some(OptionalField::Language));
    texts(&mut sets, TermKind::Platform, query.platform_types.as_deref());
    modes(&mut sets, query.issue_modes.as_deref());
    rating(&mut sets, query.rating);
    if let Some(states) = &query.states {
        let words = states.iter().map(|state| state.as_str().as_bytes().to_vec());
        sets.push(Set::any(TermKind::State, words));
    }
    if let Some(redacted) = query.redacted {
        sets.push(Set::term(TermKind::Redacted, b"").only_if(redacted));
    }
    exists(&mut sets, OptionalField::FeedbackComment, query.feedback_comment.exists);
    for texts in [&query.title, &query.messages, &query.notes] {
        if texts.or.as_ref().is_some_and(Vec::is_empty) {
            sets.push(Set::NONE);
        }
    }
    for filter in &query.custom_fields {
        custom_fields(&mut sets, filter);
    }
    sets
}

fn texts(sets: &mut Vec<Set>, kind: TermKind, texts: Option<&[String]>) {
    if let Some(texts) = texts {
        sets.push(Set::any(kind, texts.iter().map(|text| text_term(text))));
    }
}

/// The issues with one of these modes. An issue without a mode has the default one.
fn modes(sets: &mut Vec<Set>, wanted: Option<&[String]>) {
    let Some(wanted) = wanted else { return };
    let named = Set::any(TermKind::Mode, wanted.iter().map(|mode| text_term(mode)));
    if !wanted.iter().any(|mode| mode == ISSUE_MODE_DEFAULT) {
        sets.push(named);
        return;
    }
    // No term of a text has this many bytes of the highest value.
    let (from, until) = (Vec::new(), vec![0xff; 32]);
    let any = Set::Leaf(Leaf::Ranges(vec![TermRange { kind: TermKind::Mode, from, until }]));
    sets.push(Set::Or(vec![named, any.not()]));
}

/// A condition on values. `part` names the term of issues that have a value; assignees have none,
/// but a term of issues without one.
fn condition(
    sets: &mut Vec<Set>,
    kind: TermKind,
    condition: &Condition,
    part: Option<OptionalField>,
) {
    // No agent's id is empty: the term of the empty id holds the unassigned issues.
    let means_none = |value: &str| kind == TermKind::Assignee && value.is_empty();
    let named = |values: &[String]| {
        let values = values.iter().filter(|value| !means_none(value));
        Set::any(kind, values.map(|value| text_term(value)))
    };
    match (condition.exists, part) {
        (Some(assigned), None) => sets.push(Set::term(kind, b"").only_if(!assigned)),
        (given, Some(part)) => exists(sets, part, given),
        (None, None) => {}
    }
    for value in &condition.and {
        sets.push(named(std::slice::from_ref(value)));
    }
    if let Some(values) = &condition.or {
        sets.push(named(values));
    }
    if !condition.nor.is_empty() {
        sets.push(named(&condition.nor).not());
    }
}

fn exists(sets: &mut Vec<Set>, part: OptionalField, given: Option<bool>) {
    if let Some(given) = given {
        sets.push(Set::term(TermKind::Presence, part.term()).only_if(given));
    }
}

/// The issues of the selected agents, and the unassigned ones if the condition holds for these.
fn assignee_emails(sets: &mut Vec<Set>, condition: &Condition, assignees: &[String]) {
    if condition.is_unbounded() {
        return;
    }
    let assigned = Set::any(TermKind::Assignee, assignees.iter().map(|id| text_term(id)));
    if condition.holds(false, |_| false) {
        sets.push(Set::Or(vec![assigned, Set::term(TermKind::Assignee, b"")]));
    } else {
        sets.push(assigned);
    }
}

fn rating(sets: &mut Vec<Set>, rating: Option<RatingSet>) {
    let Some(set) = rating.filter(|set| *set != RatingSet::ALL) else { return };
    let of = |included: bool| {
        let ratings = (1..=5).filter(move |rating| set.contains(Some(*rating)) == included);
        Set::any(TermKind::Rating, ratings.map(|rating| vec![b'0' + rating]))
    };
    sets.push(if set.has_missing() { of(false).not() } else { of(true) });
}

fn custom_fields(sets: &mut Vec<Set>, filter: &FieldFilter) {
    let all_tests = |fields: &[FieldTests]| -> Vec<Set> {
        let tests = fields.iter().flat_map(|field| field.tests.iter().map(move |t| (field, t)));
        tests.map(|(field, test)| custom_field(filter.field_type, &field.key, test)).collect()
    };
    sets.extend(all_tests(&filter.and));
    if let Some(fields) = &filter.or {
        sets.push(Set::Or(all_tests(fields)));
    }
}

fn custom_field(kind: FieldType, key: &str, test: &FieldTest) -> Set {
    let is_set = || Set::term(TermKind::FieldSet, field_term(kind, key));
    let choices = |choices: &[String]| {
        let terms = choices.iter().map(|choice| choice_term(kind, key, choice));
        Set::any(TermKind::FieldChoice, terms)
    };
    match test {
        FieldTest::IsSet(set) => is_set().only_if(*set),
        FieldTest::Checked(checked) => {
            let word = if *checked { "true" } else { "false" };
            choices(&[word.to_owned()])
        }
        // The text is read later; a field that is not set holds none.
        FieldTest::Contains(words) => match may_contain_any(words) {
            Some(texts) => Set::And(vec![is_set(), texts]),
            None => is_set(),
        },
        FieldTest::DoesNotContain(_) => Set::EVERY,
        FieldTest::OneOf(any) => choices(any),
        FieldTest::NoneOf(none) => choices(none).not(),
        FieldTest::Compare(comparison, value) => number(kind, key, *comparison, value),
    }
}

fn number(kind: FieldType, key: &str, comparison: Comparison, number: &Decimal) -> Set {
    let value = number_term(kind, key, number);
    match comparison {
        Comparison::Is => Set::term(TermKind::FieldNumber, value),
        Comparison::IsNot => Set::term(TermKind::FieldNumber, value).not(),
        Comparison::Smaller => Set::Leaf(Leaf::Ranges(numbers_below(&value))),
        Comparison::Greater => Set::Leaf(Leaf::Ranges(numbers_above(&value))),
    }
}

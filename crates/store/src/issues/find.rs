//! From a query to the set of issues that match it: each filter is a set of rows or the complement
//! of one, and all of them are cut. Tests of texts have no sets; for them every issue is taken, so
//! that what is found holds all matches and maybe others. Invariant: without tests of texts, the
//! set is exactly what the model's `IssueQuery` matches.

use caseload_model::fold::fold;
use caseload_model::issue::{
    OptionalField, TermKind, choice_term, field_term, number_term, text_term,
};
use caseload_model::issue_query::{
    Comparison, Condition, Decimal, FieldFilter, FieldTest, FieldTests, FieldType, IssueQuery,
    RatingSet, SortKey, TimeRange,
};
use caseload_model::time::DAY_MS;
use roaring::RoaringBitmap;

use super::asked::{Direct, Noted, Terms};
use super::reads::IssueReads;
use super::rowset::block_of;
use super::tally::{days_hold, split};
use crate::StoreError;

/// Up to this many rows, looking at their instants is cheaper than reading the sets of days.
const LOOKED_AT_MAX: u64 = if cfg!(test) { 3 } else { 2000 };

/// A span of time, and how many issues its days may have, up to which its issues are looked up
/// before anything else.
const SHORT_SPAN_MS: i64 = 2 * DAY_MS;
const FEW_ISSUES: u64 = if cfg!(test) { 3 } else { 20_000 };

/// What a filter lets through.
enum Filter {
    /// Issues in the set.
    In(RoaringBitmap),
    /// Issues outside of it; every issue, where it is empty.
    NotIn(RoaringBitmap),
}

impl Filter {
    const ALL: fn() -> Self = || Self::NotIn(RoaringBitmap::new());

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::In(a), Self::In(b)) => Self::In(a & b),
            (Self::In(a), Self::NotIn(b)) | (Self::NotIn(b), Self::In(a)) => Self::In(a - b),
            (Self::NotIn(a), Self::NotIn(b)) => Self::NotIn(a | b),
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::In(a), Self::In(b)) => Self::In(a | b),
            (Self::In(a), Self::NotIn(b)) | (Self::NotIn(b), Self::In(a)) => Self::NotIn(b - a),
            (Self::NotIn(a), Self::NotIn(b)) => Self::NotIn(a & b),
        }
    }
}

/// The issues that match, as far as sets tell: see [`super::texts`].
pub(super) fn candidates<R: IssueReads>(
    reads: &R,
    query: &IssueQuery,
) -> Result<RoaringBitmap, StoreError> {
    let short = if R::ASKS_AT_ONCE { None } else { short_span(reads, query)? };
    let mut found = if R::ASKS_AT_ONCE {
        // What there is to ask does not depend on the answers.
        let noted = Noted::new(reads);
        terms(&noted, query, false)?;
        terms(&noted.ask()?, query, true)?
    } else if let Some((key, range)) = short {
        // Few issues: the sets that they are cut with are read as far as these issues reach.
        let few = reads.span(key, &split(range))?;
        let Some((first, last)) = few.min().zip(few.max()) else { return Ok(few) };
        let blocks = block_of(first)..=block_of(last);
        Filter::In(few).and(terms(&Direct { reads, blocks }, query, true)?)
    } else {
        terms(&Direct { reads, blocks: 0..=u32::MAX }, query, true)?
    };
    for (key, range) in spans(query).filter(|span| Some(*span) != short) {
        found = within(reads, found, key, range)?;
    }
    match found {
        Filter::In(rows) => Ok(rows),
        Filter::NotIn(rows) => Ok(reads.all()? - rows),
    }
}

/// The first span of time that is short and whose days have few issues.
fn short_span<R: IssueReads>(
    reads: &R,
    query: &IssueQuery,
) -> Result<Option<(SortKey, TimeRange)>, StoreError> {
    for (key, range) in spans(query) {
        if is_short(&range) && days_hold(reads, key, range)? <= FEW_ISSUES {
            return Ok(Some((key, range)));
        }
    }
    Ok(None)
}

/// What every filter but spans of time lets through; `stops` where nothing is left.
fn terms<T: Terms>(sets: &T, query: &IssueQuery, stops: bool) -> Result<Filter, StoreError> {
    let finder = Finder { sets };
    let mut found = Filter::ALL();
    for filter in filters() {
        if stops && matches!(&found, Filter::In(rows) if rows.is_empty()) {
            return Ok(found);
        }
        found = found.and(filter(&finder, query)?);
    }
    for filter in &query.custom_fields {
        found = found.and(finder.fields(filter)?);
    }
    Ok(found)
}

/// The spans of time that the query asks for.
fn spans(query: &IssueQuery) -> impl Iterator<Item = (SortKey, TimeRange)> {
    [
        (SortKey::CreationTime, query.created),
        (SortKey::UpdateTime, query.updated),
        (SortKey::StateChangeTime, query.changed),
    ]
    .into_iter()
    .filter(|(_, range)| !range.is_unbounded())
}

/// Whether a span of time is short.
fn is_short(range: &TimeRange) -> bool {
    let length = range.until.zip(range.since).map(|(until, since)| until.0.saturating_sub(since.0));
    length.is_some_and(|length| length <= SHORT_SPAN_MS)
}

/// What of `found` lies in a span of time.
fn within<R: IssueReads>(
    reads: &R,
    found: Filter,
    key: SortKey,
    range: TimeRange,
) -> Result<Filter, StoreError> {
    match found {
        Filter::In(rows) if rows.len() <= LOOKED_AT_MAX => {
            let mut inside = RoaringBitmap::new();
            reads.instants(key, &rows, |issue| {
                if range.contains(issue.at) {
                    inside.insert(issue.row);
                }
            })?;
            Ok(Filter::In(inside))
        }
        found => Ok(found.and(Filter::In(reads.span(key, &split(range))?))),
    }
}

type FilterOf<'r, T> = fn(&Finder<'r, T>, &IssueQuery) -> Result<Filter, StoreError>;

/// Every filter but custom fields and spans of time, those first that mostly match few.
fn filters<'r, T: Terms>() -> [FilterOf<'r, T>; 17] {
    [
        |f, q| f.ids(q.ids.as_deref()),
        |f, q| f.texts(TermKind::EndUser, q.end_user_ids.as_deref()),
        |f, q| {
            f.condition(TermKind::AuthorEmail, &q.author_emails, Some(OptionalField::AuthorEmail))
        },
        |f, q| f.assignee_emails(&q.assignee_emails),
        |f, q| f.condition(TermKind::Tag, &q.tags, Some(OptionalField::Tags)),
        |f, q| f.condition(TermKind::Assignee, &q.assignee_ids, None),
        |f, q| f.texts(TermKind::Queue, q.queue_ids.as_deref()),
        |f, q| f.texts(TermKind::App, q.app_ids.as_deref()),
        |f, q| f.condition(TermKind::Language, &q.languages, Some(OptionalField::Language)),
        |f, q| f.texts(TermKind::Platform, q.platform_types.as_deref()),
        |f, q| f.texts(TermKind::Mode, q.issue_modes.as_deref()),
        |f, q| f.rating(q.rating),
        |f, q| f.states(q),
        |f, q| f.redacted(q.redacted),
        |f, q| f.exists(OptionalField::FeedbackComment, q.feedback_comment.exists),
        |_, q| Ok(nothing_if(q.messages.or.as_ref().is_some_and(Vec::is_empty))),
        |_, q| Ok(nothing_if(q.notes.or.as_ref().is_some_and(Vec::is_empty))),
    ]
}

fn nothing_if(nothing: bool) -> Filter {
    if nothing { Filter::In(RoaringBitmap::new()) } else { Filter::ALL() }
}

struct Finder<'r, T> {
    sets: &'r T,
}

impl<T: Terms> Finder<'_, T> {
    fn ids(&self, ids: Option<&[u64]>) -> Result<Filter, StoreError> {
        let Some(ids) = ids else { return Ok(Filter::ALL()) };
        Ok(Filter::In(self.sets.ids(ids)?))
    }

    fn texts(&self, kind: TermKind, texts: Option<&[String]>) -> Result<Filter, StoreError> {
        let Some(texts) = texts else { return Ok(Filter::ALL()) };
        let values: Vec<_> = texts.iter().map(|text| text_term(text)).collect();
        Ok(Filter::In(self.sets.any(kind, &values)?))
    }

    /// A condition on values; `part` tells whether there is one. Assignees alone have none.
    fn condition(
        &self,
        kind: TermKind,
        condition: &Condition,
        part: Option<OptionalField>,
    ) -> Result<Filter, StoreError> {
        // Nobody's id is empty: that term stands for unassigned issues.
        let means_none = |value: &String| kind == TermKind::Assignee && value.is_empty();
        let named = |values: &[String]| -> Vec<Vec<u8>> {
            let values = values.iter().filter(|value| !means_none(value));
            values.map(|value| text_term(value)).collect()
        };
        let mut found = match (condition.exists, part) {
            (None, _) => Filter::ALL(),
            (Some(true), None) => Filter::NotIn(self.sets.term(kind, b"")?),
            (Some(false), None) => Filter::In(self.sets.term(kind, b"")?),
            (exists, Some(part)) => self.exists(part, exists)?,
        };
        for value in &condition.and {
            found =
                found.and(Filter::In(self.sets.any(kind, &named(std::slice::from_ref(value)))?));
        }
        if let Some(values) = &condition.or {
            found = found.and(Filter::In(self.sets.any(kind, &named(values))?));
        }
        if !condition.nor.is_empty() {
            found = found.and(Filter::NotIn(self.sets.any(kind, &named(&condition.nor))?));
        }
        Ok(found)
    }

    fn exists(&self, part: OptionalField, exists: Option<bool>) -> Result<Filter, StoreError> {
        let Some(exists) = exists else { return Ok(Filter::ALL()) };
        let rows = self.sets.term(TermKind::Presence, &part.term())?;
        Ok(if exists { Filter::In(rows) } else { Filter::NotIn(rows) })
    }

    /// The issues whose assignee has one of the addresses.
    fn assignee_emails(&self, condition: &Condition) -> Result<Filter, StoreError> {
        if condition.is_unbounded() {
            return Ok(Filter::ALL());
        }
        let mut ids = Vec::new();
        self.sets.agents(|id, email| {
            let email = fold(email);
            if condition.holds(!email.is_empty(), |wanted| !email.is_empty() && wanted == email) {
                ids.push(text_term(id));
            }
        })?;
        let assigned = self.sets.any(TermKind::Assignee, &ids)?;
        if condition.holds(false, |_| false) {
            let unassigned = self.sets.term(TermKind::Assignee, b"")?;
            return Ok(Filter::In(assigned | unassigned));
        }
        Ok(Filter::In(assigned))
    }

    fn rating(&self, rating: Option<RatingSet>) -> Result<Filter, StoreError> {
        let Some(set) = rating.filter(|set| *set != RatingSet::ALL) else {
            return Ok(Filter::ALL());
        };
        let of = |wanted: bool| {
            let ratings = (1..=5).filter(move |rating| set.contains(Some(*rating)) == wanted);
            let values: Vec<_> = ratings.map(|rating| [b'0' + rating]).collect();
            self.sets.any(TermKind::Rating, &values)
        };
        Ok(if set.has_missing() { Filter::NotIn(of(false)?) } else { Filter::In(of(true)?) })
    }

    fn states(&self, query: &IssueQuery) -> Result<Filter, StoreError> {
        let Some(states) = &query.states else { return Ok(Filter::ALL()) };
        let words: Vec<_> = states.iter().map(|state| state.as_str()).collect();
        Ok(Filter::In(self.sets.any(TermKind::State, &words)?))
    }

    fn redacted(&self, redacted: Option<bool>) -> Result<Filter, StoreError> {
        let Some(redacted) = redacted else { return Ok(Filter::ALL()) };
        let rows = self.sets.term(TermKind::Redacted, b"")?;
        Ok(if redacted { Filter::In(rows) } else { Filter::NotIn(rows) })
    }

    fn fields(&self, filter: &FieldFilter) -> Result<Filter, StoreError> {
        let mut found = Filter::ALL();
        for (field, test) in tests(&filter.and) {
            found = found.and(self.field(filter.field_type, &field.key, test)?);
        }
        if let Some(fields) = &filter.or {
            let mut any = Filter::In(RoaringBitmap::new());
            for (field, test) in tests(fields) {
                any = any.or(self.field(filter.field_type, &field.key, test)?);
            }
            found = found.and(any);
        }
        Ok(found)
    }

    fn field(&self, kind: FieldType, key: &str, test: &FieldTest) -> Result<Filter, StoreError> {
        let choices = |choices: &[String]| {
            let terms: Vec<_> =
                choices.iter().map(|choice| choice_term(kind, key, choice)).collect();
            self.sets.any(TermKind::FieldChoice, &terms)
        };
        Ok(match test {
            FieldTest::IsSet(set) => {
                let rows = self.sets.term(TermKind::FieldSet, &field_term(kind, key))?;
                if *set { Filter::In(rows) } else { Filter::NotIn(rows) }
            }
            FieldTest::Checked(checked) => {
                let word = if *checked { "true" } else { "false" };
                Filter::In(choices(&[word.to_owned()])?)
            }
            // At least one of the tests for which the issue's text is read.
            FieldTest::Contains(_) => {
                Filter::In(self.sets.term(TermKind::FieldSet, &field_term(kind, key))?)
            }
            FieldTest::DoesNotContain(_) => Filter::ALL(),
            FieldTest::OneOf(any) => Filter::In(choices(any)?),
            FieldTest::NoneOf(none) => Filter::NotIn(choices(none)?),
            FieldTest::Compare(comparison, number) => {
                self.number(kind, key, *comparison, number)?
            }
        })
    }

    fn number(
        &self,
        kind: FieldType,
        key: &str,
        comparison: Comparison,
        number: &Decimal,
    ) -> Result<Filter, StoreError> {
        let value = number_term(kind, key, number);
        let between =
            |from: &[u8], until: &[u8]| self.sets.between(TermKind::FieldNumber, from, until);
        let first = field_term(kind, key);
        Ok(match comparison {
            Comparison::Is => Filter::In(self.sets.term(TermKind::FieldNumber, &value)?),
            Comparison::IsNot => Filter::NotIn(self.sets.term(TermKind::FieldNumber, &value)?),
            Comparison::Smaller => Filter::In(between(&first, &value)?),
            Comparison::Greater => {
                // The least value beyond this one, and one beyond every number of the field.
                let from = [value.as_slice(), &[0]].concat();
                let until = [first.as_slice(), &[0xff]].concat();
                Filter::In(between(&from, &until)?)
            }
        })
    }
}

/// Every test with its field.
fn tests(fields: &[FieldTests]) -> impl Iterator<Item = (&FieldTests, &FieldTest)> {
    fields.iter().flat_map(|field| field.tests.iter().map(move |test| (field, test)))
}

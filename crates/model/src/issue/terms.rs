//! Terms: the values by which an issue or a core profile is found. For each domain and term a
//! backend stores the set of issues, or of profiles, that have it, and combines filters as
//! operations on these sets. This is the only definition of an issue's terms; imports, edits and
//! `caseload check` all use it. `profile_query` names those of a profile. A term is a kind and a
//! value of bytes. Values of one kind sort as the values they encode, so a range of days or numbers
//! is a range of values. Invariant: the columns and fragments of an issue alone determine its
//! terms.

use sha2::{Digest, Sha256};

use super::counters::{SPAN_DAYS, distinct_tags};
use super::custom_field::{FieldType, has_value, scalar_text};
use super::number_spans::visit_number_spans;
use super::{IssueColumns, IssueFragments};
use crate::decimal::Decimal;
use crate::json::{self, Json};
use crate::task::words;
use crate::time::UnixMillis;

words! {
    /// The kind of a term, which defines its value. The value of `All` and `Redacted` is empty. The
    /// empty value of `Assignee` means unassigned; `Rating` is one digit. `Created`, `Updated` and
    /// `Changed` are the days of `created_at`, `updated_at` and `state_data.changed_at`
    /// ([`day_term`]). `Presence` is an [`OptionalField`] that the issue has. `FieldSet` is a
    /// custom field that has a value, `FieldChoice` the value of a dropdown or checkbox,
    /// `FieldNumber` that of a number or date ([`field_term`]). `AuthorEmail` is folded and absent
    /// if the address is unknown. `CreatedSpan`, `UpdatedSpan` and `ChangedSpan` are the spans of
    /// 32 days of the three times ([`span_term`]), `NumberSpan` the spans of numbers that begin
    /// alike ([`visit_number_spans`]): of a wide range, few of these sets are read. Only profiles
    /// have the kinds from `Country` on; `CreatedAt` and `UpdatedAt` are their times
    /// ([`instant_term`]).
    TermKind {
        All = 1 "all",
        State = 2 "state",
        App = 3 "app",
        Assignee = 4 "assignee",
        Queue = 5 "queue",
        Tag = 6 "tag",
        Rating = 7 "rating",
        Language = 8 "language",
        Platform = 9 "platform",
        Created = 10 "created",
        Updated = 11 "updated",
        Changed = 12 "changed",
        Mode = 13 "mode",
        Redacted = 14 "redacted",
        Presence = 15 "part",
        FieldSet = 16 "field-set",
        FieldChoice = 17 "field-choice",
        EndUser = 18 "end-user",
        AuthorEmail = 19 "author-email",
        FieldNumber = 20 "field-number",
        CreatedSpan = 21 "created-span",
        UpdatedSpan = 22 "updated-span",
        ChangedSpan = 23 "changed-span",
        NumberSpan = 24 "number-span",
        Country = 25 "country",
        VipSegment = 26 "vip-segment",
        Persona = 27 "persona",
        SupportStatus = 28 "support-status",
        CreatedAt = 29 "created-at",
        UpdatedAt = 30 "updated-at",
    }
}

impl TermKind {
    /// Whether most values occur in few issues. Such terms are stored as index entries, not as
    /// sets.
    pub const fn is_sparse(self) -> bool {
        matches!(self, Self::EndUser | Self::AuthorEmail | Self::FieldNumber | Self::NumberSpan)
    }

    /// The kind of the spans of 32 days that these days are in.
    pub const fn of_spans(self) -> Option<Self> {
        match self {
            Self::Created => Some(Self::CreatedSpan),
            Self::Updated => Some(Self::UpdatedSpan),
            Self::Changed => Some(Self::ChangedSpan),
            _ => None,
        }
    }

    /// The kind of the instants on these days. Only profiles have it.
    pub const fn of_instants(self) -> Option<Self> {
        match self {
            Self::Created => Some(Self::CreatedAt),
            Self::Updated => Some(Self::UpdatedAt),
            _ => None,
        }
    }
}

words! {
    /// Fields of an issue that may be absent and that `exists` asks for.
    OptionalField {
        Tags = 1 "tags",
        Language = 2 "language",
        AuthorEmail = 3 "author-email",
        FeedbackComment = 4 "feedback-comment",
    }
}

impl OptionalField {
    /// The value of its term.
    pub const fn term(self) -> [u8; 1] {
        [self as u8]
    }
}

/// Values of up to this many bytes are used as they are, longer ones as a hash.
const VALUE_BYTES_MAX: usize = 31;
/// Marks a hash; no text begins with this byte.
const HASHED: u8 = 0xff;
/// Bytes of a hash: enough that two texts never share one.
const HASH_BYTES: usize = 20;

/// The term value of a text.
pub fn text_term(text: &str) -> Vec<u8> {
    if text.len() <= VALUE_BYTES_MAX {
        return text.as_bytes().to_vec();
    }
    let mut term = vec![HASHED];
    term.extend_from_slice(&Sha256::digest(text)[..HASH_BYTES]);
    term
}

/// The term value of a day since 1970-01-01. Ascending days have ascending values.
pub fn day_term(day: i64) -> [u8; 4] {
    let day = day.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
    (day.cast_unsigned() ^ 0x8000_0000).to_be_bytes()
}

/// The day of a value of [`day_term`].
pub fn term_day(term: &[u8]) -> Option<i64> {
    let bytes: [u8; 4] = term.try_into().ok()?;
    Some((u32::from_be_bytes(bytes) ^ 0x8000_0000).cast_signed().into())
}

/// The term value of the span of 32 days that a day is in.
pub fn span_term(day: i64) -> [u8; 4] {
    day_term(day.div_euclid(SPAN_DAYS))
}

/// The term value of an instant. Ascending instants have ascending values.
pub const fn instant_term(at: UnixMillis) -> [u8; 8] {
    (at.0.cast_unsigned() ^ 1 << 63).to_be_bytes()
}

/// The instant of a value of [`instant_term`].
pub fn term_instant(term: &[u8]) -> Option<UnixMillis> {
    let bytes: [u8; 8] = term.try_into().ok()?;
    Some(UnixMillis((u64::from_be_bytes(bytes) ^ 1 << 63).cast_signed()))
}

/// The term value of a custom field that has any value. The values of its choices and numbers begin
/// with it.
pub fn field_term(kind: FieldType, key: &str) -> Vec<u8> {
    let key = text_term(key);
    let mut term = vec![kind as u8, key.len() as u8];
    term.extend_from_slice(&key);
    term
}

/// The term value of a choice of a dropdown, or of `true` or `false` of a checkbox.
pub fn choice_term(kind: FieldType, key: &str, choice: &str) -> Vec<u8> {
    let mut term = field_term(kind, key);
    term.extend_from_slice(&text_term(choice));
    term
}

/// The term value of a number or date. Ascending numbers of one field have ascending values.
pub fn number_term(kind: FieldType, key: &str, number: &Decimal) -> Vec<u8> {
    let mut term = field_term(kind, key);
    number.write_sortable(&mut term);
    term
}

/// Passes the terms of the spans to `visit` that a day or a number is in. Other terms have none.
pub fn visit_spans(kind: TermKind, value: &[u8], visit: &mut impl FnMut(TermKind, &[u8])) {
    if kind == TermKind::FieldNumber {
        visit_number_spans(value, |span| visit(TermKind::NumberSpan, span));
    } else if let (Some(spans), Some(day)) = (kind.of_spans(), term_day(value)) {
        visit(spans, &span_term(day));
    }
}

/// Passes the terms of an instant to `visit`: those of its day, of its span and, if the kind has
/// instants, its own. `kind` is the one of its day.
pub fn visit_time(kind: TermKind, at: UnixMillis, visit: &mut impl FnMut(TermKind, &[u8])) {
    let day = day_term(at.day());
    visit(kind, &day);
    visit_spans(kind, &day, visit);
    if let Some(instants) = kind.of_instants() {
        visit(instants, &instant_term(at));
    }
}

/// Passes each term of the issue to `visit`, once.
pub fn visit_terms(
    issue: &IssueColumns,
    fragments: &IssueFragments<'_>,
    visit: &mut impl FnMut(TermKind, &[u8]),
) {
    let facts = &issue.facts;
    visit(TermKind::All, b"");
    visit(TermKind::State, facts.state.as_str().as_bytes());
    for (kind, at) in [
        (TermKind::Created, issue.created_at),
        (TermKind::Updated, facts.updated_at),
        (TermKind::Changed, facts.changed_at),
    ] {
        let day = day_term(at.day());
        visit(kind, &day);
        visit_spans(kind, &day, visit);
    }
    let mut text = |kind, text: Option<&str>| {
        if let Some(text) = text {
            visit_text(kind, text, visit);
        }
    };
    text(TermKind::App, Some(&issue.app_id));
    text(TermKind::Assignee, Some(facts.assignee_id.as_deref().unwrap_or_default()));
    text(TermKind::Queue, facts.queue.as_ref().map(|queue| queue.id.as_str()));
    text(TermKind::Language, facts.language.as_deref());
    text(TermKind::Platform, facts.platform_type.as_deref());
    text(TermKind::Mode, facts.issue_mode.as_deref());
    text(TermKind::EndUser, Some(&facts.hs_user_id));
    let email = Some(facts.author_email.as_str()).filter(|email| !email.is_empty());
    text(TermKind::AuthorEmail, email);
    if let Some(rating) = facts.rating {
        visit(TermKind::Rating, &[b'0' + rating.min(9)]);
    }
    if facts.redacted {
        visit(TermKind::Redacted, b"");
    }
    distinct_tags(issue, |tag| visit_text(TermKind::Tag, tag, visit));
    for (field, present) in [
        (OptionalField::Tags, !facts.tags.is_empty()),
        (OptionalField::Language, facts.language.is_some()),
        (OptionalField::AuthorEmail, email.is_some()),
        (OptionalField::FeedbackComment, has_comment(fragments)),
    ] {
        if present {
            visit(TermKind::Presence, &field.term());
        }
    }
    visit_fields(fragments.custom_fields, visit);
}

fn visit_text(kind: TermKind, text: &str, visit: &mut impl FnMut(TermKind, &[u8])) {
    with_text_term(text, |term| visit(kind, term));
}

/// Passes the term value of a text to `each`.
pub(crate) fn with_text_term(text: &str, each: impl FnOnce(&[u8])) {
    if text.len() <= VALUE_BYTES_MAX {
        each(text.as_bytes());
    } else {
        each(&text_term(text));
    }
}

fn has_comment(fragments: &IssueFragments<'_>) -> bool {
    let Some(feedback) = fragments.feedback else { return false };
    let map = [b"{", feedback, b"}"].concat();
    json::parse(&map).is_ok_and(|map| map.get("feedback_comment").is_some())
}

/// The terms of custom fields that have a value. An unreadable fragment has none; `caseload check`
/// reports it.
fn visit_fields(fragment: &[u8], visit: &mut impl FnMut(TermKind, &[u8])) {
    let Ok(Json::Object(fields)) = json::parse(fragment) else { return };
    for (key, field) in &fields {
        let kind = field.get("type").and_then(Json::as_str).and_then(FieldType::parse);
        let (Some(kind), Some(value)) = (kind, field.get("value")) else { continue };
        if !has_value(value) {
            continue;
        }
        visit(TermKind::FieldSet, &field_term(kind, key));
        match kind {
            FieldType::Singleline | FieldType::Multiline => {}
            FieldType::Number | FieldType::Date => {
                if let Some(number) = scalar_text(value).as_deref().and_then(Decimal::parse) {
                    let number = number_term(kind, key, &number);
                    visit(TermKind::FieldNumber, &number);
                    visit_spans(TermKind::FieldNumber, &number, visit);
                }
            }
            FieldType::Dropdown | FieldType::Checkbox => {
                if let Some(choice) = scalar_text(value) {
                    visit(TermKind::FieldChoice, &choice_term(kind, key, &choice));
                }
            }
        }
    }
}

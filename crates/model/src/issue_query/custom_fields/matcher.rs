//! Matches the filter on custom fields against stored fragments, and defines what a single test
//! means for a stored value. A number counts the same as a number and as a string, a checkbox as a
//! boolean and as the string. A value that does not fit the type, such as text in a number field,
//! equals nothing, as an absent field does.

use super::{Comparison, FieldFilter, FieldTest, FieldTests};
use crate::decimal::Decimal;
use crate::fold::fold_text;
use crate::issue::{FieldType, boolean_text, has_value, scalar_text};
use crate::issue_query::fragment_reader::{StoredField, members, stored_field};
use crate::json::{Json, write_string};

impl FieldTest {
    /// Whether the test holds for a field's value; `None` means that the field is absent.
    pub fn holds(&self, value: Option<&Json<'_>>) -> bool {
        let value = value.filter(|value| has_value(value));
        let Some(value) = value else { return self.holds_when_absent() };
        let text = || scalar_text(value);
        match self {
            Self::IsSet(set) => *set,
            Self::Checked(checked) => text().as_deref() == Some(boolean_text(*checked)),
            Self::Contains(words) => contains_any(text().as_deref(), words),
            Self::DoesNotContain(words) => !contains_any(text().as_deref(), words),
            Self::Compare(comparison, wanted) => {
                let number = text().as_deref().and_then(Decimal::parse);
                compares(*comparison, number.as_ref(), wanted)
            }
            Self::OneOf(choices) => text().is_some_and(|text| choices.iter().any(|c| *c == text)),
            Self::NoneOf(choices) => !text().is_some_and(|text| choices.iter().any(|c| *c == text)),
        }
    }
}

fn contains_any(text: Option<&str>, words: &[String]) -> bool {
    text.map(fold_text).is_some_and(|text| words.iter().any(|word| text.contains(word)))
}

fn compares(comparison: Comparison, number: Option<&Decimal>, wanted: &Decimal) -> bool {
    match comparison {
        Comparison::Is => number == Some(wanted),
        Comparison::IsNot => number != Some(wanted),
        Comparison::Greater => number.is_some_and(|number| number > wanted),
        Comparison::Smaller => number.is_some_and(|number| number < wanted),
    }
}

/// A field that a filter names.
#[derive(Debug, Clone)]
struct NamedField {
    field_type: FieldType,
    key: String,
    /// The key as JSON has it between quotes.
    escaped: Vec<u8>,
}

/// Matches the filters of a query on custom fields against fragments.
#[derive(Debug, Clone)]
pub struct FieldMatcher {
    filters: Vec<FieldFilter>,
    /// Each field that the filters name, once.
    fields: Vec<NamedField>,
}

impl FieldMatcher {
    pub fn new(filters: &[FieldFilter]) -> Self {
        let mut fields: Vec<NamedField> = Vec::new();
        for filter in filters {
            for FieldTests { key, .. } in filter.and.iter().chain(filter.or.iter().flatten()) {
                let is_known = |p: &NamedField| p.field_type == filter.field_type && p.key == *key;
                if !fields.iter().any(is_known) {
                    let mut quoted = Vec::new();
                    write_string(key, &mut quoted);
                    fields.push(NamedField {
                        field_type: filter.field_type,
                        key: key.clone(),
                        escaped: quoted[1..quoted.len() - 1].to_vec(),
                    });
                }
            }
        }
        Self { filters: filters.to_vec(), fields }
    }

    /// Whether all filters hold for an issue with these custom fields.
    pub fn holds(&self, custom_fields: &[u8]) -> bool {
        let mut found: Vec<(&str, StoredField<'_>)> = Vec::new();
        members(custom_fields, |key, field| {
            if let Some(named) = self.fields.iter().find(|named| named.escaped == key)
                && let Some(field) = stored_field(field)
            {
                found.push((&named.key, field));
            }
            true
        });
        self.filters.iter().all(|filter| {
            holds_for(&filter.and, filter.or.as_deref(), |key| {
                let is_meant = |(name, field): &&(&str, StoredField<'_>)| {
                    *name == key && field.field_type == filter.field_type
                };
                found.iter().find(is_meant).map(|(_, field)| &field.value)
            })
        })
    }
}

/// Whether a filter with these groups holds; `value` looks up a field of its type.
pub(crate) fn holds_for<'v, 'j: 'v>(
    and: &[FieldTests],
    or: Option<&[FieldTests]>,
    value: impl Fn(&str) -> Option<&'v Json<'j>>,
) -> bool {
    let all = and.iter().all(|field| {
        let value = value(&field.key);
        field.tests.iter().all(|test| test.holds(value))
    });
    let any = |fields: &[FieldTests]| {
        fields.iter().any(|field| {
            let value = value(&field.key);
            field.tests.iter().any(|test| test.holds(value))
        })
    };
    all && or.is_none_or(any)
}

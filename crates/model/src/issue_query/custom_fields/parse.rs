//! Reads the filter `custom_fields`: `{TYPE:{"and":{KEY:{OPERATOR:VALUE}},"or":{…}}}`. A checkbox
//! has its value in place of operators. One table here says which operators a type takes. Types,
//! groups and keys may be empty; a map of operators may not, because then the condition was
//! forgotten.

use super::{Comparison, FieldFilter, FieldTest, FieldTests};
use crate::decimal::Decimal;
use crate::fold::fold_text;
use crate::issue::FieldType;
use crate::json::Json;
use crate::parameters::instant::parse_queried;
use crate::parameters::json_value::{self, FilterFaults};
use crate::time::read::InvalidMoment;

const EXAMPLE: &str = "a map such as {\"number\":{\"and\":{\"quantity\":{\"is\":5}}}}";
const GROUPS: [&str; 2] = ["and", "or"];

/// An operator: it decides which value it takes and which test it becomes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operator {
    IsSet,
    Contains,
    DoesNotContain,
    Number(Comparison),
    Date(Comparison),
    Is,
    IsNot,
    IsOneOf,
    IsNoneOf,
}

pub(crate) const TEXT: &[(&str, Operator)] = &[
    ("is_set", Operator::IsSet),
    ("contains", Operator::Contains),
    ("does_not_contain", Operator::DoesNotContain),
];
pub(crate) const NUMBER: &[(&str, Operator)] = &[
    ("is_set", Operator::IsSet),
    ("is", Operator::Number(Comparison::Is)),
    ("is_not", Operator::Number(Comparison::IsNot)),
    ("is_greater_than", Operator::Number(Comparison::Greater)),
    ("is_smaller_than", Operator::Number(Comparison::Smaller)),
];
const DATE: &[(&str, Operator)] = &[
    ("is_set", Operator::IsSet),
    ("is", Operator::Date(Comparison::Is)),
    ("is_not", Operator::Date(Comparison::IsNot)),
    ("is_after", Operator::Date(Comparison::Greater)),
    ("is_before", Operator::Date(Comparison::Smaller)),
];
pub(crate) const DROPDOWN: &[(&str, Operator)] = &[
    ("is_set", Operator::IsSet),
    ("is", Operator::Is),
    ("is_not", Operator::IsNot),
    ("is_one_of", Operator::IsOneOf),
    ("is_none_of", Operator::IsNoneOf),
];

/// A type of fields, and the tests that it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TypeTests<T> {
    pub(crate) name: &'static str,
    pub(crate) field_type: T,
    /// Empty if the type has a boolean in place of operators.
    pub(crate) operators: &'static [&'static [(&'static str, Operator)]],
    pub(crate) example: &'static str,
}

/// The conditions on all fields of one type; both groups must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldGroups<T> {
    pub field_type: T,
    /// Every test of every key holds.
    pub and: Vec<FieldTests>,
    /// At least one test of one key holds; if the list is empty, no record matches.
    pub or: Option<Vec<FieldTests>>,
}

fn issue_types() -> Vec<TypeTests<FieldType>> {
    let of = |field_type: &FieldType| {
        let (operators, example): (&[_], _) = match field_type {
            FieldType::Checkbox => (&[], "true or false"),
            FieldType::Singleline | FieldType::Multiline => {
                (&[TEXT], "a map such as {\"contains\":[\"a\"]}")
            }
            FieldType::Number => (&[NUMBER], "a map such as {\"is_greater_than\":5}"),
            FieldType::Date => (&[DATE], "a map such as {\"is_after\":1507248000000}"),
            FieldType::Dropdown => (&[DROPDOWN], "a map such as {\"is_one_of\":[\"a\",\"b\"]}"),
        };
        TypeTests { name: field_type.as_str(), field_type: *field_type, operators, example }
    };
    FieldType::ALL.iter().map(of).collect()
}

/// Reads the value of the parameter; each fault is a sentence. A type without conditions is left
/// out.
pub(crate) fn parse_custom_fields(value: &str) -> Result<Vec<FieldFilter>, Vec<String>> {
    let filter = |FieldGroups { field_type, and, or }| FieldFilter { field_type, and, or };
    let groups = parse_groups(value, EXAMPLE, &issue_types())?;
    Ok(groups.into_iter().map(filter).collect())
}

/// The same for fields of these types.
pub(crate) fn parse_groups<T: Copy + Ord>(
    value: &str,
    example: &str,
    types: &[TypeTests<T>],
) -> Result<Vec<FieldGroups<T>>, Vec<String>> {
    let tree = json_value::parse(value, example)?;
    let mut faults = FilterFaults::default();
    let mut filters = Vec::new();
    for (word, at, value) in json_value::members(&tree, "", example, &mut faults) {
        if let Some(tests) = types.iter().find(|known| known.name == word) {
            filters.push(groups(tests, value, &at, &mut faults));
        } else {
            let known: Vec<&str> = types.iter().map(|known| known.name).collect();
            faults.unknown(&at, word, "a type of a custom field", &known);
        }
    }
    filters.retain(|filter| !filter.and.is_empty() || filter.or.is_some());
    filters.sort_unstable_by_key(|filter| filter.field_type);
    faults.result(filters)
}

fn groups<T: Copy>(
    of: &TypeTests<T>,
    json: &Json<'_>,
    at: &str,
    faults: &mut FilterFaults,
) -> FieldGroups<T> {
    let mut filter = FieldGroups { field_type: of.field_type, and: Vec::new(), or: None };
    let expected = "a map of \"and\" and \"or\"";
    for (word, at, value) in json_value::members(json, at, expected, faults) {
        match word {
            "and" => filter.and = fields(of, value, &at, faults),
            "or" => filter.or = Some(fields(of, value, &at, faults)),
            _ => faults.unknown(&at, word, "a key here", &GROUPS),
        }
    }
    filter
}

/// The keys of a group, ascending.
fn fields<T>(
    of: &TypeTests<T>,
    json: &Json<'_>,
    at: &str,
    faults: &mut FilterFaults,
) -> Vec<FieldTests> {
    let members = json_value::members(json, at, "a map of fields by their keys", faults);
    let mut fields: Vec<FieldTests> = members
        .into_iter()
        .map(|(key, at, value)| {
            let tests = if of.operators.is_empty() {
                let checked = json_value::boolean(value, &at, faults);
                checked.map(FieldTest::Checked).into_iter().collect()
            } else {
                tests(of, value, &at, faults)
            };
            FieldTests { key: key.to_owned(), tests }
        })
        .collect();
    fields.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    fields
}

fn tests<T>(
    of: &TypeTests<T>,
    json: &Json<'_>,
    at: &str,
    faults: &mut FilterFaults,
) -> Vec<FieldTest> {
    if matches!(json, Json::Object(members) if members.is_empty()) {
        faults.expected(at, of.example, json);
    }
    let operators = || of.operators.iter().copied().flatten();
    let members = json_value::members(json, at, of.example, faults);
    members
        .into_iter()
        .filter_map(|(word, at, value)| {
            let Some((_, operator)) = operators().find(|(known, _)| *known == word) else {
                let mut known: Vec<&str> = Vec::new();
                for (word, _) in operators() {
                    if !known.contains(word) {
                        known.push(word);
                    }
                }
                let what = format!("an operator of type {}", of.name);
                faults.unknown(&at, word, &what, &known);
                return None;
            };
            test(*operator, value, &at, faults)
        })
        .collect()
}

fn test(
    operator: Operator,
    json: &Json<'_>,
    at: &str,
    faults: &mut FilterFaults,
) -> Option<FieldTest> {
    Some(match operator {
        Operator::IsSet => FieldTest::IsSet(json_value::boolean(json, at, faults)?),
        Operator::Contains => {
            FieldTest::Contains(json_value::folded_texts(json, at, fold_text, faults))
        }
        Operator::DoesNotContain => {
            FieldTest::DoesNotContain(json_value::folded_texts(json, at, fold_text, faults))
        }
        Operator::Number(comparison) => {
            FieldTest::Compare(comparison, json_value::number(json, at, faults)?)
        }
        Operator::Date(comparison) => FieldTest::Compare(comparison, date(json, at, faults)?),
        Operator::Is => FieldTest::OneOf(vec![text(json, at, faults)?]),
        Operator::IsNot => FieldTest::NoneOf(vec![text(json, at, faults)?]),
        Operator::IsOneOf => FieldTest::OneOf(json_value::texts(json, at, faults)),
        Operator::IsNoneOf => FieldTest::NoneOf(json_value::texts(json, at, faults)),
    })
}

fn text(json: &Json<'_>, at: &str, faults: &mut FilterFaults) -> Option<String> {
    if json.as_str().is_none() {
        faults.expected(at, "a string", json);
    }
    json.as_str().map(str::to_owned)
}

/// A time, given as a number or as a text.
fn date(json: &Json<'_>, at: &str, faults: &mut FilterFaults) -> Option<Decimal> {
    let Some(text) = json_value::digits(json) else {
        faults.expected(at, "a time in Unix milliseconds or ISO 8601", json);
        return None;
    };
    match parse_queried(text) {
        Ok(moment) => Decimal::parse(&moment.at.0.to_string()),
        Err(InvalidMoment::NotATime(detail) | InvalidMoment::OutOfRange(detail)) => {
            faults.at(at, detail);
            None
        }
    }
}

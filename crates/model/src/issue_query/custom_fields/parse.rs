//! Reads the filter `custom_fields`: `{TYPE:{"and":{KEY:{OPERATOR:VALUE}},"or":{…}}}`. A checkbox
//! has its value in place of operators. One table here says which operators a type takes. Types,
//! groups and keys may be empty; a map of operators may not, because then the condition was
//! forgotten.

use super::{Comparison, FieldFilter, FieldTest, FieldTests};
use crate::decimal::Decimal;
use crate::issue::FieldType;
use crate::json::Json;
use crate::parameters::json_value::{self, FilterFaults};

const EXAMPLE: &str = "a map such as {\"number\":{\"and\":{\"quantity\":{\"is\":5}}}}";
const GROUPS: [&str; 2] = ["and", "or"];

/// An operator: it decides which value it takes and which test it becomes.
#[derive(Clone, Copy)]
enum Operator {
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

const TEXT: &[(&str, Operator)] = &[
    ("is_set", Operator::IsSet),
    ("contains", Operator::Contains),
    ("does_not_contain", Operator::DoesNotContain),
];
const NUMBER: &[(&str, Operator)] = &[
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
const DROPDOWN: &[(&str, Operator)] = &[
    ("is_set", Operator::IsSet),
    ("is", Operator::Is),
    ("is_not", Operator::IsNot),
    ("is_one_of", Operator::IsOneOf),
    ("is_none_of", Operator::IsNoneOf),
];

impl FieldType {
    /// The operators of the type; a checkbox has none.
    const fn operators(self) -> &'static [(&'static str, Operator)] {
        match self {
            Self::Checkbox => &[],
            Self::Singleline | Self::Multiline => TEXT,
            Self::Number => NUMBER,
            Self::Date => DATE,
            Self::Dropdown => DROPDOWN,
        }
    }

    const fn example(self) -> &'static str {
        match self {
            Self::Checkbox => "true or false",
            Self::Singleline | Self::Multiline => "a map such as {\"contains\":[\"a\"]}",
            Self::Number => "a map such as {\"is_greater_than\":5}",
            Self::Date => "a map such as {\"is_after\":1507248000000}",
            Self::Dropdown => "a map such as {\"is_one_of\":[\"a\",\"b\"]}",
        }
    }
}

/// Reads the value of the parameter; each fault is a sentence. A type without conditions is left
/// out.
pub(crate) fn parse_custom_fields(value: &str) -> Result<Vec<FieldFilter>, Vec<String>> {
    let types: Vec<&str> = FieldType::ALL.iter().map(|known| known.as_str()).collect();
    let tree = json_value::parse(value, EXAMPLE)?;
    let mut faults = FilterFaults::default();
    let mut filters = Vec::new();
    for (word, at, value) in json_value::members(&tree, "", EXAMPLE, &mut faults) {
        match FieldType::parse(word) {
            Some(field_type) => filters.push(filter(field_type, value, &at, &mut faults)),
            None => faults.unknown(&at, word, "a type of a custom field", &types),
        }
    }
    filters.retain(|filter| !filter.and.is_empty() || filter.or.is_some());
    filters.sort_unstable_by_key(|filter| filter.field_type);
    faults.result(filters)
}

fn filter(
    field_type: FieldType,
    json: &Json<'_>,
    at: &str,
    faults: &mut FilterFaults,
) -> FieldFilter {
    let mut filter = FieldFilter { field_type, and: Vec::new(), or: None };
    let expected = "a map of \"and\" and \"or\"";
    for (word, at, value) in json_value::members(json, at, expected, faults) {
        match word {
            "and" => filter.and = fields(field_type, value, &at, faults),
            "or" => filter.or = Some(fields(field_type, value, &at, faults)),
            _ => faults.unknown(&at, word, "a key here", &GROUPS),
        }
    }
    filter
}

/// The keys of a group, ascending.
fn fields(
    field_type: FieldType,
    json: &Json<'_>,
    at: &str,
    faults: &mut FilterFaults,
) -> Vec<FieldTests> {
    let members = json_value::members(json, at, "a map of fields by their keys", faults);
    let mut fields: Vec<FieldTests> = members
        .into_iter()
        .map(|(key, at, value)| {
            let tests = if field_type == FieldType::Checkbox {
                let checked = json_value::boolean(value, &at, faults);
                checked.map(FieldTest::Checked).into_iter().collect()
            } else {
                tests(field_type, value, &at, faults)
            };
            FieldTests { key: key.to_owned(), tests }
        })
        .collect();
    fields.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    fields
}

fn tests(
    field_type: FieldType,
    json: &Json<'_>,
    at: &str,
    faults: &mut FilterFaults,
) -> Vec<FieldTest> {
    let operators = field_type.operators();
    if matches!(json, Json::Object(members) if members.is_empty()) {
        faults.expected(at, field_type.example(), json);
    }
    let members = json_value::members(json, at, field_type.example(), faults);
    members
        .into_iter()
        .filter_map(|(word, at, value)| {
            let Some((_, operator)) = operators.iter().find(|(known, _)| *known == word) else {
                let known: Vec<&str> = operators.iter().map(|(known, _)| *known).collect();
                let what = format!("an operator of type {}", field_type.as_str());
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
        Operator::Contains => FieldTest::Contains(json_value::folded_texts(json, at, faults)),
        Operator::DoesNotContain => {
            FieldTest::DoesNotContain(json_value::folded_texts(json, at, faults))
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

/// Whole Unix milliseconds, also before 1970.
fn date(json: &Json<'_>, at: &str, faults: &mut FilterFaults) -> Option<Decimal> {
    let digits = json_value::digits(json);
    let whole = digits.filter(|digits| !digits.contains(['.', 'e', 'E']));
    let date = whole.and_then(Decimal::parse);
    if date.is_none() {
        faults.expected(at, "a date in whole Unix milliseconds such as 1507248000000", json);
    }
    date
}

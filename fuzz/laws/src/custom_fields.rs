//! The filter `custom-fields`. It is accepted exactly if a plain list of rules calls it good, and
//! becomes the tests of those rules. A test and its opposite never agree about a value.

use caseload_model::decimal::Decimal;
use caseload_model::issue::{FieldType, has_value};
use caseload_model::issue_query::{Comparison, FieldFilter, FieldTest, FieldTests, parse_list};
use caseload_model::json::{self, Json};
use caseload_model::time::read::parse_moment;

use crate::conditions::{boolean, refused, texts};

const NAME: &str = "custom-fields";

pub(crate) fn holds(data: &[u8]) {
    let Ok(value) = std::str::from_utf8(data) else { return };
    let outcome = parse_list(&[(NAME.to_owned(), value.to_owned())]);
    if let Err(faults) = &outcome {
        refused(NAME, faults);
    }
    let found = outcome.ok().map(|request| request.query.custom_fields);
    let expected = json::parse(value.as_bytes()).ok().and_then(|json| filters(&json));
    assert_eq!(found, expected, "{value}");
    let samples = samples(value);
    for filter in found.iter().flatten() {
        for field in filter.and.iter().chain(filter.or.iter().flatten()) {
            for test in &field.tests {
                opposites(test, &samples);
            }
        }
    }
}

fn filters(json: &Json<'_>) -> Option<Vec<FieldFilter>> {
    let Json::Object(types) = json else { return None };
    let mut filters = Vec::new();
    for (word, groups) in types {
        let Json::Object(groups) = groups else { return None };
        let mut filter = FieldFilter { field_type: of_word(word)?, and: Vec::new(), or: None };
        for (group, keys) in groups {
            let fields = fields(filter.field_type, keys)?;
            match group.as_ref() {
                "and" => filter.and = fields,
                "or" => filter.or = Some(fields),
                _ => return None,
            }
        }
        if !filter.and.is_empty() || filter.or.is_some() {
            filters.push(filter);
        }
    }
    filters.sort_by_key(|filter| ORDER.iter().position(|(_, known)| *known == filter.field_type));
    Some(filters)
}

const ORDER: [(&str, FieldType); 6] = [
    ("checkbox", FieldType::Checkbox),
    ("singleline", FieldType::Singleline),
    ("multiline", FieldType::Multiline),
    ("number", FieldType::Number),
    ("date", FieldType::Date),
    ("dropdown", FieldType::Dropdown),
];

fn of_word(word: &str) -> Option<FieldType> {
    ORDER.iter().find(|(known, _)| *known == word).map(|(_, field_type)| *field_type)
}

fn fields(field_type: FieldType, json: &Json<'_>) -> Option<Vec<FieldTests>> {
    let Json::Object(keys) = json else { return None };
    let mut fields = Vec::new();
    for (key, value) in keys {
        let tests = match (field_type, value) {
            (FieldType::Checkbox, value) => vec![FieldTest::Checked(boolean(value)?)],
            (_, Json::Object(operators)) if !operators.is_empty() => {
                let tests = operators.iter().map(|(word, value)| test(field_type, word, value));
                tests.collect::<Option<_>>()?
            }
            _ => return None,
        };
        fields.push(FieldTests { key: key.to_string(), tests });
    }
    fields.sort_by(|a, b| a.key.cmp(&b.key));
    Some(fields)
}

fn test(field_type: FieldType, word: &str, value: &Json<'_>) -> Option<FieldTest> {
    use FieldType::{Checkbox, Date, Dropdown, Multiline, Number, Singleline};
    let one = |json: &Json<'_>| json.as_str().map(|text| vec![text.to_owned()]);
    let compare = |comparison| Some(FieldTest::Compare(comparison, number(field_type, value)?));
    match (field_type, word) {
        (Checkbox, _) => None,
        (_, "is_set") => Some(FieldTest::IsSet(boolean(value)?)),
        (Singleline | Multiline, "contains") => Some(FieldTest::Contains(texts(value, true)?)),
        (Singleline | Multiline, "does_not_contain") => {
            Some(FieldTest::DoesNotContain(texts(value, true)?))
        }
        (Number | Date, "is") => compare(Comparison::Is),
        (Number | Date, "is_not") => compare(Comparison::IsNot),
        (Number, "is_greater_than") | (Date, "is_after") => compare(Comparison::Greater),
        (Number, "is_smaller_than") | (Date, "is_before") => compare(Comparison::Smaller),
        (Dropdown, "is") => Some(FieldTest::OneOf(one(value)?)),
        (Dropdown, "is_not") => Some(FieldTest::NoneOf(one(value)?)),
        (Dropdown, "is_one_of") => Some(FieldTest::OneOf(texts(value, false)?)),
        (Dropdown, "is_none_of") => Some(FieldTest::NoneOf(texts(value, false)?)),
        _ => None,
    }
}

fn number(field_type: FieldType, value: &Json<'_>) -> Option<Decimal> {
    let text: &str = match value {
        Json::Number(digits) => digits,
        other => other.as_str()?,
    };
    if field_type == FieldType::Number {
        return Decimal::parse(text);
    }
    // An unescaped plus in a query is a blank.
    let with_plus = || text.rsplit_once(' ').map(|(before, after)| format!("{before}+{after}"));
    let moment = parse_moment(text).ok().or_else(|| parse_moment(&with_plus()?).ok())?;
    Decimal::parse(&moment.at.0.to_string())
}

/// Values of every type, among them every scalar of the filter itself.
fn samples(filter: &str) -> Vec<Option<Json<'_>>> {
    let mut samples = vec![
        None,
        Some(Json::Null),
        Some(Json::Bool(true)),
        Some(Json::Number("-0.0")),
        Some(Json::String("".into())),
        Some(Json::Array(Vec::new())),
    ];
    if let Ok(json) = json::parse(filter.as_bytes()) {
        scalars(json, &mut samples);
    }
    samples
}

fn scalars<'j>(json: Json<'j>, out: &mut Vec<Option<Json<'j>>>) {
    match json {
        Json::Array(items) => items.into_iter().for_each(|item| scalars(item, out)),
        Json::Object(members) => members.into_iter().for_each(|(_, item)| scalars(item, out)),
        scalar => out.push(Some(scalar)),
    }
}

fn opposites(test: &FieldTest, samples: &[Option<Json<'_>>]) {
    use Comparison::{Greater, Is, IsNot, Smaller};
    for sample in samples {
        let holds = |test: &FieldTest| test.holds(sample.as_ref());
        let is_there = sample.as_ref().is_some_and(has_value);
        if !is_there {
            assert_eq!(holds(test), test.holds_when_absent(), "{test:?} of nothing");
        }
        let opposite = match test.clone() {
            FieldTest::IsSet(set) => FieldTest::IsSet(!set),
            FieldTest::Contains(words) => FieldTest::DoesNotContain(words),
            FieldTest::DoesNotContain(words) => FieldTest::Contains(words),
            FieldTest::OneOf(choices) => FieldTest::NoneOf(choices),
            FieldTest::NoneOf(choices) => FieldTest::OneOf(choices),
            FieldTest::Compare(Is, number) => FieldTest::Compare(IsNot, number),
            FieldTest::Compare(IsNot, number) => FieldTest::Compare(Is, number),
            FieldTest::Compare(Greater | Smaller, number) => {
                let all = [Is, Greater, Smaller];
                let count = all.iter().filter(|c| holds(&FieldTest::Compare(**c, number.clone())));
                assert!(count.count() <= 1, "{test:?} of {sample:?}");
                continue;
            }
            FieldTest::Checked(checked) => {
                let both = holds(test) && holds(&FieldTest::Checked(!checked));
                assert!(!both, "{test:?} of {sample:?}");
                continue;
            }
        };
        assert_ne!(holds(test), holds(&opposite), "{test:?} of {sample:?}");
    }
}

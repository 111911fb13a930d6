//! Random queries as parameters of the issue list, in any form that a parameter may have. All are
//! valid. Most have one to three filters, as real queries do.

use caseload_model::issue_query::{Compared, FilterKind, ISSUE_FILTERS, IssueFilter};
use serde_json::{Map, Value, json};

use crate::issues::AGENTS;
use crate::splitmix::SplitMix;
use crate::values::{EMAILS, ISSUE_ID_MAX, KEYS, NAMES, NUMBERS, SEARCHED, STATES, instant};

/// Query parameters, decoded.
pub type Parameters = Vec<(String, String)>;

/// The parameters of a query and its order.
pub fn query(random: &mut SplitMix) -> Parameters {
    let mut parameters = Parameters::new();
    let filters = [0, 1, 1, 1, 2, 2, 3, 5][random.below(8)];
    let mut put = |name: &str, value: String, random: &mut SplitMix| {
        let name = if random.once_in(2) { name.replace('-', "_") } else { name.to_owned() };
        if !parameters.iter().any(|(given, _)| given.replace('_', "-") == name.replace('_', "-")) {
            parameters.push((name, value));
        }
    };
    // A person's issues depend on profiles, and custom fields have most forms of all.
    let (custom_fields, others): (Vec<_>, Vec<_>) = ISSUE_FILTERS
        .iter()
        .filter(|filter| !matches!(filter.kind, FilterKind::Person(_)))
        .partition(|filter| matches!(filter.kind, FilterKind::CustomFields(_)));
    for _ in 0..filters {
        let among = if random.once_in(5) { &custom_fields } else { &others };
        let filter = random.pick(among);
        put(filter.name, value(filter, random), random);
    }
    if random.once_in(2) {
        let keys = ["creation-time", "state-change-time", "update-time"];
        put("sort-by", random.pick(&keys).to_owned(), random);
    }
    if random.once_in(2) {
        put("sort-order", random.pick(&["asc", "desc"]).to_owned(), random);
    }
    parameters
}

/// The value of a filter.
fn value(filter: &IssueFilter, random: &mut SplitMix) -> String {
    match filter.kind {
        FilterKind::Instant(..) => instant(random).max(0).to_string(),
        FilterKind::States(_) => states(random),
        FilterKind::Ids(_) => {
            let ids = (0..random.below(12)).map(|_| match random.below(4) {
                0 => json!(ISSUE_ID_MAX - random.below(40) as u64),
                1 => json!((1 + random.below(40)).to_string()),
                _ => json!(1 + random.below(40)),
            });
            ids.collect::<Value>().to_string()
        }
        FilterKind::AnyOf(..) => json!(random.pick_up_to(&NAMES, 3)).to_string(),
        FilterKind::Condition(rules, _) => {
            let keys: Vec<_> = rules.keys.iter().map(|key| key.as_str()).collect();
            condition(random, &compared_with(filter.name, rules.compared), &keys)
        }
        FilterKind::Text(_) => random.pick(&SEARCHED[..SEARCHED.len() - 1]).to_owned(),
        FilterKind::CustomFields(_) => custom_fields(random),
        FilterKind::Rating(_) => rating(random),
        FilterKind::Boolean(_) => random.pick(&["true", "false"]).to_owned(),
        FilterKind::Person(_) => random.below(40).to_string(),
    }
}

/// Values that a condition may find.
fn compared_with(name: &str, compared: Compared) -> Vec<&'static str> {
    match (name, compared) {
        ("assignee-ids", _) => [&AGENTS.map(|agent| agent.0)[..], &["nobody"]].concat(),
        ("assignee-emails", _) => {
            [&AGENTS.map(|agent| agent.1)[..], &["BOB@desk.x", "nobody@x"]].concat()
        }
        (_, Compared::Exactly) => NAMES.to_vec(),
        (_, Compared::Address) => [&EMAILS[..], &[""]].concat(),
        (_, Compared::AsTexts) => SEARCHED.to_vec(),
    }
}

fn states(random: &mut SplitMix) -> String {
    let states = [random.pick(&STATES), random.pick(&STATES)];
    match random.below(3) {
        0 => states[0].to_owned(),
        1 => states.join(","),
        _ => json!(states).to_string(),
    }
}

/// A boolean in one of its two forms.
fn boolean(random: &mut SplitMix) -> Value {
    let value = random.once_in(2);
    if random.once_in(2) { json!(value) } else { json!(value.to_string()) }
}

/// A condition object with some of the keys, most often one.
fn condition(random: &mut SplitMix, values: &[&str], keys: &[&str]) -> String {
    let mut map = Map::new();
    for _ in 0..=random.below(3) / 2 {
        let key = random.pick(keys);
        let max = if key == "and" { 2 } else { 3 };
        let value =
            if key == "exists" { boolean(random) } else { json!(random.pick_up_to(values, max)) };
        map.insert(key.to_owned(), value);
    }
    Value::Object(map).to_string()
}

/// A number in one of its two forms, with the digits it is written with.
fn number(random: &mut SplitMix, number: &str) -> String {
    if random.once_in(2) { number.to_owned() } else { format!("\"{number}\"") }
}

fn rating(random: &mut SplitMix) -> String {
    let mut keys = Vec::new();
    for key in ["and", "or"] {
        if random.once_in(2) {
            let operators = ["is", "is_not", "is_greater_than", "is_smaller_than"];
            let tests = (0..random.below(3)).map(|_| {
                let value = random.pick(&["1", "2", "3.0", "3.0000000000000000000001", "5", "9"]);
                format!("{{\"{}\":{}}}", random.pick(&operators), number(random, value))
            });
            keys.push(format!("\"{key}\":[{}]", tests.collect::<Vec<_>>().join(",")));
        }
    }
    if random.once_in(4) {
        keys.push(format!("\"exists\":{}", boolean(random)));
    }
    format!("{{{}}}", keys.join(","))
}

/// The filter on custom fields: one or two types, each with one or both groups.
fn custom_fields(random: &mut SplitMix) -> String {
    let types = ["checkbox", "singleline", "multiline", "number", "date", "dropdown"];
    let mut filters: Vec<(&str, String)> = Vec::new();
    for _ in 0..=random.below(3) / 2 {
        let field_type = random.pick(&types);
        if filters.iter().any(|(given, _)| *given == field_type) {
            continue;
        }
        let mut groups = Vec::new();
        for group in [&["and"][..], &["or"], &["and", "or"]][random.below(3)] {
            groups.push(format!("\"{group}\":{{{}}}", fields(random, field_type)));
        }
        filters.push((field_type, groups.join(",")));
    }
    let filters =
        filters.iter().map(|(field_type, groups)| format!("\"{field_type}\":{{{groups}}}"));
    format!("{{{}}}", filters.collect::<Vec<_>>().join(","))
}

/// The fields of a group: up to two keys.
fn fields(random: &mut SplitMix, field_type: &str) -> String {
    let mut fields: Vec<(&str, String)> = Vec::new();
    for key in random.pick_up_to(&KEYS, 2) {
        if fields.iter().any(|(given, _)| *given == key) {
            continue;
        }
        let tests = if field_type == "checkbox" {
            boolean(random).to_string()
        } else {
            tests(random, field_type)
        };
        fields.push((key, tests));
    }
    let fields = fields.iter().map(|(key, tests)| format!("{}:{tests}", json!(key)));
    fields.collect::<Vec<_>>().join(",")
}

/// One or two operators of a type.
fn tests(random: &mut SplitMix, field_type: &str) -> String {
    let operators: &[&str] = match field_type {
        "number" => &["is_set", "is", "is_not", "is_greater_than", "is_smaller_than"],
        "date" => &["is_set", "is", "is_not", "is_after", "is_before"],
        "dropdown" => &["is_set", "is", "is_not", "is_one_of", "is_none_of"],
        _ => &["is_set", "contains", "does_not_contain"],
    };
    let mut tests: Vec<(&str, String)> = Vec::new();
    for _ in 0..=random.below(3) / 2 {
        let operator = random.pick(operators);
        let value = match (operator, field_type) {
            ("is_set", _) => boolean(random).to_string(),
            ("contains" | "does_not_contain", _) => {
                json!(random.pick_up_to(&SEARCHED, 2)).to_string()
            }
            ("is_one_of" | "is_none_of", _) => json!(random.pick_up_to(&NAMES, 3)).to_string(),
            (_, "dropdown") => json!(random.pick(&NAMES)).to_string(),
            (_, "date") => {
                let date = instant(random).to_string();
                number(random, &date)
            }
            _ => {
                let value = random.pick(&NUMBERS);
                number(random, value)
            }
        };
        if !tests.iter().any(|(given, _)| *given == operator) {
            tests.push((operator, value));
        }
    }
    let tests = tests.iter().map(|(operator, value)| format!("\"{operator}\":{value}"));
    format!("{{{}}}", tests.collect::<Vec<_>>().join(","))
}

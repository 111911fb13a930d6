//! Filters of the issue list that are JSON: the parsed value of each and, for each grammar, a table
//! of wrong inputs with their error texts.
#![expect(clippy::unwrap_used, reason = "tests")]

use caseload_model::decimal::Decimal;
use caseload_model::error_code::ErrorCode;
use caseload_model::issue::FieldType;
use caseload_model::issue_query::{
    Comparison, Condition, FieldFilter, FieldTest, FieldTests, IssueQuery, parse_list,
};
use proptest::prelude::*;

fn query(name: &str, value: &str) -> Result<IssueQuery, Vec<String>> {
    let pair = (name.to_owned(), value.to_owned());
    let faults = match parse_list(&[pair]) {
        Ok(request) => return Ok(request.query),
        Err(faults) => faults,
    };
    let detail = |fault: &caseload_model::issue_query::ParameterFault| {
        assert_eq!((fault.parameter.as_str(), fault.code), (name, ErrorCode::InvalidValue));
        fault.detail.clone()
    };
    Err(faults.iter().map(detail).collect())
}

/// Asserts that each value is rejected with exactly these faults.
fn refused(name: &str, table: &[(&str, &[&str])]) {
    for (value, expected) in table {
        assert_eq!(query(name, value).expect_err(value), *expected, "{name}={value}");
    }
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

#[test]
fn a_condition_object_is_read_into_its_four_parts() {
    let none = Condition::default;
    for (value, expected) in [
        ("{}", none()),
        (r#"{"and":["b","a","b"]}"#, Condition { and: texts(&["a", "b"]), ..none() }),
        (r#"{"or":["B"]}"#, Condition { or: Some(texts(&["B"])), ..none() }),
        (r#"{"nor":["ü"]}"#, Condition { nor: texts(&["ü"]), ..none() }),
        (r#"{"and":[],"nor":[]}"#, none()),
        (r#"{"or":[]}"#, Condition { or: Some(Vec::new()), ..none() }),
        (r#"{"exists":"true"}"#, Condition { exists: Some(true), ..none() }),
        (r#"{"exists":false}"#, Condition { exists: Some(false), ..none() }),
        (
            r#" { "exists" : true , "or" : [ "\u0061" ] } "#,
            Condition { or: Some(texts(&["a"])), exists: Some(true), ..none() },
        ),
    ] {
        assert_eq!(query("tags", value).unwrap().tags, expected, "{value}");
    }
}

#[test]
fn each_condition_parameter_fills_its_filter_in_both_spellings() {
    let all = r#"{"and":["A"],"or":["B"],"nor":["C"],"exists":"true"}"#;
    let part = |query: &IssueQuery, name: &str| match name {
        "tags" => query.tags.clone(),
        "languages" => query.languages.clone(),
        "assignee-ids" => query.assignee_ids.clone(),
        "assignee-emails" => query.assignee_emails.clone(),
        "author-emails" => query.author_emails.clone(),
        "title" => query.title.clone(),
        "messages" => query.messages.clone(),
        "notes" => query.notes.clone(),
        _ => query.feedback_comment.clone(),
    };
    for (name, value, text) in [
        ("tags", all, ["A", "B", "C"]),
        ("languages", all, ["A", "B", "C"]),
        ("assignee-ids", all, ["A", "B", "C"]),
        ("assignee-emails", r#"{"or":["Ä@X"]}"#, ["", "ä@x", ""]),
        ("author-emails", r#"{"or":["Ä@X"],"exists":"true"}"#, ["", "ä@x", ""]),
        ("title", all, ["a", "b", "c"]),
        ("messages", r#"{"and":["A"],"or":["ΣΑΣ"],"nor":["C"]}"#, ["a", "σασ", "c"]),
        ("notes", all, ["a", "b", "c"]),
        ("feedback-comment", r#"{"and":["A"],"nor":["C"],"exists":true}"#, ["a", "", "c"]),
    ] {
        let [and, or, nor] = text.map(|text| if text.is_empty() { vec![] } else { texts(&[text]) });
        let or = Some(or).filter(|or| !or.is_empty());
        let exists = value.contains("exists").then_some(true);
        let expected = Condition { and, or, nor, exists };
        for spelled in [name.to_owned(), name.replace('-', "_")] {
            let query = query(&spelled, value).unwrap();
            assert_eq!(part(&query, name), expected, "{spelled}={value}");
        }
    }
}

#[test]
fn the_text_is_folded_and_not_empty() {
    assert_eq!(query("text", "ΣΑΣ % \"a\"").unwrap().text.as_deref(), Some("σασ % \"a\""));
    // Neither a list nor JSON: any text is searched for as it is.
    assert_eq!(query("text", "[\"a\",").unwrap().text.as_deref(), Some("[\"a\","));
    assert_eq!(query("text", " ").unwrap().text.as_deref(), Some(" "));
    let long = "ä".repeat(10_000);
    assert_eq!(query("text", &long).unwrap().text, Some(long));
    refused("text", &[("", &["text is empty; leave text out to list everything"])]);
}

#[test]
fn wrong_condition_objects_are_rejected_with_the_accepted_values() {
    let whole = r#"a map such as {"or":["a","b"]} is expected"#;
    let keys = "accepted: and, or, nor, exists";
    let list = r#"an array of strings such as ["a","b"] is expected"#;
    let array = r#"a JSON array of strings such as ["a","b"] is expected"#;
    refused(
        "tags",
        &[
            (
                "",
                &["a value of tags is empty; leave tags out to list everything, or send [] to \
                   match nothing"],
            ),
            (
                "[vip]",
                &[&format!("the value is not JSON (a JSON value was expected at byte 1); {array}")],
            ),
            (
                "{",
                &[&format!(
                    "the value is not JSON (a key in double quotes was expected at byte 1, \
                     where the text ends); {whole}"
                )],
            ),
            (
                "{'or':[]}",
                &[&format!(
                    "the value is not JSON (a key in double quotes was expected at byte 1); {whole}"
                )],
            ),
            (
                r#"["vip",5]"#,
                &[r#"at /1: 5 is not an element of a JSON array of strings such as ["a","b"]"#],
            ),
            (r#"{"ors":["a"]}"#, &[&format!("at /ors: \"ors\" is not a key here; {keys}")]),
            (r#"{"AND":["a"]}"#, &[&format!("at /AND: \"AND\" is not a key here; {keys}")]),
            (r#"{"a/~b":1}"#, &[&format!("at /a~1~0b: \"a/~b\" is not a key here; {keys}")]),
            (r#"{"or":"a"}"#, &[&format!("at /or: {list}, not \"a\"")]),
            (r#"{"or":null}"#, &[&format!("at /or: {list}, not null")]),
            (
                r#"{"or":["a",5,null]}"#,
                &[
                    "at /or/1: a string is expected, not 5",
                    "at /or/2: a string is expected, not null",
                ],
            ),
            (r#"{"exists":"yes"}"#, &["at /exists: true or false is expected, not \"yes\""]),
            (r#""{}""#, &[&format!("{array}, not \"{{}}\"")]),
            (r#"{"exists":2}"#, &["at /exists: true or false is expected, not 2"]),
            (r#"{"exists":null}"#, &["at /exists: true or false is expected, not null"]),
            (
                r#"{"or":["a"],"or":["b"]}"#,
                &["at /or: the key \"or\" occurs twice in one map; keep one of them"],
            ),
            (
                r#"{"or":["\ud800"]}"#,
                &["at /or/0: the escape \\ud800 is half of a surrogate pair; \
                   give both halves, or the character itself"],
            ),
            (
                r#"{"and":[1],"x":2,"exists":{}}"#,
                &[
                    "at /and/0: a string is expected, not 1",
                    &format!("at /x: \"x\" is not a key here; {keys}"),
                    "at /exists: true or false is expected, not {}",
                ],
            ),
        ],
    );
}

#[test]
fn a_condition_accepts_only_the_keys_of_its_parameter() {
    for (name, refused, accepted) in [
        ("assignee-emails", ["and", "nor", "exists"].as_slice(), "or"),
        ("author_emails", &["and", "nor"], "or, exists"),
        ("feedback-comment", &["or"], "and, nor, exists"),
    ] {
        for key in refused {
            let value = if *key == "exists" { "true" } else { "[\"a\"]" };
            let detail = format!("at /{key}: \"{key}\" is not a key here; accepted: {accepted}");
            assert_eq!(query(name, &format!("{{\"{key}\":{value}}}")).unwrap_err(), [detail]);
        }
    }
}

#[test]
fn custom_fields_are_read_into_tests_by_type_group_and_key() {
    let field = |key: &str, tests: Vec<FieldTest>| FieldTests { key: key.to_owned(), tests };
    let one = |field_type, key: &str, test| {
        vec![FieldFilter { field_type, and: vec![field(key, vec![test])], or: None }]
    };
    let number = |comparison, text| FieldTest::Compare(comparison, decimal(text));
    for (value, expected) in [
        ("{}", vec![]),
        (r#"{"number":{},"date":{"and":{}}}"#, vec![]),
        (
            r#"{"checkbox":{"and":{"gift":"true"}}}"#,
            one(FieldType::Checkbox, "gift", FieldTest::Checked(true)),
        ),
        (
            r#"{"checkbox":{"and":{"gift":false}}}"#,
            one(FieldType::Checkbox, "gift", FieldTest::Checked(false)),
        ),
        (
            r#"{"singleline":{"and":{"n":{"is_set":"true"}}}}"#,
            one(FieldType::Singleline, "n", FieldTest::IsSet(true)),
        ),
        (
            r#"{"multiline":{"and":{"n":{"is_set":false}}}}"#,
            one(FieldType::Multiline, "n", FieldTest::IsSet(false)),
        ),
        (
            r#"{"singleline":{"and":{"n":{"contains":["Scott","A"]}}}}"#,
            one(FieldType::Singleline, "n", FieldTest::Contains(texts(&["a", "scott"]))),
        ),
        (
            r#"{"multiline":{"and":{"n":{"does_not_contain":["B"]}}}}"#,
            one(FieldType::Multiline, "n", FieldTest::DoesNotContain(texts(&["b"]))),
        ),
        (
            r#"{"number":{"and":{"n":{"is":"50"}}}}"#,
            one(FieldType::Number, "n", number(Comparison::Is, "50")),
        ),
        (
            r#"{"number":{"and":{"n":{"is_not":5.10}}}}"#,
            one(FieldType::Number, "n", number(Comparison::IsNot, "5.1")),
        ),
        (
            r#"{"number":{"and":{"":{"is_greater_than":9007199254740993}}}}"#,
            one(FieldType::Number, "", number(Comparison::Greater, "9007199254740993")),
        ),
        (
            r#"{"number":{"and":{"n":{"is_smaller_than":-1e400}}}}"#,
            one(FieldType::Number, "n", number(Comparison::Smaller, "-1e400")),
        ),
        (
            r#"{"date":{"and":{"n":{"is_after":"1507248000000"}}}}"#,
            one(FieldType::Date, "n", number(Comparison::Greater, "1507248000000")),
        ),
        (
            r#"{"date":{"and":{"n":{"is_before":-1}}}}"#,
            one(FieldType::Date, "n", number(Comparison::Smaller, "-1")),
        ),
        (
            r#"{"date":{"and":{"n":{"is":"2017-10-06"}}}}"#,
            one(FieldType::Date, "n", number(Comparison::Is, "1507248000000")),
        ),
        (
            r#"{"date":{"and":{"n":{"is_not":"2017-10-06T02:00:00.1239+02:00"}}}}"#,
            one(FieldType::Date, "n", number(Comparison::IsNot, "1507248000123")),
        ),
        (
            r#"{"date":{"and":{"n":{"is":1.507248e12}}}}"#,
            one(FieldType::Date, "n", number(Comparison::Is, "1507248000000")),
        ),
        (
            r#"{"dropdown":{"and":{"n":{"is":"A"}}}}"#,
            one(FieldType::Dropdown, "n", FieldTest::OneOf(texts(&["A"]))),
        ),
        (
            r#"{"dropdown":{"and":{"n":{"is_none_of":["B","A"]}}}}"#,
            one(FieldType::Dropdown, "n", FieldTest::NoneOf(texts(&["A", "B"]))),
        ),
        (
            r#"{"number":{"or":{"b":{"is":1,"is_set":false},"a":{"is_not":2}}},
                "checkbox":{"or":{}}}"#,
            vec![
                FieldFilter { field_type: FieldType::Checkbox, and: vec![], or: Some(vec![]) },
                FieldFilter {
                    field_type: FieldType::Number,
                    and: vec![],
                    or: Some(vec![
                        field("a", vec![number(Comparison::IsNot, "2")]),
                        field("b", vec![number(Comparison::Is, "1"), FieldTest::IsSet(false)]),
                    ]),
                },
            ],
        ),
    ] {
        for name in ["custom_fields", "custom-fields"] {
            assert_eq!(query(name, value).unwrap().custom_fields, expected, "{value}");
        }
    }
}

#[test]
fn wrong_custom_field_filters_are_rejected_with_the_accepted_values() {
    let whole = r#"a map such as {"number":{"and":{"quantity":{"is":5}}}} is expected"#;
    let types = "accepted: checkbox, singleline, multiline, number, date, dropdown";
    let number = "accepted: is_set, is, is_not, is_greater_than, is_smaller_than";
    refused(
        "custom_fields",
        &[
            (
                "",
                &[&format!(
                    "the value is not JSON (the text ends where a JSON value was expected at byte \
                     0); {whole}"
                )],
            ),
            ("[]", &[&format!("{whole}, not []")]),
            (
                r#"{"text":{}}"#,
                &[&format!("at /text: \"text\" is not a type of a custom field; {types}")],
            ),
            (r#"{"number":[]}"#, &[r#"at /number: a map of "and" and "or" is expected, not []"#]),
            (
                r#"{"number":{"nor":{}}}"#,
                &[r#"at /number/nor: "nor" is not a key here; accepted: and, or"#],
            ),
            (
                r#"{"number":{"quantity":{"is":5}}}"#,
                &[r#"at /number/quantity: "quantity" is not a key here; accepted: and, or"#],
            ),
            (
                r#"{"number":{"and":[{"n":5}]}}"#,
                &[r#"at /number/and: a map of fields by their keys is expected, not [{"n":5}]"#],
            ),
            (
                r#"{"number":{"and":{"n":5}}}"#,
                &[r#"at /number/and/n: a map such as {"is_greater_than":5} is expected, not 5"#],
            ),
            (
                r#"{"number":{"and":{"n":{}}}}"#,
                &[r#"at /number/and/n: a map such as {"is_greater_than":5} is expected, not {}"#],
            ),
            (
                r#"{"number":{"and":{"n":{"gt":5}}}}"#,
                &[&format!(
                    "at /number/and/n/gt: \"gt\" is not an operator of type number; {number}"
                )],
            ),
            (
                r#"{"number":{"and":{"n":{"is_after":5}}}}"#,
                &[&format!(
                    "at /number/and/n/is_after: \"is_after\" is not an operator of type number; \
                     {number}"
                )],
            ),
            (
                r#"{"number":{"and":{"n":{"is":"x"}}}}"#,
                &[r#"at /number/and/n/is: a number such as 3 or "3" is expected, not "x""#],
            ),
            (
                r#"{"number":{"or":{"n":{"is":" 5"}}}}"#,
                &[r#"at /number/or/n/is: a number such as 3 or "3" is expected, not " 5""#],
            ),
            (
                r#"{"number":{"or":{"n":{"is":true}}}}"#,
                &[r#"at /number/or/n/is: a number such as 3 or "3" is expected, not true"#],
            ),
            (
                r#"{"number":{"and":{"n":{"is_set":"yes"}}}}"#,
                &["at /number/and/n/is_set: true or false is expected, not \"yes\""],
            ),
        ],
    );
}

#[test]
fn operators_of_other_field_types_are_rejected_with_the_accepted_ones() {
    let time = "Unix milliseconds such as 1767225600000, or ISO 8601 such as \
                2026-01-01T00:00:00Z, are expected";
    let number = "accepted: is_set, is, is_not, is_greater_than, is_smaller_than";
    refused(
        "custom_fields",
        &[
            (
                r#"{"date":{"and":{"d":{"is":1.5}}}}"#,
                &[&format!(
                    "at /date/and/d/is: \"1.5\" is not a whole number of milliseconds; {time}"
                )],
            ),
            (
                r#"{"date":{"and":{"d":{"is":true}}}}"#,
                &["at /date/and/d/is: a time in Unix milliseconds or ISO 8601 is expected, \
                     not true"],
            ),
            (
                r#"{"date":{"and":{"d":{"is":1e300}}}}"#,
                &["at /date/and/d/is: 1e300 is after the year 9999: times are Unix milliseconds"],
            ),
            (
                r#"{"date":{"and":{"d":{"is_greater_than":1}}}}"#,
                &["at /date/and/d/is_greater_than: \"is_greater_than\" is not an operator of \
                     type date; accepted: is_set, is, is_not, is_after, is_before"],
            ),
            (
                r#"{"checkbox":{"and":{"c":{"true":true}}}}"#,
                &[r#"at /checkbox/and/c: true or false is expected, not {"true":true}"#],
            ),
            (
                r#"{"checkbox":{"and":{"c":"on"}}}"#,
                &["at /checkbox/and/c: true or false is expected, not \"on\""],
            ),
            (
                r#"{"singleline":{"and":{"s":{"contains":"a"}}}}"#,
                &["at /singleline/and/s/contains: an array of strings such as [\"a\",\"b\"] is \
                     expected, not \"a\""],
            ),
            (
                r#"{"multiline":{"and":{"s":{"is":"a"}}}}"#,
                &["at /multiline/and/s/is: \"is\" is not an operator of type multiline; \
                     accepted: is_set, contains, does_not_contain"],
            ),
            (
                r#"{"dropdown":{"and":{"d":{"is":["a"]}}}}"#,
                &[r#"at /dropdown/and/d/is: a string is expected, not ["a"]"#],
            ),
            (
                r#"{"dropdown":{"and":{"d":{"is_one_of":["a",7]}}}}"#,
                &["at /dropdown/and/d/is_one_of/1: a string is expected, not 7"],
            ),
            (
                r#"{"dropdown":{"and":{"d":{"contains":["a"]}}}}"#,
                &["at /dropdown/and/d/contains: \"contains\" is not an operator of type \
                     dropdown; accepted: is_set, is, is_not, is_one_of, is_none_of"],
            ),
            (
                r#"{"number":{"and":{"n":{"is":1},"n":{"is":2}}}}"#,
                &["at /number/and/n: the key \"n\" occurs twice in one map; keep one of them"],
            ),
            (
                r#"{"number":{"and":{"n":{"is":"x","gt":1}}},"date":{"or":{"d":{"is":"y"}}}}"#,
                &[
                    r#"at /number/and/n/is: a number such as 3 or "3" is expected, not "x""#,
                    &format!(
                        "at /number/and/n/gt: \"gt\" is not an operator of type number; {number}"
                    ),
                    &format!("at /date/or/d/is: \"y\" is not a time; {time}"),
                ],
            ),
        ],
    );
}

#[test]
fn wrong_rating_filters_are_rejected_with_the_accepted_values() {
    let whole = r#"a map such as {"and":[{"is_greater_than":"3"}]} is expected"#;
    let element = r#"a map of an operator and a number such as {"is":3} is expected"#;
    refused(
        "feedback-rating",
        &[
            (
                "",
                &[&format!(
                    "the value is not JSON (the text ends where a JSON value was expected at byte \
                     0); {whole}"
                )],
            ),
            ("3", &[&format!("{whole}, not 3")]),
            ("[3]", &[&format!("at /0: {element}, not 3")]),
            (
                r#"{"nor":[{"is":3}]}"#,
                &["at /nor: \"nor\" is not a key here; accepted: and, or, exists"],
            ),
            (
                r#"{"and":{"is":3}}"#,
                &[r#"at /and: an array of maps such as [{"is":3}] is expected, not {"is":3}"#],
            ),
            (r#"{"and":[{}]}"#, &[&format!("at /and/0: {element}, not {{}}")]),
            (r#"{"and":[{"is":1},3]}"#, &[&format!("at /and/1: {element}, not 3")]),
            (
                r#"{"and":[{"gt":3}]}"#,
                &["at /and/0/gt: \"gt\" is not an operator here; accepted: is_greater_than, \
                     is_smaller_than, is, is_not"],
            ),
            (
                r#"{"or":[{"is":"3x"}]}"#,
                &[r#"at /or/0/is: a number such as 3 or "3" is expected, not "3x""#],
            ),
            (
                r#"{"or":[{"is":""}]}"#,
                &[r#"at /or/0/is: a number such as 3 or "3" is expected, not """#],
            ),
            (
                r#"{"or":[{"is":true}]}"#,
                &[r#"at /or/0/is: a number such as 3 or "3" is expected, not true"#],
            ),
            (r#"{"exists":"yes"}"#, &["at /exists: true or false is expected, not \"yes\""]),
            (r#""{}""#, &[&format!("{whole}, not \"{{}}\"")]),
            (r#"{"exists":2}"#, &["at /exists: true or false is expected, not 2"]),
            (
                r#"{"and":[{"is":3}],"and":[{"is":4}]}"#,
                &["at /and: the key \"and\" occurs twice in one map; keep one of them"],
            ),
        ],
    );
}

#[test]
fn wrong_lists_are_rejected_with_the_accepted_values() {
    let list = r#"a JSON array of strings such as ["a","b"]"#;
    let modes: &[(&str, &[&str])] = &[
        (
            "[\"chat\"",
            &[&format!(
                "the value is not JSON (a comma or a closing bracket was expected at byte 7, \
                 where the text ends); {list} is expected"
            )],
        ),
        ("\"chat\"", &[&format!("{list} is expected, not \"chat\"")]),
        ("{\"or\":[\"chat\"]}", &[&format!("{list} is expected, not {{\"or\":[\"chat\"]}}")]),
        ("[null]", &[&format!("at /0: null is not an element of {list}")]),
        (
            "[\"chat\",1,[]]",
            &[
                &format!("at /1: 1 is not an element of {list}"),
                &format!("at /2: [] is not an element of {list}"),
            ],
        ),
    ];
    for name in ["issue_modes", "app-ids", "platform_types", "queue_ids", "end-user-ids"] {
        refused(name, modes);
    }
    let ids = "a list of issue ids, whole numbers such as 28,29 or [\"28\",29]";
    refused(
        "ids",
        &[
            (
                "28,x,+1",
                &[
                    &format!("\"x\" is not an element of {ids}"),
                    &format!("\"+1\" is not an element of {ids}"),
                ],
            ),
            ("[1,\"x\"]", &[&format!("at /1: \"x\" is not an element of {ids}")]),
            ("[-1]", &[&format!("at /0: -1 is not an element of {ids}")]),
            ("[1.0]", &[&format!("at /0: 1.0 is not an element of {ids}")]),
            ("[\"+1\"]", &[&format!("at /0: \"+1\" is not an element of {ids}")]),
            ("[true]", &[&format!("at /0: true is not an element of {ids}")]),
        ],
    );
    let states = "new, new-for-agent, agent-replied, waiting-for-agent, pending-reassignment, \
     resolved, rejected";
    refused(
        "state",
        &[
            ("", &[&format!("\"\" is not one of {states}")]),
            ("open", &[&format!("\"open\" is not one of {states}")]),
            ("New", &[&format!("\"New\" is not one of {states}")]),
            ("new,", &[&format!("\"\" is not one of {states}")]),
            ("new_for_agent", &[&format!("\"new_for_agent\" is not one of {states}")]),
            (
                "a,new,b",
                &[
                    &format!("\"a\" is not one of {states}"),
                    &format!("\"b\" is not one of {states}"),
                ],
            ),
            (
                "[\"new\"",
                &[&format!(
                    "the value is not JSON (a comma or a closing bracket was expected at byte 6, \
                     where the text ends); \
                     {list} is expected"
                )],
            ),
            ("[1]", &[&format!("at /0: 1 is not an element of {list}")]),
            ("[\"open\"]", &[&format!("\"open\" is not one of {states}")]),
        ],
    );
}

#[test]
fn a_filter_reports_a_bounded_number_of_faults() {
    let value = format!("{{\"or\":[{}]}}", vec!["1"; 5000].join(","));
    let faults = query("tags", &value).unwrap_err();
    assert_eq!(faults.len(), 100);
    assert_eq!(faults[99], "there are more faults than are listed here");
    let long = "x".repeat(100_000);
    let faults = query("tags", &format!("{{\"{long}\":1}}")).unwrap_err();
    assert!(faults[0].len() < 1000);
}

proptest! {
    #[test]
    fn no_filter_text_makes_the_reader_panic(
        name in "(tags|messages|custom_fields|feedback-rating|issue_modes|author_emails)",
        value in prop_oneof![
            any::<String>(),
            r#"(\{|\}|\[|\]|,|:|"(and|or|exists|number|date|n|is|is_set|contains)"|1|true){0,20}"#,
        ],
    ) {
        let _ = parse_list(&[(name, value)]);
    }
}

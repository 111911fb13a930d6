//! Plans of a table of queries, as text: if a query reads anything else, the snapshot
//! differs. And evaluation of set expressions against sets of plain numbers.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt::Write as _;

use caseload_model::issue::TermKind;
use caseload_model::issue_query::{IssueQuery, ListPosition, ListRequest, parse_list};
use caseload_model::time::UnixMillis;
use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::explain::plan_steps;
use super::plan::{Plan, Planned, Request};
use super::set::{Answers, Leaf, Rows, Set};
use super::thresholds::Thresholds;

/// Pages that are asked for, as a query string without percent-encoding.
const PAGES: &[&str] = &[
    "",
    "page-size=1000&page=50",
    "sort-by=update-time&sort-order=asc",
    "sort-by=state-change-time",
    "state=new",
    "state=new,resolved&sort-by=state-change-time&page=2",
    "state=new&sort-by=update-time",
    "created-since=1602000000000&created-until=1608000000123",
    "created-since=1602000000000&created-until=1602000000999",
    "updated-since=1602000000000&sort-by=update-time",
    "updated-since=1602000000000",
    "state=new&created-since=1602000000000",
    r#"feedback-rating={"and":[{"is_greater_than":3}]}"#,
    r#"feedback-rating={"exists":"false"}"#,
    r#"feedback-rating={"or":[{"is":1}]}&state=resolved"#,
    "feedback-rating={}",
    r#"tags={"and":["vip"]}"#,
    r#"tags={"and":["vip"]}&page=11"#,
    r#"tags={"and":["vip","eu"],"nor":["spam"]}"#,
    r#"tags={"and":["vip"]}&state=new"#,
    r#"languages={"or":["de","fr"]}&created-since=1602000000000"#,
    r#"app-ids=["shop"]"#,
    r#"app-ids=["shop","web"]&state=new&created-since=1602000000000"#,
    "app-ids=[]",
    "created-since=9&created-until=8",
    "ids=[3,7,9]",
    r#"end-user-ids=["u-1"]&redacted=false"#,
    r#"author-emails={"or":["ada@example.org"]}&created-since=1602000000000"#,
    r#"assignee-ids={"or":["a-1",""]}"#,
    r#"assignee-ids={"exists":false}"#,
    r#"assignee-emails={"or":["grace@example.org"]}&state=new"#,
    "redacted=false",
    r#"messages={"and":["refund"]}"#,
    r#"feedback-comment={"exists":true}&messages={"or":["refund","money back"]}&state=new"#,
    r#"custom-fields={"dropdown":{"and":{"plan":{"is_one_of":["gold","silver"]}}}}"#,
    r#"custom-fields={"number":{"or":{"n":{"is_greater_than":3},"k":{"is":1}}}}"#,
];

/// Steps after the issue with id 7: the same, and whether a total is wanted.
const STEPS: &[(&str, bool)] = &[
    ("", false),
    ("", true),
    ("state=new&sort-by=update-time&sort-order=asc", false),
    ("created-since=1602000000000&sort-order=asc", true),
    (r#"feedback-rating={"or":[{"is":1}]}&state=resolved"#, true),
    (r#"tags={"and":["vip"]}"#, true),
    (r#"messages={"and":["refund"]}"#, true),
    (r#"messages={"and":["refund"]}"#, false),
];

fn request(text: &str) -> ListRequest {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pairs: Vec<_> = pairs
        .map(|pair| pair.split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned())).unwrap())
        .collect();
    parse_list(&pairs).unwrap_or_else(|faults| panic!("{text}: {faults:?}"))
}

/// The plan as lines. If agents are asked for first, agents 5 and 6 are selected.
fn lines(title: &str, request: Request<'_>) -> String {
    let mut lines = format!("{}\n", if title.is_empty() { "(no filter)" } else { title });
    let plan: Plan<'_> = match Planned::of(request, Thresholds::USUAL) {
        Planned::Plan(plan) => plan,
        Planned::Refine(by_agents) => {
            lines.push_str("  agents  by address\n");
            by_agents.refine(&["5".to_owned(), "6".to_owned()])
        }
    };
    for step in plan_steps(&plan, |_| Ok::<_, Infallible>(None)).unwrap() {
        writeln!(lines, "  {:<7} {}", step.step, step.how).unwrap();
    }
    if plan.as_one_question().is_some() {
        lines.push_str("  All of it is one question.\n");
    }
    lines
}

#[test]
fn plans_follow_from_the_query_alone() {
    let mut plans = Vec::new();
    for text in PAGES {
        let request = request(text);
        plans.push(lines(text, Request::Page(&request.query, request.paging)));
    }
    let after = Some(ListPosition { at: UnixMillis(1_605_000_000_000), id: 7 });
    for (text, count) in STEPS {
        let query: IssueQuery = request(text).query;
        let title = format!("{text}{}after=7{}", if text.is_empty() { "" } else { "&" }, {
            if *count { "&count=true" } else { "" }
        });
        let step = Request::Step { query: &query, after, issues_max: 100, count: *count };
        plans.push(lines(&title, step));
    }
    insta::assert_snapshot!(plans.join("\n"));
}

/// Expressions over terms whose value is the number of a set.
fn expression() -> impl Strategy<Value = Set> {
    let leaf = (0..4u8).prop_map(|number| Set::term(TermKind::Tag, [number]));
    leaf.prop_recursive(3, 12, 3, |inner| {
        let sets = proptest::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            sets.clone().prop_map(Set::And),
            sets.prop_map(Set::Or),
            inner.prop_map(Set::not),
        ]
    })
}

/// The meaning of an expression, over rows below 8.
fn meaning(set: &Set, sets: &[BTreeSet<u32>]) -> BTreeSet<u32> {
    let every = || (0..8).collect::<BTreeSet<u32>>();
    match set {
        Set::Leaf(leaf) => sets[number(leaf)].clone(),
        Set::And(of) => of.iter().fold(every(), |found, set| &found & &meaning(set, sets)),
        Set::Or(of) => of.iter().fold(BTreeSet::new(), |found, set| &found | &meaning(set, sets)),
        Set::Not(of) => &every() - &meaning(of, sets),
    }
}

fn number(leaf: &Leaf) -> usize {
    match leaf {
        Leaf::Term { values, .. } => values[0][0].into(),
        _ => panic!("{leaf:?}"),
    }
}

proptest! {
    #[test]
    fn leaves_fetched_one_by_one_or_at_once_give_the_set_of_the_expression(
        set in expression(),
        sets in proptest::collection::vec(proptest::collection::btree_set(0..8u32, 0..8), 4),
    ) {
        let rows = |leaf: &Leaf| sets[number(leaf)].iter().copied().collect::<RoaringBitmap>();
        let one_by_one = set.eval(&mut |leaf| Ok::<_, Infallible>(rows(leaf))).unwrap();
        let leaves = set.leaves();
        let fetched: Vec<_> = leaves.iter().map(|leaf| rows(leaf)).collect();
        let mut answers = Answers::new(leaves, fetched);
        let at_once = set.eval(&mut |leaf| Ok::<_, Infallible>(answers.take(leaf))).unwrap();
        prop_assert_eq!(&one_by_one, &at_once);
        let every: RoaringBitmap = (0..8).collect();
        let (found, is_complement) = match one_by_one {
            Rows::In(rows) => (rows, false),
            Rows::NotIn(rows) => (every - rows, true),
        };
        prop_assert_eq!(found.iter().collect::<BTreeSet<u32>>(), meaning(&set, &sets));
        // A conjunction that is known to be empty is a set and no complement.
        prop_assert!(is_complement == set.is_complement() || found.is_empty());
    }
}

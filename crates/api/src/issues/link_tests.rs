//! Tests of the `Link` header: which targets there are, page by page, and how the caller's own
//! parameters are carried along.

use caseload_model::issue_query::{self, PAGE_DEPTH_MAX};

use super::*;

fn pairs(query: &[(&str, &str)]) -> Vec<(String, String)> {
    query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The targets by relation, without the path.
fn links(query: &[(&str, &str)], total_hits: u64) -> Vec<(String, String)> {
    let pairs = pairs(query);
    let request = issue_query::parse_list(&pairs).expect("good parameters");
    let page = IssuePage { total_hits, last_created_at: Some(41), ..IssuePage::default() };
    let links = header("/v1/acme/issues", &pairs, &request, &page).expect("links");
    let text = links.to_str().expect("ASCII");
    let link = |link: &str| {
        let (target, rel) = link.split_once(">; rel=\"").expect("a relation");
        let target = target.strip_prefix("</v1/acme/issues?").expect("the path");
        (rel.trim_end_matches('"').to_owned(), target.to_owned())
    };
    text.split(", ").map(link).collect()
}

fn expected(links: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs(links)
}

#[test]
fn each_page_names_its_neighbours_and_the_ends() {
    for (query, hits, found) in [
        (&[][..], 0, &[("first", "page=1"), ("last", "page=1")][..]),
        (&[], 250, &[("first", "page=1"), ("next", "page=2"), ("last", "page=3")]),
        (
            &[("page", "2")],
            250,
            &[("first", "page=1"), ("prev", "page=1"), ("next", "page=3"), ("last", "page=3")],
        ),
        (&[("page", "3")], 250, &[("first", "page=1"), ("prev", "page=2"), ("last", "page=3")]),
        (&[("page", "9")], 250, &[("first", "page=1"), ("prev", "page=3"), ("last", "page=3")]),
    ] {
        assert_eq!(links(query, hits), expected(found), "{query:?} of {hits}");
    }
}

#[test]
fn the_callers_parameters_keep_their_spelling_and_order() {
    let query = [("page_size", "2"), ("page", "1"), ("ids", "[\"1\",\"2\",\"3\"]")];
    let next = links(&query, 3).into_iter().find(|(rel, _)| rel == "next").expect("next").1;
    assert_eq!(next, "page_size=2&page=2&ids=%5B%221%22%2C%222%22%2C%223%22%5D");
}

#[test]
fn beyond_the_depth_limit_a_list_by_creation_goes_on_by_time() {
    let sorted = [("sort-by", "creation-time"), ("sort_order", "asc"), ("page-size", "1000")];
    let at_end = |extra: &[(&'static str, &'static str)]| {
        links(&[&sorted[..], extra].concat(), PAGE_DEPTH_MAX + 1)
    };
    let keep = "sort-by=creation-time&sort_order=asc&page-size=1000";
    assert_eq!(
        at_end(&[("page", "50")]),
        expected(&[
            ("first", &format!("{keep}&page=1")),
            ("prev", &format!("{keep}&page=49")),
            ("next", &format!("{keep}&created_since=42")),
        ])
    );
    let next = &at_end(&[("created-since", "7"), ("page", "50")])[2];
    assert_eq!(next.1, format!("{keep}&created-since=42"));
}

#[test]
fn beyond_the_depth_limit_other_orders_have_no_next() {
    for query in
        [[("page", "500"), ("sort-order", "desc")], [("page", "500"), ("sort-by", "update-time")]]
    {
        let rels: Vec<_> = links(&query, 60_000).into_iter().map(|(rel, _)| rel).collect();
        assert_eq!(rels, ["first", "prev"]);
    }
}

//! Tests of the `Link` header: the targets of each page, and the caller's own parameters in them.

use caseload_model::issue_query::{self, PAGE_DEPTH_MAX};

use super::*;

fn pairs(query: &[(&str, &str)]) -> Vec<(String, String)> {
    query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The targets by relation, without the path.
fn links(query: &[(&str, &str)], total_hits: u64) -> Vec<(String, String)> {
    let pairs = pairs(query);
    let request = issue_query::parse_list(&pairs).expect("good parameters");
    let cursor = || Some("TOKEN".to_owned());
    let links = header("/v1/acme/issues", &pairs, request.paging, total_hits, cursor);
    parsed(&links)
}

fn parsed(fields: &[HeaderValue]) -> Vec<(String, String)> {
    let texts = fields.iter().map(|field| field.to_str().expect("ASCII"));
    let link = |link: &str| {
        let (target, rel) = link.split_once(">; rel=\"").expect("a relation");
        let target = target.strip_prefix("</v1/acme/issues?").expect("the path");
        (rel.trim_end_matches('"').to_owned(), target.to_owned())
    };
    texts.flat_map(|text| text.split(", ")).map(link).collect()
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
fn the_callers_parameters_retain_their_spelling_and_order() {
    let query = [("page_size", "2"), ("page", "1"), ("ids", "[\"1\",\"2\",\"3\"]")];
    let next = links(&query, 3).into_iter().find(|(rel, _)| rel == "next").expect("next").1;
    assert_eq!(next, "page_size=2&page=2&ids=%5B%221%22%2C%222%22%2C%223%22%5D");
}

#[test]
fn beyond_the_depth_limit_a_list_continues_by_cursor() {
    for sorted in [
        &[("sort-by", "creation-time"), ("sort_order", "asc"), ("page-size", "1000")][..],
        &[("page-size", "1000"), ("state", "new")],
    ] {
        let links = links(&[sorted, &[("page", "50")]].concat(), PAGE_DEPTH_MAX + 1);
        let common: Vec<_> = sorted.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let common = common.join("&");
        assert_eq!(
            links,
            expected(&[
                ("first", &format!("{common}&page=1")),
                ("prev", &format!("{common}&page=49")),
                ("next", &format!("{common}&cursor=TOKEN")),
            ])
        );
    }
}

#[test]
fn a_list_by_cursor_links_to_its_first_and_next_step() {
    let steps = |query: &[(&str, &str)], next: Option<&str>| {
        parsed(&stepped("/v1/acme/issues", &pairs(query), next))
    };
    assert_eq!(
        steps(&[("cursor", "OLD"), ("state", "new")], Some("NEW")),
        expected(&[("first", "cursor=&state=new"), ("next", "cursor=NEW&state=new")])
    );
    assert_eq!(steps(&[("cursor", "")], None), expected(&[("first", "cursor=")]));
    assert_eq!(
        steps(&[("after", "1,2"), ("page_size", "7")], Some("NEW")),
        expected(&[("first", "page_size=7&cursor="), ("next", "page_size=7&cursor=NEW")])
    );
}

#[test]
fn long_links_have_one_field_each_within_the_limits_of_clients() {
    for (letters, fields) in [(1_000, 1), (1_900, 1), (2_100, 4), (59_000, 4), (60_000, 0)] {
        let long = "x".repeat(letters);
        let pairs = pairs(&[("tags", &long), ("page", "2")]);
        let paging = Paging { page: 2, page_size: 100 };
        let header = header("/v1/acme/issues", &pairs, paging, 1_000, || None);
        assert_eq!(header.len(), fields, "{letters}");
        assert!(header.iter().all(|field| field.len() <= LINK_BYTES_MAX));
        if fields > 0 {
            let found: Vec<_> = parsed(&header).into_iter().map(|(rel, _)| rel).collect();
            assert_eq!(found, ["first", "prev", "next", "last"], "{letters}");
        }
    }
}

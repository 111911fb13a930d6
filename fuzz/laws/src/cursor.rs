//! Places in a list: the token of `cursor` and the plain text of `after`. The bytes are a text, the
//! content of a token, or two queries. A token that can be read is written the same again, and
//! continues the list for which it was made and no other one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use caseload_api::test_support::query_pairs;
use caseload_model::ids::{DomainId, ISSUE_ID_MAX};
use caseload_model::issue_query::{
    Cursor, CursorScope, IssueQuery, ListPosition, ListRequest, ParameterFault, SortKey, SortOrder,
    parse_list,
};
use caseload_model::time::read::parse_moment;
use caseload_model::time::{UnixMillis, write_iso};
use sha2::{Digest, Sha256};

use caseload_testdata::SplitMix;

const BODY_BYTES: usize = 30;

/// Parameters that name the place in a list; the others select its issues.
const PLACES: [&str; 5] = ["cursor", "after", "count", "page", "page-size"];

const HOME: DomainId = DomainId(1);

type Pairs = Vec<(String, String)>;

pub(crate) fn holds(data: &[u8]) {
    made_of(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    token(text);
    place(text);
    let mut lines = text.lines();
    if let (Some(one), Some(other)) = (lines.next().and_then(query), lines.next().and_then(query)) {
        let mut random = SplitMix::from_bytes(data);
        belongs(&one, &one, &mut random);
        belongs(&one, &other, &mut random);
    }
}

/// Any text as a token.
fn token(text: &str) {
    let outcome = parse_list(&[("cursor".to_owned(), text.to_owned())]);
    match Cursor::<u64>::decode(text) {
        Ok(cursor) => {
            assert_eq!(cursor.encode(), text, "a token is written in one way");
            assert!(outcome.is_ok_and(|request| request.cursor.is_some()), "{text} is a token");
        }
        Err(_) => assert_eq!(outcome.is_ok(), ["", "*"].contains(&text), "{text:?} is not a token"),
    }
}

/// Any bytes below a checksum that is right.
fn made_of(data: &[u8]) {
    let mut body = [0; BODY_BYTES];
    let length = data.len().min(BODY_BYTES);
    body[..length].copy_from_slice(&data[..length]);
    let checksum = &Sha256::digest(body)[..6];
    let text = URL_SAFE_NO_PAD.encode([&body[..], checksum].concat());
    let id = body[14..22].iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte));
    let (key, order) = (body[1] >> 4, body[1] & 0xf);
    let is_good = body[0] == 1
        && (1..=SortKey::ALL.len()).contains(&usize::from(key))
        && (1..=SortOrder::ALL.len()).contains(&usize::from(order))
        && id <= ISSUE_ID_MAX;
    assert_eq!(Cursor::<u64>::decode(&text).is_ok(), is_good, "{body:?}");
    token(&text);
}

/// Any text as a place in plain text.
fn place(text: &str) {
    let outcome = parse_list(&[("after".to_owned(), text.to_owned())]);
    let expected = text.split_once(',').and_then(|(at, id)| {
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let at = parse_moment(at).ok()?.at;
        let id = id.parse().ok().filter(|_| is_plain(id))?;
        (id <= ISSUE_ID_MAX).then_some(ListPosition { at, id })
    });
    let Some(position) = expected else {
        let faults = outcome.expect_err("this is not a place");
        assert!(faults.len() == 1 && faults[0].parameter == "after", "{faults:?}");
        return;
    };
    assert_eq!(position_of(&outcome.expect("this is a place")), Ok(Some(position)));
    let mut iso = Vec::new();
    write_iso(position.at, &mut iso);
    let iso = String::from_utf8(iso).expect("a time is ASCII");
    let again = parse_list(&[("after".to_owned(), format!("{iso},{}", position.id))]);
    assert_eq!(position_of(&again.expect("a place")), Ok(Some(position)), "{iso}");
}

/// The place from which the walk continues.
fn position_of(request: &ListRequest) -> Result<Option<ListPosition>, ParameterFault> {
    let paging = request.cursor.as_ref().expect("a list by place");
    request.query.scope(HOME).position(paging)
}

/// A good query without its place.
fn query(line: &str) -> Option<(Pairs, IssueQuery)> {
    let mut pairs = query_pairs(line).ok()?;
    pairs.retain(|(name, _)| !PLACES.contains(&name.replace('_', "-").as_str()));
    let query = parse_list(&pairs).ok()?.query;
    Some((pairs, query))
}

/// A token that was made for one list, sent with another.
fn belongs(
    (_, home): &(Pairs, IssueQuery),
    (pairs, query): &(Pairs, IssueQuery),
    random: &mut SplitMix,
) {
    let after =
        ListPosition { at: UnixMillis(random.below(1 << 40) as i64), id: random.below(99) as u64 };
    let pages = random.below(1 << 32) as u32;
    let cursor = Cursor { scope: CursorScope::of(HOME, home), sort: home.sort, after, pages };
    let mut pairs = pairs.clone();
    pairs.insert(random.below(pairs.len() + 1), ("cursor".to_owned(), cursor.encode()));
    let request = parse_list(&pairs).expect("a token goes with every filter");
    assert_eq!(request.query, *query, "a token is not a filter");
    let paging = request.cursor.as_ref().expect("a list by place");
    assert_eq!(paging.pages_before(), pages);
    match position_of(&request) {
        Ok(position) => assert!(home == query && position == Some(after), "{home:?} {query:?}"),
        Err(fault) => {
            assert_ne!(home, query, "a token is accepted by its own list");
            assert!(fault.parameter == "cursor" && !fault.detail.is_empty());
        }
    }
    assert!(query.scope(DomainId(2)).position(paging).is_err(), "no other domain takes it");
}

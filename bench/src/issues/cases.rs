//! The measured requests: every kind of filter that the store answers in its own way, as pages of
//! 100 and of 1000, as totals alone, deep pages, and by cursor. Values vary from request to
//! request, so that caches of answers would not help.

use std::sync::Arc;

use super::data::{self, FIRST_AT, SPAN_MS};
use super::wire::Path;

/// A measured request.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) path: Path,
    pub(crate) connections: usize,
    /// The limit is a greeting instead of the same bytes.
    pub(crate) against_hello: bool,
}

/// A filter: its name, and its parameters in request number `n`.
type Filter = (&'static str, fn(usize) -> String);

pub(crate) const DAY: i64 = 86_400_000;

/// A span of a quarter to three quarters of all days; it begins and ends within a day.
pub(crate) fn span(n: usize) -> (i64, i64) {
    let since = FIRST_AT + SPAN_MS / 8 + (n as i64 % 97) * DAY + 12_345_678;
    (since, since + SPAN_MS / 2)
}

pub(crate) fn range(n: usize) -> String {
    let (since, until) = span(n);
    format!("&created-since={since}&created-until={until}")
}

pub(crate) fn state(n: usize) -> String {
    format!("&state={}", data::STATES[n % data::STATES.len()].0)
}

fn app(n: usize) -> String {
    format!("&app-ids=%5B%22load_app_{:02}%22%5D", n % 20)
}

pub(crate) fn tag(n: usize) -> String {
    format!("&tags=%7B%22or%22:%5B%22{}%22%5D%7D", data::tag(n % 60))
}

fn rating(n: usize) -> String {
    format!("&feedback-rating=%7B%22and%22:%5B%7B%22is_greater_than%22:{}%7D%5D%7D", n % 4 + 1)
}

fn field(n: usize) -> String {
    let plan = data::PLANS[n % 4];
    let seats = 100 + n % 300;
    format!(
        "&custom_fields=%7B%22dropdown%22:%7B%22and%22:%7B%22plan%22:%7B%22is%22:%22{plan}%22%7D\
         %7D%7D,%22number%22:%7B%22and%22:%7B%22seats%22:%7B%22is_greater_than%22:{seats}\
         %7D%7D%7D%7D"
    )
}

fn email(n: usize) -> String {
    format!("&author_emails=%7B%22or%22:%5B%22{}%22%5D%7D", data::email(n * 37 % 50_000))
}

pub(crate) fn none(_: usize) -> String {
    String::new()
}

/// The filters of measured lists.
const LISTS: [Filter; 9] = [
    ("no filter", none),
    ("state", state),
    ("range", range),
    ("state + range", |n| state(n) + &range(n)),
    ("tag", tag),
    ("app + state + range", |n| app(n) + &state(n) + &range(n)),
    ("rating", rating),
    ("custom fields", field),
    ("author email", email),
];

/// More filters, for totals alone.
const COUNTS: [Filter; 12] = [
    ("app + range", |n| app(n) + &range(n)),
    ("tag + range", |n| tag(n) + &range(n)),
    ("state + updated range", |n| {
        state(n) + &range(n).replace("created", "updated") + "&sort-by=creation-time"
    }),
    ("changed range", |n| range(n).replace("created", "state")),
    ("app + state", |n| app(n) + &state(n)),
    ("tag + state", |n| tag(n) + &state(n)),
    ("app + language", |n| app(n) + "&languages=%7B%22or%22:%5B%22de%22%5D%7D"),
    ("tags nor, not redacted", |n| {
        format!("&tags=%7B%22nor%22:%5B%22{}%22%5D%7D&redacted=false", data::tag(n % 60))
    }),
    ("unassigned + rated", |_| {
        "&assignee-ids=%7B%22exists%22:%22false%22%7D&feedback-rating=%7B%22exists%22:%22true%22%7D"
            .to_owned()
    }),
    ("end user", |n| format!("&end-user-ids=%5B%22{}%22%5D", data::user(n * 41 % 50_000))),
    ("date after", |n| {
        let at = FIRST_AT + (n as i64 % 500) * DAY;
        format!(
            "&custom_fields=%7B%22date%22:%7B%22and%22:%7B%22renewal%22:%7B%22is_after%22:{at}\
             %7D%7D%7D%7D"
        )
    }),
    ("five filters", |n| app(n) + &state(n) + &range(n) + &tag(n) + &rating(n)),
];

/// Lists with a filter; `rest` is the other parameters.
pub(crate) fn list(filter: fn(usize) -> String, rest: String) -> Path {
    Arc::new(move |n| format!("/v1/bench/issues?{rest}{}", filter(n)))
}

/// All cases for a store of `count` issues.
pub(crate) fn cases(count: usize) -> Vec<Case> {
    let case = |name: String, path: Path, connections| Case {
        name,
        path,
        connections,
        against_hello: false,
    };
    let by_id: Path = Arc::new(move |n| format!("/v1/bench/issues/{}", n * 7_919 % count + 1));
    let mut cases = vec![Case { against_hello: true, ..case("one by id".to_owned(), by_id, 32) }];
    for (size, connections) in [(100, 16), (1000, 8)] {
        for (name, filter) in LISTS {
            let path = list(filter, format!("page-size={size}"));
            cases.push(case(format!("list {size}, {name}"), path, connections));
        }
    }
    for (name, filter) in [
        LISTS[0],
        LISTS[1],
        LISTS[3],
        ("app", app),
        ("app + state", |n| app(n) + "&state=resolved"),
    ] {
        for page in [1, 50] {
            let name = format!("page {page} of 1000, {name}");
            cases.push(case(name, list(filter, format!("page-size=1000&page={page}")), 1));
        }
    }
    for (name, filter) in LISTS.into_iter().chain(COUNTS) {
        let path = list(filter, "page-size=1&excludes=%5B%22messages%22%5D".to_owned());
        cases.push(Case { against_hello: true, ..case(format!("count, {name}"), path, 1) });
    }
    cases
}

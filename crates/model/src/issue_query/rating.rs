//! Reads the filter `feedback-rating`: `{"and":[{op:value}],"or":[{op:value}],"exists":"true"}`.
//! Ratings are 1 to 5, so every condition is a set of ratings, computed exactly when the filter is
//! read. A missing rating matches no operator. An empty `and` holds for every issue, an empty `or`
//! for none.

use crate::decimal::Decimal;
use crate::json::Json;
use crate::parameters::json_value::{self, FilterFaults};

const OPERATORS: [&str; 4] = ["is_greater_than", "is_smaller_than", "is", "is_not"];
const KEYS: [&str; 3] = ["and", "or", "exists"];
const EXAMPLE: &str = "a map such as {\"and\":[{\"is_greater_than\":\"3\"}]}";

/// A set of ratings; the missing rating is a member or not, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatingSet(u8);

impl RatingSet {
    /// Every rating and the missing one.
    pub const ALL: Self = Self(0b11_1111);
    const RATED: Self = Self(0b11_1110);
    const MISSING: Self = Self(0b00_0001);

    /// Whether an issue with this rating is in the set.
    pub fn contains(self, rating: Option<u8>) -> bool {
        self.0 & (1 << rating.unwrap_or_default().min(7)) != 0
    }

    /// The ratings in the set, ascending.
    pub fn ratings(self) -> impl Iterator<Item = u8> {
        (1..=5).filter(move |rating| self.contains(Some(*rating)))
    }

    /// Whether issues without a rating are in the set.
    pub fn has_missing(self) -> bool {
        self.contains(None)
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn of(test: impl Fn(&Decimal) -> bool) -> Self {
        let passes = |rating: &u8| test(&Decimal::from(*rating));
        Self((1..=5).filter(passes).fold(0, |bits, rating| bits | 1 << rating))
    }
}

/// Reads the value of the parameter; each fault is a sentence.
pub(super) fn parse_rating(value: &str) -> Result<RatingSet, Vec<String>> {
    let tree = json_value::parse(value, EXAMPLE)?;
    let mut faults = FilterFaults::default();
    // A bare list means `or`.
    if matches!(tree, Json::Array(_)) {
        let any = tests(&tree, "", &mut faults).into_iter().fold(RatingSet(0), RatingSet::or);
        return faults.result(any);
    }
    let mut set = RatingSet::ALL;
    for (key, at, value) in json_value::members(&tree, "", EXAMPLE, &mut faults) {
        set = set.and(match key {
            "and" => {
                tests(value, &at, &mut faults).into_iter().fold(RatingSet::ALL, RatingSet::and)
            }
            "or" => tests(value, &at, &mut faults).into_iter().fold(RatingSet(0), RatingSet::or),
            "exists" => match json_value::boolean(value, &at, &mut faults) {
                Some(true) => RatingSet::RATED,
                Some(false) => RatingSet::MISSING,
                None => RatingSet::ALL,
            },
            _ => {
                faults.unknown(&at, key, "a key here", &KEYS);
                RatingSet::ALL
            }
        });
    }
    faults.result(set)
}

/// The set of each element of a list of conditions.
fn tests(json: &Json<'_>, at: &str, faults: &mut FilterFaults) -> Vec<RatingSet> {
    let Json::Array(items) = json else {
        faults.expected(at, "an array of maps such as [{\"is\":3}]", json);
        return Vec::new();
    };
    let numbered = items.iter().enumerate();
    numbered.map(|(n, item)| test(item, &format!("{at}/{n}"), faults)).collect()
}

fn test(json: &Json<'_>, at: &str, faults: &mut FilterFaults) -> RatingSet {
    let expected = "a map of an operator and a number such as {\"is\":3}";
    if matches!(json, Json::Object(members) if members.is_empty()) {
        faults.expected(at, expected, json);
    }
    let mut set = RatingSet::RATED;
    for (operator, at, value) in json_value::members(json, at, expected, faults) {
        let number = json_value::number(value, &at, faults);
        if !OPERATORS.contains(&operator) {
            faults.unknown(&at, operator, "an operator here", &OPERATORS);
        }
        let Some(number) = number else { continue };
        set = set.and(match operator {
            "is_greater_than" => RatingSet::of(|rating| *rating > number),
            "is_smaller_than" => RatingSet::of(|rating| *rating < number),
            "is" => RatingSet::of(|rating| *rating == number),
            _ => RatingSet::of(|rating| *rating != number),
        });
    }
    set
}

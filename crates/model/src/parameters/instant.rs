//! Times in queries, and the bounds of a span of time. The forms of a time are those of
//! [`crate::time::read`]; a query adds a plus that was not escaped, and which end of a span a time
//! is.

use crate::time::read::{InvalidMoment, Moment, MomentForm, parse_moment};
use crate::time::{DAY_MS, UnixMillis};

/// Which end of a span a bound is. Both ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    Since,
    Until,
}

/// Reads a moment. A plus that was not escaped has become a blank.
pub(crate) fn parse_queried(text: &str) -> Result<Moment, InvalidMoment> {
    parse_moment(text).or_else(|fault| {
        let (before, after) = text.rsplit_once(' ').ok_or_else(|| fault.clone())?;
        parse_moment(&format!("{before}+{after}")).map_err(|_| fault)
    })
}

/// Reads a bound. A time between two milliseconds is moved into the span. A date alone is its whole
/// day, so as an upper bound it is the day's last millisecond. A negative number is most often an
/// error of arithmetic and a fault.
pub(crate) fn parse_bound(text: &str, bound: Bound) -> Result<UnixMillis, InvalidMoment> {
    let Moment { at: UnixMillis(at), is_finer, form } = parse_queried(text)?;
    if form == MomentForm::Number && at < 0 {
        let detail = format!("{at} is before 1970; a bound before 1970 is given in ISO 8601");
        return Err(InvalidMoment::NotATime(detail));
    }
    Ok(UnixMillis(match (bound, form) {
        (Bound::Until, MomentForm::DateAlone) => at + DAY_MS - 1,
        (Bound::Since, _) => at + i64::from(is_finer),
        (Bound::Until, _) => at,
    }))
}

#[cfg(test)]
#[path = "instant_tests.rs"]
mod tests;

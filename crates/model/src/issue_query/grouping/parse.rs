//! Reads the parameters of counts by groups. They take every filter of the list, with the same
//! meaning.

use super::{Group, Grouping, Zone};
use crate::error_code::ErrorCode;
use crate::issue_query::list::query;
use crate::issue_query::{ISSUE_FILTERS, IssueQuery, with_filters};
use crate::parameters::{ParameterFault, Parameters};

/// The most groups of one answer.
pub const GROUPS_MAX: u64 = 1000;
/// The groups of an answer if the caller names no number.
pub const GROUPS_DEFAULT: u64 = 100;
/// The most properties to group by.
const PROPERTIES_MAX: usize = 2;

/// The parameters of counts: the filters of the list, and those of the groups.
pub const COUNT_PARAMETERS: [&str; ISSUE_FILTERS.len() + 3] =
    with_filters(&["group-by", "timezone", "limit"]);

/// A request for counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountRequest {
    pub query: IssueQuery,
    pub grouping: Grouping,
}

/// Reads the parameters of counts: decoded, otherwise as the caller sent them.
pub fn parse_counts(pairs: &[(String, String)]) -> Result<CountRequest, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &COUNT_PARAMETERS);
    let query = query(&mut parameters);
    let by = properties(&mut parameters);
    let zone = zone(&mut parameters);
    let limit = limit(&mut parameters);
    match by {
        Some(by) if parameters.faults.is_empty() => {
            Ok(CountRequest { query, grouping: Grouping { by, zone, limit: limit as usize } })
        }
        _ => Err(parameters.faults),
    }
}

/// The properties to group by; none after a fault.
fn properties(parameters: &mut Parameters<'_>) -> Option<Vec<Group>> {
    let words: Vec<_> = Group::ALL.iter().map(|group| (group.as_str(), *group)).collect();
    let accepted = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    let Some((spelled, _)) = parameters.get("group-by") else {
        let detail = format!("group-by is missing; give one or two of {}", accepted());
        parameters.fault("group-by", ErrorCode::MissingField, detail);
        return None;
    };
    let by = parameters.words("group-by", &words)?;
    let (code, detail) = match by[..] {
        [] => (
            ErrorCode::InvalidValue,
            format!("{spelled} is empty; give one or two of {}", accepted()),
        ),
        [first, second] if first == second => (
            ErrorCode::InvalidValue,
            format!("{spelled} names {} twice; name it once, or another one, too", first.as_str()),
        ),
        _ if by.len() > PROPERTIES_MAX => (
            ErrorCode::TooMany,
            format!("{spelled} names {} properties; issues are counted by one or two", by.len()),
        ),
        _ => return Some(by),
    };
    parameters.fault(spelled, code, detail);
    None
}

/// The time zone of days, weeks and months.
pub(crate) fn zone(parameters: &mut Parameters<'_>) -> Zone {
    let Some((spelled, name)) = parameters.get("timezone") else { return Zone::UTC };
    Zone::named(name).unwrap_or_else(|detail| {
        parameters.fault(spelled, ErrorCode::InvalidValue, detail);
        Zone::UTC
    })
}

fn limit(parameters: &mut Parameters<'_>) -> u64 {
    let Some((spelled, value)) = parameters.get("limit") else { return GROUPS_DEFAULT };
    let Some(number) = parameters.number("limit") else { return GROUPS_DEFAULT };
    if !(1..=GROUPS_MAX).contains(&number) {
        let detail = format!(
            "{value} is out of range: an answer has 1 to {GROUPS_MAX} groups, {GROUPS_DEFAULT} by \
             default"
        );
        parameters.fault(spelled, ErrorCode::OutOfRange, detail);
    }
    number
}

//! How long issues take: the time to the first reply and the time to the resolution, of all matches
//! of a query and of those of each period. Issues are given as the list renders them, in any order.
//! Which issues there are is not decided here.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::grouping::parse::zone;
use super::list::query;
use super::{Group, GroupValue, ISSUE_FILTERS, IssueQuery, Period, Zone, with_filters};
use crate::issue::{IssueState, is_of_end_user};
use crate::json::write_string;
use crate::parameters::ParameterFault;
use crate::parameters::Parameters;
use crate::time::UnixMillis;

/// The parameters of durations: the filters of the list, and those of the groups.
pub const DURATION_PARAMETERS: [&str; ISSUE_FILTERS.len() + 2] =
    with_filters(&["group-by", "timezone"]);
/// The groups of durations; the first one is the default.
pub const DURATION_GROUPS: [Group; 3] =
    [Group::CreatedWeek, Group::CreatedDay, Group::CreatedMonth];

/// A request for durations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationsRequest {
    pub query: IssueQuery,
    /// One of [`DURATION_GROUPS`].
    pub by: Group,
    pub zone: Zone,
}

/// Reads the parameters of durations: decoded, otherwise as the caller sent them.
pub fn parse_durations(
    pairs: &[(String, String)],
) -> Result<DurationsRequest, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &DURATION_PARAMETERS);
    let query = query(&mut parameters);
    let words = DURATION_GROUPS.map(|group| (group.as_str(), group));
    let by = parameters.word("group-by", &words).unwrap_or(Group::CreatedWeek);
    let zone = zone(&mut parameters);
    if parameters.faults.is_empty() {
        Ok(DurationsRequest { query, by, zone })
    } else {
        Err(parameters.faults)
    }
}

/// An issue that no store can have rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamagedIssue;

/// The members of a rendered issue that say how long it took.
#[derive(Deserialize)]
struct Course<'j> {
    created_at: i64,
    #[serde(borrow)]
    state_data: StateData<'j>,
    #[serde(borrow, default)]
    messages: Vec<Sent<'j>>,
}

#[derive(Deserialize)]
struct StateData<'j> {
    #[serde(borrow)]
    state: Cow<'j, str>,
    changed_at: i64,
}

#[derive(Deserialize)]
struct Sent<'j> {
    created_at: i64,
    #[serde(borrow)]
    origin: Cow<'j, str>,
}

impl Course<'_> {
    /// From the customer's first message to the first one of an agent after it. An issue that an
    /// agent began has none before the customer wrote.
    fn first_reply(&self) -> Option<i64> {
        let first = |of_end_user: bool, since: i64| {
            let sent = self.messages.iter().filter(|sent| sent.created_at >= since);
            let sent = sent.filter(|sent| is_of_end_user(&sent.origin) == of_end_user);
            sent.map(|sent| sent.created_at).min()
        };
        let asked = first(true, i64::MIN)?;
        first(false, asked).map(|answered| answered.saturating_sub(asked))
    }

    /// From the creation to the change to `resolved`, if that is the present state and came after
    /// the creation, as it need not in an import.
    fn resolution(&self) -> Option<i64> {
        let resolved = self.state_data.state == IssueState::Resolved.as_str();
        let took = self.state_data.changed_at.saturating_sub(self.created_at);
        (resolved && took >= 0).then_some(took)
    }
}

/// The durations of some issues, in milliseconds.
#[derive(Debug, Default)]
struct Times {
    issues: u64,
    first_replies: Vec<i64>,
    resolutions: Vec<i64>,
}

impl Times {
    fn add(&mut self, first_reply: Option<i64>, resolution: Option<i64>) {
        self.issues += 1;
        self.first_replies.extend(first_reply);
        self.resolutions.extend(resolution);
    }

    fn write_json(&mut self, out: &mut Vec<u8>) {
        for (name, times) in
            [("first_reply", &mut self.first_replies), ("resolution", &mut self.resolutions)]
        {
            times.sort_unstable();
            let (median, p90) = (written(quantile(times, 50)), written(quantile(times, 90)));
            let count = times.len();
            out.extend_from_slice(
                format!(
                    ",\"{name}\":{{\"count\":{count},\"median_ms\":{median},\"p90_ms\":{p90}}}"
                )
                .as_bytes(),
            );
        }
    }
}

fn written(time: Option<i64>) -> String {
    time.map_or_else(|| "null".to_owned(), |time| time.to_string())
}

/// The least of the sorted times that this many of a hundred do not exceed.
fn quantile(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

/// The durations of the matches of a query.
#[derive(Debug)]
pub struct Durations {
    by: Group,
    period: Period,
    zone: Zone,
    all: Times,
    /// By the numbers of their periods.
    groups: BTreeMap<i64, Times>,
}

impl Durations {
    /// Durations of no issue yet.
    pub fn new(by: Group, zone: Zone) -> Self {
        let period = by.time().map_or(Period::Week, |(_, period)| period);
        Self { by, period, zone, all: Times::default(), groups: BTreeMap::new() }
    }

    /// Adds issues, one a line, as the list renders them with their messages.
    pub fn add_lines(&mut self, lines: &[u8]) -> Result<(), DamagedIssue> {
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let course: Course<'_> = serde_json::from_slice(line).map_err(|_| DamagedIssue)?;
            let day = self.zone.day_of(UnixMillis(course.created_at));
            let (first_reply, resolution) = (course.first_reply(), course.resolution());
            self.all.add(first_reply, resolution);
            let group = self.groups.entry(self.period.of_day(day)).or_default();
            group.add(first_reply, resolution);
        }
        Ok(())
    }

    /// The answer as JSON, with the groups in the order of time.
    pub fn into_json(mut self) -> Vec<u8> {
        let mut out = format!("{{\"total-hits\":{}", self.all.issues).into_bytes();
        self.all.write_json(&mut out);
        out.extend_from_slice(b",\"groups\":[");
        for (n, (number, times)) in self.groups.iter_mut().enumerate() {
            out.extend_from_slice(if n == 0 { b"{" } else { b",{" });
            write_string(self.by.as_str(), &mut out);
            out.push(b':');
            GroupValue::Time(self.period, *number).write_json(&mut out);
            out.extend_from_slice(format!(",\"count\":{}", times.issues).as_bytes());
            times.write_json(&mut out);
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
        out
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const HOUR: i64 = 3_600_000;

    fn line(created_at: i64, state: &str, changed_at: i64, sent: &[(&str, i64)]) -> String {
        let messages: Vec<_> = sent
            .iter()
            .map(|(by, at)| json!({"body": "\n", "origin": by, "created_at": at}))
            .collect();
        let state = json!({"state": state, "changed_at": changed_at});
        json!({"created_at": created_at, "state_data": state, "messages": messages}).to_string()
            + "\n"
    }

    fn durations(lines: &[String]) -> Value {
        let mut durations = Durations::new(Group::CreatedDay, Zone::UTC);
        durations.add_lines(lines.concat().as_bytes()).unwrap();
        serde_json::from_slice(&durations.into_json()).unwrap()
    }

    #[test]
    fn the_first_reply_follows_the_first_message_of_the_customer() {
        const AGENT: &str = "helpshift";
        const USER: &str = "end-user";
        for (sent, expected) in [
            (vec![(USER, 5), (AGENT, 9)], json!(4)),
            (vec![(USER, 5), (USER, 6), (AGENT, 9), (AGENT, 11)], json!(4)),
            (vec![(AGENT, 1), (USER, 5), (AGENT, 7)], json!(2)),
            // In any order.
            (vec![(AGENT, 7), (USER, 5)], json!(2)),
            (vec![(AGENT, 1), (USER, 5)], Value::Null),
            (vec![(AGENT, 1), (AGENT, 2)], Value::Null),
            (vec![(USER, 5)], Value::Null),
            (vec![], Value::Null),
        ] {
            let found = durations(&[line(0, "new", 0, &sent)]);
            assert_eq!(found["first_reply"]["median_ms"], expected, "{sent:?}");
        }
    }

    #[test]
    fn only_resolved_issues_have_a_resolution() {
        for (state, changed_at, expected) in [
            ("resolved", 9, json!(4)),
            ("resolved", 5, json!(0)),
            ("resolved", 4, Value::Null),
            ("rejected", 9, Value::Null),
            ("agent-replied", 9, Value::Null),
        ] {
            let found = durations(&[line(5, state, changed_at, &[])]);
            assert_eq!(found["resolution"]["p90_ms"], expected, "{state} {changed_at}");
        }
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        for (count, median, p90) in [(1, 1, 1), (2, 1, 2), (3, 2, 3), (10, 5, 9), (11, 6, 10)] {
            let times: Vec<i64> = (1..=count).collect();
            assert_eq!((quantile(&times, 50), quantile(&times, 90)), (Some(median), Some(p90)));
        }
        assert_eq!(quantile(&[], 50), None);
    }

    #[test]
    fn groups_are_in_the_order_of_time_and_add_up() {
        let found = durations(&[
            line(30 * HOUR, "resolved", 32 * HOUR, &[]),
            line(1, "resolved", 1 + HOUR, &[]),
            line(2, "new", 2, &[]),
        ]);
        let none = json!({"count": 0, "median_ms": null, "p90_ms": null});
        let one = |ms: i64| json!({"count": 1, "median_ms": ms, "p90_ms": ms});
        let expected = json!({
            "total-hits": 3,
            "first_reply": none,
            "resolution": {"count": 2, "median_ms": HOUR, "p90_ms": 2 * HOUR},
            "groups": [
                {"created-day": "1970-01-01", "count": 2, "first_reply": none,
                 "resolution": one(HOUR)},
                {"created-day": "1970-01-02", "count": 1, "first_reply": none,
                 "resolution": one(2 * HOUR)},
            ],
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn a_damaged_issue_is_said() {
        let mut durations = Durations::new(Group::CreatedDay, Zone::UTC);
        assert_eq!(durations.add_lines(b"{\"created_at\":1}\n"), Err(DamagedIssue));
    }
}

//! The cursor procedure of the specification, which walks all issues of a span oldest first. The
//! rules are [`Cursor`], pure and tested by themselves; [`Walk`] sends the requests. The walk ends
//! by the procedure's own rule (no issue, or one) and delivers each issue once, given that no two
//! issues of a domain share a `created_at`. A server that breaks this is reported, not followed
//! for ever.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::ClientError;
use crate::http::Client;
use crate::issues::IssueParams;

/// Two issues of one instant: the procedure cannot get past them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the walk cannot go on: several issues were created at {created_at}")]
pub struct CursorStuck {
    pub created_at: i64,
}

/// Where a walk stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    since: Option<i64>,
    done: bool,
}

impl Cursor {
    /// A walk from `since` on, or from the oldest issue.
    pub const fn new(since: Option<i64>) -> Self {
        Self { since, done: false }
    }

    /// The `created_since` of the next request; unset at the beginning of an open span.
    pub const fn since(&self) -> Option<i64> {
        self.since
    }

    /// Whether the last answer was the end.
    pub const fn is_done(&self) -> bool {
        self.done
    }

    /// Takes one answer, oldest first, and returns the part of it to process now.
    pub fn take<T>(
        &mut self,
        mut issues: Vec<T>,
        created_at: impl Fn(&T) -> i64,
    ) -> Result<Vec<T>, CursorStuck> {
        if issues.len() <= 1 {
            self.done = true;
            return Ok(issues);
        }
        if let Some(last) = issues.pop() {
            let at = created_at(&last);
            if issues.last().is_some_and(|before| created_at(before) >= at) {
                return Err(CursorStuck { created_at: at });
            }
            self.since = Some(at);
        }
        Ok(issues)
    }
}

/// A walk over the issues of a span with everything that issues have.
#[derive(Debug)]
pub struct Walk<'a> {
    client: &'a Client,
    cursor: Cursor,
    until: Option<i64>,
}

#[derive(Deserialize)]
struct Created {
    created_at: i64,
}

impl<'a> Walk<'a> {
    pub(crate) const fn new(client: &'a Client, since: Option<i64>, until: Option<i64>) -> Self {
        Self { client, cursor: Cursor::new(since), until }
    }

    /// The next issues, as the bytes that came, oldest first; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<Box<RawValue>>>, ClientError> {
        if self.cursor.is_done() {
            return Ok(None);
        }
        let mut params = IssueParams::all_included();
        if let Some(since) = self.cursor.since() {
            params.push("created_since", since.to_string());
        }
        if let Some(until) = self.until {
            params.push("created_until", until.to_string());
        }
        params.push("sort-by", "creation-time");
        params.push("sort-order", "asc");
        let page = self.client.issues(&params).await?;
        let mut dated = Vec::with_capacity(page.issues.len());
        for issue in page.issues {
            let created: Created = serde_json::from_str(issue.get())
                .map_err(|error| self.client.unexpected(format!("an issue: {error}")))?;
            dated.push((created.created_at, issue));
        }
        let batch = self.cursor.take(dated, |(at, _)| *at)?;
        Ok(Some(batch.into_iter().map(|(_, issue)| issue).collect()))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// What a server answers: the oldest `limit` instants of the span.
    fn answer(all: &[i64], since: Option<i64>, until: i64, limit: usize) -> Vec<i64> {
        let from = since.unwrap_or(i64::MIN);
        all.iter().copied().filter(|at| (from..=until).contains(at)).take(limit).collect()
    }

    fn walk(all: &[i64], since: Option<i64>, until: i64, limit: usize) -> (Vec<i64>, usize) {
        let mut cursor = Cursor::new(since);
        let (mut seen, mut requests) = (Vec::new(), 0);
        while !cursor.is_done() {
            requests += 1;
            let page = answer(all, cursor.since(), until, limit);
            seen.extend(cursor.take(page, |at| *at).unwrap());
        }
        (seen, requests)
    }

    #[test]
    fn a_walk_delivers_each_issue_once_whatever_the_length() {
        for length in 0..70 {
            let all: Vec<i64> = (0..length).map(|n| n * 7 - 100).collect();
            for limit in [2, 3, 10, 100] {
                let (seen, requests) = walk(&all, None, i64::MAX, limit);
                assert_eq!(seen, all, "length {length}, limit {limit}");
                assert!(requests <= all.len() + 1, "{requests} requests for {length}");
            }
        }
    }

    #[test]
    fn both_ends_of_the_span_belong_to_it() {
        let all = [10, 20, 30, 40];
        for (since, until, expected) in [
            (Some(20), 30, vec![20, 30]),
            (Some(21), 29, vec![]),
            (Some(40), 40, vec![40]),
            (None, 10, vec![10]),
        ] {
            assert_eq!(walk(&all, since, until, 2).0, expected);
        }
    }

    #[test]
    fn equal_instants_at_the_end_of_a_page_are_reported_instead_of_walked_for_ever() {
        let mut cursor = Cursor::new(None);
        assert_eq!(cursor.take(vec![1, 5, 5], |at| *at), Err(CursorStuck { created_at: 5 }));
        assert!(!cursor.is_done());
    }
}

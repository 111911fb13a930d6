//! The rules of the cursor procedure of the specification, without requests: it reads all issues of
//! a time span, oldest first. The procedure ends when an answer has at most one issue. It delivers
//! each issue once, provided that no two issues of a domain share a `created_at`. If a server
//! breaks this, the cursor reports an error instead of looping for ever.

/// Several issues share one instant, and the procedure cannot get past them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the export cannot continue: several issues were created at {created_at}")]
pub struct CursorStuck {
    pub created_at: i64,
}

/// The state of the procedure between two requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    since: Option<i64>,
    done: bool,
}

impl Cursor {
    /// Begins at `since`, or at the oldest issue.
    pub const fn new(since: Option<i64>) -> Self {
        Self { since, done: false }
    }

    /// The `created_since` of the next request; unset at the start of an open span.
    pub const fn since(&self) -> Option<i64> {
        self.since
    }

    /// Whether the last answer ended the procedure.
    pub const fn is_done(&self) -> bool {
        self.done
    }

    /// Takes the issues of one answer, oldest first, and returns those to process now.
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// The answer of a server: the oldest `limit` instants of the span.
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
    fn a_walk_of_any_length_delivers_each_issue_once() {
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
    fn the_span_includes_both_of_its_ends() {
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
    fn equal_instants_at_the_end_of_a_page_are_an_error_and_not_an_endless_loop() {
        let mut cursor = Cursor::new(None);
        assert_eq!(cursor.take(vec![1, 5, 5], |at| *at), Err(CursorStuck { created_at: 5 }));
        assert!(!cursor.is_done());
    }
}

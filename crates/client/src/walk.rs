//! All issues of a time span by the cursor procedure: [`Cursor`] has its rules, [`IssueWalk`] sends
//! the requests.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cursor::Cursor;
use crate::error::ClientError;
use crate::http::Client;
use crate::params::Params;

/// A walk over the issues of a span, with every member that issues have.
#[derive(Debug)]
pub struct IssueWalk<'a> {
    client: &'a Client,
    cursor: Cursor,
    until: Option<i64>,
}

#[derive(Deserialize)]
struct CreationTime {
    created_at: i64,
}

impl Client {
    /// Reads the issues created within a span, oldest first, by the cursor procedure of the
    /// specification. The span includes both ends; an end that is not given is open.
    pub const fn walk_issues(&self, since: Option<i64>, until: Option<i64>) -> IssueWalk<'_> {
        IssueWalk { client: self, cursor: Cursor::new(since), until }
    }
}

impl IssueWalk<'_> {
    /// The next issues, oldest first, as the bytes that the server sent; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<Box<RawValue>>>, ClientError> {
        if self.cursor.is_done() {
            return Ok(None);
        }
        let mut params = Params::all_included();
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
            let created: CreationTime = serde_json::from_str(issue.get())
                .map_err(|error| self.client.unexpected(format!("an issue: {error}")))?;
            dated.push((created.created_at, issue));
        }
        let batch = self.cursor.take(dated, |(at, _)| *at)?;
        Ok(Some(batch.into_iter().map(|(_, issue)| issue).collect()))
    }
}

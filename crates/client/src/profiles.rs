//! Profiles: one page, all of a list by its cursor, or a table. Records are the bytes that the
//! server sent.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::body::Body;
use crate::error::ClientError;
use crate::http::Client;
use crate::params::Params;
use crate::stream::{CUTS_MAX, WAIT_MS};

/// The most profiles that an answer may have.
const PAGE_SIZE_MAX: &str = "1000";

/// One of the two kinds of profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileKind {
    Core,
    App,
}

impl ProfileKind {
    /// The last part of the list's path.
    const fn list(self) -> &'static str {
        match self {
            Self::Core => "core_profiles",
            Self::App => "app_profiles",
        }
    }
}

/// The envelope of a list of profiles.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ProfilePage {
    pub page: u64,
    /// Both totals are missing from the answers of a walk by cursor, unless `count` asks for them.
    pub total_hits: Option<u64>,
    pub total_pages: Option<u64>,
    /// Each profile as the bytes that the server sent.
    #[serde(rename = "core_profiles", alias = "app_profiles")]
    pub profiles: Vec<Box<RawValue>>,
    /// Of a walk by cursor: the cursor of the next answer; `None` at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// A walk over all profiles of a list, oldest first unless the parameters say otherwise. After a
/// broken connection it asks for the same answer again, because a cursor does not change.
#[derive(Debug)]
pub struct ProfileWalk<'a> {
    client: &'a Client,
    kind: ProfileKind,
    params: Params,
    /// `None` at the end.
    cursor: Option<String>,
    received: u64,
    total: Option<u64>,
}

impl Client {
    fn profile_list(&self, kind: ProfileKind) -> String {
        self.path("v2", &format!("identity/{}", kind.list()))
    }

    /// One page of the matching profiles.
    pub async fn profiles(
        &self,
        kind: ProfileKind,
        params: &Params,
    ) -> Result<ProfilePage, ClientError> {
        let body = self.read_all(&self.profile_list(kind), &params.pairs()).await?;
        serde_json::from_slice(&body).map_err(|error| self.unexpected(error))
    }

    /// Every matching profile as a row of CSV, as it arrives.
    pub async fn profile_table(
        &self,
        kind: ProfileKind,
        mut params: Params,
    ) -> Result<Body, ClientError> {
        params.push("format", "csv");
        self.read(&self.profile_list(kind), "text/csv", &params.pairs()).await
    }

    /// Walks over the matching profiles. It sends nothing yet.
    pub fn walk_profiles(&self, kind: ProfileKind, mut params: Params) -> ProfileWalk<'_> {
        params.push_default("sort-by", "creation-time");
        params.push_default("sort-order", "asc");
        params.push_default("page-size", PAGE_SIZE_MAX);
        let cursor = Some("*".to_owned());
        ProfileWalk { client: self, kind, params, cursor, received: 0, total: None }
    }
}

impl ProfileWalk<'_> {
    /// The next profiles; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<Box<RawValue>>>, ClientError> {
        let Some(cursor) = self.cursor.take() else { return Ok(None) };
        let mut params = self.params.clone();
        if cursor == "*" {
            params.push_default("count", "true");
        }
        params.push("cursor", cursor);
        let page = self.page(&params).await?;
        self.cursor = page.next_cursor;
        self.total = self.total.or(page.total_hits);
        self.received += page.profiles.len() as u64;
        Ok(Some(page.profiles))
    }

    /// Profiles received so far.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// How many profiles there were when the walk began; `None` before the first answer.
    pub const fn total(&self) -> Option<u64> {
        self.total
    }

    async fn page(&self, params: &Params) -> Result<ProfilePage, ClientError> {
        let mut cuts = 0;
        loop {
            match self.client.profiles(self.kind, params).await {
                Err(ClientError::Unreachable { .. }) if self.received > 0 && cuts < CUTS_MAX => {
                    tokio::time::sleep(Duration::from_millis(WAIT_MS) * (1 << cuts)).await;
                    cuts += 1;
                }
                answer => return answer,
            }
        }
    }
}

//! The log of changes, and the history of one record, page by page. Changes are handed on as the
//! bytes that the server sent. The caller follows the cursors.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::ClientError;
use crate::http::Client;
use crate::params::Params;

/// Some changes, oldest first.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ChangePage {
    /// Each change as the bytes that the server sent.
    pub changes: Vec<Box<RawValue>>,
    /// The cursor of the next page; at the end of the log, that of the request.
    pub next_cursor: String,
}

/// Some changes of one record, newest first.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HistoryPage {
    /// Each change as the bytes that the server sent.
    pub changes: Vec<Box<RawValue>>,
    /// The cursor of the next page; `None` at the end.
    pub next_cursor: Option<String>,
}

impl Client {
    /// The changes after the `cursor` of the parameters. With `wait`, the answer waits for one.
    pub async fn changes(&self, params: &Params) -> Result<ChangePage, ClientError> {
        let body = self.read_all(&self.path("v1", "changes"), &params.pairs()).await?;
        serde_json::from_slice(&body).map_err(|error| self.unexpected(error))
    }
    /// The changes of an issue before a cursor; the newest of all if it is `*`.
    pub async fn issue_history(&self, id: u64, cursor: &str) -> Result<HistoryPage, ClientError> {
        self.history("v1", &format!("issues/{id}"), cursor).await
    }

    /// The same of a core profile.
    pub async fn core_profile_history(
        &self,
        id: u64,
        cursor: &str,
    ) -> Result<HistoryPage, ClientError> {
        self.history("v2", &format!("identity/core_profiles/{id}"), cursor).await
    }

    async fn history(
        &self,
        version: &str,
        record: &str,
        cursor: &str,
    ) -> Result<HistoryPage, ClientError> {
        let url = self.path(version, &format!("{record}/changes"));
        let body = self.read_all(&url, &[("cursor", cursor), ("page-size", "1000")]).await?;
        serde_json::from_slice(&body).map_err(|error| self.unexpected(error))
    }
}

//! The log of changes, page by page. Changes are handed on as the bytes that the server sent. The
//! caller follows the cursors.

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

impl Client {
    /// The changes after the `cursor` of the parameters. With `wait`, the answer waits for one.
    pub async fn changes(&self, params: &Params) -> Result<ChangePage, ClientError> {
        let body = self.read_all(&self.path("v1", "changes"), &params.pairs()).await?;
        serde_json::from_slice(&body).map_err(|error| self.unexpected(error))
    }
}

//! One page of issues, or one issue, as the bytes that the server sent.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::body::Body;
use crate::error::ClientError;
use crate::http::Client;
use crate::params::Params;

/// The envelope of the issue API.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct IssuePage {
    pub page: u64,
    pub page_size: u64,
    pub total_hits: u64,
    pub total_pages: u64,
    /// Each issue as the bytes that the server sent.
    pub issues: Vec<Box<RawValue>>,
}

/// Numbers of issues by groups.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct IssueCounts {
    pub total_hits: u64,
    pub groups: Vec<IssueGroup>,
    /// The sum of the groups beyond the limit.
    pub other: u64,
}

/// The number of issues that have these values.
#[derive(Debug, Deserialize)]
pub struct IssueGroup {
    pub count: u64,
    /// A value for each property, in the order asked for.
    #[serde(flatten)]
    pub values: Map<String, Value>,
}

impl Client {
    /// The numbers of matching issues by groups.
    pub async fn issue_counts(&self, params: &Params) -> Result<IssueCounts, ClientError> {
        let body = self.read_all(&self.path("v1", "issues/counts"), &params.pairs()).await?;
        serde_json::from_slice(&body).map_err(|error| self.unexpected(error))
    }

    /// Every matching issue as a row of CSV, as it arrives.
    pub async fn issue_table(&self, mut params: Params) -> Result<Body, ClientError> {
        params.push("format", "csv");
        self.read(&self.path("v1", "issues"), "text/csv", &params.pairs()).await
    }

    /// One page of the matching issues.
    pub async fn issues(&self, params: &Params) -> Result<IssuePage, ClientError> {
        let body = self.read_all(&self.path("v1", "issues"), &params.pairs()).await?;
        serde_json::from_slice(&body).map_err(|error| self.unexpected(error))
    }

    /// One issue by its id.
    pub async fn issue(&self, id: u64, params: &Params) -> Result<Box<RawValue>, ClientError> {
        let url = self.path("v1", &format!("issues/{id}"));
        let body = self.read_all(&url, &params.pairs()).await?;
        let page: IssuePage =
            serde_json::from_slice(&body).map_err(|error| self.unexpected(error))?;
        let [issue] = <[_; 1]>::try_from(page.issues)
            .map_err(|many| self.unexpected(format!("{} issues of one id", many.len())))?;
        Ok(issue)
    }
}

//! One page of issues, or one issue. The client sends parameters as they were given, by name and
//! value: the server knows which there are, and its error texts are better than those of a client
//! that may be older. Issues are the bytes that the server sent.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::body::Body;
use crate::error::ClientError;
use crate::http::Client;

/// The `includes` for every member that an issue can have.
pub const INCLUDES_ALL: &str = concat!(
    r#"["custom_fields","meta","feedback","private_notes","queue","#,
    r#""predict_labels","sentiment_analysis","smart_intents"]"#
);

/// Query parameters of the issue list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueParams(Vec<(String, String)>);

impl IssueParams {
    /// Parameters that ask for every member of an issue.
    pub fn all_included() -> Self {
        let mut params = Self::default();
        params.push("includes", INCLUDES_ALL);
        params
    }

    /// Adds a parameter.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }

    /// Whether there is a parameter of this name, in either spelling.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The value of the parameter of this name, in either spelling.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let same = |given: &str| given.replace('_', "-") == name.replace('_', "-");
        self.0.iter().find(|(given, _)| same(given)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn pairs(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

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
    pub async fn issue_counts(&self, params: &IssueParams) -> Result<IssueCounts, ClientError> {
        let body = self.read_all(&self.path("v1", "issues/counts"), &params.pairs()).await?;
        serde_json::from_slice(&body).map_err(|error| self.unexpected(error))
    }

    /// Every matching issue as a row of CSV, as it arrives.
    pub async fn issue_table(&self, mut params: IssueParams) -> Result<Body, ClientError> {
        params.push("format", "csv");
        self.read(&self.path("v1", "issues"), "text/csv", &params.pairs()).await
    }

    /// One page of the matching issues.
    pub async fn issues(&self, params: &IssueParams) -> Result<IssuePage, ClientError> {
        let body = self.read_all(&self.path("v1", "issues"), &params.pairs()).await?;
        serde_json::from_slice(&body).map_err(|error| self.unexpected(error))
    }

    /// One issue by its id.
    pub async fn issue(&self, id: u64, params: &IssueParams) -> Result<Box<RawValue>, ClientError> {
        let url = self.path("v1", &format!("issues/{id}"));
        let body = self.read_all(&url, &params.pairs()).await?;
        let page: IssuePage =
            serde_json::from_slice(&body).map_err(|error| self.unexpected(error))?;
        let [issue] = <[_; 1]>::try_from(page.issues)
            .map_err(|many| self.unexpected(format!("{} issues of one id", many.len())))?;
        Ok(issue)
    }
}

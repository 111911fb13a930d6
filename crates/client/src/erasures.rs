//! Erasing a person: by one identity or id, as a task of the issues. A dry run finds the person and
//! writes nothing.

use bytes::Bytes;
use caseload_model::task::Family;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::bulk::with_key;
use crate::error::ClientError;
use crate::http::Client;
use crate::params::Params;
use crate::task::Task;

/// The ids of a person's records, and what some of the tasks hold of the person.
#[derive(Debug, Deserialize)]
pub struct PersonPart {
    pub core_profile_ids: Vec<String>,
    pub pids: Vec<String>,
    /// The issues that the person is the author of.
    pub issue_ids: Vec<u64>,
    /// Each task as the bytes that the server sent.
    pub tasks: Vec<Box<RawValue>>,
    /// The place at which the next tasks begin; `None` at the end.
    #[serde(rename = "next-tasks")]
    pub next_tasks: Option<String>,
}

impl Client {
    /// Makes the task that erases a person. The parameters are the fields of the call.
    pub async fn erase(
        &self,
        fields: &Params,
        idempotency_key: Option<&str>,
    ) -> Result<Task, ClientError> {
        let written = self.write(self.erasure(fields, idempotency_key)?).await?;
        self.bulk(Family::Issues).task(&written)
    }

    /// The counts and ids of an erasure that was not made, as the server sent them.
    pub async fn try_erasure(&self, mut fields: Params) -> Result<Bytes, ClientError> {
        fields.push("dry_run", "true");
        // It writes nothing, so that it may be repeated.
        let request = || self.erasure(&fields, None);
        Ok(self.write_again(request).await?.body)
    }

    /// The person whom an erasure would erase, and what some of the tasks hold of them: the first
    /// ones after `*`, or those after the `next_tasks` of the answer before. The parameters are the
    /// fields that name the person.
    pub async fn person(&self, mut fields: Params, tasks: &str) -> Result<PersonPart, ClientError> {
        fields.push("tasks", tasks);
        let body = self.try_erasure(fields).await?;
        serde_json::from_slice(&body).map_err(|error| self.unexpected(error))
    }

    fn erasure(
        &self,
        fields: &Params,
        idempotency_key: Option<&str>,
    ) -> Result<RequestBuilder, ClientError> {
        let members = fields.pairs().into_iter();
        let members: Map<String, Value> =
            members.map(|(name, value)| (name.to_owned(), value.into())).collect();
        let request = self.request(Method::POST, &self.path("v1", "erasures"));
        let json = HeaderValue::from_static("application/json");
        let request = request.header(CONTENT_TYPE, json).body(Value::Object(members).to_string());
        with_key(request, idempotency_key)
    }
}

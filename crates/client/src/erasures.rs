//! Erasing a person: by one identity or id, as a task of the issues.

use bytes::Bytes;
use caseload_model::task::Family;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Map, Value};

use crate::bulk::with_key;
use crate::error::ClientError;
use crate::http::{Client, Written};
use crate::params::Params;
use crate::task::Task;

impl Client {
    /// Makes the task that erases a person. The parameters are the fields of the call.
    pub async fn erase(
        &self,
        fields: &Params,
        idempotency_key: Option<&str>,
    ) -> Result<Task, ClientError> {
        let written = self.send_erasure(fields, idempotency_key).await?;
        self.bulk(Family::Issues).task(&written)
    }

    /// The counts and ids of an erasure that was not made, as the server sent them.
    pub async fn try_erasure(&self, mut fields: Params) -> Result<Bytes, ClientError> {
        fields.push("dry_run", "true");
        Ok(self.send_erasure(&fields, None).await?.body)
    }

    async fn send_erasure(
        &self,
        fields: &Params,
        idempotency_key: Option<&str>,
    ) -> Result<Written, ClientError> {
        let members = fields.pairs().into_iter();
        let members: Map<String, Value> =
            members.map(|(name, value)| (name.to_owned(), value.into())).collect();
        let request = self.request(Method::POST, &self.path("v1", "erasures"));
        let json = HeaderValue::from_static("application/json");
        let request = request.header(CONTENT_TYPE, json).body(Value::Object(members).to_string());
        self.write(with_key(request, idempotency_key)?).await
    }
}

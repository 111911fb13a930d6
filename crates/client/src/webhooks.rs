//! Webhooks. Answers are handed on as the JSON that the server sent.

use reqwest::Method;
use serde_json::Value;
use url::Url;

use crate::error::ClientError;
use crate::http::Client;
use crate::params::Params;

impl Client {
    /// All webhooks, under `webhooks`.
    pub async fn webhooks(&self) -> Result<Value, ClientError> {
        self.read_json(&self.path("v1", "webhooks")).await
    }

    /// One webhook.
    pub async fn webhook(&self, id: &str) -> Result<Value, ClientError> {
        self.read_json(&self.webhook_url(id, "")?).await
    }

    /// The last deliveries of a webhook, under `deliveries`.
    pub async fn deliveries(&self, id: &str) -> Result<Value, ClientError> {
        self.read_json(&self.webhook_url(id, "deliveries")?).await
    }

    /// Makes a webhook. The answer has its secret.
    pub async fn create_webhook(&self, fields: &Value) -> Result<Value, ClientError> {
        let url = self.path("v1", "webhooks");
        let sent = self.write(self.request(Method::POST, &url).json(fields)).await?;
        self.json(&sent.body)
    }

    /// Changes the fields that are given.
    pub async fn edit_webhook(&self, id: &str, fields: &Value) -> Result<Value, ClientError> {
        let url = self.webhook_url(id, "")?;
        let sent = self.write(self.request(Method::PUT, &url).json(fields)).await?;
        self.json(&sent.body)
    }

    pub async fn delete_webhook(&self, id: &str) -> Result<(), ClientError> {
        let url = self.webhook_url(id, "")?;
        self.write(self.request(Method::DELETE, &url)).await.map(drop)
    }

    /// Gives a webhook a new secret, which the answer has.
    pub async fn rotate_webhook_secret(&self, id: &str) -> Result<Value, ClientError> {
        let url = self.webhook_url(id, "rotate-secret")?;
        let sent = self.write(self.request(Method::POST, &url)).await?;
        self.json(&sent.body)
    }

    /// Asks for a delivery without changes.
    pub async fn test_webhook(&self, id: &str) -> Result<(), ClientError> {
        let url = self.webhook_url(id, "test")?;
        self.write(self.request(Method::POST, &url)).await.map(drop)
    }

    /// Delivers from a position on.
    pub async fn replay_webhook(&self, id: &str, cursor: &str) -> Result<Value, ClientError> {
        let url = self.webhook_url(id, "replay")?;
        let request = self.request(Method::POST, &url).query(&[("cursor", cursor)]);
        let sent = self.write(request).await?;
        self.json(&sent.body)
    }

    async fn read_json(&self, url: &str) -> Result<Value, ClientError> {
        let body = self.read_all(url, &Params::default().pairs()).await?;
        self.json(&body)
    }

    fn json(&self, body: &[u8]) -> Result<Value, ClientError> {
        serde_json::from_slice(body).map_err(|error| self.unexpected(error))
    }

    /// The URL of a webhook, or of a part of it.
    fn webhook_url(&self, id: &str, part: &str) -> Result<String, ClientError> {
        let base = self.path("v1", "webhooks");
        let mut url = Url::parse(&base).map_err(|error| self.unexpected(error))?;
        if let Ok(mut segments) = url.path_segments_mut() {
            // An empty segment would be another path.
            segments.push(id).extend(Some(part).filter(|part| !part.is_empty()));
        }
        Ok(url.into())
    }
}

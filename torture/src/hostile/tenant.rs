//! A tenant with its keys, and the plain requests that it makes.

use anyhow::{Context as _, Result, ensure};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;

/// A domain and its write key.
#[derive(Clone)]
pub(crate) struct Tenant {
    pub(crate) http: reqwest::Client,
    pub(crate) url: String,
    pub(crate) domain: &'static str,
    pub(crate) key: String,
}

/// An answer.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.text).with_context(|| format!("no JSON: {}", self.short()))
    }

    /// The status and the beginning of the body.
    pub(crate) fn short(&self) -> String {
        let text: String = self.text.chars().take(300).collect();
        format!("{} {text}", self.status)
    }

    pub(crate) fn code(&self) -> String {
        let json = self.json().unwrap_or_default();
        json["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Fails unless the request was refused with this status.
    pub(crate) fn refused(&self, status: u16) -> Result<()> {
        ensure!(self.status == status, "expected {status}, got {}", self.short());
        Ok(())
    }

    /// Fails unless the answer says that there is too much of something.
    pub(crate) fn too_many(&self) -> Result<()> {
        let says = self.text.contains("too_many");
        ensure!(self.status == 400 && says, "expected 400 with too_many, got {}", self.short());
        Ok(())
    }

    pub(crate) fn good(self) -> Result<Self> {
        ensure!(self.status.is_success(), "{}", self.short());
        Ok(self)
    }
}

impl Tenant {
    /// The path of this tenant, such as `/v1/{domain}/issues`.
    pub(crate) fn path(&self, version: &str, rest: &str) -> String {
        format!("/{version}/{}/{rest}", self.domain)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.key)
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Reply> {
        let answer = request.send().await?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        Ok(Reply { status, headers, text: answer.text().await? })
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Reply> {
        self.send(self.request(Method::GET, path)).await
    }

    /// Sends fields, with a method, as a JSON object.
    pub(crate) async fn write(&self, method: Method, path: &str, fields: &Value) -> Result<Reply> {
        self.send(self.request(method, path).json(fields)).await
    }

    pub(crate) async fn make_issue(&self, body: &str) -> Result<Reply> {
        let fields = serde_json::json!({ "message-body": body, "email": "ada@example.org" });
        self.write(Method::POST, &self.path("v1", "issues"), &fields).await
    }

    /// Submits lines; the path is that of the action.
    pub(crate) async fn submit(&self, action: &str, lines: Vec<u8>) -> Result<Reply> {
        let part = reqwest::multipart::Part::bytes(lines).file_name("lines.jsonl");
        let form = reqwest::multipart::Form::new().text("action", action.to_owned());
        let path = bulk_path(action);
        let request = self.request(Method::POST, &self.path("v2", path));
        self.send(request.multipart(form.part("payload", part))).await
    }

    /// Imports lines and waits for the end of the task; returns its record.
    pub(crate) async fn run(&self, action: &str, lines: Vec<u8>) -> Result<Value> {
        let task = self.submit(action, lines).await?.good()?.json()?;
        let id = task["task_id"].as_str().context("no task id")?.to_owned();
        self.end_of(action, &id).await
    }

    pub(crate) async fn end_of(&self, action: &str, id: &str) -> Result<Value> {
        let path = self.path("v2", &format!("{}/{id}?wait=20", bulk_path(action)));
        loop {
            let task = self.get(&path).await?.good()?.json()?;
            if task["status"] == "completed" {
                return Ok(task);
            }
        }
    }

    /// The error records of a task.
    pub(crate) async fn errors(&self, action: &str, task: &Value) -> Result<String> {
        let id = task["task_id"].as_str().context("no task id")?;
        let path = self.path("v2", &format!("{}/{id}/errors", bulk_path(action)));
        Ok(self.get(&path).await?.good()?.text)
    }

    /// The number of issues.
    pub(crate) async fn issues(&self) -> Result<u64> {
        let page = self.get(&self.path("v1", "issues?page-size=1")).await?.good()?.json()?;
        page["total-hits"].as_u64().context("no total")
    }

    /// The number of tasks on profiles.
    pub(crate) async fn tasks(&self) -> Result<u64> {
        let path = self.path("v2", "identity/bulk_actions?page-size=1");
        let page = self.get(&path).await?.good()?.json()?;
        page["total-hits"].as_u64().with_context(|| format!("no total: {page}"))
    }
}

fn bulk_path(action: &str) -> &'static str {
    if action == "import_issues" { "issues/bulk_actions" } else { "identity/bulk_actions" }
}

//! Bulk action tasks: submit, follow, fetch what became of each entry. A payload goes out as a
//! JSON Lines file in a multipart form, the form that takes large ones; it may come from memory,
//! from a file or from any reader, and is never held whole unless it already was.

use std::future::Future;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use caseload_model::task::{Action, Family};
use futures_util::stream;
use reqwest::header::HeaderValue;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::body::Body;
use crate::error::ClientError;
use crate::http::Client;
use crate::task::{Task, TaskPage};

/// How long a server is asked to hold back its answer about a task that is not completed.
const WAIT_SECONDS: &str = "1";
/// First and longest wait between two looks at a task where a server answers sooner than asked.
const POLL_FIRST: Duration = Duration::from_millis(25);
const POLL_MAX: Duration = Duration::from_secs(2);
/// Bytes read from a reader at once.
const READ_BYTES: usize = 64 << 10;

/// The bulk actions of one path of a server.
#[derive(Debug, Clone, Copy)]
pub struct Bulk<'a> {
    client: &'a Client,
    family: Family,
}

/// The entries of a task as JSON Lines.
#[derive(Debug)]
pub struct Payload(Part);

/// How a task is handed in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubmitOptions {
    /// Nothing is written; results and errors tell what would be.
    pub dry_run: bool,
    /// With a key of its own a request may be sent again after a broken connection: the server
    /// answers the repeat as it did the first, and makes no second task.
    pub idempotency_key: Option<String>,
}

/// Which of a task's two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordList {
    Results,
    Errors,
}

impl RecordList {
    const fn path(self) -> &'static str {
        match self {
            Self::Results => "results",
            Self::Errors => "errors",
        }
    }
}

impl Payload {
    /// Entries that are in memory.
    pub fn bytes(lines: impl Into<Bytes>) -> Self {
        let lines: Bytes = lines.into();
        let length = lines.len() as u64;
        Self(Part::stream_with_length(lines, length))
    }

    /// Entries in a file, from where it stands to its end.
    pub async fn file(file: tokio::fs::File) -> Result<Self, ClientError> {
        let metadata = file.metadata().await.map_err(ClientError::Payload)?;
        if !metadata.is_file() {
            return Ok(Self::reader(file));
        }
        Ok(Self(Part::stream_with_length(file, metadata.len())))
    }

    /// Entries from anything that can be read; the length is not known beforehand.
    pub fn reader(reader: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let chunks = stream::try_unfold(reader, |mut reader| async move {
            let mut chunk = BytesMut::with_capacity(READ_BYTES);
            let read = reader.read_buf(&mut chunk).await?;
            Ok::<_, std::io::Error>((read > 0).then(|| (chunk.freeze(), reader)))
        });
        Self(Part::stream(reqwest::Body::wrap_stream(chunks)))
    }
}

impl<'a> Bulk<'a> {
    pub(crate) const fn new(client: &'a Client, family: Family) -> Self {
        Self { client, family }
    }

    fn url(&self, rest: &str) -> String {
        self.client.path("v2", &format!("{}/bulk_actions{rest}", self.family.as_str()))
    }

    fn task_url(&self, task_id: &str, rest: &str) -> Result<String, ClientError> {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if task_id.is_empty() || !task_id.bytes().all(word) {
            // Nothing else can be a task id, and nothing else may become part of a path.
            return Err(no_such_task(task_id));
        }
        Ok(self.url(&format!("/{task_id}{rest}")))
    }

    /// Hands in a task; it is durable when this returns.
    pub async fn submit(&self, action: Action, payload: Payload) -> Result<Task, ClientError> {
        self.submit_with(action, payload, &SubmitOptions::default()).await
    }

    /// Hands in a task with options.
    pub async fn submit_with(
        &self,
        action: Action,
        payload: Payload,
        options: &SubmitOptions,
    ) -> Result<Task, ClientError> {
        let file = payload.0.file_name("payload.jsonl");
        let mut form = Form::new().text("action", action.as_str());
        if options.dry_run {
            form = form.text("dry_run", "true");
        }
        let form = form.part("payload", file);
        let request = self.client.request(Method::POST, &self.url("")).multipart(form);
        self.write(with_key(request, options.idempotency_key.as_deref())?).await
    }

    /// Asks for the end of a task: it stops at the next edge of a chunk. The task as it is then, or
    /// is still; the entries that it did not reach stay unprocessed.
    pub async fn cancel(&self, task_id: &str) -> Result<Task, ClientError> {
        let url = self.task_url(task_id, "/cancel")?;
        self.write(self.client.request(Method::POST, &url)).await
    }

    /// Makes a new task of the entries of a completed one that failed or were not processed.
    pub async fn retry(
        &self,
        task_id: &str,
        idempotency_key: Option<&str>,
    ) -> Result<Task, ClientError> {
        let request = self.client.request(Method::POST, &self.task_url(task_id, "/retry")?);
        self.write(with_key(request, idempotency_key)?).await
    }

    /// A page of the tasks of this path, newest first. `params` go as they are: `status`, `action`,
    /// `page`, `page-size`.
    pub async fn list(&self, params: &[(&str, &str)]) -> Result<TaskPage, ClientError> {
        let body = self.client.read_all(&self.url(""), params).await?;
        TaskPage::read(&body).map_err(|error| self.client.unexpected(error))
    }

    /// Sends a request that is answered with a task.
    async fn write(&self, request: RequestBuilder) -> Result<Task, ClientError> {
        let body = self.client.write(request).await?;
        Task::read(&body).map_err(|error| self.client.unexpected(error))
    }

    /// The task as it is now.
    pub async fn status(&self, task_id: &str) -> Result<Task, ClientError> {
        self.look(task_id, &[]).await
    }

    async fn look(&self, task_id: &str, params: &[(&str, &str)]) -> Result<Task, ClientError> {
        let body = self.client.read_all(&self.task_url(task_id, "")?, params).await?;
        Task::read(&body).map_err(|error| self.client.unexpected(error))
    }

    /// Follows the task until it is completed: hears of its end when it comes, and has `progress`
    /// see every answer, about one a second. Where the server does not hold its answers back, the
    /// task is looked at often at first, then less so.
    pub async fn wait(
        &self,
        task_id: &str,
        mut progress: impl FnMut(&Task),
    ) -> Result<Task, ClientError> {
        let mut pause = POLL_FIRST;
        loop {
            let asked = Instant::now();
            let task = self.look(task_id, &[("wait", WAIT_SECONDS)]).await?;
            progress(&task);
            if task.is_completed() {
                return Ok(task);
            }
            let early = pause.saturating_sub(asked.elapsed());
            if !early.is_zero() {
                tokio::time::sleep(early).await;
                pause = POLL_MAX.min(pause.mul_f32(1.25));
            }
        }
    }

    /// The records of a completed task as JSON Lines.
    pub fn records(
        &self,
        task_id: &str,
        list: RecordList,
    ) -> impl Future<Output = Result<Body, ClientError>> + use<'a> {
        let url = self.task_url(task_id, &format!("/{}", list.path()));
        let client = self.client;
        async move { client.read(&url?, "application/x-ndjson", &[("format", "jsonl")]).await }
    }
}

/// The request with its key, where it has one.
fn with_key(request: RequestBuilder, key: Option<&str>) -> Result<RequestBuilder, ClientError> {
    let Some(key) = key else { return Ok(request) };
    let key = HeaderValue::from_str(key).map_err(|_| ClientError::InvalidIdempotencyKey)?;
    Ok(request.header("Idempotency-Key", key))
}

fn no_such_task(task_id: &str) -> ClientError {
    ClientError::Problem(Box::new(crate::Problem {
        status: 404,
        code: "not_found".into(),
        title: String::new(),
        detail: format!("{task_id:?} is no task id"),
        request_id: None,
        faults: Vec::new(),
    }))
}

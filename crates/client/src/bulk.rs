//! Bulk action tasks: submit, follow, cancel, retry, and fetch the results and errors. Imports take
//! the same calls, apart from the submission, on a path of their own. A payload goes out as a JSON
//! Lines file in a multipart form, the form that takes large payloads. It may come from memory,
//! from a file or from any reader; the client does not load it into memory.

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
use crate::error_summary::ErrorSummary;
use crate::http::{Client, Written};
use crate::stream::JSON_LINES;
use crate::task::{Task, TaskPage};

/// How long the server may hold back its answer about a task that is not completed.
const WAIT_SECONDS: &str = "1";
/// The first and the longest wait between two polls, if a server answers earlier than it may.
const POLL_FIRST: Duration = Duration::from_millis(25);
const POLL_MAX: Duration = Duration::from_secs(2);
/// How long a server that cannot be reached is asked for a task, and how often.
const UNREACHABLE_MAX: Duration = Duration::from_mins(1);
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(2);
/// How many bytes are read from a reader at a time.
const READ_BYTES: usize = 64 << 10;

/// The tasks, or the imports, of one path of a server.
#[derive(Debug, Clone, Copy)]
pub struct BulkActions<'a> {
    pub(crate) client: &'a Client,
    family: Family,
    of_imports: bool,
}

/// The entries of a task as JSON Lines.
#[derive(Debug)]
pub struct Payload(Part);

/// Options of a submission.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubmitOptions {
    /// Writes nothing; the results and errors show what the task would do.
    pub dry_run: bool,
    /// Replaces the issues that have the ids of entries. Only imports take it.
    pub upsert: bool,
    /// The name of the file that the entries come from; tasks show it.
    pub file_name: Option<String>,
    /// A key of this request alone. With it the caller may repeat the request after a broken
    /// connection: the server answers the repeat as it answered the first and makes one task.
    pub idempotency_key: Option<String>,
}

/// One of the two lists of a task.
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
    /// Entries in memory.
    pub fn bytes(lines: impl Into<Bytes>) -> Self {
        let lines: Bytes = lines.into();
        let length = lines.len() as u64;
        Self(Part::stream_with_length(lines, length))
    }

    /// Entries in a file, from its current position to its end.
    pub async fn file(file: tokio::fs::File) -> Result<Self, ClientError> {
        let metadata = file.metadata().await.map_err(ClientError::Payload)?;
        if !metadata.is_file() {
            return Ok(Self::reader(file));
        }
        Ok(Self(Part::stream_with_length(file, metadata.len())))
    }

    /// Entries from any reader; the length need not be known.
    pub fn reader(reader: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let chunks = stream::try_unfold(reader, |mut reader| async move {
            let mut chunk = BytesMut::with_capacity(READ_BYTES);
            let read = reader.read_buf(&mut chunk).await?;
            Ok::<_, std::io::Error>((read > 0).then(|| (chunk.freeze(), reader)))
        });
        Self(Part::stream(reqwest::Body::wrap_stream(chunks)))
    }
}

impl Client {
    /// The bulk actions of one of the two paths.
    pub const fn bulk(&self, family: Family) -> BulkActions<'_> {
        BulkActions { client: self, family, of_imports: false }
    }

    /// The imports of one of the two paths.
    pub const fn imports(&self, family: Family) -> BulkActions<'_> {
        BulkActions { client: self, family, of_imports: true }
    }
}

impl<'a> BulkActions<'a> {
    pub(crate) fn url(&self, rest: &str) -> String {
        let kind = if self.of_imports { "imports" } else { "bulk_actions" };
        self.client.path("v2", &format!("{}/{kind}{rest}", self.family.as_str()))
    }

    /// Whether these are imports, and not tasks of their own.
    pub const fn are_imports(&self) -> bool {
        self.of_imports
    }

    fn task_url(&self, task_id: &str, rest: &str) -> Result<String, ClientError> {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if task_id.is_empty() || !task_id.bytes().all(word) {
            // No other text is a task id, and none may become part of a path.
            return Err(no_such_task(task_id));
        }
        Ok(self.url(&format!("/{task_id}{rest}")))
    }

    /// Submits a task. The task is durable when this returns.
    pub async fn submit(&self, action: Action, payload: Payload) -> Result<Task, ClientError> {
        self.submit_with(action, payload, &SubmitOptions::default()).await
    }

    /// Submits a task with options.
    pub async fn submit_with(
        &self,
        action: Action,
        payload: Payload,
        options: &SubmitOptions,
    ) -> Result<Task, ClientError> {
        let request = self.submission(action, payload, options)?;
        self.task(&self.client.write(request).await?)
    }

    /// Submits a task of entries in memory; the options have an idempotency key. As long as the
    /// server puts the request off because of a limit, the client waits and repeats it.
    pub async fn submit_keyed(
        &self,
        action: Action,
        lines: Bytes,
        options: &SubmitOptions,
    ) -> Result<Task, ClientError> {
        let request = || self.submission(action, Payload::bytes(lines.clone()), options);
        self.task(&self.client.write_again(request).await?)
    }

    fn submission(
        &self,
        action: Action,
        payload: Payload,
        options: &SubmitOptions,
    ) -> Result<RequestBuilder, ClientError> {
        let name = options.file_name.as_deref().unwrap_or("payload.jsonl");
        let file = payload.0.file_name(name.to_owned());
        let mut form = Form::new().text("action", action.as_str());
        if options.dry_run {
            form = form.text("dry_run", "true");
        }
        if options.upsert {
            form = form.text("upsert", "true");
        }
        let form = form.part("payload", file);
        let request = self.client.request(Method::POST, &self.url("")).multipart(form);
        with_key(request, options.idempotency_key.as_deref())
    }

    /// Cancels a task: it ends after the current chunk, and the entries that it did not reach stay
    /// unprocessed. Returns the task, which may still be running.
    pub async fn cancel(&self, task_id: &str) -> Result<Task, ClientError> {
        let url = self.task_url(task_id, "/cancel")?;
        self.task(&self.client.write(self.client.request(Method::POST, &url)).await?)
    }

    /// Makes a new task of the entries of a completed one that failed or were not processed.
    pub async fn retry(
        &self,
        task_id: &str,
        idempotency_key: Option<&str>,
    ) -> Result<Task, ClientError> {
        self.again(task_id, "/retry", idempotency_key).await
    }

    /// Makes the real task of a completed dry run, with the same entries.
    pub async fn run(
        &self,
        task_id: &str,
        idempotency_key: Option<&str>,
    ) -> Result<Task, ClientError> {
        self.again(task_id, "/run", idempotency_key).await
    }

    /// Makes a new task of the entries of a completed one.
    async fn again(
        &self,
        task_id: &str,
        call: &str,
        idempotency_key: Option<&str>,
    ) -> Result<Task, ClientError> {
        let request = self.client.request(Method::POST, &self.task_url(task_id, call)?);
        self.task(&self.client.write(with_key(request, idempotency_key)?).await?)
    }

    /// A page of the tasks of this path, newest first. `params` are sent unchanged: `status`,
    /// `action`, `page`, `page-size`.
    pub async fn list(&self, params: &[(&str, &str)]) -> Result<TaskPage, ClientError> {
        let body = self.client.read_all(&self.url(""), params).await?;
        TaskPage::read(&body).map_err(|error| self.client.unexpected(error))
    }

    /// Reads an answer that is a task.
    pub(crate) fn task(&self, written: &Written) -> Result<Task, ClientError> {
        let task = Task::read(&written.body).map_err(|error| self.client.unexpected(error))?;
        Ok(Task { replayed: written.replayed, ..task })
    }

    /// The task as it is now.
    pub async fn status(&self, task_id: &str) -> Result<Task, ClientError> {
        self.poll(task_id, &[]).await
    }

    async fn poll(&self, task_id: &str, params: &[(&str, &str)]) -> Result<Task, ClientError> {
        let body = self.client.read_all(&self.task_url(task_id, "")?, params).await?;
        Task::read(&body).map_err(|error| self.client.unexpected(error))
    }

    /// Follows the task until it is completed, and calls `progress` with every answer, about one a
    /// second. If the server does not hold its answers back, the client polls often at first, then
    /// less often. A server that cannot be reached, for example because it restarts, is asked again
    /// for a minute.
    pub async fn wait(
        &self,
        task_id: &str,
        mut progress: impl FnMut(&Task),
    ) -> Result<Task, ClientError> {
        let mut pause = POLL_FIRST;
        let mut answered = Instant::now();
        loop {
            let sent = Instant::now();
            let task = match self.poll(task_id, &[("wait", WAIT_SECONDS)]).await {
                Err(error) if error.is_passing() && answered.elapsed() < UNREACHABLE_MAX => {
                    self.client.wait(&error, UNREACHABLE_PAUSE).await;
                    continue;
                }
                polled => polled?,
            };
            answered = Instant::now();
            progress(&task);
            if task.is_completed() {
                return Ok(task);
            }
            let early = pause.saturating_sub(sent.elapsed());
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
        async move { client.read(&url?, JSON_LINES, &[("format", "jsonl")]).await }
    }

    /// The results of a completed dry run as JSON Lines, with the changes that each update
    /// would make.
    pub async fn changes(&self, task_id: &str) -> Result<Body, ClientError> {
        let url = self.task_url(task_id, "/results")?;
        let params = [("format", "jsonl"), ("includes", "changes")];
        self.client.read(&url, JSON_LINES, &params).await
    }

    /// The entries of a task as they were sent, one per line; with `only` those of a completed task
    /// that it names: `failed`, `unprocessed` or both with a comma between them.
    pub async fn payload(&self, task_id: &str, only: Option<&str>) -> Result<Body, ClientError> {
        let url = self.task_url(task_id, "/payload")?;
        let params: Vec<_> = only.map(|only| ("only", only)).into_iter().collect();
        self.client.read(&url, JSON_LINES, &params).await
    }

    /// What failed or was not processed of a completed import, in the form of its file.
    pub async fn rejects(&self, import_id: &str) -> Result<Body, ClientError> {
        self.client.read(&self.task_url(import_id, "/rejects")?, "*/*", &[]).await
    }

    /// The faults of a completed task, counted by code and pointer.
    pub async fn error_summary(&self, task_id: &str) -> Result<ErrorSummary, ClientError> {
        self.summary(task_id, "/errors/summary").await
    }

    /// The warnings of a completed task, counted by code.
    pub async fn warning_summary(&self, task_id: &str) -> Result<ErrorSummary, ClientError> {
        self.summary(task_id, "/warnings/summary").await
    }

    async fn summary(&self, task_id: &str, rest: &str) -> Result<ErrorSummary, ClientError> {
        let url = self.task_url(task_id, rest)?;
        let body = self.client.read_all(&url, &[]).await?;
        ErrorSummary::read(&body).map_err(|error| self.client.unexpected(error))
    }
}

/// The request with its key, if there is one.
pub(crate) fn with_key(
    request: RequestBuilder,
    key: Option<&str>,
) -> Result<RequestBuilder, ClientError> {
    let Some(key) = key else { return Ok(request) };
    let key = HeaderValue::from_str(key).map_err(|_| ClientError::InvalidIdempotencyKey)?;
    Ok(request.header("Idempotency-Key", key))
}

fn no_such_task(task_id: &str) -> ClientError {
    ClientError::Problem(Box::new(crate::Problem {
        status: 404,
        code: "not_found".into(),
        title: String::new(),
        detail: format!("{task_id:?} is not a task id"),
        request_id: None,
        faults: Vec::new(),
    }))
}

//! Submits the parts of a file as tasks, for `bulk submit` and the imports. Each part has an
//! idempotency key that comes from its content, so that a command that was interrupted, or is run
//! again, creates no task twice. Invariant: an interrupted command says how far it came and which
//! command goes on.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use caseload_client::{Client, SubmitOptions, Task};
use caseload_model::task::Action;
use parking_lot::Mutex;

use crate::failure::Failure;
use crate::payload_file::{HeaderFault, Part, PartKeys, RunName, SplitError};
use crate::printer::counted;
use crate::resume_command::next_command;

/// One run of a command that submits a file.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) action: Action,
    pub(crate) dry_run: bool,
    pub(crate) upsert: bool,
    /// Whether entries that a task has applied before are applied again: the data may have changed
    /// since, and to apply them twice does no harm.
    pub(crate) renew: bool,
    pub(crate) file: PathBuf,
    pub(crate) run: Option<RunName>,
    /// The key of the caller's choice.
    pub(crate) key: Option<String>,
    progress: Mutex<SubmissionProgress>,
}

/// How far a command came.
#[derive(Debug, Default)]
struct SubmissionProgress {
    tasks: u64,
    entries: u64,
    /// The task that the command waits for.
    awaited: Option<String>,
}

impl Submission {
    pub(crate) fn new(action: Action, file: &Path, again: Option<&str>) -> Result<Self, Failure> {
        Ok(Self {
            action,
            dry_run: false,
            upsert: false,
            renew: false,
            file: file.to_owned(),
            run: RunName::of_flag(again)?,
            key: None,
            progress: Mutex::default(),
        })
    }

    /// The keys of the file's parts in a domain.
    pub(crate) fn keys(&self, client: &Client) -> PartKeys {
        match &self.key {
            Some(key) => PartKeys::given(key.clone()),
            None => PartKeys::new(
                client.domain().as_str(),
                self.action.as_str(),
                self.words(),
                self.run.as_ref(),
            ),
        }
    }

    /// The options as a word of the keys.
    const fn words(&self) -> &'static str {
        match (self.dry_run, self.upsert) {
            (false, false) => "",
            (true, false) => "dry",
            (false, true) => "upsert",
            (true, true) => "dry upsert",
        }
    }

    fn options(&self, key: &str) -> SubmitOptions {
        let name = self.file.file_name().filter(|_| self.file != Path::new("-"));
        SubmitOptions {
            dry_run: self.dry_run,
            upsert: self.upsert,
            file_name: name.map(|name| name.to_string_lossy().into_owned()),
            idempotency_key: Some(key.to_owned()),
        }
    }

    /// Submits a part. If an earlier request made its task, returns that task.
    pub(crate) async fn submit(
        &self,
        client: &Client,
        keys: &mut PartKeys,
        part: Part,
    ) -> Result<Task, Failure> {
        let (entries, key) = (part.entries, keys.next(&part.bytes));
        let lines = Bytes::from(part.bytes);
        let bulk = client.bulk(self.action.family());
        let mut task = bulk.submit_keyed(self.action, lines.clone(), &self.options(&key)).await?;
        let reads = self.dry_run || !self.action.writes();
        let renews = reads || self.renew && self.run.is_none();
        if task.replayed && renews && !keys.are_given() {
            // The data may have changed since. A read does no harm.
            if bulk.status(&task.task_id).await?.is_completed() {
                let fresh = format!("{key}/{}", RunName::new()?.0);
                task = bulk.submit_keyed(self.action, lines, &self.options(&fresh)).await?;
            }
        }
        let mut progress = self.progress.lock();
        progress.tasks += 1;
        progress.entries += entries;
        Ok(task)
    }

    /// Notes which task the command waits for.
    pub(crate) fn awaits(&self, task: Option<&str>) {
        self.progress.lock().awaited = task.map(str::to_owned);
    }

    /// The end of a command by a signal.
    pub(crate) fn interrupted(&self) -> Failure {
        let failure = Failure::interrupted_after(format!("interrupted {}", self.progress()));
        failure.with_hint(self.advice())
    }

    /// The end of a command by an error in the middle of its work.
    pub(crate) fn stopped(&self, mut failure: Failure) -> Failure {
        if self.progress.lock().tasks > 0 {
            failure.message = format!("{}\nstopped {}", failure.message, self.progress());
        }
        match failure.hint {
            Some(_) => failure,
            None => failure.with_hint(self.advice()),
        }
    }

    fn progress(&self) -> String {
        let progress = self.progress.lock();
        let SubmissionProgress { tasks, entries, awaited } = &*progress;
        if *tasks == 0 {
            return "before a task was submitted".to_owned();
        }
        let so_far = format!(
            "after {} with {}",
            counted(*tasks, "task", "tasks"),
            counted(*entries, "entry", "entries")
        );
        match awaited {
            Some(task) => format!("{so_far}; task {task} goes on at the server"),
            None => so_far,
        }
    }

    fn advice(&self) -> String {
        let command = next_command(&self.file, self.run.as_ref());
        format!("to go on, run: {command}\n      it submits nothing twice")
    }

    /// The failure of reading the file.
    pub(crate) fn unreadable(&self, error: &SplitError) -> Failure {
        match error {
            SplitError::Io(error) => Failure::file("read", &self.file, error),
            error => {
                let file = self.file.display();
                let failure = Failure::usage(format!("cannot read the entries of {file}: {error}"));
                match error {
                    SplitError::ArrayToRename => {
                        failure.with_hint("`jq -c '.[]' FILE` turns an array into lines")
                    }
                    SplitError::Header(HeaderFault::Columns(_)) => failure.with_hint(
                        "--map 'COLUMN=FIELD' reads a column as a field, --map 'COLUMN=' leaves it \
                         out",
                    ),
                    _ => failure,
                }
            }
        }
    }
}

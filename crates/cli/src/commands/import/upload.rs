//! Sends a file, and says whether it was imported before. Invariant: a command that ends early says
//! that nothing was imported only if the server cannot have the whole file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use caseload_client::{
    Client, ClientError, FileSource, ImportForm, Params, ProblemFault, Task, Upload,
};
use caseload_model::task::Action;
use caseload_model::time::UnixMillis;
use parking_lot::Mutex;
use tokio::fs::File;

use crate::clock::readable;
use crate::failure::Failure;
use crate::printer::note;
use crate::progress::{Progress, Unit};
use crate::secret::random_bytes;

/// The hints for a file that the server refuses because of a column or of its encoding.
const ABOUT_COLUMNS: &str =
    "--map 'COLUMN=FIELD' reads a column as a field, --map 'COLUMN=' leaves it out";
const ABOUT_ENCODING: &str = "--encoding NAME names the encoding";

/// A file on its way to the server.
#[derive(Debug)]
pub(crate) struct FileUpload {
    action: Action,
    file: PathBuf,
    form: ImportForm,
    upload: Arc<Upload>,
    /// `task` or `import`, and its id, once the server has the file.
    accepted: Mutex<Option<(&'static str, String)>>,
}

impl FileUpload {
    pub(crate) fn new(action: Action, file: &Path) -> Result<Self, Failure> {
        let mut options = Params::default();
        options.push("action", action.as_str());
        let name = file.file_name().filter(|_| !is_standard_input(file));
        let form = ImportForm {
            options,
            file_name: name.map(|name| name.to_string_lossy().into_owned()),
            idempotency_key: hex::encode(random_bytes::<16>()?),
        };
        let (file, upload, accepted) = (file.to_owned(), Arc::default(), Mutex::default());
        Ok(Self { action, file, form, upload, accepted })
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) const fn options(&mut self) -> &mut Params {
        &mut self.form.options
    }

    /// Adds an option of a flag that is set.
    pub(crate) fn set(&mut self, name: &str, flag: bool) {
        if flag {
            self.form.options.push(name, "true");
        }
    }

    /// Sets a key of the caller's choice.
    pub(crate) fn set_key(&mut self, key: &str) {
        key.clone_into(&mut self.form.idempotency_key);
    }

    pub(crate) const fn form(&self) -> &ImportForm {
        &self.form
    }

    /// Opens the file; `-` means standard input.
    pub(crate) async fn open(&self) -> Result<FileSource, Failure> {
        if is_standard_input(&self.file) {
            return Ok(FileSource::reader(tokio::io::stdin()));
        }
        let opened = File::open(&self.file).await.map_err(|error| self.unreadable(&error))?;
        let metadata = opened.metadata().await.map_err(|error| self.unreadable(&error))?;
        if metadata.is_dir() {
            let file = self.file.display();
            return Err(Failure::usage(format!("cannot read {file}: it is a folder")));
        }
        FileSource::open(opened).await.map_err(|error| self.unreadable(&error))
    }

    pub(crate) fn unreadable(&self, error: &io::Error) -> Failure {
        Failure::file("read", &self.file, error)
    }

    /// Sends the file. The import is durable when this returns.
    pub(crate) async fn send(&self, client: &Client, source: FileSource) -> Result<Task, Failure> {
        let mut progress = Progress::new("uploading", source.length(), Unit::Bytes);
        let imports = client.imports(self.action.family());
        let reached = |bytes| progress.reached(bytes);
        let sent = imports.import(&self.form, source, &self.upload, reached).await;
        progress.finish();
        let import = sent.map_err(|error| self.refused(error))?;
        self.set_accepted("import", &import);
        note_repeat(client, self.action, &import).await?;
        Ok(import)
    }

    /// All of the file is on its way as a task.
    pub(crate) fn set_whole(&self) {
        self.upload.set_whole();
    }

    /// The task or the import is at the server.
    pub(crate) fn set_accepted(&self, word: &'static str, task: &Task) {
        *self.accepted.lock() = Some((word, task.task_id.clone()));
    }

    fn refused(&self, error: ClientError) -> Failure {
        if let ClientError::Payload(error) = &error {
            return self.unreadable(error);
        }
        let has_no_answer = error.is_unanswered();
        let of_file = hint_of(&error);
        let mut failure = Failure::from(error);
        if let Some(hint) = of_file {
            failure.hint = Some(hint.to_owned());
        } else if has_no_answer && self.upload.is_whole() {
            failure.hint = Some(self.look());
        } else if has_no_answer {
            failure.message += "\nnothing was imported";
        }
        failure
    }

    /// The end of a command by a signal.
    pub(crate) fn interrupted(&self) -> Failure {
        if let Some((word, id)) = &*self.accepted.lock() {
            let text = format!("interrupted; {word} {id} continues at the server");
            return Failure::interrupted_after(text).with_hint(advice(id));
        }
        if self.upload.is_whole() {
            let text = "interrupted before the server had answered";
            return Failure::interrupted_after(text).with_hint(self.look());
        }
        let text = "interrupted before the whole file was sent: nothing was imported";
        Failure::interrupted_after(text)
    }

    /// The end of a command by an error while it follows.
    pub(crate) fn stopped(&self, mut failure: Failure) -> Failure {
        if let Some((word, id)) = &*self.accepted.lock() {
            failure.message = format!("{}\nthe server has {word} {id}", failure.message);
            failure.hint = Some(advice(id));
        }
        failure
    }

    fn look(&self) -> String {
        let issues = if self.action == Action::ImportIssues { " --issues" } else { "" };
        format!(
            "the server may have taken the file: `caseload bulk list{issues}`, and with \
             --imports, shows whether it has"
        )
    }
}

/// The flags that may make the server read a file that it refused. A fault of a column has the
/// number of the column as its parameter, or says that no column is there.
fn hint_of(error: &ClientError) -> Option<&'static str> {
    let ClientError::Problem(problem) = error else { return None };
    let has = |words: &str| problem.faults.iter().any(|fault| fault.detail.contains(words));
    let is_of_column =
        |fault: &ProblemFault| fault.parameter.as_deref().is_some_and(|name| name.starts_with('#'));
    if problem.code != "invalid_payload" {
        None
    } else if problem.faults.iter().any(is_of_column) || has("no column") {
        Some(ABOUT_COLUMNS)
    } else if has("name this encoding") || has("name its encoding") {
        Some(ABOUT_ENCODING)
    } else {
        None
    }
}

/// Whether a path means standard input.
fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn advice(id: &str) -> String {
    format!("`caseload bulk follow {id}` follows it, `caseload bulk cancel {id}` stops it")
}

/// Says whether the file was imported before.
async fn note_repeat(client: &Client, action: Action, import: &Task) -> Result<(), Failure> {
    let id = &import.task_id;
    if import.is_repeat {
        let when = readable(UnixMillis(import.created_at));
        note(format_args!(
            "this file was imported before, on {when}, as import {id}; nothing was imported \
             again. To import it again: --again"
        ));
        return Ok(());
    }
    note(format_args!("import {id}"));
    let Some(first) = &import.repeat_of else { return Ok(()) };
    let when = match client.imports(action.family()).status(first).await {
        Ok(first) => format!("on {} ", readable(UnixMillis(first.created_at))),
        Err(error) if error.status() == Some(404) => String::new(),
        Err(error) => return Err(error.into()),
    };
    note(format_args!(
        "the same file was imported {when}before, as import {first}; this is another import of it"
    ));
    Ok(())
}

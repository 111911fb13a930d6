//! The files of a form on their way into the store. The store receives pieces of a megabyte, each
//! in a write of its own, while the form arrives, so the server never holds a whole file. The write
//! of the message claims the files. If the request is refused or the caller disconnects, the files
//! are discarded.

use caseload_model::error_code::ErrorCode;
use caseload_model::ids::timed_id;
use caseload_model::issue::IssuePart;
use caseload_model::issue::write::{
    Attachment, CONTENT_TYPE_BYTES_MAX, FILE_NAME_CHARS_MAX, NO_NAME, PLAIN_BYTES, stored_name,
};
use caseload_model::spelling::{is_hidden, same_name, unbracketed};
use caseload_store::{ATTACHMENT_PIECE_BYTES, StageAttachment};
use sha2::{Digest, Sha256};

use crate::http::auth::Caller;
use crate::http::current_request::carried;
use crate::http::form::Files;
use crate::http::problem::{FAULTS_MAX, Fault, Problem};
use crate::http::random::random_u64;
use crate::state::AppState;

/// The form fields for files. A client that sends several may name them `attachments[]`.
pub(crate) const FILE_FIELDS: [&str; 2] = ["attachment", "attachments"];
/// The memory of the files of one request: the piece that is arriving, and one on its way into the
/// store, which copies it.
const FILES_BYTES: usize = 4 * ATTACHMENT_PIECE_BYTES;
/// The files of one request.
pub(super) struct FileUpload {
    state: AppState,
    caller: Caller,
    open: Option<OpenFile>,
    /// Full pieces for the store.
    full: Vec<StageAttachment>,
    /// Why no id could be made for a file.
    failed: Option<Problem>,
    pub(super) files: Vec<Attachment>,
    faults: Vec<Fault>,
    /// Over the names, types and bytes of all files.
    hash: Sha256,
    /// Ids of staged files that no message has claimed.
    unclaimed: Vec<String>,
}

/// The file that is arriving.
struct OpenFile {
    field: String,
    file: Attachment,
    piece: Vec<u8>,
    pieces: u32,
    hash: Sha256,
    refused: bool,
}

impl FileUpload {
    pub(super) fn new(state: &AppState, caller: &Caller) -> Self {
        Self {
            state: state.clone(),
            caller: caller.clone(),
            open: None,
            full: Vec::new(),
            failed: None,
            files: Vec::new(),
            faults: Vec::new(),
            hash: Sha256::new(),
            unclaimed: Vec::new(),
        }
    }

    /// Notes that a message has claimed the files.
    pub(super) fn set_claimed(&mut self) {
        self.unclaimed.clear();
    }

    /// Prepares the piece of the open file for the store.
    fn flush(&mut self) {
        let Some(open) = &mut self.open else { return };
        let now = self.state.clock.now();
        if open.file.id.is_empty() {
            match random_u64() {
                Ok(random) => {
                    open.file.id = timed_id(&self.caller.domain_name, "attachment", now, random);
                    self.unclaimed.push(open.file.id.clone());
                }
                Err(problem) => {
                    self.failed = Some(problem);
                    open.refused = true;
                    return;
                }
            }
        }
        self.full.push(StageAttachment {
            domain: self.caller.domain_id,
            key: Some(self.caller.key_id.clone()),
            id: open.file.id.clone(),
            number: open.pieces,
            bytes: std::mem::take(&mut open.piece),
            now,
        });
        open.pieces += 1;
    }

    fn refuse(&mut self, code: ErrorCode, detail: String) {
        let Some(open) = &mut self.open else { return };
        open.refused = true;
        // A body may have a million empty files.
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(Fault::parameter(&open.field, code, detail));
        }
    }
}

impl Files for FileUpload {
    fn memory_bytes(&self) -> usize {
        if self.open.is_some() || !self.files.is_empty() { FILES_BYTES } else { 0 }
    }

    fn takes(&self, name: &str) -> bool {
        let (name, _) = unbracketed(name);
        FILE_FIELDS.iter().any(|field| same_name(field, name))
    }

    fn begin(&mut self, field: &str, file_name: Option<&str>, content_type: Option<&str>) {
        let name = stored_name(file_name.unwrap_or_default());
        let chars = name.chars().count();
        let is_type = |given: &&str| !given.is_empty() && !given.chars().any(is_hidden);
        let content_type = content_type.filter(is_type).unwrap_or(PLAIN_BYTES);
        let file = Attachment {
            id: String::new(),
            file_name: name,
            content_type: content_type.to_owned(),
            size: 0,
        };
        self.open = Some(OpenFile {
            field: field.to_owned(),
            file,
            piece: Vec::new(),
            pieces: 0,
            hash: Sha256::new(),
            refused: false,
        });
        if chars > FILE_NAME_CHARS_MAX {
            let detail = format!("a file's name has at most {FILE_NAME_CHARS_MAX} characters");
            self.refuse(ErrorCode::OutOfRange, detail);
        }
        if content_type.len() > CONTENT_TYPE_BYTES_MAX {
            let detail = format!("a content type has at most {CONTENT_TYPE_BYTES_MAX} bytes");
            self.refuse(ErrorCode::OutOfRange, detail);
        }
        if let Some(detail) = IssuePart::Attachments.too_many(self.files.len() + 1) {
            self.refuse(ErrorCode::TooMany, detail);
        }
    }

    fn data(&mut self, mut bytes: &[u8]) {
        let bytes_max = self.state.config.attachment_bytes_max as u64;
        let Some(open) = self.open.as_mut().filter(|open| !open.refused) else { return };
        open.file.size += bytes.len() as u64;
        open.hash.update(bytes);
        if open.file.size > bytes_max {
            let name = &open.file.file_name;
            let detail = format!("the file {name:?} has more than {bytes_max} bytes");
            self.refuse(ErrorCode::TooLarge, detail);
            return;
        }
        while let Some(open) = self.open.as_mut().filter(|open| !bytes.is_empty() && !open.refused)
        {
            let room = ATTACHMENT_PIECE_BYTES - open.piece.len();
            let (fitting, rest) = bytes.split_at(room.min(bytes.len()));
            open.piece.extend_from_slice(fitting);
            bytes = rest;
            if open.piece.len() == ATTACHMENT_PIECE_BYTES {
                self.flush();
            }
        }
    }

    fn end(&mut self) {
        let unsent = self.open.as_ref().is_some_and(|open| {
            // A browser sends this for an empty file input.
            open.file.size == 0 && open.file.file_name == NO_NAME
        });
        let has_rest = |open: &OpenFile| !open.piece.is_empty() || open.pieces == 0;
        if !unsent && self.open.as_ref().is_some_and(|open| !open.refused && has_rest(open)) {
            self.flush();
        }
        let Some(open) = self.open.take().filter(|open| !open.refused && !unsent) else { return };
        for text in [&open.file.file_name, &open.file.content_type] {
            self.hash.update((text.len() as u64).to_be_bytes());
            self.hash.update(text);
        }
        self.hash.update(open.hash.finalize());
        self.files.push(open.file);
    }

    async fn settle(&mut self) -> Result<(), Problem> {
        if let Some(problem) = self.failed.take() {
            return Err(problem);
        }
        for piece in self.full.drain(..) {
            self.state.store.stage_attachment(piece).await?;
        }
        Ok(())
    }

    fn content(&self) -> [u8; 32] {
        self.hash.clone().finalize().into()
    }

    fn take_faults(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.faults)
    }
}

impl Drop for FileUpload {
    fn drop(&mut self) {
        if self.unclaimed.is_empty() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (store, domain) = (self.state.store.clone(), self.caller.domain_id);
        let unclaimed = std::mem::take(&mut self.unclaimed);
        runtime.spawn(carried(async move {
            if let Err(error) = store.discard_attachments(domain, unclaimed).await {
                tracing::info!(%error, "staged files could not be discarded; a purge removes them \
                                        later");
            }
        }));
    }
}

//! Imports: one file of any format and size. The file goes out as it is, from disk or from any
//! reader, and never as a whole in memory. Invariant: a file is sent again only under the same
//! idempotency key, so that an answer that was lost costs neither a second import nor the first.

use std::io::{self, SeekFrom};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use reqwest::multipart::{Form, Part};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeekExt};
use tokio::time::{Instant, sleep};

use crate::bulk::{BulkActions, with_key};
use crate::error::ClientError;
use crate::http::{Refused, SILENCE_MAX, Written};
use crate::params::Params;
use crate::task::Task;

/// How many bytes are read from a file at a time.
const READ_BYTES: usize = 256 << 10;
/// How often a file is sent at most if no answer comes.
const TRIES_MAX: u32 = 4;
/// The wait before it is sent again for the first time.
const RETRY_WAIT: Duration = Duration::from_secs(1);
/// How often an upload is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A form with a file, apart from the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportForm {
    /// The options, such as `action`, sent as they are.
    pub options: Params,
    /// The name of the file; the import shows it.
    pub file_name: Option<String>,
    /// A key of this request alone.
    pub idempotency_key: String,
}

/// The file to import.
#[expect(missing_debug_implementations, reason = "a reader has none")]
pub enum FileSource {
    /// A file that can be read again, and its length.
    File(File, u64),
    /// A reader that can be read once.
    Reader(Pin<Box<dyn AsyncRead + Send>>),
}

/// How far a file is on its way.
#[derive(Debug, Default)]
pub struct Upload {
    sent: AtomicU64,
    is_whole: AtomicBool,
    /// Why the file could not be read.
    fault: Mutex<Option<io::Error>>,
}

impl Upload {
    /// Whether all of the file has been on its way to the server, which may have taken it.
    pub fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Relaxed)
    }

    /// Notes that all of the file is on its way.
    pub fn set_whole(&self) {
        self.is_whole.store(true, Ordering::Relaxed);
    }

    fn take_fault(&self) -> Option<io::Error> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl FileSource {
    /// A file, of which all bytes are sent, or anything else that has a path.
    pub async fn open(file: File) -> io::Result<Self> {
        let metadata = file.metadata().await?;
        Ok(if metadata.is_file() { Self::File(file, metadata.len()) } else { Self::reader(file) })
    }

    pub fn reader(reader: impl AsyncRead + Send + 'static) -> Self {
        Self::Reader(Box::pin(reader))
    }

    /// The first bytes, at most `max`, and the source as it was before.
    pub async fn peek(self, max: u64) -> io::Result<(Bytes, Self)> {
        let mut head = Vec::new();
        Ok(match self {
            Self::File(mut file, length) => {
                (&mut file).take(max).read_to_end(&mut head).await?;
                (head.into(), Self::File(file, length))
            }
            Self::Reader(mut reader) => {
                (&mut reader).take(max).read_to_end(&mut head).await?;
                let head = Bytes::from(head);
                (head.clone(), Self::reader(io::Cursor::new(head).chain(reader)))
            }
        })
    }

    /// The length, if it is known.
    pub const fn length(&self) -> Option<u64> {
        match self {
            Self::File(_, length) => Some(*length),
            Self::Reader(_) => None,
        }
    }

    /// The file from its beginning, as a part of a form. A reader is empty from then on.
    async fn part(&mut self, upload: &Arc<Upload>) -> io::Result<Part> {
        Ok(match self {
            Self::File(file, length) => {
                let mut again = file.try_clone().await?;
                again.seek(SeekFrom::Start(0)).await?;
                let body = reqwest::Body::wrap_stream(chunks(again, Some(*length), upload));
                Part::stream_with_length(body, *length)
            }
            Self::Reader(reader) => {
                let reader = std::mem::replace(reader, Box::pin(tokio::io::empty()));
                Part::stream(reqwest::Body::wrap_stream(chunks(reader, None, upload)))
            }
        })
    }
}

/// The bytes of a reader, counted as the request takes them. A file that is not as long as it was
/// is an error.
fn chunks(
    reader: impl AsyncRead + Send + Unpin + 'static,
    length: Option<u64>,
    upload: &Arc<Upload>,
) -> impl stream::Stream<Item = io::Result<Bytes>> + Send + 'static {
    let upload = Arc::clone(upload);
    stream::try_unfold((reader, upload), move |(mut reader, upload)| async move {
        let mut chunk = BytesMut::with_capacity(READ_BYTES);
        let read = reader.read_buf(&mut chunk).await.and_then(|read| {
            let read_bytes = read as u64;
            let sent = upload.sent.fetch_add(read_bytes, Ordering::Relaxed) + read_bytes;
            let is_end = read == 0 || Some(sent) == length;
            if length.is_some_and(|length| sent > length || is_end && sent < length) {
                return Err(io::Error::other("its length has changed while it was sent"));
            }
            if is_end {
                upload.set_whole();
            }
            Ok(read)
        });
        match read {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some((chunk.freeze(), (reader, upload)))),
            Err(error) => {
                let copy = io::Error::new(error.kind(), error.to_string());
                *upload.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Err(copy)
            }
        }
    })
}

impl BulkActions<'_> {
    /// Sends a file. The import is durable when this returns. `sent` learns how many bytes of the
    /// file are on their way. If the server does not answer, a file is sent again, and if it puts
    /// the file off because of a limit, too; a reader is sent once.
    pub async fn import(
        &self,
        form: &ImportForm,
        mut source: FileSource,
        upload: &Arc<Upload>,
        mut sent: impl FnMut(u64),
    ) -> Result<Task, ClientError> {
        let can_be_read_again = source.length().is_some();
        let mut tries = 1;
        loop {
            upload.sent.store(0, Ordering::Relaxed);
            let (error, wait) = match self.send(form, &mut source, upload, &mut sent).await {
                Ok(Ok(written)) => {
                    let is_repeat = written.is_existing && written.replayed;
                    return Ok(Task { is_repeat, ..self.task(&written)? });
                }
                Ok(Err(refused)) => {
                    let wait = refused.wait_of_write(tries);
                    (refused.error, wait)
                }
                Err(error) => (error, None),
            };
            let has_begun = tries > 1 || upload.sent.load(Ordering::Relaxed) > 0;
            let may = has_begun && tries < TRIES_MAX && error.is_unanswered();
            let wait = wait.or_else(|| may.then(|| RETRY_WAIT * (1 << (tries - 1))));
            match wait.filter(|_| can_be_read_again) {
                Some(wait) => self.client.wait(&error, wait).await,
                None => return Err(error),
            }
            tries += 1;
        }
    }

    /// Sends the file once, and watches it on its way.
    async fn send(
        &self,
        form: &ImportForm,
        source: &mut FileSource,
        upload: &Arc<Upload>,
        sent: &mut impl FnMut(u64),
    ) -> Result<Result<Written, Refused>, ClientError> {
        let file = source.part(upload).await.map_err(ClientError::Payload)?;
        let request = self.client.upload(&self.url("")).multipart(form.with(file));
        let request = with_key(request, Some(&form.idempotency_key))?;
        let mut answer = pin!(self.client.written(request));
        let (mut reached, mut since) = (0, Instant::now());
        loop {
            tokio::select! {
                answer = &mut answer => {
                    let fault = upload.take_fault().map(ClientError::Payload);
                    return fault.map_or(answer, Err);
                }
                () = sleep(LOOK_EVERY) => {
                    let now = upload.sent.load(Ordering::Relaxed);
                    sent(now);
                    if now != reached {
                        (reached, since) = (now, Instant::now());
                    } else if since.elapsed() > SILENCE_MAX {
                        let reason = "it took no byte of the file for 5 minutes".to_owned();
                        let url = self.client.url().to_owned();
                        return Err(ClientError::Unreachable { url, reason });
                    }
                }
            }
        }
    }
}

impl ImportForm {
    /// The form, which ends with the file.
    fn with(&self, file: Part) -> Form {
        let options = self.options.pairs().into_iter();
        let form = options
            .fold(Form::new(), |form, (name, value)| form.text(name.to_owned(), value.to_owned()));
        let file = match &self.file_name {
            Some(name) => file.file_name(name.clone()),
            None => file,
        };
        form.part("file", file)
    }
}

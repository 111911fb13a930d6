//! Request forms: urlencoded, multipart or a JSON object, plain or compressed. [`read_form`] feeds
//! a body to the receiver of its fields, in pieces of bounded size, of which the longer ones are
//! decoded on other threads. [`read`] collects the fields of a small form and passes files on. Of
//! the fields this module knows only which of them are lists or maps.

mod arriving_text;
pub(crate) mod body;
pub(crate) mod body_reader;
mod fields;
mod json_fields;
mod json_object;
mod multipart;
mod unpack;
mod urlencoded;

use axum::body::HttpBody as _;
use axum::extract::Request;
use http::HeaderMap;

use crate::http::auth::Caller;
use crate::http::connection::CONNECTION_BUFFER_BYTES_MAX;
use crate::http::cpu::{CpuPool, INLINE_BYTES_MAX};
use crate::http::memory::Memory;
use crate::http::problem::{Fault, Problem};
use crate::state::AppState;
use body::{FormKind, broken_escape};
use body_reader::{BodyReader, check_length};
use json_fields::JsonFields;

pub(crate) use fields::Fields;
pub(crate) use json_fields::broken_json;
pub(crate) use json_object::{BrokenJson, MemberSink, ObjectDecoder, ValueKind};
pub(crate) use multipart::{BrokenMultipart, MultipartDecoder, PartHead, PartSink};
pub(crate) use unpack::{Unpackable, Unpacker};
pub(crate) use urlencoded::{BrokenEscape, Decoder, FieldSink};

const ACCEPTED_TYPES: &str = "application/json, application/x-www-form-urlencoded, or \
                              multipart/form-data, which may also carry files";
/// The memory that a field of a form needs for each of its bytes: its text, and the request that is
/// made of it.
const MEMORY_PER_BYTE: usize = 2;
/// The memory of reading a body of any length, apart from its fields: the buffer of its connection,
/// and the piece before it, which is decoded.
const READING_BYTES: usize = 2 * CONNECTION_BUFFER_BYTES_MAX;

/// The receiver of the fields of a form in any encoding.
pub(crate) trait FormSink: FieldSink + MemberSink + PartSink + Send + 'static {
    /// Refuses a form that is over a limit already.
    fn check(&self) -> Result<(), Problem>;
    /// Passes on the arrived bytes, and waits if they are too many to hold.
    async fn settle(&mut self) -> Result<(), Problem>;
    /// Whether the rest of the body does not matter.
    fn has_enough(&self) -> bool {
        false
    }
}

/// Broken grammar of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BrokenForm {
    Escape(BrokenEscape),
    Json(BrokenJson),
    Multipart(BrokenMultipart),
}

impl From<BrokenForm> for Problem {
    fn from(broken: BrokenForm) -> Self {
        match broken {
            BrokenForm::Escape(broken) => broken_escape(broken),
            BrokenForm::Json(broken) => broken_json(broken),
            BrokenForm::Multipart(broken) => broken.into(),
        }
    }
}

/// The decoder of a form.
enum FormDecoder {
    Urlencoded(Decoder),
    Json(ObjectDecoder),
    Multipart(MultipartDecoder),
}

impl FormDecoder {
    fn new(kind: FormKind, headers: &HeaderMap) -> Result<Self, Problem> {
        Ok(match kind {
            FormKind::Urlencoded => Self::Urlencoded(Decoder::default()),
            FormKind::Json => Self::Json(ObjectDecoder::default()),
            FormKind::Multipart => Self::Multipart(MultipartDecoder::of(headers)?),
        })
    }

    fn push(&mut self, bytes: &[u8], sink: &mut impl FormSink) -> Result<(), BrokenForm> {
        match self {
            Self::Urlencoded(decoder) => decoder.push(bytes, sink).map_err(BrokenForm::Escape),
            Self::Json(decoder) => decoder.push(bytes, sink).map_err(BrokenForm::Json),
            Self::Multipart(decoder) => decoder.push(bytes, sink).map_err(BrokenForm::Multipart),
        }
    }

    fn finish(self, sink: &mut impl FormSink) -> Result<(), BrokenForm> {
        match self {
            Self::Urlencoded(decoder) => decoder.finish(sink).map_err(BrokenForm::Escape),
            Self::Json(decoder) => decoder.finish().map_err(BrokenForm::Json),
            Self::Multipart(decoder) => decoder.finish().map_err(BrokenForm::Multipart),
        }
    }
}

/// A form that has been read: the receiver of its fields, and the place at which its grammar is
/// broken, if it is. The receiver may know more about that place.
pub(crate) type FormRead<S> = (S, Result<(), BrokenForm>);

/// Feeds the body of a form with these headers to `sink`.
pub(crate) async fn read_form<S: FormSink>(
    kind: FormKind,
    headers: &HeaderMap,
    mut body: BodyReader,
    cpu: &CpuPool,
    mut sink: S,
) -> Result<FormRead<S>, Problem> {
    let mut decoder = FormDecoder::new(kind, headers)?;
    while let Some(piece) = body.next().await? {
        let read;
        if piece.len() <= INLINE_BYTES_MAX {
            read = decoder.push(&piece, &mut sink);
        } else {
            let work = move || {
                let read = decoder.push(&piece, &mut sink);
                (decoder, sink, read)
            };
            (decoder, sink, read) = cpu.run(work).await?;
        }
        if read.is_err() {
            return Ok((sink, read));
        }
        sink.check()?;
        sink.settle().await?;
        if sink.has_enough() {
            return Ok((sink, Ok(())));
        }
    }
    let read = decoder.finish(&mut sink);
    sink.check()?;
    sink.settle().await?;
    Ok((sink, read))
}

/// The receiver of the files of a form.
pub(crate) trait Files: Send + 'static {
    /// The memory of the files: they are passed on in pieces.
    fn memory_bytes(&self) -> usize;
    /// Whether a field of this name is a file.
    fn takes(&self, name: &str) -> bool;
    /// The next file begins.
    fn begin(&mut self, field: &str, file_name: Option<&str>, content_type: Option<&str>);
    /// The next bytes of the file.
    fn data(&mut self, bytes: &[u8]);
    /// The file is complete.
    fn end(&mut self);
    /// Passes on the bytes that have arrived.
    async fn settle(&mut self) -> Result<(), Problem>;
    /// A hash of the names, types and bytes of all files.
    fn content(&self) -> [u8; 32];
    /// The faults of the files so far.
    fn take_faults(&mut self) -> Vec<Fault>;
}

/// A form that takes no files.
#[derive(Debug)]
pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn memory_bytes(&self) -> usize {
        0
    }
    fn takes(&self, _: &str) -> bool {
        false
    }
    fn begin(&mut self, _: &str, _: Option<&str>, _: Option<&str>) {}
    fn data(&mut self, _: &[u8]) {}
    fn end(&mut self) {}
    async fn settle(&mut self) -> Result<(), Problem> {
        Ok(())
    }
    fn content(&self) -> [u8; 32] {
        [0; 32]
    }
    fn take_faults(&mut self) -> Vec<Fault> {
        Vec::new()
    }
}

/// The fields of a small form, and its files.
struct SmallForm<F> {
    fields: JsonFields,
    files: F,
    in_file: bool,
    /// The memory of reading the body, apart from its fields.
    reading: usize,
    memory: Memory,
}

impl<F: Files> FieldSink for SmallForm<F> {
    fn begin(&mut self, name: &str) {
        self.fields.fields.begin(name);
    }
    fn data(&mut self, bytes: &[u8]) {
        self.fields.fields.data(bytes);
    }
    fn end(&mut self) {
        self.fields.fields.end();
    }
}

impl<F: Files> MemberSink for SmallForm<F> {
    fn begin(&mut self, name: &str, kind: ValueKind) {
        self.fields.begin(name, kind);
    }
    fn data(&mut self, bytes: &[u8]) {
        MemberSink::data(&mut self.fields, bytes);
    }
    fn end(&mut self) {
        MemberSink::end(&mut self.fields);
    }
}

impl<F: Files> PartSink for SmallForm<F> {
    fn begin(&mut self, part: &PartHead) {
        self.in_file = self.files.takes(&part.name);
        if self.in_file {
            let content_type = part.content_type.as_deref();
            self.files.begin(&part.name, part.file_name.as_deref(), content_type);
        } else {
            self.fields.fields.begin(&part.name);
        }
    }
    fn data(&mut self, bytes: &[u8]) {
        if self.in_file {
            self.files.data(bytes);
        } else {
            self.fields.fields.data(bytes);
        }
    }
    fn end(&mut self) {
        if self.in_file {
            self.files.end();
        } else {
            self.fields.fields.end();
        }
    }
}

impl<F: Files> FormSink for SmallForm<F> {
    fn check(&self) -> Result<(), Problem> {
        self.fields.fields.check()
    }

    async fn settle(&mut self) -> Result<(), Problem> {
        let fields = self.fields.fields.bytes() * MEMORY_PER_BYTE;
        self.memory.grow_to(self.reading + fields + self.files.memory_bytes()).await?;
        self.files.settle().await
    }
}

/// Reads a form; its files go to `files`. The memory is that of its fields.
pub(crate) async fn read<F: Files>(
    state: &AppState,
    caller: &Caller,
    mut request: Request,
    files: F,
) -> Result<(Fields, F, Memory), Problem> {
    let domain = caller.domain_id;
    let kind = body::kind(&mut request, ACCEPTED_TYPES).await?;
    check_length(&request, state.config.body_bytes_max as u64)?;
    let headers = request.headers().clone();
    let stated = request.body().size_hint().exact().map_or(usize::MAX, |bytes| bytes as usize);
    let reading = stated.saturating_mul(2).clamp(INLINE_BYTES_MAX, READING_BYTES);
    let memory = state.memory.take(Some(domain), reading).await?;
    // Only a multipart form has files, and a file may take its time.
    let body = match kind {
        FormKind::Multipart => BodyReader::of_upload(state, domain, request).await?,
        FormKind::Urlencoded | FormKind::Json => {
            BodyReader::of_form(state, domain, request).await?
        }
    };
    let form = SmallForm { fields: JsonFields::default(), files, in_file: false, reading, memory };
    let (form, read) = read_form(kind, &headers, body, &state.cpu, form).await?;
    read?;
    let SmallForm { fields, files, memory, .. } = form;
    let mut fields = fields.fields;
    if kind != FormKind::Multipart {
        fields.refuse_files(|name| files.takes(name));
    }
    Ok((fields, files, memory))
}

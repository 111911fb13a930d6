//! Request forms, urlencoded or multipart, plain or compressed. [`read`] collects the fields of a
//! small form and passes files on. Bulk actions share the decoders but do not collect their
//! payload. This module does not know what fields mean.

pub(crate) mod body;
mod decompress;
mod urlencoded;

use axum::RequestExt;
use axum::body::Bytes;
use axum::extract::Request;
use caseload_model::error_code::ErrorCode;
use futures_util::StreamExt;

use crate::ApiConfig;
use crate::problem::{Fault, Problem};
use body::{FormKind, broken_escape, broken_multipart, in_time, read_error};

pub(crate) use decompress::decompressed;
pub(crate) use urlencoded::{BrokenEscape, Decoder, FieldSink};

const ACCEPTED_TYPES: &str =
    "application/x-www-form-urlencoded, or multipart/form-data, which may also carry files";
/// The most bytes that the fields of a form may have together, without files. This is several times
/// the size of the longest message with all its maps.
const FIELDS_BYTES_MAX: usize = 24 << 20;
/// The most fields of a form, without files.
const FIELDS_MAX: usize = 1000;

/// The fields of a form in their order.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub(crate) pairs: Vec<(String, String)>,
    pub(crate) faults: Vec<Fault>,
    open: Option<(String, Vec<u8>)>,
    bytes: usize,
    too_many: bool,
}

/// The receiver of the files of a form.
pub(crate) trait Files {
    /// Whether a field of this name is a file.
    fn takes(&self, name: &str) -> bool;
    /// The next file begins.
    fn begin(&mut self, field: &str, file_name: Option<&str>, content_type: Option<&str>);
    /// The next bytes of the file.
    async fn data(&mut self, bytes: &[u8]) -> Result<(), Problem>;
    /// The file is complete.
    async fn end(&mut self) -> Result<(), Problem>;
    /// A hash of the names, types and bytes of all files.
    fn content(&self) -> [u8; 32];
    /// The faults of the files so far.
    fn take_faults(&mut self) -> Vec<Fault>;
}

/// A form that takes no files.
#[derive(Debug)]
pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn takes(&self, _: &str) -> bool {
        false
    }
    fn begin(&mut self, _: &str, _: Option<&str>, _: Option<&str>) {}
    async fn data(&mut self, _: &[u8]) -> Result<(), Problem> {
        Ok(())
    }
    async fn end(&mut self) -> Result<(), Problem> {
        Ok(())
    }
    fn content(&self) -> [u8; 32] {
        [0; 32]
    }
    fn take_faults(&mut self) -> Vec<Fault> {
        Vec::new()
    }
}

/// Reads a form; its files go to `files`.
pub(crate) async fn read(
    request: Request,
    config: &ApiConfig,
    files: &mut impl Files,
) -> Result<Fields, Problem> {
    let kind = body::kind(request.headers(), ACCEPTED_TYPES)?;
    body::check_length(&request, config)?;
    let request = decompressed(request)?;
    let mut fields = Fields::default();
    match kind {
        FormKind::Urlencoded => read_urlencoded(request, config, &mut fields).await?,
        FormKind::Multipart => read_multipart(request, config, &mut fields, files).await?,
    }
    if kind == FormKind::Urlencoded {
        fields.refuse_files(files);
    }
    Ok(fields)
}

async fn read_urlencoded(
    request: Request,
    config: &ApiConfig,
    fields: &mut Fields,
) -> Result<(), Problem> {
    let mut body = request.into_limited_body().into_data_stream();
    let mut decoder = Decoder::default();
    while let Some(piece) = in_time(config, body.next()).await? {
        let piece: Bytes = piece.map_err(|error| read_error(&error, config))?;
        decoder.push(&piece, fields).map_err(broken_escape)?;
        fields.check()?;
    }
    decoder.finish(fields).map_err(broken_escape)?;
    fields.check()
}

async fn read_multipart(
    request: Request,
    config: &ApiConfig,
    fields: &mut Fields,
    files: &mut impl Files,
) -> Result<(), Problem> {
    let mut parts = body::multipart(request).await?;
    let broken = |error| broken_multipart(&error, config);
    while let Some(mut part) = in_time(config, parts.next_field()).await?.map_err(broken)? {
        let name = part.name().unwrap_or_default().to_owned();
        if files.takes(&name) {
            files.begin(&name, part.file_name(), part.content_type());
            while let Some(piece) = in_time(config, part.chunk()).await?.map_err(broken)? {
                files.data(&piece).await?;
            }
            files.end().await?;
            continue;
        }
        fields.begin(&name);
        while let Some(piece) = in_time(config, part.chunk()).await?.map_err(broken)? {
            fields.data(&piece);
            fields.check()?;
        }
        fields.end();
        fields.check()?;
    }
    Ok(())
}

impl FieldSink for Fields {
    fn begin(&mut self, name: &str) {
        self.too_many |= self.pairs.len() >= FIELDS_MAX;
        self.bytes += name.len();
        self.open = Some((name.to_owned(), Vec::new()));
    }

    fn data(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        if self.bytes > FIELDS_BYTES_MAX {
            return;
        }
        if let Some((_, value)) = &mut self.open {
            value.extend_from_slice(bytes);
        }
    }

    fn end(&mut self) {
        let Some((name, value)) = self.open.take() else { return };
        if self.too_many {
            return;
        }
        if let Ok(value) = String::from_utf8(value) {
            self.pairs.push((name, value));
            return;
        }
        let detail = format!("the field {name} is not UTF-8; encode texts as UTF-8");
        self.faults.push(Fault::parameter(name, ErrorCode::InvalidValue, detail));
    }
}

impl Fields {
    fn check(&self) -> Result<(), Problem> {
        if self.too_many {
            let detail = format!("the form has more than {FIELDS_MAX} fields");
            return Err(Problem::new(ErrorCode::InvalidRequest, detail));
        }
        if self.bytes > FIELDS_BYTES_MAX {
            let detail = format!(
                "the fields have more than {FIELDS_BYTES_MAX} bytes together; send less, or send \
                 long texts as attachments"
            );
            return Err(Problem::new(ErrorCode::TooLarge, detail));
        }
        Ok(())
    }

    /// Refuses file fields, which an urlencoded form cannot have.
    fn refuse_files(&mut self, files: &impl Files) {
        let Self { pairs, faults, .. } = self;
        pairs.retain(|(name, _)| {
            if !files.takes(name) {
                return true;
            }
            let detail = format!("{name} is a file; send the form as multipart/form-data");
            faults.push(Fault::parameter(name, ErrorCode::InvalidValue, detail));
            false
        });
    }
}

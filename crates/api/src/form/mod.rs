//! Request forms: urlencoded, multipart or a JSON object, plain or compressed. [`read`] collects
//! the fields of a small form and passes files on. Bulk actions share the decoders but do not
//! collect their payload. Of the fields this module knows only which of them are lists or maps.

pub(crate) mod body;
mod decompress;
mod fields;
mod json_fields;
mod json_object;
mod urlencoded;

use axum::RequestExt;
use axum::body::Bytes;
use axum::extract::Request;
use futures_util::StreamExt;

use crate::ApiConfig;
use crate::problem::{Fault, Problem};
use body::{FormKind, broken_escape, broken_multipart, in_time, read_error};
use json_fields::JsonFields;

pub(crate) use decompress::decompressed;
pub(crate) use fields::Fields;
pub(crate) use json_fields::broken_json;
pub(crate) use json_object::{BrokenJson, MemberSink, ObjectDecoder, ValueKind};
pub(crate) use urlencoded::{BrokenEscape, Decoder, FieldSink};

const ACCEPTED_TYPES: &str = "application/json, application/x-www-form-urlencoded, or \
                              multipart/form-data, which may also carry files";

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
        FormKind::Json => read_json(request, config, &mut fields).await?,
    }
    if kind != FormKind::Multipart {
        fields.refuse_files(|name| files.takes(name));
    }
    Ok(fields)
}

async fn read_json(
    request: Request,
    config: &ApiConfig,
    fields: &mut Fields,
) -> Result<(), Problem> {
    let mut body = request.into_limited_body().into_data_stream();
    let mut decoder = ObjectDecoder::default();
    let mut sink = JsonFields::new(fields);
    while let Some(piece) = in_time(config, body.next()).await? {
        let piece: Bytes = piece.map_err(|error| read_error(&error, config))?;
        decoder.push(&piece, &mut sink).map_err(broken_json)?;
        sink.check()?;
    }
    decoder.finish().map_err(broken_json)?;
    sink.check()
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

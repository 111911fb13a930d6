//! The fields of a small form, in memory: texts in their order, within limits. Every decoder fills
//! them, and the readers of the calls interpret them.

use caseload_model::error_code::ErrorCode;

use super::arriving_text::ArrivingText;
use super::urlencoded::FieldSink;
use crate::http::problem::{Fault, Problem};

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
    /// The name and the value of the field that is arriving.
    open: Option<(String, ArrivingText)>,
    bytes: usize,
    too_many: bool,
}

impl FieldSink for Fields {
    fn begin(&mut self, name: &str) {
        self.too_many |= self.pairs.len() + self.faults.len() >= FIELDS_MAX;
        self.bytes += name.len();
        self.open = Some((name.to_owned(), ArrivingText::default()));
    }

    fn data(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        if self.bytes > FIELDS_BYTES_MAX {
            return;
        }
        if let Some((_, value)) = &mut self.open {
            value.push(bytes);
        }
    }

    fn end(&mut self) {
        if let Some((name, value)) = self.close() {
            self.add(name, value);
        }
    }
}

impl Fields {
    /// Ends the field that is arriving, without adding it to the others.
    pub(super) fn close(&mut self) -> Option<(String, Vec<u8>)> {
        self.open.take().map(|(name, value)| (name, value.join()))
    }

    /// Adds a field.
    pub(super) fn add(&mut self, name: String, value: Vec<u8>) {
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

    /// The bytes of names and values so far.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
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

    /// Refuses file fields, which only a multipart form can have.
    pub(super) fn refuse_files(&mut self, is_file: impl Fn(&str) -> bool) {
        let Self { pairs, faults, .. } = self;
        pairs.retain(|(name, _)| {
            if !is_file(name) {
                return true;
            }
            let detail = format!("{name} is a file; send the form as multipart/form-data");
            faults.push(Fault::parameter(name, ErrorCode::InvalidValue, detail));
            false
        });
    }
}

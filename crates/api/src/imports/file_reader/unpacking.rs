//! A file that is itself packed, by its first bytes, in steps of bounded output. The steps and
//! their limits are those of request bodies.

use axum::body::Bytes;
use caseload_files::packing;
use caseload_model::error_code::ErrorCode;

use super::fault::FileFault;
use crate::http::form::{Unpackable, Unpacker};

/// Bytes that show whether a file is packed.
const MARK_BYTES: usize = 4;

/// The bytes of a file that wait to be read.
#[derive(Default)]
pub(super) struct Unpacking {
    unpacker: Option<Unpacker>,
    /// Whether the first bytes have shown if the file is packed.
    is_known: bool,
    waiting: Bytes,
}

impl Unpacking {
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.waiting = if self.waiting.is_empty() {
            Bytes::copy_from_slice(piece)
        } else {
            [&self.waiting[..], piece].concat().into()
        };
        if !self.is_known && self.waiting.len() >= MARK_BYTES {
            self.end();
        }
    }

    /// No more bytes arrive that show what the file is.
    pub(super) fn end(&mut self) {
        if !self.is_known {
            self.is_known = true;
            self.unpacker = packing(&self.waiting).map(Unpacker::new);
        }
    }

    pub(super) const fn has_more(&self) -> bool {
        self.is_known
            && match &self.unpacker {
                Some(unpacker) => unpacker.has_more() || !self.waiting.is_empty(),
                None => !self.waiting.is_empty(),
            }
    }

    /// The next unpacked bytes; `None` until more arrive.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, FileFault> {
        if !self.has_more() {
            return Ok(None);
        }
        match &mut self.unpacker {
            None => Ok(Some(std::mem::take(&mut self.waiting))),
            Some(unpacker) => Ok(Some(unpacker.step(&mut self.waiting).map_err(fault)?.into())),
        }
    }

    /// Fails if the file has ended early.
    pub(super) fn finish(&self) -> Result<(), FileFault> {
        self.unpacker.as_ref().map_or(Ok(()), |unpacker| unpacker.finish().map_err(fault))
    }
}

fn fault(why: Unpackable) -> FileFault {
    let (code, detail) = match why {
        Unpackable::Broken => (
            ErrorCode::InvalidPayload,
            "the file looks like gzip or zstd and cannot be unpacked: it is damaged or cut short, \
             or (zstd) it needs a window of more than 8 MiB",
        ),
        Unpackable::TooDense => (
            ErrorCode::TooLarge,
            "the file unpacks to more than 1000 times its size; send it unpacked, or in parts",
        ),
        Unpackable::TooManyMembers => {
            (ErrorCode::TooLarge, "the packed file has more than 1000 members; pack it as one")
        }
    };
    FileFault::new(code, detail.to_owned())
}

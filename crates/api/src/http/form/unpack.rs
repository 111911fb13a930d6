//! Unpacking of request bodies with `Content-Encoding: gzip` or `zstd`, in steps of bounded output.
//! A body that unpacks to very much more than was sent, or that consists of very many members, is
//! refused: both cost the server far more than the sender.

use async_compression::codecs::core::util::{PartialBuffer, WriteBuffer};
use async_compression::codecs::zstd::params::DParameter;
use async_compression::codecs::{DecodeV2, GzipDecoder, ZstdDecoder};
use axum::body::Bytes;
use caseload_files::Packing;
use caseload_model::error_code::ErrorCode;
use http::{HeaderMap, HeaderValue, header};

use crate::http::problem::Problem;

/// The accepted codings, for the `Accept-Encoding` of a refusal.
const CODINGS: &str = "gzip, zstd";
/// The largest window of a zstd body, as a power of two: the 8 MiB of RFC 9659.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// The most bytes that one step unpacks.
const STEP_BYTES: usize = 256 << 10;
/// The most bytes that a sent byte may unpack to, after the first unpacked bytes.
const RATIO_MAX: u64 = 1000;
const RATIO_FREE_BYTES: u64 = 1 << 20;
/// The most members of gzip, or frames of zstd, of a body.
const MEMBERS_MAX: u32 = 1000;

/// Why a body cannot be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unpackable {
    Broken,
    TooDense,
    TooManyMembers,
}

impl From<Unpackable> for Problem {
    fn from(why: Unpackable) -> Self {
        let (code, detail) = match why {
            Unpackable::Broken => (
                ErrorCode::InvalidRequest,
                "the body cannot be decompressed: it does not match its Content-Encoding, it ends \
                 early, or (zstd) it needs a window of more than 8 MiB"
                    .to_owned(),
            ),
            Unpackable::TooDense => (
                ErrorCode::TooLarge,
                format!(
                    "the body decompresses to more than {RATIO_MAX} times its size; send it \
                     uncompressed, or in several requests"
                ),
            ),
            Unpackable::TooManyMembers => (
                ErrorCode::TooLarge,
                format!(
                    "the compressed body has more than {MEMBERS_MAX} members; compress it as one"
                ),
            ),
        };
        Self::new(code, detail)
    }
}

/// A compressed body while it arrives.
pub(crate) struct Unpacker {
    codec: Codec,
    packed: u64,
    plain: u64,
    members: u32,
    in_member: bool,
    /// Whether the decoder may hold plain bytes that had no room.
    has_more: bool,
}

enum Codec {
    Gzip(GzipDecoder),
    Zstd(ZstdDecoder),
}

impl Unpacker {
    /// The unpacker of a body with these headers; none for a plain body.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
        let coding = codings.next().map(|value| value.as_bytes().trim_ascii().to_ascii_lowercase());
        if codings.next().is_some() {
            return Err(unsupported("several Content-Encodings"));
        }
        let packing = match coding.as_deref() {
            None | Some(b"" | b"identity") => return Ok(None),
            Some(b"gzip" | b"x-gzip") => Packing::Gzip,
            Some(b"zstd") => Packing::Zstd,
            Some(other) => {
                let shown: String = String::from_utf8_lossy(other).chars().take(100).collect();
                return Err(unsupported(&format!("the Content-Encoding {shown:?}")));
            }
        };
        Ok(Some(Self::new(packing)))
    }

    pub(crate) fn new(packing: Packing) -> Self {
        let codec = match packing {
            Packing::Gzip => Codec::Gzip(GzipDecoder::new()),
            Packing::Zstd => {
                let window = DParameter::window_log_max(ZSTD_WINDOW_LOG_MAX);
                Codec::Zstd(ZstdDecoder::new_with_params(&[window]))
            }
        };
        let (packed, plain, members) = (0, 0, 0);
        Self { codec, packed, plain, members, in_member: false, has_more: false }
    }

    /// The memory that the decoder and its steps need at most.
    pub(crate) const fn memory_bytes(&self) -> usize {
        let decoder = match self.codec {
            Codec::Gzip(_) => 128 << 10,
            Codec::Zstd(_) => (1 << ZSTD_WINDOW_LOG_MAX) + (512 << 10),
        };
        decoder + STEP_BYTES
    }

    /// Whether a step can go on without further input.
    pub(crate) const fn has_more(&self) -> bool {
        self.has_more
    }

    /// Unpacks the next bytes and takes them off `packed`.
    pub(crate) fn step(&mut self, packed: &mut Bytes) -> Result<Vec<u8>, Unpackable> {
        let mut out = vec![0; STEP_BYTES];
        let mut filled = 0;
        while filled < out.len() && (self.has_more || !packed.is_empty()) {
            if !self.in_member {
                self.begin_member()?;
            }
            let mut input = PartialBuffer::new(&packed[..]);
            let mut output = WriteBuffer::new_initialized(&mut out[filled..]);
            let ended = if packed.is_empty() {
                self.codec.drain(&mut input, &mut output)
            } else {
                self.codec.decode(&mut input, &mut output)
            };
            let ended = ended.map_err(|_| Unpackable::Broken)?;
            let (read, written) = (input.written_len(), output.written_len());
            self.has_more = !ended && output.has_no_spare_space();
            self.in_member = !ended;
            if read == 0 && written == 0 && !ended && !packed.is_empty() {
                return Err(Unpackable::Broken);
            }
            drop(packed.split_to(read));
            filled += written;
            self.packed += read as u64;
            self.plain += written as u64;
            if self.plain > RATIO_FREE_BYTES && self.plain / RATIO_MAX > self.packed {
                return Err(Unpackable::TooDense);
            }
        }
        out.truncate(filled);
        Ok(out)
    }

    /// Fails if the body has ended within a member, or before the first one.
    pub(crate) const fn finish(&self) -> Result<(), Unpackable> {
        if self.in_member || self.members == 0 { Err(Unpackable::Broken) } else { Ok(()) }
    }

    fn begin_member(&mut self) -> Result<(), Unpackable> {
        if self.members == MEMBERS_MAX {
            return Err(Unpackable::TooManyMembers);
        }
        if self.members > 0 {
            self.codec.reinit().map_err(|_| Unpackable::Broken)?;
        }
        self.members += 1;
        Ok(())
    }
}

impl Codec {
    fn reinit(&mut self) -> std::io::Result<()> {
        match self {
            Self::Gzip(codec) => codec.reinit(),
            Self::Zstd(codec) => codec.reinit(),
        }
    }

    fn decode(
        &mut self,
        input: &mut PartialBuffer<&[u8]>,
        output: &mut WriteBuffer<'_>,
    ) -> std::io::Result<bool> {
        match self {
            Self::Gzip(codec) => codec.decode(input, output),
            Self::Zstd(codec) => codec.decode(input, output),
        }
    }

    /// Unpacks the bytes that the decoder has read already; `none` is an empty input.
    fn drain(
        &mut self,
        none: &mut PartialBuffer<&[u8]>,
        output: &mut WriteBuffer<'_>,
    ) -> std::io::Result<bool> {
        match self {
            // Decoding nothing is an error here, and the member ends only after further input.
            Self::Gzip(codec) => codec.flush(output).map(|_| false),
            Self::Zstd(codec) => codec.decode(none, output),
        }
    }
}

fn unsupported(what: &str) -> Problem {
    let detail = format!("{what} is not supported; send the body uncompressed, as gzip or as zstd");
    Problem::new(ErrorCode::UnsupportedMediaType, detail)
        .header(header::ACCEPT_ENCODING, HeaderValue::from_static(CODINGS))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(plain).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    }

    fn zstd(plain: &[u8]) -> Vec<u8> {
        zstd::encode_all(plain, 3).expect("it is packed")
    }

    /// Unpacks a body that arrives in pieces. Returns the plain bytes and the number of steps.
    fn unpacked(
        coding: &'static str,
        body: &[u8],
        piece: usize,
    ) -> Result<(Vec<u8>, u64), Unpackable> {
        let headers =
            HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_static(coding))]);
        let mut unpacker = Unpacker::of(&headers).expect("it is known").expect("it is packed");
        let (mut plain, mut steps) = (Vec::new(), 0);
        for piece in body.chunks(piece) {
            let mut packed = Bytes::copy_from_slice(piece);
            while !packed.is_empty() || unpacker.has_more() {
                let step = unpacker.step(&mut packed)?;
                assert!(step.len() <= STEP_BYTES, "a step has a bound");
                plain.extend(step);
                steps += 1;
            }
        }
        unpacker.finish().map(|()| (plain, steps))
    }

    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            (state >> 33) as u8
        };
        (0..bytes).map(|_| next()).collect()
    }

    #[test]
    fn a_body_is_the_same_however_it_is_cut_and_packed() {
        // The largest block of zstd has 128 KiB.
        for plain in [noise(300_000), vec![b'x'; 900_000], noise(3000), Vec::new()] {
            let half = plain.len() / 2;
            for (coding, body) in [
                ("gzip", gzip(&plain)),
                ("zstd", zstd(&plain)),
                ("gzip", [gzip(&plain[..half]), gzip(&plain[half..])].concat()),
                ("zstd", [zstd(&plain[..half]), zstd(&plain[half..])].concat()),
            ] {
                let shortest = if body.len() < 10_000 { 1 } else { 29 };
                for piece in [shortest, 31, 65_536, usize::MAX] {
                    let found = unpacked(coding, &body, piece).map(|found| found.0);
                    assert!(found.is_ok_and(|found| found == plain), "{coding} by {piece}");
                }
                let cut = &body[..body.len() - 1];
                assert_eq!(unpacked(coding, cut, 1000), Err(Unpackable::Broken), "{coding}");
            }
        }
        assert_eq!(unpacked("gzip", b"no gzip at all", 3), Err(Unpackable::Broken));
    }

    #[test]
    fn a_thousand_members_are_enough() {
        for (coding, member) in [("gzip", gzip(b"")), ("zstd", zstd(b""))] {
            assert!(unpacked(coding, &member.repeat(1000), 64).is_ok(), "{coding}");
            let refused = unpacked(coding, &member.repeat(1001), 64);
            assert_eq!(refused, Err(Unpackable::TooManyMembers), "{coding}");
        }
    }

    #[test]
    fn a_body_unpacks_to_a_thousand_times_its_size_at_most() {
        let zeros = vec![b'0'; 8 << 20];
        for (coding, body) in [("gzip", gzip(&zeros)), ("zstd", zstd(&zeros))] {
            assert_eq!(unpacked(coding, &body, 4096), Err(Unpackable::TooDense), "{coding}");
            let first = &zeros[..1 << 20];
            let small = if coding == "gzip" { gzip(first) } else { zstd(first) };
            assert!(unpacked(coding, &small, 4096).is_ok(), "{coding}");
        }
    }
}

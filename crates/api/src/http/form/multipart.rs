//! An incremental decoder of `multipart/form-data` (RFC 7578). It takes the body in pieces cut at
//! any byte and holds no more of it than the head of one part, whose length has a limit. The heads
//! of parts are read by the parser that reads those of requests.

use std::borrow::Cow;

use caseload_model::encoded_word::text_of;
use caseload_model::error_code::ErrorCode;
use http::{HeaderMap, HeaderValue, header};
use memchr::memmem;
use percent_encoding::percent_decode;

use crate::http::problem::Problem;

/// The most bytes of the head of a part.
const PART_HEAD_BYTES_MAX: usize = 16 << 10;
/// The most headers of a part.
const PART_HEADERS_MAX: usize = 32;
/// The most parts of a body: more than the fields and the files that a form may have, which have
/// limits of their own.
const PARTS_MAX: u32 = 2000;
const LINE_END: &[u8] = b"\r\n";
const HEAD_END: &[u8] = b"\r\n\r\n";

/// Receives the parts of a body in their order.
pub(crate) trait PartSink {
    /// The next part begins.
    fn begin(&mut self, part: &PartHead);
    /// The next bytes of its content.
    fn data(&mut self, bytes: &[u8]);
    /// The part is complete.
    fn end(&mut self);
}

/// The head of a part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PartHead {
    pub(crate) name: String,
    pub(crate) file_name: Option<String>,
    pub(crate) content_type: Option<String>,
}

/// Why a body cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BrokenMultipart {
    Syntax,
    LongHead,
    ManyParts,
}

impl From<BrokenMultipart> for Problem {
    fn from(why: BrokenMultipart) -> Self {
        let (code, detail) = match why {
            BrokenMultipart::Syntax => (
                ErrorCode::InvalidRequest,
                "the body is not multipart/form-data with the boundary of its Content-Type, or it \
                 ended before it was complete"
                    .to_owned(),
            ),
            BrokenMultipart::LongHead => (
                ErrorCode::TooLarge,
                format!(
                    "the headers of a part of the form have more than {PART_HEAD_BYTES_MAX} bytes; \
                     send shorter names"
                ),
            ),
            BrokenMultipart::ManyParts => (
                ErrorCode::InvalidRequest,
                format!("the form has more than {PARTS_MAX} parts; send fewer in one request"),
            ),
        };
        Self::new(code, detail)
    }
}

#[derive(Debug)]
pub(crate) struct MultipartDecoder {
    /// The line that ends a part: a line end, two hyphens and the boundary.
    delimiter: Vec<u8>,
    state: State,
    /// Received bytes that cannot be read without those after them.
    held: Vec<u8>,
    parts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first delimiter.
    Preamble,
    AfterDelimiter,
    Head,
    Data,
    /// After the last delimiter.
    End,
}

impl MultipartDecoder {
    /// A decoder for the boundary of the `Content-Type`.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let given = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        let given = String::from_utf8_lossy(given.unwrap_or_default());
        let boundary = parameter(&given, "boundary").filter(|boundary| !boundary.is_empty());
        let Some(boundary) = boundary else {
            let detail = "the Content-Type multipart/form-data needs a boundary; HTTP clients add \
                          it when they build the form";
            return Err(Problem::new(ErrorCode::InvalidRequest, detail));
        };
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        Ok(Self { delimiter, state: State::Preamble, held: Vec::new(), parts: 0 })
    }

    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        sink: &mut impl PartSink,
    ) -> Result<(), BrokenMultipart> {
        if self.held.is_empty() {
            let read = self.read(bytes, sink)?;
            self.held.extend_from_slice(&bytes[read..]);
            return Ok(());
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let read = self.read(&all, sink)?;
        all.drain(..read);
        self.held = all;
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<(), BrokenMultipart> {
        if self.state == State::End { Ok(()) } else { Err(BrokenMultipart::Syntax) }
    }

    /// Reads as far as possible; returns how many bytes were read.
    fn read(&mut self, all: &[u8], sink: &mut impl PartSink) -> Result<usize, BrokenMultipart> {
        let mut at = 0;
        loop {
            let rest = &all[at..];
            let (read, goes_on) = match self.state {
                State::Preamble => self.preamble(rest),
                State::AfterDelimiter => self.after_delimiter(rest)?,
                State::Head => self.head(rest, sink)?,
                State::Data => self.data(rest, sink),
                State::End => (rest.len(), false),
            };
            at += read;
            if !goes_on {
                return Ok(at);
            }
        }
    }

    /// The first delimiter needs no line end before it.
    fn preamble(&mut self, rest: &[u8]) -> (usize, bool) {
        let first = &self.delimiter[LINE_END.len()..];
        let Some(found) = memmem::find(rest, first) else {
            return (rest.len().saturating_sub(first.len() - 1), false);
        };
        self.state = State::AfterDelimiter;
        (found + first.len(), true)
    }

    fn after_delimiter(&mut self, rest: &[u8]) -> Result<(usize, bool), BrokenMultipart> {
        let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match &rest[blank..] {
            [b'-', b'-', ..] if blank == 0 => {
                self.state = State::End;
                Ok((2, true))
            }
            [b'\r', b'\n', ..] => {
                self.parts += 1;
                if self.parts > PARTS_MAX {
                    return Err(BrokenMultipart::ManyParts);
                }
                self.state = State::Head;
                // The line end stays, because an empty head is nothing but two line ends.
                Ok((blank, true))
            }
            [] | [b'-' | b'\r'] => Ok((blank, false)),
            _ => Err(BrokenMultipart::Syntax),
        }
    }

    /// `rest` begins with the end of the delimiter's line.
    fn head(
        &mut self,
        rest: &[u8],
        sink: &mut impl PartSink,
    ) -> Result<(usize, bool), BrokenMultipart> {
        let looked_at = &rest[..rest.len().min(PART_HEAD_BYTES_MAX + HEAD_END.len())];
        let Some(end) = memmem::find(looked_at, HEAD_END) else {
            let is_long = rest.len() >= PART_HEAD_BYTES_MAX + HEAD_END.len();
            return if is_long { Err(BrokenMultipart::LongHead) } else { Ok((0, false)) };
        };
        let end = end + HEAD_END.len();
        sink.begin(&part_head(&rest[LINE_END.len()..end])?);
        self.state = State::Data;
        Ok((end, true))
    }

    fn data(&mut self, rest: &[u8], sink: &mut impl PartSink) -> (usize, bool) {
        let found = memmem::find(rest, &self.delimiter);
        let content = found.unwrap_or_else(|| open_end(rest, &self.delimiter));
        let read = content + found.map_or(0, |_| self.delimiter.len());
        let has_ended = found.is_some();
        if content > 0 {
            sink.data(&rest[..content]);
        }
        if has_ended {
            sink.end();
            self.state = State::AfterDelimiter;
        }
        (read, has_ended)
    }
}

/// The place from which on `bytes` may be the beginning of the delimiter.
fn open_end(bytes: &[u8], delimiter: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(delimiter.len() - 1);
    let mut starts = memchr::memchr_iter(b'\r', &bytes[from..]).map(|start| from + start);
    starts.find(|start| delimiter.starts_with(&bytes[*start..])).unwrap_or(bytes.len())
}

/// Reads the head of a part, with its last, empty line.
fn part_head(bytes: &[u8]) -> Result<PartHead, BrokenMultipart> {
    let mut headers = [httparse::EMPTY_HEADER; PART_HEADERS_MAX];
    let Ok(httparse::Status::Complete((_, headers))) = httparse::parse_headers(bytes, &mut headers)
    else {
        return Err(BrokenMultipart::Syntax);
    };
    let value = |name: &str| {
        let found = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| String::from_utf8_lossy(header.value))
    };
    let disposition = value("content-disposition").unwrap_or_default();
    Ok(PartHead {
        name: parameter(&disposition, "name").unwrap_or_default(),
        file_name: extended(&disposition).or_else(|| parameter(&disposition, "filename")),
        content_type: value("content-type").map(Cow::into_owned),
    })
}

/// A parameter of a header. A value without quotes may be percent-encoded, as old clients send it.
fn parameter(header: &str, name: &str) -> Option<String> {
    let value = raw_parameter(header, name)?;
    let Some(quoted) = value.strip_prefix('"') else {
        return Some(percent_decode(value.as_bytes()).decode_utf8_lossy().into_owned());
    };
    let (mut text, mut escaped) = (String::new(), false);
    for c in quoted.chars() {
        match c {
            // Only quotes are escaped by every client; a path of Windows has other backslashes.
            '"' if escaped => {
                text.pop();
                text.push('"');
            }
            '"' => break,
            _ => text.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    Some(text)
}

/// The name of a file in the form of RFC 8187: `filename*=UTF-8''…`. Clients that send it send
/// `filename` as well, with fewer characters, for servers that do not know this form.
fn extended(header: &str) -> Option<String> {
    let value = raw_parameter(header, "filename*")?;
    let (charset, rest) = value.trim_matches('"').split_once('\'')?;
    let (_, name) = rest.split_once('\'')?;
    let bytes: Vec<u8> = percent_decode(name.as_bytes()).collect();
    text_of(charset, &bytes)
}

/// The value of a parameter as it was sent, with its quotes.
fn raw_parameter<'h>(header: &'h str, name: &str) -> Option<&'h str> {
    let mut rest = header;
    while let Some(end) = end_of_part(rest) {
        rest = &rest[end + 1..];
        let part = &rest[..end_of_part(rest).unwrap_or(rest.len())];
        if let Some((given, value)) = part.split_once('=')
            && given.trim().eq_ignore_ascii_case(name)
        {
            return Some(value.trim());
        }
    }
    None
}

/// The place of the next semicolon outside of quotes.
fn end_of_part(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    text.bytes().position(|byte| {
        quoted ^= byte == b'"' && !escaped;
        escaped = byte == b'\\' && quoted && !escaped;
        byte == b';' && !quoted
    })
}

#[cfg(test)]
#[path = "multipart_tests.rs"]
mod tests;

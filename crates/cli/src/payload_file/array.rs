//! Cuts a file that is one JSON array into parts, each of them an array again. The bytes of an
//! element stay the same. Only the grammar is checked; the server decides about the elements.

use std::io::BufRead;

use caseload_model::json::Scanner;
use caseload_model::payload::ARRAY_DEPTH_MAX;

use super::part::{ENTRY_BYTES_MAX, Part, PartLimits, SplitError};

const NO_START: &str = "an opening bracket was expected";
const NO_COMMA: &str = "a comma or the closing bracket of the array was expected";
const NO_END: &str = "the array has ended, nothing may follow it";
const ENDS: &str = "the file ends within the array";

/// Cuts an array into parts.
pub(super) struct ArraySplitter<R> {
    reader: R,
    limits: PartLimits,
    state: State,
    /// An element that has been read and belongs to the next part.
    pending: Option<Vec<u8>>,
    line: u64,
    elements: u64,
}

/// The place in the grammar of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Opening,
    ElementOrEnd,
    Element,
    CommaOrEnd,
    End,
}

impl<R: BufRead> ArraySplitter<R> {
    pub(super) fn new(reader: R, limits: PartLimits) -> Self {
        Self { reader, limits, state: State::Opening, pending: None, line: 1, elements: 0 }
    }

    /// The next part; `None` at the end of the array.
    pub(super) fn next(&mut self) -> Result<Option<Part>, SplitError> {
        let before = self.elements - u64::from(self.pending.is_some());
        let mut part = Part { entries_before: before, lines_before: before, ..Part::default() };
        loop {
            let next = match self.pending.take() {
                Some(element) => Some(element),
                None => self.next_element()?,
            };
            let Some(element) = next else { break };
            let is_full = part.entries >= self.limits.entries as u64
                || part.entries > 0 && part.bytes.len() + element.len() > self.limits.bytes;
            if is_full {
                self.pending = Some(element);
                break;
            }
            part.bytes.extend_from_slice(if part.entries == 0 { b"[" } else { b",\n" });
            part.bytes.extend_from_slice(&element);
            part.entries += 1;
        }
        part.bytes.extend_from_slice(b"]\n");
        Ok((part.entries > 0).then_some(part))
    }

    /// The bytes of the next element; `None` after the end of the array.
    fn next_element(&mut self) -> Result<Option<Vec<u8>>, SplitError> {
        while let Some(byte) = self.peek_content()? {
            self.state = match (self.state, byte) {
                (State::Opening, b'[') => State::ElementOrEnd,
                (State::ElementOrEnd | State::CommaOrEnd, b']') => State::End,
                (State::CommaOrEnd, b',') => State::Element,
                (State::ElementOrEnd | State::Element, _) => {
                    self.elements += 1;
                    self.state = State::CommaOrEnd;
                    return self.element().map(Some);
                }
                (State::Opening, _) => return Err(self.broken(NO_START)),
                (State::CommaOrEnd, _) => return Err(self.broken(NO_COMMA)),
                (State::End, _) => return Err(self.broken(NO_END)),
            };
            self.reader.consume(1);
        }
        if self.state == State::End { Ok(None) } else { Err(self.broken(ENDS)) }
    }

    /// Reads one value.
    fn element(&mut self) -> Result<Vec<u8>, SplitError> {
        let mut scanner = Scanner::new(ARRAY_DEPTH_MAX - 1);
        let mut element = Vec::new();
        loop {
            let bytes = self.reader.fill_buf()?;
            if bytes.is_empty() {
                return Err(self.broken(scanner.finish().err().map_or(ENDS, |fault| fault.why)));
            }
            let end = match scanner.push(bytes) {
                Ok(end) => end,
                Err(fault) => return Err(self.broken(fault.why)),
            };
            let length = end.unwrap_or(bytes.len());
            element.extend_from_slice(&bytes[..length]);
            self.line += newlines(&bytes[..length]);
            self.reader.consume(length);
            if element.len() > ENTRY_BYTES_MAX {
                return Err(SplitError::ElementTooLong(self.elements));
            }
            if end.is_some() {
                return Ok(element);
            }
        }
    }

    /// Skips white space; `None` at the end of the file.
    fn peek_content(&mut self) -> Result<Option<u8>, SplitError> {
        loop {
            let bytes = self.reader.fill_buf()?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let found = bytes.get(blank).copied();
            self.line += newlines(&bytes[..blank]);
            self.reader.consume(blank);
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    const fn broken(&self, why: &'static str) -> SplitError {
        SplitError::BrokenArray { why, line: self.line, element: self.elements }
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.split(|byte| *byte == b'\n').count() as u64 - 1
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn parts(text: &str, entries: usize, piece: usize) -> Result<Vec<(String, u64)>, SplitError> {
        let reader = BufReader::with_capacity(piece, text.as_bytes());
        let mut splitter = ArraySplitter::new(reader, PartLimits { entries, bytes: 1000 });
        let mut parts = Vec::new();
        while let Some(part) = splitter.next()? {
            parts.push((String::from_utf8(part.bytes).unwrap(), part.lines_before));
        }
        Ok(parts)
    }

    #[test]
    fn an_array_is_cut_into_arrays_wherever_its_bytes_are_cut() {
        let text = " [ {\"a\": [1, 2]},\n \"x]\\\"\" , {\"b\":\n 3} ] \n";
        for piece in 1..text.len() {
            assert_eq!(
                parts(text, 2, piece).unwrap(),
                [
                    ("[{\"a\": [1, 2]},\n\"x]\\\"\"]\n".to_owned(), 0),
                    ("[{\"b\":\n 3}]\n".to_owned(), 2)
                ]
            );
        }
        assert_eq!(parts("[]", 2, 9).unwrap(), []);
        assert_eq!(parts("[{},{}]", 2, 9).unwrap().len(), 1);
    }

    #[test]
    fn a_broken_array_is_an_error_with_its_place() {
        for (text, said) in [
            ("[{}\n{}]", "a comma or the closing bracket of the array was expected at line 2"),
            ("[{},\n", "the file ends within the array at line 2, element 1"),
            ("[{}] x", "nothing may follow it at line 1"),
            ("[{},]", "a JSON value was expected at line 1, element 2"),
            ("[{\"a\"\n1}]", "a colon was expected after the key"),
        ] {
            let error = parts(text, 2, 100).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}

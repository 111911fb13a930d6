//! An incremental decoder of `application/x-www-form-urlencoded`. It takes the body in pieces cut
//! at any byte, so that the server never holds a large payload both encoded and decoded. A `%`
//! without two hexadecimal digits is an error: a guess could store other data than the caller sent.

use memchr::memchr3;

/// How many bytes of a field's name the decoder reads; no known name is longer.
const NAME_BYTES_MAX: usize = 256;

/// Receives the fields of a form in their order.
pub(crate) trait FieldSink {
    /// The next field begins.
    fn begin(&mut self, name: &str);
    /// The next bytes of its value.
    fn data(&mut self, bytes: &[u8]);
    /// The value is complete.
    fn end(&mut self);
}

/// A `%` without two hexadecimal digits, at this byte of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BrokenEscape(pub(crate) u64);

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    name: Vec<u8>,
    in_value: bool,
    escape: Escape,
    /// Bytes of the body before the next one.
    offset: u64,
    /// Decoded bytes of the value that the sink does not have yet.
    decoded: Vec<u8>,
}

/// The part of an escape that the decoder has seen.
#[derive(Debug, Default, Clone, Copy)]
enum Escape {
    #[default]
    None,
    Percent,
    High(u8),
}

impl Decoder {
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        sink: &mut impl FieldSink,
    ) -> Result<(), BrokenEscape> {
        while let Some((&first, rest)) = bytes.split_first() {
            let used = match self.escape {
                Escape::None if self.in_value => {
                    let run = memchr3(b'%', b'+', b'&', bytes).unwrap_or(bytes.len());
                    self.decoded.extend_from_slice(&bytes[..run]);
                    if run == 0 {
                        self.special(first, sink);
                    }
                    run.max(1)
                }
                Escape::None => {
                    self.special(first, sink);
                    1
                }
                Escape::Percent => {
                    self.escape = Escape::High(self.digit(first, 1)?);
                    1
                }
                Escape::High(high) => {
                    let low = self.digit(first, 2)?;
                    self.escape = Escape::None;
                    self.put(high << 4 | low);
                    1
                }
            };
            self.offset += used as u64;
            bytes = &rest[used - 1..];
        }
        self.flush(sink);
        Ok(())
    }

    pub(crate) fn finish(mut self, sink: &mut impl FieldSink) -> Result<(), BrokenEscape> {
        match self.escape {
            Escape::None => self.end_pair(sink),
            Escape::Percent => return Err(BrokenEscape(self.offset - 1)),
            Escape::High(_) => return Err(BrokenEscape(self.offset - 2)),
        }
        Ok(())
    }

    /// A byte outside of an escape that may be special.
    fn special(&mut self, byte: u8, sink: &mut impl FieldSink) {
        match byte {
            b'%' => self.escape = Escape::Percent,
            b'+' => self.put(b' '),
            b'&' => self.end_pair(sink),
            b'=' if !self.in_value => self.begin_value(sink),
            _ => self.put(byte),
        }
    }

    fn put(&mut self, byte: u8) {
        if self.in_value {
            self.decoded.push(byte);
        } else if self.name.len() < NAME_BYTES_MAX {
            self.name.push(byte);
        }
    }

    /// The value of a hexadecimal digit, which is the `n`th byte after its `%`.
    fn digit(&self, byte: u8, n: u64) -> Result<u8, BrokenEscape> {
        let digit = char::from(byte).to_digit(16).ok_or(BrokenEscape(self.offset - n))?;
        Ok(digit as u8)
    }

    fn begin_value(&mut self, sink: &mut impl FieldSink) {
        sink.begin(&String::from_utf8_lossy(&self.name));
        self.name.clear();
        self.in_value = true;
    }

    fn end_pair(&mut self, sink: &mut impl FieldSink) {
        if !self.in_value && self.name.is_empty() {
            return;
        }
        if !self.in_value {
            self.begin_value(sink);
        }
        self.flush(sink);
        sink.end();
        self.in_value = false;
    }

    fn flush(&mut self, sink: &mut impl FieldSink) {
        if !self.decoded.is_empty() {
            sink.data(&self.decoded);
            self.decoded.clear();
        }
    }
}

#[cfg(test)]
#[path = "urlencoded_tests.rs"]
mod tests;

//! Numbers of variable length and texts, as a packed batch has them. A reader trusts nothing:
//! it returns no more bytes than it has.

/// Bits of a number in one byte; the highest bit says that another byte follows.
const BITS: u32 = 7;

/// Why bytes are not a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a packed batch of changes cannot be read: {0}")]
pub struct BatchFault(pub(super) &'static str);

/// Appends a number, seven bits a byte, the lowest first.
pub(super) fn write(mut number: u64, out: &mut Vec<u8>) {
    while number >= 1 << BITS {
        out.push(number as u8 | 1 << BITS);
        number >>= BITS;
    }
    out.push(number as u8);
}

/// Appends a text with its length.
pub(super) fn write_text(text: &[u8], out: &mut Vec<u8>) {
    write(text.len() as u64, out);
    out.extend_from_slice(text);
}

/// A number as one without a sign: small numbers stay small.
pub(super) const fn unsigned(number: i64) -> u64 {
    (number << 1 ^ number >> (i64::BITS - 1)).cast_unsigned()
}

/// Reverses [`unsigned`].
pub(super) const fn signed(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// Reads packed bytes from the front.
pub(super) struct Reader<'b>(pub(super) &'b [u8]);

impl<'b> Reader<'b> {
    pub(super) fn number(&mut self) -> Result<u64, BatchFault> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(BITS as usize) {
            let (byte, rest) = self.0.split_first().ok_or(BatchFault("it ends early"))?;
            self.0 = rest;
            let bits = u64::from(byte & !(1 << BITS));
            if bits << shift >> shift != bits {
                return Err(BatchFault("a number is too great"));
            }
            number |= bits << shift;
            if byte >> BITS == 0 {
                return Ok(number);
            }
        }
        Err(BatchFault("a number is too long"))
    }

    /// A number up to `most`.
    pub(super) fn up_to(&mut self, most: usize) -> Result<usize, BatchFault> {
        match usize::try_from(self.number()?) {
            Ok(number) if number <= most => Ok(number),
            _ => Err(BatchFault("a number is beyond its limit")),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<&'b [u8], BatchFault> {
        let length = self.number()?;
        self.take(length)
    }

    /// So many bytes.
    pub(super) fn take(&mut self, length: u64) -> Result<&'b [u8], BatchFault> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(BatchFault("it ends early"))?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn text(&mut self) -> Result<String, BatchFault> {
        let text = str::from_utf8(self.bytes()?).map_err(|_| BatchFault("a text is not UTF-8"))?;
        Ok(text.to_owned())
    }
}

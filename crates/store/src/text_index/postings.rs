//! The issues of a bucket in their stored form: ascending numbers within a segment as gaps in a
//! Rice code. A gap is its high bits in unary (ones, then a zero) and its low bits as they are, the
//! lowest first; the first byte says how many bits are low. The end is filled up with ones.
//! Invariant: a decoded list is the encoded one, or decoding reports damage.

use crate::StoreError;

/// Issues of the largest segments.
pub(super) const SEGMENT_ROWS_MAX: usize = 8192;
/// No gap has more low bits.
const LOW_BITS_MAX: u32 = 13;
/// Bits that usually hold a gap.
const FILLED_USUAL: u32 = 32;

/// Encodes ascending numbers.
pub(super) fn encode(numbers: &[u16]) -> Vec<u8> {
    let span = numbers.last().map_or(0, |last| u32::from(*last) + 1);
    // Of gaps that are spread like those of random numbers, this is the shortest code.
    let mean = span / (numbers.len() as u32).max(1) * 7 / 10;
    let low_bits = mean.checked_ilog2().unwrap_or(0).min(LOW_BITS_MAX);
    let mut out = vec![low_bits as u8];
    let (mut buffer, mut filled) = (0_u64, 0_u32);
    let mut put = |value: u64, bits: u32| {
        buffer |= value << filled;
        filled += bits;
        while filled >= 8 {
            out.push(buffer as u8);
            buffer >>= 8;
            filled -= 8;
        }
    };
    let mut next = 0;
    for number in numbers {
        let gap = u32::from(*number) - next;
        next = u32::from(*number) + 1;
        let mut ones = gap >> low_bits;
        while ones >= 32 {
            put((1 << 32) - 1, 32);
            ones -= 32;
        }
        put((1 << ones) - 1, ones + 1);
        put(u64::from(gap & ((1 << low_bits) - 1)), low_bits);
    }
    // At most seven ones fill the last byte, and the others are cut off.
    if filled > 0 {
        let last = buffer as u8 | 0xff << filled;
        out.push(last);
    }
    out
}

/// Passes the numbers to `visit`, ascending. All are below `end`.
pub(super) fn decode(
    blob: &[u8],
    end: usize,
    mut visit: impl FnMut(u16),
) -> Result<(), StoreError> {
    let Some((low_bits, bytes)) = blob.split_first() else { return Err(damaged()) };
    let low_bits = u32::from(*low_bits);
    if low_bits > LOW_BITS_MAX {
        return Err(damaged());
    }
    let mask = (1 << low_bits) - 1;
    let mut bits = Bits { bytes, buffer: 0, filled: 0 };
    let mut next = 0;
    loop {
        if bits.filled < FILLED_USUAL {
            bits.fill();
        }
        let ones = bits.buffer.trailing_ones();
        let (ones, low) = if ones + 1 + low_bits <= bits.filled {
            let low = (bits.buffer >> (ones + 1)) as u32 & mask;
            bits.drop(ones + 1 + low_bits);
            (ones, low)
        } else {
            let Some(ones) = bits.unary() else { return Ok(()) };
            (ones, bits.take(low_bits).ok_or_else(damaged)?)
        };
        let number = next + ((ones as usize) << low_bits) + low as usize;
        if number >= end {
            return Err(damaged());
        }
        visit(number as u16);
        next = number + 1;
    }
}

fn damaged() -> StoreError {
    StoreError::Corrupt("a list of the text index cannot be read".to_owned())
}

/// Bits before the end of a list; below `filled`, `buffer` has the next ones.
struct Bits<'b> {
    bytes: &'b [u8],
    buffer: u64,
    filled: u32,
}

impl Bits<'_> {
    fn fill(&mut self) {
        if let Some(eight) = self.bytes.first_chunk() {
            // The surplus comes again with the next bytes, in the same place.
            self.buffer |= u64::from_le_bytes(*eight) << self.filled;
            let bytes = (u64::BITS - 1 - self.filled) / 8;
            self.filled += 8 * bytes;
            self.bytes = &self.bytes[bytes as usize..];
            return;
        }
        while self.filled < u64::BITS - 8
            && let Some((byte, rest)) = self.bytes.split_first()
        {
            self.buffer |= u64::from(*byte) << self.filled;
            self.filled += 8;
            self.bytes = rest;
        }
    }

    fn drop(&mut self, bits: u32) {
        self.buffer >>= bits;
        self.filled -= bits;
    }

    /// The ones before the next zero. None if there is no zero.
    fn unary(&mut self) -> Option<u32> {
        let mut ones = 0;
        loop {
            self.fill();
            let more = self.buffer.trailing_ones().min(self.filled);
            ones += more;
            if more < self.filled {
                self.drop(more + 1);
                return Some(ones);
            }
            if self.filled == 0 {
                return None;
            }
            self.drop(more);
        }
    }

    fn take(&mut self, bits: u32) -> Option<u32> {
        self.fill();
        if self.filled < bits {
            return None;
        }
        let value = self.buffer as u32 & ((1 << bits) - 1);
        self.drop(bits);
        Some(value)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(blob: &[u8], end: usize) -> Vec<u16> {
        let mut found = Vec::new();
        decode(blob, end, |number| found.push(number)).unwrap();
        found
    }

    #[test]
    fn a_list_that_is_cut_off_or_leaves_its_segment_is_reported_as_damage() {
        for blob in [&[][..], &[14, 0], &[13, 0], &[0, 0, 0]] {
            let read = decode(blob, 15, |_| {});
            assert!(matches!(read, Err(StoreError::Corrupt(_))), "{blob:?}");
        }
        assert_eq!(encode(&[0, 1, 2]).len(), 2, "a dense list takes a bit for each issue");
    }

    proptest! {
        #[test]
        fn numbers_are_read_as_they_were_written(
            numbers in proptest::collection::btree_set(0..8192_u16, 0..600),
            dense in 0..300_u16,
            from in 0..7000_u16,
        ) {
            let mut numbers = numbers;
            numbers.extend(from..from + dense);
            let numbers: Vec<u16> = numbers.into_iter().collect();
            prop_assert_eq!(decoded(&encode(&numbers), 8192), numbers);
        }
    }
}

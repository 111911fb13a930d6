//! The value of a field while it arrives. A long value is in pieces until it is complete. One piece
//! that grows would be copied again and again, and its smaller copies would add up to twice the
//! bytes of the value until the allocator returns them to the system. Invariant: a value needs
//! hardly more memory than it has bytes, and twice as much while its pieces are joined.

/// Bytes of a full piece.
const PIECE_BYTES: usize = 256 << 10;

/// A value that is arriving.
#[derive(Debug, Default)]
pub(super) struct ArrivingText {
    full: Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl ArrivingText {
    /// Adds the next bytes.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.last.len() == PIECE_BYTES {
                let next = Vec::with_capacity(PIECE_BYTES);
                self.full.push(std::mem::replace(&mut self.last, next));
            }
            let room = PIECE_BYTES - self.last.len();
            let (fitting, rest) = bytes.split_at(room.min(bytes.len()));
            self.last.extend_from_slice(fitting);
            bytes = rest;
        }
    }

    /// The whole value.
    pub(super) fn join(self) -> Vec<u8> {
        if self.full.is_empty() {
            return self.last;
        }
        let Self { mut full, last } = self;
        full.push(last);
        full.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_same_however_it_arrives_and_has_little_unused_memory() {
        let value: Vec<u8> = (0..3 * PIECE_BYTES + 7).map(|n| (n % 251) as u8).collect();
        for length in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES, value.len()] {
            for cut in [1 << 10, 100_000, PIECE_BYTES, usize::MAX] {
                let mut text = ArrivingText::default();
                for bytes in value[..length].chunks(cut) {
                    text.push(bytes);
                }
                let held: usize = text.full.iter().chain([&text.last]).map(Vec::capacity).sum();
                assert!(held <= length + 2 * PIECE_BYTES, "{held} bytes for {length}");
                let whole = text.join();
                assert_eq!(whole, value[..length]);
                assert!(whole.capacity() <= length + PIECE_BYTES);
            }
        }
    }
}

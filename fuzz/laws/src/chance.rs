//! Chance that can be repeated, and changes of an input made with it. No fuzzer: nothing here
//! looks at what an input reaches. It is enough for a short run that starts from inputs which a
//! fuzzer has found.

/// A sequence of numbers that depends on its seed alone.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed is made of `data`.
    pub fn of(data: &[u8]) -> Self {
        let mix = |hash: u64, byte: &u8| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(5)
        };
        Self(data.iter().fold(0xcbf2_9ce4_8422_2325, mix))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 where there is none.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % (end.max(1) as u64)) as usize
    }
}

/// `input` after one to four changes: bytes changed, taken out or repeated, words and parts of
/// `other` put in.
pub fn changed(chance: &mut Chance, input: &[u8], other: &[u8], words: &[&str]) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..=chance.below(4) {
        let at = chance.below(out.len() + 1);
        let end = (at + 1 + chance.below(12)).min(out.len());
        match chance.below(6) {
            0 if at < out.len() => out[at] = chance.next() as u8,
            1 if at < out.len() => out[at] ^= 1 << chance.below(8),
            2 if at < end => drop(out.drain(at..end)),
            3 if at < end => {
                let again = out[at..end].to_vec();
                drop(out.splice(end..end, again));
            }
            4 if !words.is_empty() => {
                let word = words[chance.below(words.len())];
                drop(out.splice(at..at, word.bytes()));
            }
            _ => {
                let from = chance.below(other.len());
                let to = (from + 1 + chance.below(64)).min(other.len());
                drop(out.splice(at..at, other[from..to].iter().copied()));
            }
        }
    }
    out
}

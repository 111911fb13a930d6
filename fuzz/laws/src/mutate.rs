//! Random changes of an input, for the short run in the tests. Nothing here measures coverage, as a
//! fuzzer does; it is enough because the short run starts from inputs that a fuzzer has found.

use caseload_testdata::SplitMix;

/// `input` after one to four changes: bytes changed, removed or repeated, `words` or a piece of
/// `other` inserted.
pub fn mutate(random: &mut SplitMix, input: &[u8], other: &[u8], words: &[&str]) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(out.len() + 1);
        let end = (at + 1 + random.below(12)).min(out.len());
        match random.below(6) {
            0 if at < out.len() => out[at] = random.next() as u8,
            1 if at < out.len() => out[at] ^= 1 << random.below(8),
            2 if at < end => drop(out.drain(at..end)),
            3 if at < end => {
                let again = out[at..end].to_vec();
                drop(out.splice(end..end, again));
            }
            4 if !words.is_empty() => {
                let word = words[random.below(words.len())];
                drop(out.splice(at..at, word.bytes()));
            }
            _ => {
                let from = random.below(other.len());
                let to = (from + 1 + random.below(64)).min(other.len());
                drop(out.splice(at..at, other[from..to].iter().copied()));
            }
        }
    }
    out
}

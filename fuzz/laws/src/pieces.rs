//! Ways to cut bytes into pieces. What arrives in pieces must mean the same however it is cut;
//! every law about something that arrives asks for that with these cuts.

use crate::Chance;

/// Longest input that is also cut into single bytes.
const SINGLE_BYTES_MAX: usize = 512;

/// The same bytes cut in several ways: in two, by chance, into single bytes where they are few.
/// The cuts depend on the bytes alone.
pub(crate) fn cuts(data: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut chance = Chance::of(data);
    let (head, tail) = data.split_at(chance.below(data.len() + 1));
    let mut cuts = vec![vec![head, tail], by_chance(&mut chance, data)];
    if data.len() <= SINGLE_BYTES_MAX {
        cuts.push(data.chunks(1).collect());
    }
    cuts
}

/// Pieces of uneven length, empty ones among them.
fn by_chance<'d>(chance: &mut Chance, mut data: &'d [u8]) -> Vec<&'d [u8]> {
    let longest = 1 + chance.below(64);
    let mut pieces = Vec::new();
    while !data.is_empty() {
        let (piece, rest) = data.split_at(chance.below(longest + 1).min(data.len()));
        pieces.push(piece);
        data = rest;
    }
    pieces
}

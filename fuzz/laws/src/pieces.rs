//! Ways to cut bytes into pieces. What arrives in pieces must mean the same however it is cut;
//! every law about something that arrives asks for that with these cuts.

use caseload_testdata::SplitMix;

/// Longest input that is also cut into single bytes.
const SINGLE_BYTES_MAX: usize = 512;

/// The same bytes cut in several ways: in two, at random places and, if they are few, into single
/// bytes. The cuts depend on the bytes alone.
pub(crate) fn cuts(data: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut random = SplitMix::from_bytes(data);
    let (head, tail) = data.split_at(random.below(data.len() + 1));
    let mut cuts = vec![vec![head, tail], random_pieces(&mut random, data)];
    if data.len() <= SINGLE_BYTES_MAX {
        cuts.push(data.chunks(1).collect());
    }
    cuts
}

/// Pieces of uneven length, empty ones among them.
fn random_pieces<'d>(random: &mut SplitMix, mut data: &'d [u8]) -> Vec<&'d [u8]> {
    let longest = 1 + random.below(64);
    let mut pieces = Vec::new();
    while !data.is_empty() {
        let (piece, rest) = data.split_at(random.below(longest + 1).min(data.len()));
        pieces.push(piece);
        data = rest;
    }
    pieces
}

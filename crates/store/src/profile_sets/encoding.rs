//! The stored form of a row of a set. Numbers are in groups of seven bits, the lowest first, with
//! the high bit set in all but the last. A row of ids has the distances between neighbours; a zero
//! is followed by a number of further ids without gaps. Two zeros are followed by a number of words
//! and the words, 64 bits for as many ids each, the lowest first; the first word has the next
//! possible id. Members of a dense set take less than a byte each in words. A row of an order has
//! moments, instants with ids: for each instant the distance from the one before, the distance of
//! its first id from the last id before, and its further ids as in a row of ids, after their
//! number. The first member is in the key of the row.

use caseload_model::profile_query::ProfileSetKind;

use crate::StoreError;

/// An instant and the id of a profile.
pub type Moment = (i64, i64);
/// Up to 64 ids: their number without the last six bits, and a bit for each.
pub type IdWord = (i64, u64);

/// Words that are encoded together, and how many ids they must have for that: fewer take about as
/// few bytes as distances.
const WORDS_AT_ONCE: i64 = 8;
const IDS_OF_WORDS_MIN: usize = 56;
/// Ids without gaps that are not encoded as words.
const RUN_MIN: usize = 64;
/// Shorter runs take as many bytes as distances.
const SHORT_RUN_MIN: usize = 3;

/// Whether the members of a set are moments and not ids.
pub const fn is_order(kind: ProfileSetKind) -> bool {
    matches!(kind, ProfileSetKind::Created | ProfileSetKind::Updated)
}

/// An instant as the value of a row: bytes that are in the order of instants.
pub fn instant_key(at: i64) -> Vec<u8> {
    (at.cast_unsigned() ^ 1 << 63).to_be_bytes().to_vec()
}

/// The instant of a value of [`instant_key`].
pub fn instant_of(value: &[u8]) -> Result<i64, StoreError> {
    let bytes = value.try_into().map_err(|_| damaged())?;
    Ok((u64::from_be_bytes(bytes) ^ 1 << 63).cast_signed())
}

pub(super) fn damaged() -> StoreError {
    StoreError::Corrupt("a set of profiles cannot be read".to_owned())
}

/// Encodes ascending ids without the first one.
pub(super) fn write_ids(ids: &[i64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(ids.len() + 2);
    write_further(ids, &mut out);
    out
}

/// Encodes the ids after the first one.
fn write_further(ids: &[i64], out: &mut Vec<u8>) {
    let mut at = 1;
    while at < ids.len() {
        let run = ids[at - 1..].windows(2).take_while(|pair| pair[1] - pair[0] == 1).count();
        if run < RUN_MIN {
            let in_words = write_words(ids, at, out);
            at += in_words;
            if in_words > 0 {
                continue;
            }
        }
        if run >= SHORT_RUN_MIN {
            out.push(0);
            write_number(run as u64, out);
            at += run;
        } else {
            write_number((ids[at] - ids[at - 1]).unsigned_abs(), out);
            at += 1;
        }
    }
}

/// Encodes the ids from `at` on as words, as long as these have many ids and gaps between them; how
/// many ids it encoded.
fn write_words(ids: &[i64], at: usize, out: &mut Vec<u8>) -> usize {
    let first = word_of(ids[at - 1].saturating_add(1));
    let (mut end, mut words) = (at, Vec::new());
    loop {
        let before = words.len();
        let next = first + before as i64;
        let is_among = |id: &i64| word_of(*id) < next + WORDS_AT_ONCE;
        // Most sets have few of the ids of a time: one look is enough for them.
        if !ids.get(end + IDS_OF_WORDS_MIN - 1).is_some_and(is_among) {
            break;
        }
        let of_words = ids[end..].partition_point(is_among);
        if of_words as i64 == WORDS_AT_ONCE << 6 {
            break;
        }
        words.resize(before + WORDS_AT_ONCE as usize, 0_u64);
        for id in &ids[end..end + of_words] {
            words[(word_of(*id) - first) as usize] |= bit_of(*id);
        }
        end += of_words;
    }
    while words.pop_if(|word| *word == 0).is_some() {}
    if !words.is_empty() {
        out.extend([0, 0]);
        write_number(words.len() as u64, out);
        for word in &words {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
    end - at
}

const fn word_of(id: i64) -> i64 {
    id >> 6
}

const fn bit_of(id: i64) -> u64 {
    1 << (id & 63)
}

/// A part of an encoded row.
enum Step<'b> {
    One(i64),
    /// All ids from the first to the second one.
    Run(i64, i64),
    /// The words from this one on.
    Words(i64, &'b [[u8; 8]]),
}

impl<'b> Step<'b> {
    /// Reads the step at `at` that follows the id `last`.
    fn read(bytes: &'b [u8], at: &mut usize, last: &mut i64) -> Result<Self, StoreError> {
        let begin = *last;
        let gap = read_number(bytes, at)?;
        if gap > 0 {
            *last = begin.checked_add_unsigned(gap).ok_or_else(damaged)?;
            return Ok(Self::One(*last));
        }
        let run = read_number(bytes, at)?;
        if run > u64::from(u32::MAX) {
            return Err(damaged());
        }
        if run > 0 {
            *last = begin.checked_add_unsigned(run).ok_or_else(damaged)?;
            return Ok(Self::Run(begin + 1, *last));
        }
        let count = usize::try_from(read_number(bytes, at)?).map_err(|_| damaged())?;
        let (words, _) = bytes[*at..].as_chunks::<8>();
        let words = words.get(..count).ok_or_else(damaged)?;
        *at += count * 8;
        let first = word_of(begin.checked_add(1).ok_or_else(damaged)?);
        let highest = words.last().map_or(0, |word| u64::from_le_bytes(*word));
        let has_earlier = words.first().is_some_and(|word| {
            word_of(begin) == first
                && u64::from_le_bytes(*word) & (u64::MAX >> (63 - (begin & 63))) > 0
        });
        if highest == 0 || has_earlier {
            return Err(damaged());
        }
        let word = first.checked_add(count as i64 - 1).filter(|word| word_of(i64::MAX) >= *word);
        *last = (word.ok_or_else(damaged)? << 6) | i64::from(highest.ilog2());
        Ok(Self::Words(first, words))
    }

    /// How many ids it has.
    fn count(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Run(first, last) => (last - first + 1) as usize,
            Self::Words(_, words) => {
                words.iter().map(|word| u64::from_le_bytes(*word).count_ones() as usize).sum()
            }
        }
    }

    fn each(&self, mut each: impl FnMut(i64)) {
        match self {
            Self::One(id) => each(*id),
            Self::Run(first, last) => (*first..=*last).for_each(each),
            Self::Words(first, words) => {
                for (word, bytes) in (*first..).zip(*words) {
                    let mut bits = u64::from_le_bytes(*bytes);
                    while bits > 0 {
                        each(word << 6 | i64::from(bits.trailing_zeros()));
                        bits &= bits - 1;
                    }
                }
            }
        }
    }

    /// Adds the ids as words.
    fn add_to(&self, into: &mut Vec<IdWord>) {
        match self {
            Self::One(id) => add_word(into, (word_of(*id), bit_of(*id))),
            Self::Run(first, last) => {
                for word in word_of(*first)..=word_of(*last) {
                    let from = if word == word_of(*first) { first & 63 } else { 0 };
                    let until = if word == word_of(*last) { last & 63 } else { 63 };
                    add_word(into, (word, (u64::MAX << from) & (u64::MAX >> (63 - until))));
                }
            }
            Self::Words(first, words) => {
                for (word, bytes) in (*first..).zip(*words) {
                    add_word(into, (word, u64::from_le_bytes(*bytes)));
                }
            }
        }
    }
}

/// Adds ids that are not before those that are there.
pub(crate) fn add_word(into: &mut Vec<IdWord>, (word, bits): IdWord) {
    match into.last_mut() {
        Some((last, there)) if *last == word => *there |= bits,
        _ => into.push((word, bits)),
    }
}

/// Decodes ids, whose first one is given, and adds them to `into`.
pub fn read_ids(first: i64, bytes: &[u8], into: &mut Vec<i64>) -> Result<(), StoreError> {
    into.push(first);
    let (mut last, mut at) = (first, 0);
    while at < bytes.len() {
        Step::read(bytes, &mut at, &mut last)?.each(|id| into.push(id));
    }
    Ok(())
}

/// The same as words.
pub fn read_words(first: i64, bytes: &[u8], into: &mut Vec<IdWord>) -> Result<(), StoreError> {
    add_word(into, (word_of(first), bit_of(first)));
    let (mut last, mut at) = (first, 0);
    while at < bytes.len() {
        Step::read(bytes, &mut at, &mut last)?.add_to(into);
    }
    Ok(())
}

/// Encodes ascending moments without the first one.
pub(super) fn write_moments(moments: &[Moment]) -> Vec<u8> {
    let mut out = Vec::with_capacity(moments.len() + 8);
    let mut before: Option<Moment> = None;
    let mut ids = Vec::new();
    for group in moments.chunk_by(|a, b| a.0 == b.0) {
        let (at, first) = group[0];
        if let Some((earlier, last)) = before {
            write_number(at.wrapping_sub(earlier).cast_unsigned(), &mut out);
            write_number(zigzag(first.wrapping_sub(last)), &mut out);
        }
        write_number(group.len() as u64 - 1, &mut out);
        ids.clear();
        ids.extend(group.iter().map(|moment| moment.1));
        write_further(&ids, &mut out);
        before = group.last().copied();
    }
    out
}

/// Decodes moments, whose first one is given, and adds them to `into`.
pub fn read_moments(first: Moment, bytes: &[u8], into: &mut Vec<Moment>) -> Result<(), StoreError> {
    let ((mut instant, mut last), mut at) = (first, 0);
    loop {
        into.push((instant, last));
        let mut left = read_number(bytes, &mut at)? as usize;
        while left > 0 {
            let step = Step::read(bytes, &mut at, &mut last)?;
            left = left.checked_sub(step.count()).ok_or_else(damaged)?;
            step.each(|id| into.push((instant, id)));
        }
        if at == bytes.len() {
            return Ok(());
        }
        let gap = read_number(bytes, &mut at)?;
        instant = instant.checked_add_unsigned(gap).filter(|_| gap > 0).ok_or_else(damaged)?;
        let step = read_number(bytes, &mut at)?;
        last = last.wrapping_add(unzigzag(step));
    }
}

const fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

const fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

fn write_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read_number(bytes: &[u8], at: &mut usize) -> Result<u64, StoreError> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = *bytes.get(*at).ok_or_else(damaged)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
        shift += 7;
        if shift > 63 {
            return Err(damaged());
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbours_without_gaps_take_three_bytes() {
        let ids: Vec<i64> = (1_700_000_000_000_000..1_700_000_000_004_000).collect();
        assert_eq!(write_ids(&ids).len(), 3);
        let moments: Vec<Moment> = ids.iter().map(|id| (5, *id)).collect();
        assert_eq!(write_moments(&moments).len(), 5);
    }

    #[test]
    fn bytes_that_are_not_a_row_are_reported_as_damage() {
        let words = |count, words: &[u64]| {
            let bytes = words.iter().flat_map(|word| word.to_le_bytes());
            [0, 0, count].into_iter().chain(bytes).collect::<Vec<u8>>()
        };
        assert!(read_ids(1, &words(1, &[4]), &mut Vec::new()).is_ok());
        for bytes in [
            &[0][..],
            &[0, 0],
            &[0, 0, 0],
            &[0x80],
            &[0xff; 11],
            &[0, 0xff, 0xff, 0xff, 0xff, 0x7f],
            &words(2, &[4]),
            &words(1, &[6]),
            &words(2, &[4, 0]),
        ] {
            assert!(read_ids(1, bytes, &mut Vec::new()).is_err(), "{bytes:?}");
            assert!(read_words(1, bytes, &mut Vec::new()).is_err(), "{bytes:?}");
        }
        assert!(read_ids(i64::MAX, &words(1, &[1]), &mut Vec::new()).is_err());
        for bytes in [&[][..], &[1], &[1, 0, 2], &[0, 0, 2, 0], &[0, 1]] {
            assert!(read_moments((1, 1), bytes, &mut Vec::new()).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn members_of_dense_sets_take_less_than_a_byte_each() {
        let ids: Vec<i64> = (0..9_000).filter(|id| (id * 7 + id / 5) % 3 == 0).collect();
        assert!(write_ids(&ids).len() < ids.len() / 2, "{}", write_ids(&ids).len());
        let sparse: Vec<i64> = (0..9_000).step_by(17).collect();
        assert_eq!(write_ids(&sparse).len(), sparse.len() - 1);
    }

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_written(
            first in 0..1i64 << 53,
            gaps in prop_oneof![
                proptest::collection::vec(prop_oneof![3 => Just(1i64), 1 => 1..1i64 << 40], 0..90),
                proptest::collection::vec(1..5i64, 100..900),
                proptest::collection::vec(prop_oneof![300 => 1..4i64, 1 => 1..1i64 << 40], 0..900),
            ],
            instants in prop_oneof![
                proptest::collection::vec(0..3i64, 901),
                proptest::collection::vec(prop_oneof![300 => Just(0i64), 1 => Just(1)], 901),
            ],
        ) {
            let mut ids = vec![first];
            for gap in &gaps {
                ids.push(ids.last().unwrap() + gap);
            }
            let mut read = Vec::new();
            read_ids(first, &write_ids(&ids), &mut read).unwrap();
            prop_assert_eq!(&read, &ids);
            let (mut words, mut expected) = (Vec::new(), Vec::new());
            read_words(first, &write_ids(&ids), &mut words).unwrap();
            for id in &ids {
                add_word(&mut expected, (word_of(*id), bit_of(*id)));
            }
            words.retain(|word| word.1 > 0);
            prop_assert_eq!(words, expected);
            let mut at = -1;
            let mut moments = Vec::new();
            for (n, (id, step)) in ids.iter().zip(&instants).enumerate() {
                at += step;
                // Later instants may have smaller ids.
                moments.push((at, if n % 3 == 0 { ids[0] - *id } else { *id }));
            }
            moments.sort_unstable();
            moments.dedup();
            let mut read = Vec::new();
            read_moments(moments[0], &write_moments(&moments), &mut read).unwrap();
            prop_assert_eq!(read, moments);
        }

        #[test]
        fn values_of_instants_are_in_their_order(a: i64, b: i64) {
            prop_assert_eq!(instant_key(a).cmp(&instant_key(b)), a.cmp(&b));
            prop_assert_eq!(instant_of(&instant_key(a)).unwrap(), a);
        }
    }
}

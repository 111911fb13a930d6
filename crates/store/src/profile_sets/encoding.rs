//! The stored form of a row of a set. Numbers are in groups of seven bits, the lowest first, with
//! the high bit set in all but the last. A row of ids has the distances between neighbours; a zero
//! is followed by a number of further ids without gaps. A row of an order has moments, instants
//! with ids: for each instant the distance from the one before, the distance of its first id from
//! the last id before, and its further ids as in a row of ids, after their number. The first member
//! is in the key of the row.

use caseload_model::profile_query::ProfileSetKind;

use crate::StoreError;

/// An instant and the id of a profile.
pub type Moment = (i64, i64);

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

fn write_further(ids: &[i64], out: &mut Vec<u8>) {
    let mut at = 1;
    while at < ids.len() {
        let gap = ids[at] - ids[at - 1];
        let run = ids[at - 1..].windows(2).take_while(|pair| pair[1] - pair[0] == 1).count();
        // A short run is as short without its length.
        if run > 2 {
            out.push(0);
            write_number(run as u64, out);
            at += run;
        } else {
            write_number(gap.unsigned_abs(), out);
            at += 1;
        }
    }
}

/// Decodes ids, whose first one is given, and adds them to `into`.
pub fn read_ids(first: i64, bytes: &[u8], into: &mut Vec<i64>) -> Result<(), StoreError> {
    into.push(first);
    let (mut last, mut at) = (first, 0);
    while at < bytes.len() {
        read_step(bytes, &mut at, &mut last, usize::MAX, |id| into.push(id))?;
    }
    Ok(())
}

/// Reads one id, or a run of at most `most`; how many it was.
fn read_step(
    bytes: &[u8],
    at: &mut usize,
    last: &mut i64,
    most: usize,
    mut each: impl FnMut(i64),
) -> Result<usize, StoreError> {
    let gap = read_number(bytes, at)?;
    if gap > 0 {
        *last = last.checked_add_unsigned(gap).ok_or_else(damaged)?;
        each(*last);
        return Ok(1);
    }
    let run = read_number(bytes, at)?;
    if run == 0 || run > most as u64 || run > u64::from(u32::MAX) {
        return Err(damaged());
    }
    let end = last.checked_add_unsigned(run).ok_or_else(damaged)?;
    (*last + 1..=end).for_each(each);
    *last = end;
    Ok(run as usize)
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
            let each = |id| into.push((instant, id));
            left -= read_step(bytes, &mut at, &mut last, left, each)?;
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
        for bytes in [&[0][..], &[0, 0], &[0x80], &[0xff; 11], &[0, 0xff, 0xff, 0xff, 0xff, 0x7f]] {
            assert!(read_ids(1, bytes, &mut Vec::new()).is_err(), "{bytes:?}");
        }
        for bytes in [&[][..], &[1], &[1, 0, 2], &[0, 0, 2, 0], &[0, 1]] {
            assert!(read_moments((1, 1), bytes, &mut Vec::new()).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_written(
            first in 0..1i64 << 53,
            gaps in proptest::collection::vec(
                prop_oneof![3 => Just(1i64), 1 => 1..1i64 << 40],
                0..90,
            ),
            instants in proptest::collection::vec(0..3i64, 91),
        ) {
            let mut ids = vec![first];
            for gap in &gaps {
                ids.push(ids.last().unwrap() + gap);
            }
            let mut read = Vec::new();
            read_ids(first, &write_ids(&ids), &mut read).unwrap();
            prop_assert_eq!(&read, &ids);
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

//! Ranges of the numbers of a custom field, as ranges of terms. A wide range is a few wide spans,
//! with narrower ones towards its bound, and single numbers next to it. Invariant: the parts of a
//! range hold exactly its numbers.

use super::number_spans::{SPAN_BITS, first_bits, span_term, split};
use super::terms::TermKind;

/// Terms of one kind, from `from` on and before `until`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermRange {
    pub kind: TermKind,
    pub from: Vec<u8>,
    pub until: Vec<u8>,
}

/// The terms of all numbers of the field that are greater than the one with this term.
pub fn numbers_above(term: &[u8]) -> Vec<TermRange> {
    let (field, sortable) = split(term);
    let mut begin = u64::from(first_bits(sortable)) + 1;
    let next = [term, &[0]].concat();
    let mut parts = vec![numbers(next, bound(field, begin))];
    let mut coarser = SPAN_BITS.iter().rev().copied().peekable();
    while let Some(bits) = coarser.next() {
        let end = match coarser.peek() {
            Some(coarse) => begin.next_multiple_of(1 << (bits - coarse)),
            None => 1 << bits,
        };
        parts.push(spans(field, bits, begin, end));
        begin = coarser.peek().map_or(end, |coarse| end >> (bits - coarse));
    }
    parts
}

/// The terms of all numbers of the field that are smaller than the one with this term.
pub fn numbers_below(term: &[u8]) -> Vec<TermRange> {
    let (field, sortable) = split(term);
    let mut end = u64::from(first_bits(sortable));
    let mut parts = vec![numbers(bound(field, end), term.to_vec())];
    let mut coarser = SPAN_BITS.iter().rev().copied().peekable();
    while let Some(bits) = coarser.next() {
        let begin = coarser.peek().map_or(0, |coarse| end >> (bits - coarse) << (bits - coarse));
        parts.push(spans(field, bits, begin, end));
        end = coarser.peek().map_or(begin, |coarse| begin >> (bits - coarse));
    }
    parts
}

/// The first term of the field's numbers whose first bits are these or more.
fn bound(field: &[u8], first: u64) -> Vec<u8> {
    let Ok(first) = u32::try_from(first) else {
        // No number begins with a byte that is as high.
        return [field, &[0xff; 5]].concat();
    };
    let first = first.to_be_bytes();
    // A shorter number with the same bits sorts before them.
    let length = first.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    [field, &first[..length]].concat()
}

const fn numbers(from: Vec<u8>, until: Vec<u8>) -> TermRange {
    TermRange { kind: TermKind::FieldNumber, from, until }
}

fn spans(field: &[u8], bits: u32, begin: u64, end: u64) -> TermRange {
    let (from, until) = (span_term(field, bits, begin), span_term(field, bits, end));
    TermRange { kind: TermKind::NumberSpan, from, until }
}

#[cfg(test)]
mod tests {
    use super::super::custom_field::FieldType;
    use super::super::number_spans::visit_number_spans;
    use super::super::terms::{field_term, number_term};
    use super::*;
    use crate::decimal::Decimal;
    use proptest::prelude::*;

    /// Numbers of all sizes, near to each other and far away.
    fn number() -> impl Strategy<Value = String> {
        let usual = prop_oneof![-2000..2000_i64, 1_500_000_000_000..1_700_000_000_000_i64];
        prop_oneof![
            usual.prop_map(|number| number.to_string()),
            (-99_999..99_999_i64, -3..140_i32).prop_map(|(n, e)| format!("{n}e{e}")),
            (-9..9_i64, -400..400_i32).prop_map(|(n, e)| format!("{n}e{e}")),
            "-?[0-9]\\.[0-9]{1,9}",
        ]
    }

    /// The terms of a number, as an issue has them.
    fn terms(term: &[u8]) -> Vec<(TermKind, Vec<u8>)> {
        let mut terms = vec![(TermKind::FieldNumber, term.to_vec())];
        visit_number_spans(term, |span| terms.push((TermKind::NumberSpan, span.to_vec())));
        terms
    }

    fn has(parts: &[TermRange], terms: &[(TermKind, Vec<u8>)]) -> bool {
        parts.iter().any(|part| {
            let mut terms = terms.iter();
            terms.any(|(kind, term)| *kind == part.kind && part.from <= *term && *term < part.until)
        })
    }

    proptest! {
        #[test]
        fn the_parts_of_a_range_hold_exactly_its_numbers(
            bound in number(), others in proptest::collection::vec(number(), 1..20),
        ) {
            let (kind, key) = (FieldType::Number, "seats");
            let parse = |text: &str| Decimal::parse(text).ok_or(TestCaseError::reject("no number"));
            let parsed = parse(&bound)?;
            let term = number_term(kind, key, &parsed);
            let (above, below) = (numbers_above(&term), numbers_below(&term));
            let elsewhere = number_term(kind, "seatt", &parsed);
            for (parts, is_above) in [(&above, true), (&below, false)] {
                prop_assert!(!has(parts, &terms(&term)), "the bound itself");
                prop_assert!(!has(parts, &terms(&elsewhere)), "another field");
                for other in &others {
                    let other = parse(other)?;
                    let expected = if is_above { other > parsed } else { other < parsed };
                    let found = has(parts, &terms(&number_term(kind, key, &other)));
                    prop_assert_eq!(found, expected, "{:?} {}", &other, is_above);
                }
            }
            prop_assert!(above.iter().all(|part| part.from.starts_with(&field_term(kind, key))));
        }
    }
}

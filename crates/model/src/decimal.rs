//! Decimal numbers of any length, compared by their digits. Filters, limits and stored numbers are
//! compared here and never as floats, which would make neighbours equal or round a number into or
//! out of a range.

use std::cmp::Ordering;

/// Exponents beyond this count as this; no number of allowed length comes near it otherwise.
const EXPONENT_MAX: i64 = 1 << 60;

/// The first byte of zero in sortable form; negative numbers come before it, positive ones after.
const SORTABLE_ZERO: u8 = 0x80;

/// A decimal number: `0.DIGITS` times ten to the `exponent`.
// Cursors hold a digest of a query's `Debug` form: other names here would void those in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: Vec<u8>,
    exponent: i64,
}

/// A decimal number that borrows its text, so that comparing it allocates nothing.
struct DecimalText<'n> {
    negative: bool,
    /// Digits and perhaps a point, without zeros at either end; without digits for zero.
    mantissa: &'n [u8],
    exponent: i64,
}

impl<'n> DecimalText<'n> {
    fn parse(text: &'n str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) if is_digits(fraction) => (whole, fraction),
            Some(_) => return None,
            None => (mantissa, ""),
        };
        if !is_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) {
            return None;
        }
        let digits = mantissa.bytes().filter(|b| *b != b'.');
        let zeros = digits.take_while(|digit| *digit == b'0').count();
        if zeros == whole.len() + fraction.len() {
            return Some(Self { negative: false, mantissa: &[], exponent: 0 });
        }
        Some(Self {
            negative,
            mantissa: mantissa.trim_matches(['0', '.']).as_bytes(),
            exponent: exponent + whole.len() as i64 - zeros as i64,
        })
    }

    fn digits(&self) -> impl Iterator<Item = u8> + 'n {
        self.mantissa.iter().copied().filter(|b| *b != b'.')
    }

    fn compare(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.mantissa.is_empty(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| {
            let size = self.exponent.cmp(&other.exponent);
            let size = size.then_with(|| self.digits().cmp(other.digits()));
            if self.negative { size.reverse() } else { size }
        })
    }
}

/// Whether `number` is at least 0 and at most `max`. Both are JSON numbers.
pub(crate) fn is_within(number: &str, max: &str) -> bool {
    let (number, max) = (DecimalText::parse(number), DecimalText::parse(max));
    matches!((number, max), (Some(number), Some(max))
        if !number.negative && number.compare(&max).is_le())
}

/// Whether two JSON numbers have the same value.
pub(crate) fn are_equal(a: &str, b: &str) -> bool {
    let (a, b) = (DecimalText::parse(a), DecimalText::parse(b));
    matches!((a, b), (Some(a), Some(b)) if a.compare(&b).is_eq())
}

/// Whether a JSON number is written as an integer: perhaps a minus sign, then digits alone.
pub(crate) fn is_integer(number: &str) -> bool {
    is_digits(number.strip_prefix('-').unwrap_or(number))
}

impl Decimal {
    /// Reads a number in the grammar of JSON, such as `-0.5`, `12` or `1e3`. A plus sign in front,
    /// superfluous zeros and blanks are refused.
    pub fn parse(text: &str) -> Option<Self> {
        let number = DecimalText::parse(text)?;
        let digits = number.digits().collect();
        Some(Self { negative: number.negative, digits, exponent: number.exponent })
    }

    fn as_text(&self) -> DecimalText<'_> {
        DecimalText { negative: self.negative, mantissa: &self.digits, exponent: self.exponent }
    }

    /// Appends the number as bytes that sort as the numbers do. Equal numbers have equal bytes.
    pub fn write_sortable(&self, out: &mut Vec<u8>) {
        if self.digits.is_empty() {
            out.push(SORTABLE_ZERO);
            return;
        }
        let start = out.len() + 1;
        out.push(if self.negative { SORTABLE_ZERO - 1 } else { SORTABLE_ZERO + 1 });
        // One byte for common exponents; 0 and 255 mark those that follow in eight bytes.
        if let Ok(near @ 1..=254) = u8::try_from(self.exponent + 128) {
            out.push(near);
        } else {
            out.push(if self.exponent > 0 { 255 } else { 0 });
            out.extend_from_slice(&(self.exponent.cast_unsigned() ^ 1 << 63).to_be_bytes());
        }
        // Two digits a byte, each plus one, so that the end sorts before every digit.
        for pair in self.digits.chunks(2) {
            let digit = |n: usize| pair.get(n).map_or(0, |digit| digit - b'0' + 1);
            out.push(digit(0) << 4 | digit(1));
        }
        if self.negative {
            // A longer negative number is the smaller one, so its end must sort last.
            out.push(0);
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !is_digits(digits) {
        return None;
    }
    let size = digits.parse::<i64>().unwrap_or(EXPONENT_MAX).min(EXPONENT_MAX);
    Some(if text.starts_with('-') { -size } else { size })
}

impl From<u8> for Decimal {
    fn from(number: u8) -> Self {
        let text = number.to_string();
        let digits = text.trim_end_matches('0');
        let exponent = if digits.is_empty() { 0 } else { text.len() as i64 };
        Self { negative: false, digits: digits.as_bytes().to_vec(), exponent }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_text().compare(&other.as_text())
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sortable(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        Decimal::parse(text).unwrap().write_sortable(&mut out);
        out
    }

    #[test]
    fn numbers_compare_by_value_however_they_are_written() {
        let ascending = [
            "-1e400",
            "-123",
            "-12.5",
            "-12",
            "-1e-126",
            "-1e-127",
            "-1e-129",
            "-1e-400",
            "0",
            "1e-400",
            "1e-129",
            "1e-128",
            "1e-127",
            "0.1",
            "0.10000000000000000001",
            "3",
            "3.0000000000000000000000001",
            "9007199254740992",
            "9007199254740993",
            "1e126",
            "1e127",
            "1e400",
        ];
        for (n, a) in ascending.iter().enumerate() {
            for (m, b) in ascending.iter().enumerate() {
                assert_eq!(Decimal::parse(a).cmp(&Decimal::parse(b)), n.cmp(&m), "{a} {b}");
                assert_eq!(sortable(a).cmp(&sortable(b)), n.cmp(&m), "{a} {b}");
            }
        }
        for (a, b) in
            [("3", "3.0"), ("30", "3e1"), ("0.03", "3E-2"), ("0", "-0.0e7"), ("1", "1e+0")]
        {
            assert_eq!(Decimal::parse(a), Decimal::parse(b), "{a} {b}");
            assert_eq!(sortable(a), sortable(b), "{a} {b}");
        }
        assert_eq!(Some(Decimal::from(120)), Decimal::parse("120"));
        assert_eq!(Some(Decimal::from(0)), Decimal::parse("0"));
    }

    #[test]
    fn texts_that_are_not_numbers_are_rejected() {
        for text in [
            "", "-", "+3", " 3", "3 ", "3x", "x", "03", "3.", ".3", "3.x", "3e", "3e+", "3e1.0",
            "1_000", "٣", "0x3", "NaN", "1e1e1", "--1", "3.-1",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_range_holds_numbers_by_value_however_they_are_written() {
        for inside in [
            "0",
            "-0",
            "-0.00e5",
            "0e999999999999999999999",
            "150",
            "150.000",
            "1.5e2",
            "1500e-1",
            "15E+1",
            "0.00015e6",
            "149.9999999999999999999999999",
            "1e-99999999999999999999",
            "7",
            "99",
            "3.5",
        ] {
            assert!(is_within(inside, "150"), "{inside}");
        }
        for outside in [
            "-1",
            "-1e-400",
            "151",
            "150.00000000000000000000000001",
            "1.5000001e2",
            "1e3",
            "1e99999999999999999999",
            "1000",
            "200",
            "0.00016e6",
        ] {
            assert!(!is_within(outside, "150"), "{outside}");
        }
    }

    #[test]
    fn an_integer_is_written_with_a_sign_and_digits_alone() {
        for (number, integer) in [("0", true), ("-12", true), ("1.0", false), ("1e3", false)] {
            assert_eq!(is_integer(number), integer, "{number}");
        }
    }

    proptest! {
        #[test]
        fn fixed_point_numbers_compare_as_their_integers(
            a in -1_000_000i64..1_000_000, b in -1_000_000i64..1_000_000,
        ) {
            let text = |n: i64| {
                let sign = if n < 0 { "-" } else { "" };
                format!("{sign}{}.{:03}", n.abs() / 1000, n.abs() % 1000)
            };
            let (x, y) = (Decimal::parse(&text(a)), Decimal::parse(&text(b)));
            prop_assert!(x.is_some());
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(y, Decimal::parse(&format!("{b}e-3")));
            prop_assert_eq!(sortable(&text(a)).cmp(&sortable(&text(b))), a.cmp(&b));
        }
    }
}

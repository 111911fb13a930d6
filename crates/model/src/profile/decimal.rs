//! Exact comparison of JSON numbers. A number is its digits; no float is involved, so neither a
//! long fraction nor a huge exponent is rounded into or out of a range. Only what limits need is
//! here: whether a number lies from zero to a bound.

/// Whether the JSON number `number` is at least 0 and at most `max`, itself digits without a
/// leading zero.
pub(super) fn within(number: &str, max: &str) -> bool {
    let (negative, digits) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number),
    };
    let number = Decimal::of(digits);
    let zero = number.significant().next().is_none();
    zero || (!negative && !number.exceeds(&Decimal::of(max)))
}

/// A JSON number that is written as an integer: a sign and digits, nothing else.
pub(super) fn is_integer(number: &str) -> bool {
    number.strip_prefix('-').unwrap_or(number).bytes().all(|b| b.is_ascii_digit())
}

/// An unsigned number as 0.d1d2d3… times ten to the power of `magnitude`, d1 not zero.
struct Decimal<'n> {
    mantissa: &'n str,
    magnitude: i64,
}

impl<'n> Decimal<'n> {
    fn of(number: &'n str) -> Self {
        let (mantissa, exponent) = match number.find(['e', 'E']) {
            Some(at) => (&number[..at], &number[at + 1..]),
            None => (number, "0"),
        };
        let whole = mantissa.find('.').unwrap_or(mantissa.len());
        let zeros = mantissa.bytes().filter(|b| *b != b'.').take_while(|b| *b == b'0').count();
        let magnitude = (whole as i64 - zeros as i64).saturating_add(exponent_of(exponent));
        Self { mantissa, magnitude }
    }

    /// The digits from the first one that is not zero on.
    fn significant(&self) -> impl Iterator<Item = u8> + 'n {
        self.mantissa.bytes().filter(|b| *b != b'.').skip_while(|b| *b == b'0')
    }

    fn exceeds(&self, max: &Self) -> bool {
        if self.magnitude != max.magnitude {
            return self.magnitude > max.magnitude;
        }
        let (mut digits, mut bounds) = (self.significant(), max.significant());
        loop {
            match (digits.next(), bounds.next()) {
                (None, _) => return false,
                (Some(digit), bound) => {
                    let bound = bound.unwrap_or(b'0');
                    if digit != bound {
                        return digit > bound;
                    }
                }
            }
        }
    }
}

/// The exponent, held far inside the range of its type: beyond that only its sign matters.
fn exponent_of(text: &str) -> i64 {
    const FAR: i64 = i64::MAX / 4;
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = digits.bytes().fold(0i64, |sum, b| {
        sum.saturating_mul(10).saturating_add(i64::from(b.wrapping_sub(b'0'))).min(FAR)
    });
    sign * value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_value_whatever_their_spelling() {
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
            assert!(within(inside, "150"), "{inside}");
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
            assert!(!within(outside, "150"), "{outside}");
        }
    }

    #[test]
    fn only_sign_and_digits_make_an_integer() {
        for (number, integer) in [("0", true), ("-12", true), ("1.0", false), ("1e3", false)] {
            assert_eq!(is_integer(number), integer, "{number}");
        }
    }
}

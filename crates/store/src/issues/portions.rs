//! Commands and deletions may name thousands of long issues. They read them in portions, so that
//! only some are in memory at a time.

use std::ops::Range;

/// Issues that a command has in memory at a time, and their bytes as they are stored. One issue
/// may have more.
const ISSUES_AT_ONCE: usize = 50;
const ISSUE_BYTES_AT_ONCE: u64 = 4 << 20;

/// The places of issues of these lengths that are in memory at a time.
pub(super) fn portions(stored: &[u64]) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |length: &&u64| {
            bytes += **length;
            bytes <= ISSUE_BYTES_AT_ONCE
        };
        let left = &stored[from..];
        let count = left.iter().take(ISSUES_AT_ONCE).take_while(fits).count();
        let portion = from..from + count.max(left.len().min(1));
        from = portion.end;
        (!portion.is_empty()).then_some(portion)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_portion_has_fifty_issues_or_4_mib_and_at_least_one_issue() {
        let all = |stored: &[u64]| portions(stored).collect::<Vec<_>>();
        assert!(all(&[]).is_empty());
        assert_eq!(all(&[1; 120]), [0..50, 50..100, 100..120]);
        let long = ISSUE_BYTES_AT_ONCE;
        assert_eq!(
            all(&[long, 1, long - 1, 1, 2 * long, 2 * long, 3]),
            [0..1, 1..3, 3..4, 4..5, 5..6, 6..7]
        );
    }
}

//! The few values that issues and queries share. Some are equal except for case, accents, escapes
//! or the way a number is written, so comparisons that get such things wrong fail soon.

use crate::splitmix::SplitMix;

/// The first of the three days of all instants, in Unix milliseconds.
pub const FIRST_DAY_MS: i64 = 19_700 * DAY_MS;
pub(crate) const DAY_MS: i64 = 86_400_000;
/// The greatest id that an issue may have.
pub(crate) const ISSUE_ID_MAX: u64 = (1 << 53) - 1;

pub(crate) const STATES: [&str; 7] = [
    "new",
    "new-for-agent",
    "agent-replied",
    "waiting-for-agent",
    "pending-reassignment",
    "resolved",
    "rejected",
];
/// Ids and names that are compared exactly. Some differ only in case, accents, U+0000 or JSON
/// syntax; no issue has the last one.
pub(crate) const NAMES: [&str; 7] = ["a", "A", "b", "ü\u{0}", "u\u{308}", "\"c\\", "nobody"];
/// Addresses, compared without case; no issue has the last one.
pub(crate) const EMAILS: [&str; 5] = ["eva@x.de", "EVA@X.DE", "Ünal@x.tr", "straße@x", "nobody@x"];
/// Words of texts.
pub(crate) const WORDS: [&str; 18] = [
    "Crash",
    "crash",
    "LOGIN",
    "log",
    "Straße",
    "STRASSE",
    "ΣΊΣΥΦΟΣ",
    "σίσυφος",
    "ﬅ",
    "ﬆ",
    "Kelvin",
    "ıŞık",
    "İ",
    "\n",
    "\"body\":\"",
    "\u{0}\\n",
    "it’s ‘log’",
    "„crash”\u{a0}log\u{202f}\"k",
];
/// Texts to search for: whole words, parts of words, other case, JSON syntax around a text.
pub(crate) const SEARCHED: [&str; 26] = [
    "crash",
    "CRASH",
    "ras",
    "log",
    "h log",
    "straße",
    "ẞ",
    "ss",
    "σίσυφοΣ",
    "ﬆ",
    "K",
    "kelvin",
    "ı",
    "i",
    "İ",
    "\n",
    "n",
    "\"",
    "body",
    "u0000",
    "\\",
    "IT'S ‛l",
    "“crash\" log",
    "\u{2007}",
    "log “K",
    "",
];
/// Keys of custom fields; no issue has the last one.
pub(crate) const KEYS: [&str; 4] = ["plan", "Plan", "pl\"an\u{e9}", "none"];
/// Numbers as they are written.
pub(crate) const NUMBERS: [&str; 12] = [
    "0",
    "-0.0",
    "1",
    "1.0",
    "10e-1",
    "1.0000000000000000000001",
    "9007199254740992",
    "9007199254740993",
    "-5",
    "1e400",
    "1e-400",
    "50",
];

/// An instant: one of few distinct ones, often the end of a day.
pub(crate) fn instant(random: &mut SplitMix) -> i64 {
    let day = FIRST_DAY_MS + random.below(3) as i64 * DAY_MS;
    match random.below(3) {
        0 => day + random.below(3) as i64,
        1 => day + DAY_MS - 1 - random.below(2) as i64,
        _ => day + random.below(4) as i64 * 3_600_000,
    }
}

//! Randomness for ids and keys, from the operating system, and its text. A failure is an internal
//! error.

use crate::http::problem::Problem;

/// A random number that makes a generated id unique.
pub(crate) fn random_u64() -> Result<u64, Problem> {
    Ok(u64::from_be_bytes(random_bytes()?))
}

/// `N` random bytes.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], Problem> {
    let mut random = [0; N];
    getrandom::fill(&mut random).map_err(|error| {
        tracing::error!(%error, "no randomness for an id");
        Problem::internal()
    })?;
    Ok(random)
}

/// Bytes as hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

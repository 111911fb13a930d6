//! Identifiers and their wire forms. Generated ids follow the pattern that existing clients of the
//! API family expect; ids from elsewhere are any text of up to [`FOREIGN_ID_CHARS_MAX`] code
//! points. Callers pass in the random bytes.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::time::UnixMillis;

/// Longest identifier that an import may bring, in code points.
pub const FOREIGN_ID_CHARS_MAX: usize = 255;
/// Largest issue id (2^53 - 1): every JSON client reads it exactly.
pub const ISSUE_ID_MAX: u64 = (1 << 53) - 1;
/// Largest issue id that moves the next generated one. An import may bring greater ids; if they
/// counted, one issue with the largest id would leave no id for later issues. Should the generated
/// ids ever pass this one, they go on through the free ids up to [`ISSUE_ID_MAX`].
pub const ISSUE_ID_COUNTED_MAX: u64 = 8_000_000_000_000_000;
/// Longest domain name, in bytes.
pub const DOMAIN_NAME_BYTES_MAX: usize = 63;

/// The store's own number of a domain. Never shown to callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainId(pub i64);

/// A domain name as it appears in paths: `[a-z0-9][a-z0-9-]{0,62}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainName(String);

/// A text that is not a domain name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a domain name: 1 to 63 of a-z, 0-9 and hyphen, beginning with a letter or a digit"
)]
pub struct InvalidDomainName(pub String);

impl DomainName {
    /// Reads a domain name; the rule is in docs/api.md, "Paths and spellings".
    pub fn parse(text: &str) -> Result<Self, InvalidDomainName> {
        let bytes = text.as_bytes();
        let word = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let valid = bytes.len() <= DOMAIN_NAME_BYTES_MAX
            && bytes.first().is_some_and(word)
            && bytes.iter().all(|b| word(b) || *b == b'-');
        if valid { Ok(Self(text.to_owned())) } else { Err(InvalidDomainName(text.to_owned())) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A core profile's id: at most 15 digits if it is new, unique per domain. A string on the wire;
/// read from a string or an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoreProfileId(pub u64);

impl fmt::Display for CoreProfileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An id of the form `{domain}_{kind}_{yyyyMMddHHmmssSSS}-{15 hex}`; `random` fills the hex part.
pub fn timed_id(domain: &DomainName, kind: &str, at: UnixMillis, random: u64) -> String {
    format!("{domain}_{kind}_{}-{:015x}", at.compact(), random & ((1 << 60) - 1))
}

/// The id of a new app profile, `{domain}_profile_` and 40 hex digits. The same `seed` gives the
/// same id, so that one app profile exists per app and identity.
pub fn app_profile_id(domain: &DomainName, seed: &[u8]) -> String {
    use std::fmt::Write as _;
    let digest = Sha256::digest(seed);
    let mut id = format!("{domain}_profile_");
    for byte in &digest[..20] {
        let _ = write!(id, "{byte:02x}");
    }
    id
}

/// The id of the app profile of a `uid` in an app; the empty app is that of writes that name none.
pub fn pid_of_uid(domain: &DomainName, app_id: &str, uid: &IdentityKey) -> String {
    app_profile_id(domain, &[b"identifier\0", app_id.as_bytes(), b"\0", uid.value()].concat())
}

/// An identity in comparable form: the code of its type in one byte, then its value as UTF-8. Email
/// addresses are folded. A long value is its beginning and a digest, because no index of a database
/// takes keys of any length: keys have at most 1,025 bytes. Keys sort by their bytes. The types and
/// the way to a key are in `profile`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdentityKey(pub(crate) Box<[u8]>);

impl IdentityKey {
    /// The bytes that are stored and compared.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes after the type: the value, or the short form of a long one.
    pub(crate) fn value(&self) -> &[u8] {
        &self.0[1..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domain_names_follow_the_rule() {
        let longest = "a".repeat(63);
        for good in ["a", "0", "acme", "a-b-", "0-9", longest.as_str()] {
            assert!(DomainName::parse(good).is_ok(), "{good}");
        }
        let too_long = "a".repeat(64);
        for bad in ["", "-a", "A", "a_b", "a.b", "ä", "a b", too_long.as_str()] {
            assert!(DomainName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn generated_ids_have_the_documented_form() {
        let acme = DomainName::parse("acme").expect("a domain name");
        assert_eq!(
            timed_id(&acme, "app", UnixMillis(1_499_889_810_397), u64::MAX),
            "acme_app_20170712200330397-fffffffffffffff"
        );
        let pid = app_profile_id(&acme, b"seed");
        assert_eq!(pid.len(), "acme_profile_".len() + 40);
        assert_eq!(pid, app_profile_id(&acme, b"seed"));
        assert_ne!(pid, app_profile_id(&acme, b"other"));
    }
}

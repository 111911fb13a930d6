//! The idempotency keys of the parts of a file. A key is a hash of everything that makes a part's
//! request: the domain, the action, its options and the bytes. The same file gives the same keys
//! again, in any process and on any machine, so a server makes each task once. Parts of equal bytes
//! in one file are different requests, and are counted. A name for the run makes other keys.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::secret::random_bytes;

/// The name of a run that sends a file again on purpose. It is part of the keys, so that such a run
/// can be continued, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunName(pub(crate) String);

impl RunName {
    /// The run that the flag `--again` asks for: without a value it gets a new name.
    pub(crate) fn of_flag(flag: Option<&str>) -> Result<Option<Self>, Failure> {
        match flag.unwrap_or_default() {
            "" | "0" | "false" | "no" | "off" => Ok(None),
            "1" | "true" | "yes" | "on" => Self::new().map(Some),
            name => Ok(Some(Self(name.to_owned()))),
        }
    }

    /// A name that no other run has.
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self(hex::encode(random_bytes::<6>()?)))
    }
}

/// Makes the keys of the parts of one file, in their order.
#[derive(Debug)]
pub(crate) struct PartKeys {
    /// The key of the caller's choice, if there is one.
    given: Option<String>,
    /// The hash over everything but the bytes.
    request: Sha256,
    /// How often each content occurred.
    seen: HashMap<[u8; 32], u64>,
    parts: u64,
}

impl PartKeys {
    pub(crate) fn new(domain: &str, action: &str, options: &str, run: Option<&RunName>) -> Self {
        let mut request = Sha256::new();
        for text in [domain, action, options] {
            add(&mut request, text.as_bytes());
        }
        if let Some(RunName(name)) = run {
            add(&mut request, name.as_bytes());
        }
        Self { given: None, request, seen: HashMap::new(), parts: 0 }
    }

    /// The keys of a file whose caller chose a key. The first part has that key, and each further
    /// one the key with its number.
    pub(crate) fn given(key: String) -> Self {
        Self { given: Some(key), request: Sha256::new(), seen: HashMap::new(), parts: 0 }
    }

    /// Whether the caller chose the key.
    pub(crate) const fn are_given(&self) -> bool {
        self.given.is_some()
    }

    /// The key of the next part.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> String {
        self.parts += 1;
        if let Some(key) = &self.given {
            return if self.parts == 1 { key.clone() } else { format!("{key}/{}", self.parts) };
        }
        let content: [u8; 32] = Sha256::digest(bytes).into();
        let times = self.seen.entry(content).or_default();
        let mut hash = self.request.clone();
        hash.update(content);
        hash.update(times.to_be_bytes());
        *times += 1;
        format!("file-{}", hex::encode(hash.finalize()))
    }
}

/// Adds a text with its length, so that no two lists of texts give the same hash.
fn add(hash: &mut Sha256, text: &[u8]) {
    hash.update((text.len() as u64).to_be_bytes());
    hash.update(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_from_the_domain_the_action_its_options_and_the_bytes() {
        let run = RunName("x".into());
        let key = |domain, action, options, run, bytes: &[u8]| {
            PartKeys::new(domain, action, options, run).next(bytes)
        };
        let first = key("acme", "import_issues", "", None, b"{}\n");
        assert_eq!(first, key("acme", "import_issues", "", None, b"{}\n"));
        assert!(first.len() < 100 && first.is_ascii(), "{first}");
        for other in [
            key("beta", "import_issues", "", None, b"{}\n"),
            key("acme", "create_core_profiles", "", None, b"{}\n"),
            key("acme", "import_issues", "dry", None, b"{}\n"),
            key("acme", "import_issues", "upsert", None, b"{}\n"),
            key("acme", "import_issues", "", Some(&run), b"{}\n"),
            key("acme", "import_issues", "", None, b"{}"),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn equal_parts_of_one_file_have_different_keys_that_stay_the_same() {
        let keys = || {
            let mut keys = PartKeys::new("acme", "import_issues", "", None);
            [b"a", b"a", b"b", b"a"].map(|part| keys.next(part))
        };
        let once = keys();
        assert_eq!(once, keys());
        let mut different = once.to_vec();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 4);
    }

    #[test]
    fn a_given_key_is_that_of_the_first_part_and_the_start_of_the_others() {
        let mut keys = PartKeys::given("night".into());
        assert_eq!([b"a", b"a", b"c"].map(|part| keys.next(part)), ["night", "night/2", "night/3"]);
    }
}

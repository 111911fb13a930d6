//! New API keys, and the random parts of ids. A key is 256 random bits as text; the store has only
//! its SHA-256. The program prints the text once, on standard output.

use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// Prefix of every key, so that scanners can find leaked ones.
const KEY_PREFIX: &str = "caseload_";

/// Bytes from the operating system's random generator.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::server(format!("no random numbers: {error}")))?;
    Ok(bytes)
}

/// The text of a new key.
pub(crate) fn new_key() -> Result<String, Failure> {
    Ok(format!("{KEY_PREFIX}{}", hex::encode(random_bytes::<32>()?)))
}

/// The hash that the store has instead of a key.
pub(crate) fn hash_of_key(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_prefix_and_256_bits_and_no_colon() {
        let key = new_key().unwrap();
        let digits = key.strip_prefix("caseload_").unwrap();
        assert_eq!(digits.len(), 64);
        assert!(digits.bytes().all(|b| b.is_ascii_hexdigit()));
        assert_ne!(key, new_key().unwrap());
    }

    #[test]
    fn the_hash_is_plain_sha_256() {
        assert_eq!(
            hex::encode(hash_of_key("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}

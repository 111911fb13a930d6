//! The SHA-256 of the key in an `Authorization` header. Accepted are `Basic` with the key as user
//! name and any password, `Basic` with the bare key (some clients leave the colon out), and
//! `Bearer`. The password is ignored: clients that must have one send quotes, a word, or the key
//! again. The advice for a wrong header never repeats any part of it.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::{HeaderMap, header};
use sha2::{Digest, Sha256};

/// The standard alphabet with optional padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

const MISSING: &str = "an API key is required: send the header Authorization with Basic and the \
                       base64 of the key followed by a colon, or with Bearer and the key";
const UNREADABLE: &str = "the header Authorization cannot be read: send it once, as Basic and the \
                          base64 of the key followed by a colon, or as Bearer and the key";

/// The hash of the text by which a caller is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Credential {
    Key([u8; 32]),
    Session([u8; 32]),
}

/// The hash of the key in the headers, or the advice for the caller.
pub(crate) fn key_hash(headers: &HeaderMap) -> Result<[u8; 32], &'static str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or(MISSING)?;
    if values.next().is_some() {
        return Err(UNREADABLE);
    }
    let value = value.as_bytes().trim_ascii();
    let split = value.iter().position(u8::is_ascii_whitespace).ok_or(UNREADABLE)?;
    let (scheme, credentials) = (&value[..split], value[split..].trim_ascii());
    if scheme.eq_ignore_ascii_case(b"basic") {
        let decoded = BASE64.decode(credentials).map_err(|_| UNREADABLE)?;
        return hash(decoded.split(|byte| *byte == b':').next().unwrap_or_default());
    }
    if scheme.eq_ignore_ascii_case(b"bearer") {
        return hash(credentials);
    }
    Err(UNREADABLE)
}

fn hash(key: &[u8]) -> Result<[u8; 32], &'static str> {
    if key.is_empty() {
        return Err(MISSING);
    }
    Ok(Sha256::digest(key).into())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(values: &[&'static str]) -> Result<[u8; 32], &'static str> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_static(value));
        }
        key_hash(&headers)
    }

    #[test]
    fn every_accepted_form_gives_the_hash_of_the_key() {
        let expected: [u8; 32] = Sha256::digest(b"secret").into();
        for form in [
            "Basic c2VjcmV0Og==",
            "Basic c2VjcmV0Og",
            "Basic c2VjcmV0",
            "basic   c2VjcmV0Og==",
            "BASIC c2VjcmV0",
            "Bearer secret",
            "bearer secret  ",
            "BEARER\tsecret",
            // `secret:""`, `secret:secret`, `secret:a:b`: any password.
            "Basic c2VjcmV0OiIi",
            "Basic c2VjcmV0OnNlY3JldA==",
            "Basic c2VjcmV0OmE6Yg==",
        ] {
            assert_eq!(of(&[form]), Ok(expected), "{form}");
        }
    }

    #[test]
    fn other_headers_are_refused_with_advice() {
        for (headers, advice) in [
            (&[][..], MISSING),
            (&["Basic Og=="], MISSING),
            (&["Bearer "], UNREADABLE),
            (&["secret"], UNREADABLE),
            (&["Digest c2VjcmV0"], UNREADABLE),
            (&["Basic !!!"], UNREADABLE),
            (&["Basic OnNlY3JldA=="], MISSING),
            (&["Bearer a", "Bearer a"], UNREADABLE),
        ] {
            assert_eq!(of(headers), Err(advice), "{headers:?}");
        }
    }
}

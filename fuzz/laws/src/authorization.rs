//! The header `Authorization`. The api finds a key in each of its accepted forms. For any other
//! header, it finds the key that a naive reading finds, or none.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use caseload_api::test_support::key_hash;
use http::{HeaderMap, HeaderValue, header};
use sha2::{Digest, Sha256};

pub(crate) fn holds(data: &[u8]) {
    as_key(data);
    if let Ok(value) = HeaderValue::from_bytes(data) {
        assert_eq!(hash_in(&value), naive(value.as_bytes()), "{value:?}");
        let twice = [(header::AUTHORIZATION, value.clone()), (header::AUTHORIZATION, value)];
        let twice: HeaderMap =
            twice.into_iter().fold(HeaderMap::new(), |mut map, (name, value)| {
                map.append(name, value);
                map
            });
        assert!(key_hash(&twice).is_err(), "two headers are refused");
    }
}

/// The bytes as a key, in each form that can carry it.
fn as_key(key: &[u8]) {
    if key.is_empty() || key.contains(&b':') {
        return;
    }
    let expected: [u8; 32] = Sha256::digest(key).into();
    for engine in [&STANDARD, &STANDARD_NO_PAD] {
        let sent =
            [key.to_vec(), [key, b":"].concat(), [key, b":x"].concat(), [key, b":", key].concat()];
        for name_and_password in sent {
            let header = format!("Basic {}", engine.encode(name_and_password));
            let value = HeaderValue::from_str(&header).expect("base64 is visible ASCII");
            assert_eq!(hash_in(&value), Some(expected));
        }
    }
    if let Ok(value) = HeaderValue::from_bytes(&[b"Bearer ", key].concat())
        && key.trim_ascii() == key
    {
        assert_eq!(hash_in(&value), Some(expected));
    }
}

fn hash_in(value: &HeaderValue) -> Option<[u8; 32]> {
    let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value.clone())]);
    match key_hash(&headers) {
        Ok(hash) => Some(hash),
        Err(advice) => {
            assert!(!advice.is_empty());
            None
        }
    }
}

fn naive(value: &[u8]) -> Option<[u8; 32]> {
    let value = value.trim_ascii();
    let end = value.iter().position(u8::is_ascii_whitespace)?;
    let credentials = value[end..].trim_ascii();
    let key = match value[..end].to_ascii_lowercase().as_slice() {
        b"bearer" => credentials.to_vec(),
        b"basic" => {
            // The user name is the key, and the password is ignored.
            let mut decoded = unpacked(credentials)?;
            let end = decoded.iter().position(|byte| *byte == b':').unwrap_or(decoded.len());
            decoded.truncate(end);
            decoded
        }
        _ => return None,
    };
    (!key.is_empty()).then(|| Sha256::digest(&key).into())
}

/// Base64, of whose padding any part may be left out: the bytes whose encoding these are.
fn unpacked(text: &[u8]) -> Option<Vec<u8>> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let end = text.iter().position(|byte| *byte == b'=').unwrap_or(text.len());
    let (digits, padding) = text.split_at(end);
    let (mut bits, mut held, mut out) = (0_u32, 0, Vec::new());
    for digit in digits {
        bits = bits << 6 | ALPHABET.iter().position(|known| known == digit)? as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    let missing = (4 - digits.len() % 4) % 4;
    let whole = padding.len() <= missing;
    let good = held < 6 && bits == 0 && whole && padding.iter().all(|byte| *byte == b'=');
    good.then_some(out)
}

//! Multipart bodies as whole requests, with the boundary `x`. For any bytes, neither cuts nor
//! compression change the outcome, and the payload of an accepted body is a part of the body.

use sha2::{Digest, Sha256};

use crate::request::{payload, read_in_every_form};

const CONTENT_TYPE: &str = "multipart/form-data; boundary=x";

pub(crate) fn holds(data: &[u8]) {
    let Ok(form) = read_in_every_form(CONTENT_TYPE, data) else { return };
    let hash = form.hash.expect("a hash was asked for");
    let is_payload = |part: &[u8]| <[u8; 32]>::from(Sha256::digest(part)) == hash;
    assert!(parts(data).any(is_payload), "the payload is the content of a part");
    for (.., bytes) in payload(&form) {
        let stands = |window: &[u8]| window == bytes;
        assert!(data.windows(bytes.len()).any(stands), "an entry has the bytes that were sent");
    }
}

/// The bytes between the blank line of a part and the boundary after it.
fn parts(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let starts = (0..data.len()).filter(|at| data[*at..].starts_with(b"\r\n\r\n"));
    starts.filter_map(|at| {
        let content = &data[at + 4..];
        let end = (0..content.len()).find(|end| content[*end..].starts_with(b"\r\n--x"))?;
        Some(&content[..end])
    })
}

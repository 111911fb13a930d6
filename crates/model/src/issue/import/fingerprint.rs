//! The fingerprint of an entry: its content in 32 bytes, from which missing ids are made. Entries
//! with equal content have the same fingerprint: blanks, escapes, the order of keys, null members,
//! `domain`, and whether `id` is a string do not count. Otherwise an import that is repeated
//! through another serializer would get other ids, and each issue would be a conflict.

use sha2::{Digest, Sha256};

use crate::json::{Json, Member, write_array, write_map};

/// Usual size of the hashed form in bytes.
const BYTES_USUAL: usize = 4096;

/// The fingerprint of an entry.
pub(super) fn of(entry: &Json<'_>) -> [u8; 32] {
    let Json::Object(members) = entry else { return Sha256::digest(b"").into() };
    let mut out = Vec::with_capacity(BYTES_USUAL);
    let counts = members.iter().filter(|(key, _)| key != "domain");
    write_members(counts, &mut out, |key, value, out| match value {
        Json::String(digits) if key == "id" => out.extend_from_slice(digits.as_bytes()),
        _ => write_value(value, out),
    });
    Sha256::digest(&out).into()
}

/// Writes the value with the keys of every map in order and without members that are null.
fn write_value(json: &Json<'_>, out: &mut Vec<u8>) {
    match json {
        Json::Array(items) => write_array(items, out, write_value),
        Json::Object(members) => {
            write_members(members.iter(), out, |_, value, out| write_value(value, out));
        }
        plain => plain.write_to(out),
    }
}

fn write_members<'m, 'j: 'm>(
    members: impl Iterator<Item = &'m Member<'j>>,
    out: &mut Vec<u8>,
    write: impl Fn(&str, &Json<'j>, &mut Vec<u8>),
) {
    let mut ordered: Vec<_> = members.filter(|(_, value)| *value != Json::Null).collect();
    ordered.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    write_map(ordered.into_iter().map(|(key, value)| (key, value)), out, write);
}

//! The content of an entry in 32 bytes, from which missing ids are made. Entries of equal content
//! have one fingerprint however they are written: blanks, escapes, the order of keys and members
//! that are null do not count, nor does `domain`, nor whether `id` is a string. Else an import that
//! is repeated through another serializer would meet other ids, and each issue would be a conflict.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use crate::json::Json;

/// The fingerprint of an entry.
pub(super) fn of(entry: &Json<'_>) -> [u8; 32] {
    let Json::Object(members) = entry else { return Sha256::digest(b"").into() };
    let counts = members.iter().filter(|(key, _)| key != "domain");
    let plain = counts.map(|(key, value)| match value {
        Json::String(digits) if key == "id" => (key.clone(), Json::Number(digits)),
        _ => (key.clone(), ordered(value)),
    });
    let mut out = Vec::new();
    object(plain.collect()).write_to(&mut out);
    Sha256::digest(&out).into()
}

/// The value with the keys of every map in order and without members that are null.
fn ordered<'j>(json: &'j Json<'_>) -> Json<'j> {
    match json {
        Json::Null => Json::Null,
        Json::Bool(value) => Json::Bool(*value),
        Json::Number(digits) => Json::Number(digits),
        Json::String(text) => Json::String(Cow::Borrowed(text)),
        Json::Array(items) => Json::Array(items.iter().map(ordered).collect()),
        Json::Object(members) => {
            let plain = members.iter().map(|(key, value)| (Cow::Borrowed(&**key), ordered(value)));
            object(plain.collect())
        }
    }
}

fn object<'j>(mut members: Vec<(Cow<'j, str>, Json<'j>)>) -> Json<'j> {
    members.retain(|(_, value)| *value != Json::Null);
    members.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Json::Object(members)
}

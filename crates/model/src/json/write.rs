//! Compact JSON output. Every value has one form: no white space, short escapes where JSON has
//! them, and all other characters unescaped.

use super::{Json, skip};

impl Json<'_> {
    /// Appends this value as compact JSON: no white space, only the escapes that JSON demands.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Number(digits) => out.extend_from_slice(digits.as_bytes()),
            Self::String(text) => write_string(text, out),
            Self::Array(items) => write_array(items, out, Self::write_to),
            Self::Object(members) => {
                write_map(members.iter().map(|(key, item)| (key, item)), out, |_, item, out| {
                    item.write_to(out);
                });
            }
        }
    }
}

/// Appends an array; `write` appends an element.
pub fn write_array<T>(
    items: impl IntoIterator<Item = T>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(T, &mut Vec<u8>),
) {
    out.push(b'[');
    for (n, item) in items.into_iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

/// Appends a map; `write` gets each key and appends the value.
pub fn write_map<K: AsRef<str>, T>(
    members: impl IntoIterator<Item = (K, T)>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&str, T, &mut Vec<u8>),
) {
    out.push(b'{');
    for (n, (key, item)) in members.into_iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        write_string(key.as_ref(), out);
        out.push(b':');
        write(key.as_ref(), item, out);
    }
    out.push(b'}');
}

/// Appends a number in digits. A record has several numbers; formatting them through a `String`
/// each takes longer than the rest of a short record.
pub(crate) fn write_decimal(number: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends `text` as a JSON string, quotes included.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let end = skip::plain(bytes, at);
        out.extend_from_slice(&bytes[at..end]);
        let Some(&byte) = bytes.get(end) else { break };
        at = end + 1;
        let short = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            _ => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
    out.push(b'"');
}

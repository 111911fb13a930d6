//! Compact JSON output. One form for every value: no white space, short escapes where JSON has
//! them, everything else as it is.

use super::{Json, skip};

pub(super) fn value(json: &Json<'_>, out: &mut Vec<u8>) {
    match json {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Number(digits) => out.extend_from_slice(digits.as_bytes()),
        Json::String(text) => write_string(text, out),
        Json::Array(items) => {
            out.push(b'[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                value(item, out);
            }
            out.push(b']');
        }
        Json::Object(members) => {
            out.push(b'{');
            for (n, (key, item)) in members.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                write_string(key, out);
                out.push(b':');
                value(item, out);
            }
            out.push(b'}');
        }
    }
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

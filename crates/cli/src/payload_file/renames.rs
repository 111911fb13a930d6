//! Renames the members of entries in JSON lines, and leaves members out. Values stay as they are,
//! byte by byte. A line that is not one map stays as it is, for the server to judge.

use caseload_model::json::{DEPTH_MAX, members_at, skip_value, write_string};

/// The lines with their members renamed. A member whose new name is empty is left out.
pub(super) fn rename_in_lines(lines: &[u8], renames: &[(String, String)]) -> Vec<u8> {
    let renames: Vec<(Vec<u8>, Vec<u8>)> =
        renames.iter().map(|(from, to)| (quoted(from), quoted(to))).collect();
    let mut out = Vec::with_capacity(lines.len());
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        if !rename_in_map(line, &renames, &mut out) {
            out.extend_from_slice(line);
        }
    }
    out
}

fn quoted(name: &str) -> Vec<u8> {
    let mut quoted = Vec::new();
    write_string(name, &mut quoted);
    quoted
}

/// Writes the map with its members renamed; writes nothing and returns `false` if the line is not
/// one map.
fn rename_in_map(line: &[u8], renames: &[(Vec<u8>, Vec<u8>)], out: &mut Vec<u8>) -> bool {
    let start = line.len() - line.trim_ascii_start().len();
    let map = line[start..].trim_ascii_end();
    if map.first() != Some(&b'{') || skip_value(map, DEPTH_MAX).ok() != Some(map.len()) {
        return false;
    }
    out.push(b'{');
    let mut is_first = true;
    for (key, value) in members_at(map, 0) {
        let key = [b"\"", key, b"\""].concat();
        let renamed = renames.iter().find(|(from, _)| *from == key);
        let name = renamed.map_or(&key, |(_, to)| to);
        if name == b"\"\"" && renamed.is_some() {
            continue;
        }
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        out.extend_from_slice(name);
        out.push(b':');
        out.extend_from_slice(&map[value]);
    }
    out.extend_from_slice(b"}\n");
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_renamed_or_left_out_and_values_keep_their_bytes() {
        let renames = [("mail", "email"), ("id", ""), ("ü", "u")]
            .map(|(from, to)| (from.to_owned(), to.to_owned()));
        for (line, renamed) in [
            (
                "{\"id\":1, \"mail\" : [1.50, {\"id\":2}],\"x\":\"\\u0041\"}\r\n",
                "{\"email\":[1.50, {\"id\":2}],\"x\":\"\\u0041\"}\n",
            ),
            ("{\"id\":1}", "{}\n"),
            ("\n", "\n"),
            ("{\"ü\":1}\n{\"id\":", "{\"u\":1}\n{\"id\":"),
            ("{\"id\":1} x\n", "{\"id\":1} x\n"),
            ("[{\"id\":1}]\n", "[{\"id\":1}]\n"),
        ] {
            let out = rename_in_lines(line.as_bytes(), &renames);
            assert_eq!(String::from_utf8_lossy(&out), renamed);
        }
    }
}

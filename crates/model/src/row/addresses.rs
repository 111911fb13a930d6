//! The addresses of a cell. Address books put several into one cell, each perhaps with the name of
//! its owner.

use crate::profile::IdentityType;
use crate::spelling::trimmed;

/// The addresses of a cell, in order. A cell of another type is one value.
pub(super) fn addresses(kind: IdentityType, cell: &str) -> Vec<&str> {
    let scheme = match kind {
        IdentityType::Email => "mailto:",
        IdentityType::PhoneNumber => "tel:",
        _ => {
            return Some(kind.cleaned(cell))
                .filter(|value| !value.is_empty())
                .into_iter()
                .collect();
        }
    };
    let parts = split(cell).into_iter().map(|part| {
        let bare = without_scheme(trimmed(in_brackets(part)), scheme);
        kind.cleaned(bare)
    });
    parts.filter(|address| !address.is_empty()).collect()
}

/// Splits a cell at `;`, `,`, `:::` and line ends, except in quotes and angle brackets.
fn split(cell: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(c) = cell[at..].chars().next() {
        let rest = &cell[at..];
        let separator = match c {
            ';' | ',' | '\n' | '\r' => 1,
            ':' if rest.starts_with(":::") => 3,
            // Without its end, a quote or a bracket is a character like others.
            '"' => {
                at += rest[1..].find('"').map_or(1, |end| end + 2);
                continue;
            }
            '<' => {
                at += rest.find('>').map_or(1, |end| end + 1);
                continue;
            }
            _ => {
                at += c.len_utf8();
                continue;
            }
        };
        parts.push(&cell[start..at]);
        at += separator;
        start = at;
    }
    parts.push(&cell[start..]);
    parts
}

/// The address in `Name <address>`.
fn in_brackets(part: &str) -> &str {
    let inside = trimmed(part).strip_suffix('>').and_then(|part| part.rsplit_once('<'));
    inside.map_or(part, |(_, address)| address)
}

fn without_scheme<'a>(address: &'a str, scheme: &str) -> &'a str {
    match address.get(..scheme.len()) {
        Some(start) if start.eq_ignore_ascii_case(scheme) => {
            let rest = &address[scheme.len()..];
            rest.split_once('?').map_or(rest, |(address, _)| address)
        }
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_gives_each_of_its_addresses() {
        use IdentityType::{Email, PhoneNumber, Uid};
        for (kind, cell, found) in [
            (Email, "a@x;b@x", &["a@x", "b@x"][..]),
            (Email, "a@x, b@x\r\nc@x", &["a@x", "b@x", "c@x"]),
            (Email, "a@x ::: b@x", &["a@x", "b@x"]),
            (Email, "Cy Roe <c@x>", &["c@x"]),
            (Email, "\"Roe, Cy\" <c@x>; \"D;d\" <d@x>", &["c@x", "d@x"]),
            (Email, "mailto:d@x", &["d@x"]),
            (Email, "D <MAILTO:d@x?subject=Hi>", &["d@x"]),
            (Email, "<a@x>,<b@x>", &["a@x", "b@x"]),
            (Email, ";;a@x;\u{200b};", &["a@x"]),
            (Email, "not-an-address", &["not-an-address"]),
            (Email, "Roe \"Cy <c@x>, d@x", &["c@x", "d@x"]),
            (Email, "a@x > b@x", &["a@x > b@x"]),
            (Email, "a::b@x", &["a::b@x"]),
            (Email, "ü@x;é@x", &["ü@x", "é@x"]),
            (Email, " ; , ", &[]),
            (PhoneNumber, "+49 30 1; tel:+49-30-2", &["+49 30 1", "+49-30-2"]),
            (PhoneNumber, "'+4930", &["+4930"]),
            (PhoneNumber, "Office <+4930>", &["+4930"]),
            (Uid, " a;b, c ", &["a;b, c"]),
            (Uid, "  ", &[]),
        ] {
            assert_eq!(addresses(kind, cell), found, "{cell:?}");
        }
    }
}

//! Encoded words (RFC 2047): texts of mail headers in ASCII, such as `=?UTF-8?Q?=C3=A4?=`. Mail
//! programs, and clients that copy from them, write names of files in this way. This module knows
//! UTF-8, US-ASCII, ISO-8859-1 and windows-1252. A word that it cannot decode stays as it is.
//! Invariant: the result has fewer code points than the text, so repeated decoding ends.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use encoding_rs::WINDOWS_1252;

/// Base64 with or without its padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Encoded words that follow one another in one charset: the blanks between them do not count, and
/// a character may begin in one and end in the next.
struct Words<'t> {
    charset: &'t str,
    bytes: Vec<u8>,
    /// As they were sent, from the first to the last one.
    sent: &'t str,
}

impl Words<'_> {
    /// Appends their text. They stay as they were sent if the bytes do not fit the charset.
    fn add_to(self, out: &mut String) {
        match text_of(self.charset, &self.bytes) {
            Some(text) => out.push_str(&text),
            None => out.push_str(self.sent),
        }
    }
}

/// The text with each encoded word decoded that can be decoded; `None` if that changes nothing.
pub fn decoded_words(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut open: Option<Words<'_>> = None;
    // The text before `plain` is in `out` or in `open`; there is no word before `at`.
    let (mut plain, mut at) = (0, 0);
    while let Some(found) = text[at..].find("=?") {
        let start = at + found;
        let Some(word) = first_word(&text[start..]) else {
            at = start + 2;
            continue;
        };
        let (before, end) = (&text[plain..start], start + word.sent.len());
        match &mut open {
            Some(open)
                if before.trim().is_empty() && open.charset.eq_ignore_ascii_case(word.charset) =>
            {
                open.bytes.extend_from_slice(&word.bytes);
                open.sent = &text[plain - open.sent.len()..end];
            }
            _ => {
                let follows = open.is_some() && before.trim().is_empty();
                open.replace(word).into_iter().for_each(|words| words.add_to(&mut out));
                out.push_str(if follows { "" } else { before });
            }
        }
        (plain, at) = (end, end);
    }
    open?.add_to(&mut out);
    out.push_str(&text[plain..]);
    (out != text).then_some(out)
}

/// The encoded word at the beginning of a text, if its charset is known.
fn first_word(text: &str) -> Option<Words<'_>> {
    let (charset, rest) = text.strip_prefix("=?")?.split_once('?')?;
    let (coding, rest) = rest.split_once('?')?;
    let (content, rest) = rest.split_once('?')?;
    let rest = rest.strip_prefix('=')?;
    let bytes = match coding {
        "B" | "b" => BASE64.decode(content.trim()).ok()?,
        "Q" | "q" => unquoted(content)?,
        _ => return None,
    };
    // A charset may name the language of its text: `utf-8*de`.
    let charset = charset.split('*').next().unwrap_or_default();
    text_of(charset, b"")?;
    Some(Words { charset, bytes, sent: &text[..text.len() - rest.len()] })
}

/// The bytes of the coding Q: `_` is a blank, and `=` begins a byte in hexadecimal digits.
fn unquoted(content: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(content.len());
    let mut rest = content.bytes();
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'_' => b' ',
            b'=' => (digit(rest.next())? * 16 + digit(rest.next())?) as u8,
            byte => byte,
        });
    }
    Some(bytes)
}

/// The text of these bytes; none if the charset is unknown or the bytes do not fit it. Text
/// that is called ISO-8859-1 is often windows-1252, which differs only in control characters.
pub fn text_of(charset: &str, bytes: &[u8]) -> Option<String> {
    let utf8 = || std::str::from_utf8(bytes).ok().map(str::to_owned);
    match charset.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" => utf8(),
        "us-ascii" | "ascii" => utf8().filter(|text| text.is_ascii()),
        "iso-8859-1" | "iso8859-1" | "latin1" | "windows-1252" | "cp1252" => {
            Some(WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_decoded_as_mail_programs_write_them() {
        for (text, decoded) in [
            ("=?UTF-8?Q?Rechnung_M=C3=A4rz.pdf?=", "Rechnung März.pdf"),
            ("=?utf-8?B?UmVjaG51bmcgTcOkcnoucGRm?=", "Rechnung März.pdf"),
            ("=?UTF-8?b?w6Q?=", "ä"),
            ("=?iso-8859-1?q?caf=E9?=", "café"),
            ("=?windows-1252?Q?5_=80_=96_caf=e9?=", "5 € – café"),
            ("=?ISO-8859-1?Q?=80?=", "€"),
            ("=?US-ASCII*en?Q?a?=", "a"),
            ("=?UTF-8?Q?a?= =?UTF-8?Q?b?=", "ab"),
            ("=?UTF-8?Q?a?=\r\n =?iso-8859-1?Q?=e4?=", "aä"),
            ("=?UTF-8?B?w6TD?= =?utf-8?B?pA==?=", "ää"),
            ("a =?UTF-8?Q?b?= c =?UTF-8?Q?d?=.txt", "a b c d.txt"),
            ("=?=?UTF-8?Q?b?=", "=?b"),
            ("=?UTF-8?Q??=", ""),
        ] {
            assert_eq!(decoded_words(text).as_deref(), Some(decoded), "{text}");
        }
    }

    #[test]
    fn a_word_that_cannot_be_decoded_stays() {
        for text in [
            "",
            "a.txt",
            "=?",
            "=?UTF-8?Q?a",
            "=?UTF-8?Q?a?",
            "=?UTF-8?X?a?=",
            "=?UTF-8?Q?=C?=",
            "=?UTF-8?Q?=+1?=",
            "=?UTF-8?Q?=E4?=",
            "=?UTF-8?Q?=C3?= =?UTF-8?Q?b?=",
            "=?UTF-8?B?###?=",
            "=?US-ASCII?Q?=E4?=",
            "=?klingon?Q?a?=",
        ] {
            assert_eq!(decoded_words(text), None, "{text}");
        }
        for (text, decoded) in [
            ("=?klingon?Q?a?= =?UTF-8?Q?b?=", "=?klingon?Q?a?= b"),
            ("=?UTF-8?Q?a?= =?klingon?Q?b?=", "a =?klingon?Q?b?="),
        ] {
            assert_eq!(decoded_words(text).as_deref(), Some(decoded), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_decoded_text_is_shorter(
            text in "(=\\?|\\?=|\\?|=|UTF-8|utf-8\\*de|latin1|Q|B|3D|3F|E4|w6Q| |ä|a){0,24}",
        ) {
            if let Some(decoded) = decoded_words(&text) {
                prop_assert!(decoded.chars().count() < text.chars().count(), "{decoded}");
            }
        }
    }
}

//! Tests of the decoder of JSON objects: the members do not depend on the cuts, and broken bodies
//! are refused at their place.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use super::*;

#[derive(Debug, Default, PartialEq)]
struct Members {
    all: Vec<(String, ValueKind, String)>,
    open: Option<(String, ValueKind, Vec<u8>)>,
}

impl MemberSink for Members {
    fn begin(&mut self, name: &str, kind: ValueKind) {
        assert!(self.open.is_none(), "a member begins only after the end of the previous one");
        self.open = Some((name.to_owned(), kind, Vec::new()));
    }

    fn data(&mut self, bytes: &[u8]) {
        self.open.as_mut().unwrap().2.extend_from_slice(bytes);
    }

    fn end(&mut self) {
        let (name, kind, value) = self.open.take().unwrap();
        self.all.push((name, kind, String::from_utf8(value).unwrap()));
    }
}

/// The members of a body that arrives in pieces of this length.
fn members(body: &[u8], length: usize) -> Result<Vec<(String, ValueKind, String)>, BrokenJson> {
    let (mut decoder, mut members) = (ObjectDecoder::default(), Members::default());
    for piece in body.chunks(length) {
        decoder.push(piece, &mut members)?;
    }
    decoder.finish()?;
    assert_eq!(members.open, None);
    Ok(members.all)
}

#[test]
fn members_arrive_in_order_wherever_the_body_is_cut() {
    let body = concat!(
        "\u{feff} {\n \"a\" : \"x \\\"\\\\\\/\\n\\u00e9\\ud83d\\ude00ü\" ,",
        r#""b\u0041":[1, {"c":"]"}],"n":-1.50e+3,"t":true,"f":false ,"z":null,"#,
        "\"o\":{\"k\":null},\"e\":\"\"}\r\n",
    );
    let expected = [
        ("a", ValueKind::Text, "x \"\\/\né😀ü"),
        ("bA", ValueKind::Array, "[1, {\"c\":\"]\"}]"),
        ("n", ValueKind::Number, "-1.50e+3"),
        ("t", ValueKind::Boolean, "true"),
        ("f", ValueKind::Boolean, "false"),
        ("o", ValueKind::Object, "{\"k\":null}"),
        ("e", ValueKind::Text, ""),
    ];
    let expected = expected.map(|(name, kind, value)| (name.to_owned(), kind, value.to_owned()));
    for length in [1, 2, 3, 5, 7, 1000] {
        assert_eq!(members(body.as_bytes(), length).unwrap(), expected, "{length}");
    }
}

#[test]
fn an_empty_object_has_no_members_and_may_be_an_empty_array() {
    for body in ["{}", " { } ", "[]", "[ ]\n"] {
        assert_eq!(members(body.as_bytes(), 1), Ok(Vec::new()), "{body}");
    }
}

#[test]
fn broken_bodies_are_refused_at_their_place() {
    for (body, at, why) in [
        ("", 0, EMPTY),
        ("  ", 2, EMPTY),
        ("a=b", 0, NO_OBJECT),
        ("\"a\"", 0, NO_OBJECT),
        ("[1]", 1, NO_OBJECT),
        ("{a:1}", 1, NO_KEY),
        ("{\"a\" 1}", 5, NO_COLON),
        ("{\"a\":1,}", 7, NO_KEY),
        ("{\"a\":1 \"b\":2}", 7, NO_CLOSE),
        ("{\"a\":1}}", 7, TEXT_FOLLOWS),
        ("{\"a\":1", 6, ENDS_EARLY),
        ("{\"a\":\"x", 7, ENDS_EARLY),
        ("{\"a\":[1", 7, ENDS_EARLY),
        ("{\"a\":\"\n\"}", 6, CONTROL),
        ("{\"a\":\"\\x\"}", 7, BAD_ESCAPE),
        ("{\"a\":\"\\u00g0\"}", 10, NO_HEX),
        ("{\"a\":\"\\ud83d\"}", 12, HALF_PAIR),
        ("{\"a\":\"\\ud83dx\"}", 12, HALF_PAIR),
        ("{\"a\":\"\\ude00\"}", 11, HALF_PAIR),
        ("{\"a\":nul}", 5, "a JSON value was expected"),
        ("{\"a\":[1,]}", 8, "a JSON value was expected"),
        ("{\"a\":01}", 6, "a number begins with a superfluous zero"),
        ("{\"a\":}", 5, "a JSON value was expected"),
    ] {
        for length in [1, 1000] {
            let found = members(body.as_bytes(), length);
            assert_eq!(found, Err(BrokenJson { at, why }), "{body} in pieces of {length}");
        }
    }
}

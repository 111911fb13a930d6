//! Tests of the multipart decoder: forms as clients send them, cut at any byte, and broken ones.

use proptest::prelude::*;

use super::*;

/// Parts with their content; a part is open until its end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parts {
    all: Vec<(PartHead, Vec<u8>)>,
    open: bool,
}

impl PartSink for Parts {
    fn begin(&mut self, part: &PartHead) {
        assert!(!self.open, "a part begins only after the end of the previous one");
        self.open = true;
        self.all.push((part.clone(), Vec::new()));
    }

    fn data(&mut self, bytes: &[u8]) {
        assert!(self.open && !bytes.is_empty(), "data belong to a part");
        self.all.last_mut().expect("a part").1.extend_from_slice(bytes);
    }

    fn end(&mut self) {
        assert!(self.open, "only an open part ends");
        self.open = false;
    }
}

fn decoder(content_type: &str) -> Result<MultipartDecoder, Problem> {
    let value = HeaderValue::from_str(content_type).expect("a header");
    MultipartDecoder::of(&HeaderMap::from_iter([(header::CONTENT_TYPE, value)]))
}

fn decoded(body: &[u8], piece: usize) -> Result<Parts, BrokenMultipart> {
    let mut decoder = decoder("multipart/form-data; boundary=b").expect("a boundary");
    let mut parts = Parts::default();
    for piece in body.chunks(piece.max(1)) {
        decoder.push(piece, &mut parts)?;
        assert!(decoder.held.len() <= PART_HEAD_BYTES_MAX + 4, "it holds a head at most");
    }
    decoder.finish().map(|()| parts)
}

fn field(name: &str, content: &[u8]) -> (PartHead, Vec<u8>) {
    (PartHead { name: name.to_owned(), ..PartHead::default() }, content.to_vec())
}

#[test]
fn forms_are_read_as_clients_send_them_however_they_are_cut() {
    let file = |name: &str, file_name: &str, content_type: Option<&str>| PartHead {
        name: name.to_owned(),
        file_name: Some(file_name.to_owned()),
        content_type: content_type.map(str::to_owned),
    };
    let head = |disposition: &str| format!("Content-Disposition: form-data; {disposition}\r\n\r\n");
    for (body, expected) in [
        ("--b--\r\n".to_owned(), vec![]),
        (format!("--b\r\n{}x\r\n--b--", head("name=\"a\"")), vec![field("a", b"x")]),
        (format!("--b\r\n{}\r\n--b--", head("name=a")), vec![field("a", b"")]),
        (
            format!(
                "preamble\r\n--b \t\r\n{}1\r\n--b\r\n{}2\r\n--b--epilogue",
                head("name=a"),
                head("NAME=\"b\"")
            ),
            vec![field("a", b"1"), field("b", b"2")],
        ),
        (
            format!("--b\r\n{}\r\n-\r\n--\r\n--c\r\n--b--\r\n", head("name=a")),
            vec![field("a", b"\r\n-\r\n--\r\n--c")],
        ),
        ("--b\r\n\r\nbare\r\n--b--".to_owned(), vec![field("", b"bare")]),
        (
            format!(
                "--b\r\nContent-Type: text/plain\r\n{}x\r\n--b--",
                head("name=\"a\"; filename=\"d;\\\"e\\\".txt\"")
            ),
            vec![(file("a", "d;\"e\".txt", Some("text/plain")), b"x".to_vec())],
        ),
        (
            format!("--b\r\n{}x\r\n--b--", head("filename=\"C:\\dir\\f\"; name=a%20b")),
            vec![(file("a b", "C:\\dir\\f", None), b"x".to_vec())],
        ),
        (
            format!("--b\r\n{}x\r\n--b--", head("name=a; filename*=UTF-8''%C3%A4.txt")),
            vec![(file("a", "ä.txt", None), b"x".to_vec())],
        ),
        (
            format!(
                "--b\r\n{}x\r\n--b--",
                head("name=a; filename=\"_.txt\"; filename*=UTF-8'de'%C3%A4.txt")
            ),
            vec![(file("a", "ä.txt", None), b"x".to_vec())],
        ),
        (
            format!("--b\r\n{}x\r\n--b--", head("name=a; filename*=iso-8859-1''%E4; filename=b")),
            vec![(file("a", "ä", None), b"x".to_vec())],
        ),
        (
            format!("--b\r\n{}x\r\n--b--", head("name=a; filename*=UTF-8''%E4; filename=b")),
            vec![(file("a", "b", None), b"x".to_vec())],
        ),
    ] {
        for piece in 1..=body.len() {
            let found = decoded(body.as_bytes(), piece).map(|parts| parts.all);
            assert_eq!(found.as_ref(), Ok(&expected), "{body:?} by {piece}");
        }
    }
}

#[test]
fn broken_forms_are_refused_however_they_are_cut() {
    let head = "Content-Disposition: form-data; name=a\r\n\r\n";
    for body in [
        String::new(),
        "no form".to_owned(),
        "--b".to_owned(),
        "--bc\r\n".to_owned(),
        format!("--b\n{head}x\r\n--b--"),
        format!("--b\r\n{head}x"),
        format!("--b\r\n{head}x\r\n--b"),
        "--b\r\nno header\r\n\r\nx\r\n--b--".to_owned(),
        format!("--b\r\n{head}x\r\n--bc--"),
    ] {
        for piece in 1..=body.len().max(1) {
            let found = decoded(body.as_bytes(), piece);
            assert_eq!(found, Err(BrokenMultipart::Syntax), "{body:?} by {piece}");
        }
    }
    assert!(decoder("multipart/form-data").is_err());
    assert!(decoder("multipart/form-data; boundary=\"\"").is_err());
    assert!(decoder("multipart/form-data; charset=x; Boundary=\"a b\"").is_ok());
}

#[test]
fn the_head_of_a_part_has_at_most_16_kib() {
    let body = |bytes: usize| {
        let begin = "Content-Disposition: form-data; name=a\r\nX: ";
        let filler = "x".repeat(bytes - begin.len() - 2);
        format!("--b\r\n{begin}{filler}\r\n\r\nx\r\n--b--")
    };
    for piece in [1000, usize::MAX] {
        assert!(decoded(body(PART_HEAD_BYTES_MAX - 2).as_bytes(), piece).is_ok());
        let refused = decoded(body(PART_HEAD_BYTES_MAX + 1000).as_bytes(), piece);
        assert_eq!(refused, Err(BrokenMultipart::LongHead));
    }
}

#[test]
fn a_form_has_a_bounded_number_of_parts() {
    let part = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n";
    let body = |parts: u32| format!("{}--b--", part.repeat(parts as usize));
    assert!(decoded(body(PARTS_MAX).as_bytes(), 4096).is_ok());
    let refused = decoded(body(PARTS_MAX + 1).as_bytes(), 4096);
    assert_eq!(refused, Err(BrokenMultipart::ManyParts));
}

/// Any byte, mostly one of a delimiter.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'-'), Just(b'b'), any::<u8>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_content_comes_back_however_the_body_is_cut(
        contents in proptest::collection::vec(
            proptest::collection::vec(byte(), 0..60),
            0..4,
        ),
        piece in 1..50_usize,
    ) {
        let is_free = |content: &Vec<u8>| {
            memmem::find(&[b"\r\n", &content[..]].concat(), b"\r\n--b").is_none()
        };
        prop_assume!(contents.iter().all(is_free));
        let mut body = Vec::new();
        for content in &contents {
            body.extend_from_slice(b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n");
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--b--\r\n");
        let expected: Vec<_> = contents.iter().map(|content| field("a", content)).collect();
        prop_assert_eq!(decoded(&body, piece).map(|parts| parts.all), Ok(expected));
    }
}

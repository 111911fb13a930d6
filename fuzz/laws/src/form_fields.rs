//! The two forms of a bulk request. The bytes are an urlencoded form. The same fields sent as
//! multipart create the same task, or have the same faults if the payload is an array in both.

use crate::request::{URLENCODED, read};

const BOUNDARY: &str = "----fields-of-a-form";

pub(crate) fn holds(data: &[u8]) {
    let fields: Vec<_> = form_urlencoded::parse(data).collect();
    let mut body = Vec::new();
    for (name, value) in &fields {
        let is_plain =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if !is_plain || value.contains(BOUNDARY) {
            return;
        }
        let head =
            format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(value.as_bytes());
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    let again = form_urlencoded::Serializer::new(String::new()).extend_pairs(&fields).finish();
    let urlencoded = read(URLENCODED, None, &[again.as_bytes()]);
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    let multipart = read(&content_type, None, &[&body]);
    match (urlencoded, multipart) {
        (Ok(one), Ok(other)) => assert_eq!(one, other, "both forms come to the same"),
        (Ok(_), Err(refusal)) => panic!("multipart is refused alone: {refusal:?}"),
        (Err((_, body)), Ok(_)) => {
            let body = String::from_utf8_lossy(&body);
            assert!(body.contains("the payload is not a JSON array"), "multipart alone: {body}");
        }
        (Err((one, _)), Err((other, _))) => assert_eq!(one, other, "both are refused alike"),
    }
}

//! Urlencoded forms as whole requests. Neither cuts nor compression change the outcome, and an
//! accepted form has the fields that another decoder finds in it.

use std::io::Write as _;

use caseload_model::payload::PayloadReader;
use caseload_model::task::Family;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::payload_lines::drive;
use crate::pieces::cuts;
use crate::request::{URLENCODED, payload, read};

pub(crate) fn holds(data: &[u8]) {
    let whole = read(URLENCODED, None, &[data]);
    for pieces in cuts(data) {
        assert_eq!(read(URLENCODED, None, &pieces), whole, "cuts do not matter");
    }
    for (coding, packed) in [("gzip", gzip(data)), ("zstd", zstd(data))] {
        assert_eq!(read(URLENCODED, Some(coding), &[&packed]), whole, "{coding} does not matter");
    }
    let Ok(form) = whole else { return };
    let fields: Vec<_> = form_urlencoded::parse(data).collect();
    let value = |name| {
        let mut values = fields.iter().filter(|(known, _)| known.replace('-', "_") == name);
        let value = values.next().map(|(_, value)| value.as_ref());
        // The decoder of words stops at 256 bytes; no good word is that long.
        let differs = values.any(|(_, other)| name == "payload" || Some(other.as_ref()) != value);
        assert!(!differs, "a field that is given twice has one value");
        value
    };
    assert_eq!(value("action"), Some(form.action.as_str()));
    let dry_run = value("dry_run").map(str::to_lowercase);
    assert_eq!(matches!(dry_run.as_deref(), Some("true" | "1")), form.dry_run);
    let sent = value("payload").expect("a form without payload is refused");
    assert_eq!(form.hash, Some(Sha256::digest(sent).into()));
    let reader = PayloadReader::array(Family::Identity.entry_bytes_read_max());
    assert_eq!(drive(reader, &[sent.as_bytes()]), Ok(payload(&form)));
}

pub(crate) fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

pub(crate) fn zstd(data: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(data, 1).expect("memory takes all")
}

//! Urlencoded forms as whole requests. Neither cuts nor compression change the outcome, and an
//! accepted form has the fields that another decoder finds in it.

use caseload_model::payload::PayloadReader;
use caseload_model::task::Family;
use sha2::{Digest, Sha256};

use crate::payload_lines::drive;
use crate::request::{URLENCODED, payload, read_in_every_form};

pub(crate) fn holds(data: &[u8]) {
    let Ok(form) = read_in_every_form(URLENCODED, data) else { return };
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

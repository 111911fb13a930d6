//! Payloads that are one JSON array. Another reader finds the same elements with the same bytes,
//! or refuses the array too; a refusal names a place in the payload; and cuts change nothing.

use caseload_model::error_code::ErrorCode;
use caseload_model::payload::{ARRAY_DEPTH_MAX, PayloadFault, PayloadReader};
use caseload_model::task::{Family, PAYLOAD_ENTRIES_MAX};
use serde_json::value::RawValue;

use crate::block::Row;
use crate::payload_lines::drive;
use crate::pieces::cuts;

pub(crate) fn holds(data: &[u8]) {
    let limit = Family::Identity.entry_bytes_read_max();
    for new in [PayloadReader::array, PayloadReader::new] {
        let whole = drive(new(limit), &[data]);
        for pieces in cuts(data) {
            assert_eq!(drive(new(limit), &pieces), whole, "cuts do not matter");
        }
        if let Err(fault) = &whole {
            assert!(!fault.detail.is_empty());
            let lines = data.split(|byte| *byte == b'\n').count() as u32;
            assert!(fault.line.is_none_or(|line| (1..=lines).contains(&line)), "{fault:?}");
        }
    }
    compare(data, drive(PayloadReader::array(limit), &[data]));
}

/// Compares the elements with those of another reader.
fn compare(data: &[u8], outcome: Result<Vec<Row>, PayloadFault>) {
    if data.len() >= ARRAY_DEPTH_MAX {
        return;
    }
    let bare = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let elements = serde_json::from_slice::<Vec<&RawValue>>(bare);
    match (elements, outcome) {
        (Ok(elements), Ok(rows)) => {
            assert_eq!(elements.len(), rows.len(), "both find as many elements");
            for (n, (element, (_, line, oversize, bytes))) in (1..).zip(elements.iter().zip(rows)) {
                assert_eq!((line, oversize), (n, None), "an element has its number");
                assert_eq!(element.get().as_bytes(), bytes, "an element has its very bytes");
            }
        }
        (Ok(elements), Err(fault)) => match fault.code {
            ErrorCode::EmptyPayload => assert!(elements.is_empty()),
            ErrorCode::TooManyEntries => assert!(elements.len() > PAYLOAD_ENTRIES_MAX),
            _ => panic!("a good array is refused: {fault:?}"),
        },
        (Err(error), Ok(_)) => panic!("a broken array is accepted: {error}"),
        (Err(_), Err(fault)) if bare.iter().all(|byte| b" \t\r\n".contains(byte)) => {
            assert_eq!(fault.code, ErrorCode::EmptyPayload);
        }
        (Err(_), Err(fault)) => assert_eq!(fault.code, ErrorCode::InvalidPayload, "{fault:?}"),
    }
}

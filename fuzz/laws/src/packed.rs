//! Compressed bodies of any bytes; the first byte chooses the coding. If another unpacker reads the
//! body, the outcome is that of the plain body; if that unpacker refuses it, the api does too. Cuts
//! change nothing.

use std::io::Read as _;

use caseload_api::test_support::{BulkForm, Refusal};
use flate2::read::MultiGzDecoder;

use crate::pieces::cuts;
use crate::request::{URLENCODED, read};

/// The largest window that the api grants to a zstd body, as a power of two.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Unpacked bytes beyond which the two need not agree: by then the api has refused the body.
const PLAIN_BYTES_MAX: u64 = 1 << 20;

pub(crate) fn holds(data: &[u8]) {
    let Some((first, packed)) = data.split_first() else { return };
    let coding = if first % 2 == 0 { "gzip" } else { "zstd" };
    let whole = read(URLENCODED, Some(coding), &[packed]);
    for pieces in cuts(packed) {
        // If a body is broken in two ways, the fault that shows first is reported.
        let outcome = read(URLENCODED, Some(coding), &pieces);
        assert_eq!(status_or_form(&outcome), status_or_form(&whole), "cuts do not matter");
    }
    let mut plain = Vec::new();
    let outcome = match coding {
        "gzip" => MultiGzDecoder::new(packed).take(PLAIN_BYTES_MAX).read_to_end(&mut plain),
        _ => zstd::stream::read::Decoder::new(packed).and_then(|mut decoder| {
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            decoder.take(PLAIN_BYTES_MAX).read_to_end(&mut plain)
        }),
    };
    match outcome {
        Ok(len) if (len as u64) < PLAIN_BYTES_MAX => {
            assert_eq!(read(URLENCODED, None, &[&plain]), whole, "{coding} does not matter");
        }
        Ok(_) => {}
        Err(error) => {
            let (status, body) = whole.expect_err("what cannot be unpacked is refused");
            assert_eq!(status, 400, "{error}: {}", String::from_utf8_lossy(&body));
        }
    }
}

fn status_or_form(outcome: &Result<BulkForm, Refusal>) -> Result<&BulkForm, u16> {
    outcome.as_ref().map_err(|(status, _)| *status)
}

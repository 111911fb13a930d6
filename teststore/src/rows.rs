//! Reads the text in rows that a test has dumped: a test that looks for a text in every stored byte
//! must find it in compressed blocks, too. It knows nothing of tables.

use caseload_store::unpack_block;

/// The first bytes of every compressed block.
const FRAME_BEGIN: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The text of a row, with the bytes that it has as hexadecimal digits, and the blocks in them.
pub fn readable(row: &str) -> String {
    let mut all = row.to_lowercase();
    for digits in row.split(|c: char| !c.is_ascii_hexdigit()).filter(|run| run.len() >= 8) {
        let pair = |n: usize| u8::from_str_radix(digits.get(n..n + 2)?, 16).ok();
        let bytes: Vec<u8> = (0..digits.len()).step_by(2).filter_map(pair).collect();
        all.push_str(&String::from_utf8_lossy(&bytes).to_lowercase());
        if bytes.starts_with(&FRAME_BEGIN) {
            let text = unpack_block(&bytes).expect("a whole block");
            all.push_str(&String::from_utf8_lossy(&text).to_lowercase());
        }
    }
    all
}

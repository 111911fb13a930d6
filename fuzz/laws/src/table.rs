//! Tables of any bytes. A table that arrives in pieces gives the same records, or the same fault of
//! its text, as one that arrives at once. Lines never go back, each row is in the file as its raw
//! text, and the search passes each byte of the text three times at most.

use caseload_files::{Encoding, Record, TableOptions, TableReader, TextDecoder, detect};

use crate::pieces::cuts;

pub(crate) fn holds(data: &[u8]) {
    let Some((&kind, table)) = data.split_first() else { return };
    let encoding = ["windows-1252", "utf-16le", "shift_jis", "gb18030"]
        .get(usize::from(kind % 8))
        .map(|label| label.parse::<Encoding>().expect("a label that browsers know"));
    let delimiter = [None, Some(b','), Some(b';')][usize::from(kind / 8 % 3)];
    let options = TableOptions { delimiter, encoding };
    let _ = detect(table, encoding);
    let whole = read(&[table], options);
    for pieces in cuts(table) {
        assert_eq!(read(&pieces, options), whole);
    }
}

/// The records as texts, and the fault that ended them.
fn read(pieces: &[&[u8]], options: TableOptions) -> (Vec<String>, Option<String>) {
    let mut reader = TableReader::new(options);
    let (mut records, mut last_line) = (Vec::new(), 0);
    let mut each = |record: Record<'_>| {
        let line = match record {
            Record::Row(row) => row.line,
            Record::Fault(fault) => fault.line,
        };
        assert!(line > last_line, "line {line} after line {last_line}");
        last_line = line;
        if let Record::Row(row) = record {
            assert!((0..row.cells()).all(|at| row.raw.len() >= row.cell(at).len()));
        }
        records.push(format!("{record:?}"));
    };
    let fed = pieces.iter().try_for_each(|piece| reader.feed(piece, &mut each));
    let fault = fed.and_then(|()| reader.finish(&mut each)).err();
    if fault.is_none() {
        let (mut decoder, mut text) = (TextDecoder::new(options.encoding), String::new());
        let decoded = pieces.iter().try_for_each(|piece| decoder.feed(piece, &mut text));
        decoded.and_then(|()| decoder.finish(&mut text)).expect("the reader found no fault");
        assert!(reader.bytes_passed() <= 3 * text.len() as u64);
    }
    (records, fault.map(|fault| fault.to_string()))
}

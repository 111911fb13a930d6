//! Tables in CSV as a caller reads them, with a reader that knows nothing of the product's writer.

/// The cells of each line; the first line is the header. Panics if a line does not end in CRLF or
/// has more or fewer cells than the others.
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
pub fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .terminator(csv::Terminator::Any(b'\n'))
        .from_reader(text.as_bytes());
    let rows = reader.records().map(|line| {
        let mut cells: Vec<String> = line.unwrap().iter().map(str::to_owned).collect();
        assert_eq!(cells.last_mut().unwrap().pop(), Some('\r'), "a line ends in CRLF: {text:?}");
        cells
    });
    rows.collect()
}

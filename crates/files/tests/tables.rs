//! Tables in pieces of any size: written and read back, damaged ones, and what hostile ones cost.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use caseload_files::{
    COLUMNS_MAX, OPEN_QUOTE, ROW_BYTES_MAX, Record, TOO_LARGE, TableOptions, TableReader,
};
use caseload_testdata::SplitMix;

/// A row by its line, its cells and whether they were quoted; or a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Read {
    Row(u64, Vec<(String, bool)>),
    Fault(&'static str, u64, usize, String),
}

fn owned(record: Record<'_>) -> Read {
    match record {
        Record::Row(row) => {
            let cells = 0..row.cells().min(COLUMNS_MAX);
            Read::Row(
                row.line,
                cells.map(|at| (row.cell(at).to_owned(), row.is_quoted(at))).collect(),
            )
        }
        Record::Fault(fault) => {
            Read::Fault(fault.code, fault.line, fault.column, fault.raw.to_owned())
        }
    }
}

fn read_pieces<'p>(
    pieces: impl IntoIterator<Item = &'p [u8]>,
    delimiter: Option<u8>,
) -> (Vec<Read>, TableReader) {
    let mut reader = TableReader::new(TableOptions { delimiter, encoding: None });
    let mut records = Vec::new();
    for piece in pieces {
        reader.feed(piece, &mut |record| records.push(owned(record))).unwrap();
    }
    reader.finish(&mut |record| records.push(owned(record))).unwrap();
    (records, reader)
}

fn read(text: &str, delimiter: Option<u8>) -> Vec<Read> {
    read_pieces([text.as_bytes()], delimiter).0
}

/// The records in short: the cells of a row, or the code, line and column of a fault.
fn short(text: &str) -> Vec<String> {
    let told = |record| match record {
        Read::Row(line, cells) => {
            let cells: Vec<String> = cells.into_iter().map(|(cell, _)| cell).collect();
            format!("{line}: {}", cells.join("|"))
        }
        Read::Fault(code, line, column, raw) => format!("{line}:{column} {code} {raw:?}"),
    };
    read(text, None).into_iter().map(told).collect()
}

/// Pieces of random lengths.
fn cut<'t>(random: &mut SplitMix, mut text: &'t [u8]) -> Vec<&'t [u8]> {
    let longest = 1 + random.below(40);
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let (piece, rest) = text.split_at(random.below(longest + 1).min(text.len()));
        pieces.push(piece);
        text = rest;
    }
    pieces
}

#[test]
fn random_tables_are_read_as_they_were_written() {
    for seed in 0..3_000 {
        let mut random = SplitMix::new(seed);
        let delimiter = [b',', b';', b'\t', b'|'][random.below(4)];
        let separator = char::from(delimiter).to_string();
        let (mut text, mut expected, mut line) = (String::new(), Vec::new(), 1);
        for _ in 0..random.below(6) {
            let end = ["\n", "\r\n", "\r"][random.below(3)];
            let pieces = ["a", "ü", ",", ";", "\t", "|", "\"", "\n", "\r\n", " ", "", "€", "\r"];
            let mut cells = Vec::new();
            for _ in 0..=random.below(4) {
                let words = (0..random.below(4)).map(|_| pieces[random.below(13)]);
                let cell: String = words.collect();
                let quoted = cell.starts_with('"')
                    || cell.contains([char::from(delimiter), '\n', '\r'])
                    || random.below(3) == 0;
                cells.push((cell, quoted));
            }
            let written: Vec<String> = cells
                .iter()
                .map(|(cell, quoted)| match quoted {
                    true => format!("\"{}\"", cell.replace('"', "\"\"")),
                    false => cell.clone(),
                })
                .collect();
            let written = written.join(&separator);
            // A line feed after a carriage return would be one line end.
            let end = if text.ends_with('\r') && written.is_empty() { "\r" } else { end };
            text = text + &written + end;
            if cells.iter().any(|(cell, _)| !cell.trim().is_empty()) {
                expected.push(Read::Row(line, cells));
            }
            let breaks = written.replace("\r\n", "\n");
            line += breaks.matches(['\n', '\r']).count() as u64 + 1;
        }
        assert_eq!(read(&text, Some(delimiter)), expected, "seed {seed}: {text:?}");
        let pieces = cut(&mut random, text.as_bytes());
        assert_eq!(read_pieces(pieces, Some(delimiter)).0, expected, "seed {seed}: {text:?}");
    }
}

#[test]
fn a_damaged_table_gives_the_same_records_however_it_is_cut() {
    let words = ["\"", "\"", "\"\"", "a", ",", "\n", "\r", "\r\n", "ü", ";", " "];
    for seed in 0..20_000 {
        let mut random = SplitMix::new(seed);
        let text: String = (0..random.below(24)).map(|_| words[random.below(11)]).collect();
        let delimiter = [None, Some(b',')][random.below(2)];
        let whole = read(&text, delimiter);
        let pieces = cut(&mut random, text.as_bytes());
        assert_eq!(read_pieces(pieces, delimiter).0, whole, "seed {seed}: {text:?}");
        let single = text.as_bytes().chunks(1);
        assert_eq!(read_pieces(single, delimiter).0, whole, "seed {seed}: {text:?}");
        let lines: Vec<u64> = whole
            .iter()
            .map(|record| match record {
                Read::Row(line, _) | Read::Fault(_, line, ..) => *line,
            })
            .collect();
        assert!(lines.is_sorted(), "seed {seed}: {text:?}: {whole:?}");
    }
}

#[test]
fn an_open_quote_costs_one_line() {
    for (text, expected) in [
        (
            "email,city,who\na@b,\"Oslo,x\nc@d,Rome,x\ne@f,\"Nice\",x\n",
            vec![
                "1: email|city|who",
                "2:5 open_quote \"a@b,\\\"Oslo,x\"",
                "3: c@d|Rome|x",
                "4: e@f|Nice|x",
            ],
        ),
        ("a,b\n\"1,2\n3,4", vec!["1: a|b", "2:1 open_quote \"\\\"1,2\"", "3: 3|4"]),
        ("a,b\n1,\"2", vec!["1: a|b", "2:3 open_quote \"1,\\\"2\""]),
        ("a,b\r\"1\"x,2\r\n3,4", vec!["1: a|b", "2:4 open_quote \"\\\"1\\\"x,2\"", "3: 3|4"]),
        // The row has a good cell of two lines, and ends with the line of its open quote.
        (
            "a,b\n\"1\n2\",\"3\n4,5\n",
            vec!["1: a|b", "3:4 open_quote \"\\\"1\\n2\\\",\\\"3\"", "4: 4|5"],
        ),
        ("a,b\nü,\"2\r\n3,4\r\n", vec!["1: a|b", "2:3 open_quote \"ü,\\\"2\"", "3: 3|4"]),
        ("a,b\n6\" pipe,Rob \"Bob\" Smith\n", vec!["1: a|b", "2: 6\" pipe|Rob \"Bob\" Smith"]),
    ] {
        assert_eq!(short(text), expected, "{text:?}");
    }
}

#[test]
fn real_files_are_read() {
    for (text, expected) in [
        ("sep=;\r\na;b\r\n1,5;2\r\n", vec!["2: a|b", "3: 1,5|2"]),
        ("\"sep=;\"\na;b\n", vec!["2: a|b"]),
        ("a,b\r1,2\r3,4", vec!["1: a|b", "2: 1|2", "3: 3|4"]),
        ("a,b\n1,2\r\n3,4\r5,6\n", vec!["1: a|b", "2: 1|2", "3: 3|4", "4: 5|6"]),
        ("\u{feff}a;b\n\n;\n \u{a0};\"\"\n1;2;\n3\n", vec!["1: a|b", "5: 1|2|", "6: 3"]),
        ("a,b\n\"1\r\n2\",3\n4,5", vec!["1: a|b", "2: 1\r\n2|3", "4: 4|5"]),
        ("", vec![]),
        ("sep=;", vec![]),
    ] {
        assert_eq!(short(text), expected, "{text:?}");
    }
}

#[test]
fn a_row_over_the_limit_is_a_fault_of_that_row() {
    let long = "x".repeat(ROW_BYTES_MAX);
    let fits = &long[..ROW_BYTES_MAX - 3];
    for (text, expected) in [
        (format!("a,b\n{long}\n1,2\n"), ["TOO", "1,2"]),
        (format!("a,b\n\"{long}\",x\n1,2\n"), ["TOO", "1,2"]),
        (format!("a,b\n{fits},1\n1,2\n"), ["ROW", "1,2"]),
        (format!("a,b\n{long}{long}{long}\n1,2"), ["TOO", "1,2"]),
        (format!("a,b\n\"x\"y{long}\n1,2"), ["OPEN", "1,2"]),
    ] {
        for piece in [text.len(), 70_001] {
            let (records, _) = read_pieces(text.as_bytes().chunks(piece), None);
            let told: Vec<String> = records[1..]
                .iter()
                .map(|record| match record {
                    Read::Row(3, cells) => format!("{},{}", cells[0].0, cells[1].0),
                    Read::Row(..) => "ROW".to_owned(),
                    Read::Fault(TOO_LARGE, 2, 1, raw) if raw.len() == ROW_BYTES_MAX => "TOO".into(),
                    Read::Fault(OPEN_QUOTE, 2, 4, _) => "OPEN".to_owned(),
                    Read::Fault(..) => format!("{record:?}").chars().take(60).collect(),
                })
                .collect();
            assert_eq!(told, expected, "{}", &text[..8]);
        }
    }
    // A quote over more lines than a row may have is an open one, and the lines in it are rows.
    let text = format!("a,b\n\"1,2\n{}", "3,4\n".repeat(ROW_BYTES_MAX / 2));
    let (records, _) = read_pieces(text.as_bytes().chunks(1 << 16), None);
    assert!(matches!(records[1], Read::Fault(OPEN_QUOTE, 2, 1, _)), "{:?}", records[1]);
    assert_eq!(records.len(), 2 + ROW_BYTES_MAX / 2);
}

#[test]
fn cells_beyond_the_most_columns_are_counted() {
    let text = format!("{}\n1\n", ",x".repeat(COLUMNS_MAX + 7));
    let mut reader = TableReader::new(TableOptions { delimiter: Some(b','), encoding: None });
    let mut counts = Vec::new();
    let mut each = |record: Record<'_>| {
        if let Record::Row(row) = record {
            counts.push((row.cells(), row.cell(1).to_owned(), row.cell(COLUMNS_MAX).to_owned()));
        }
    };
    reader.feed(text.as_bytes(), &mut each).unwrap();
    reader.finish(&mut each).unwrap();
    let header = (COLUMNS_MAX + 8, "x".to_owned(), String::new());
    assert_eq!(counts, [header, (1, String::new(), String::new())]);
}

#[test]
fn hostile_tables_are_passed_three_times_at_most() {
    const BYTES: usize = 2 << 20;
    let mut inputs: Vec<Vec<u8>> = [
        "\"a\n",
        "\"",
        "\"\"\"\"\n",
        "\"\n",
        "a\n",
        ",\"\n",
        "\"\"\n",
        "\"\"a\n\"",
        "\"\"\"\n",
        "\"\",\"\n",
        "\",\n\"x",
        "\"\n\"\"\n",
        "\r\"",
        ",",
        "\n",
        "a,\"b\"\"\n",
    ]
    .iter()
    .map(|unit| unit.bytes().cycle().take(BYTES).collect())
    .collect();
    let quotes = "\"".repeat(ROW_BYTES_MAX - 1);
    inputs.push(format!("\"\n{quotes}").repeat(3).into_bytes());
    inputs.push(format!("\"\n{}\n", &quotes[..quotes.len() / 2]).repeat(5).into_bytes());
    for seed in 0..40 {
        let mut random = SplitMix::new(seed);
        let words: [&[u8]; 6] = [b"\"", b"\n", b",", b"a", b"\"\"", b"\r\n"];
        let many = 1 + random.below(6);
        let word = |_| words[random.below(many)];
        inputs.push((0..BYTES).map(word).take(BYTES / 2).flatten().copied().collect());
    }
    for input in inputs {
        let mut reader = TableReader::new(TableOptions { delimiter: Some(b','), encoding: None });
        let mut records = 0_usize;
        for piece in input.chunks(50_000) {
            reader.feed(piece, &mut |_| records += 1).unwrap();
        }
        reader.finish(&mut |_| records += 1).unwrap();
        let (passed, length) = (reader.bytes_passed(), input.len() as u64);
        let start = input[..20.min(input.len())].escape_ascii();
        assert!(passed >= length && passed <= 3 * length, "{start}: {passed} for {length}");
    }
}

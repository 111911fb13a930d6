//! Rejects of any file are read back as the same entries. Their two cells in front are ignored,
//! and rejects of rejects do not grow.

use proptest::prelude::*;

use super::*;

/// All entries of a file as its rejects.
pub(super) fn rejects(blocks: &[Block], read: &FileRead, details: &[&str]) -> String {
    let mut out = Vec::new();
    let form = FileForm::new(read.format.clone().into(), Vec::new(), read.header.clone());
    let table = form.rejects();
    if let Some(table) = &table {
        table.write_header(&mut out);
    }
    let error = details.join("; ");
    let error = Some(&error[..]).filter(|error| !error.is_empty());
    for (block, entry) in each_entry(blocks) {
        match &table {
            Some(table) => table.write(block, entry, error, &mut out),
            None => block.write_line(entry, &mut out),
        }
    }
    text(&out)
}

/// Entries without the places that they have.
fn contents(blocks: &[Block]) -> Vec<(String, Vec<String>)> {
    each_entry(blocks)
        .map(|(block, entry)| {
            let rows = block.rows_of(entry).map(|(_, row)| text(row)).collect();
            (text(block.bytes_of(entry)), rows)
        })
        .collect()
}

#[test]
fn a_table_of_rejects_is_the_file_with_two_cells_in_front() {
    let table = "E-mail;\"City; town\";Age\n\"a;b@x.org\" ; Köln;x\n\nc@x.org\n";
    let columns = vec![("City; town".to_owned(), Some("city".to_owned()))];
    let options = ReadOptions { columns, ..upsert() };
    let options = ReadOptions { others: OtherColumns::Ignore, ..options };
    let (blocks, found) = read(&options, table.replace("\" ;", "\";")).unwrap();
    let written = rejects(&blocks, &found, &["says \"no\"", "and\nmore"]);
    assert_eq!(
        written,
        "error;line;E-mail;\"City; town\";Age\r\n\
         \"says \"\"no\"\"; and more\";2;\"a;b@x.org\"; Köln;x\r\n\
         \"says \"\"no\"\"; and more\";4;c@x.org\r\n"
    );
    let (again, second) = read(&options, &written).unwrap();
    assert_eq!(contents(&again), contents(&blocks));
    assert_eq!(second.header, found.header);
    // Rejects of rejects do not grow.
    assert!(
        rejects(&again, &second, &[]).starts_with("error;line;E-mail;\"City; town\";Age\r\n\"not")
    );
}

#[test]
fn only_the_first_two_columns_of_a_header_are_those_of_rejects() {
    for (header, is_read) in [
        ("error,line,uid", true),
        ("Error , LINE,uid", true),
        ("line,error,uid", false),
        ("uid,error,line", false),
    ] {
        assert_eq!(read(&upsert(), format!("{header}\na,b,c\n")).is_ok(), is_read, "{header}");
    }
}

#[test]
fn rejects_of_json_are_lines_and_those_of_another_encoding_have_a_mark() {
    let (blocks, found) = read(&upsert(), "[{\"a\":\n1},{}]").unwrap();
    assert_eq!(rejects(&blocks, &found, &["no"]), "{\"a\": 1}\n{}\n");
    let western = ReadOptions { encoding: Some("windows-1252".parse().unwrap()), ..upsert() };
    let (blocks, found) = read(&western, b"uid,last_city\nu,K\xf6ln\n").unwrap();
    let written = rejects(&blocks, &found, &["no"]);
    assert!(written.starts_with('\u{feff}'));
    let (again, _) = read(&western, &written).unwrap();
    assert_eq!(contents(&again), contents(&blocks));
}

#[test]
fn an_unusual_delimiter_is_named() {
    let options = ReadOptions { delimiter: Some(b'^'), ..upsert() };
    let (blocks, found) = read(&options, "uid^age\nu^x\n").unwrap();
    let written = rejects(&blocks, &found, &["no, never; or | so"]);
    assert!(written.starts_with("sep=^\r\nerror^line^uid^age\r\n"), "{written}");
    let (again, _) = read(&upsert(), &written).unwrap();
    assert_eq!(contents(&again), contents(&blocks));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn rejects_of_any_table_are_read_back_as_the_same_entries(
        rows in prop::collection::vec(
            prop::collection::vec(
                prop::sample::select(vec![
                    "a", "", " b ", "\"c\"", "\"d,\"\"e\"\"\"", "\"f\ng\"", "7", "x\"y", "\"open",
                    "#N/A", "n/a", "\"q\"z",
                ]),
                1..5,
            ),
            1..12,
        ),
        delimiter in prop::sample::select(vec![',', ';', '\t', '|']),
        end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        details in prop::collection::vec("[a-z\",;\n]{0,8}", 0..3),
    ) {
        let header = ["uid", "last_city", "age"].join(&delimiter.to_string());
        let rows: Vec<String> =
            rows.iter().map(|row| row.join(&delimiter.to_string())).collect();
        let table = format!("{header}{end}{}{end}", rows.join(end));
        if let Ok((blocks, found)) = read(&upsert(), &table) {
            let details: Vec<String> = details.iter().map(|detail| format!("e{detail}")).collect();
            let details: Vec<&str> = details.iter().map(String::as_str).collect();
            let written = rejects(&blocks, &found, &details);
            let (again, _) = read(&upsert(), &written).unwrap();
            prop_assert_eq!(contents(&again), contents(&blocks), "{}", written);
        }
    }
}

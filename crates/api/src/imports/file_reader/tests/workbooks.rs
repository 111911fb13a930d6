//! Workbooks: the texts of their cells, their sheets, and hostile or damaged ones.

use std::io::Cursor;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::rejected::rejects;
use super::*;

const OPEN: &str = r#"<?xml version="1.0" encoding="UTF-8"?>"#;
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OF_DOCUMENT: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const OF_PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";

fn zip_of(parts: &[(&str, String)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn relation(id: &str, kind: &str, target: &str) -> String {
    format!(r#"<Relationship Id="{id}" Type="{OF_DOCUMENT}/{kind}" Target="{target}"/>"#)
}

fn relations(inside: &str) -> String {
    format!(r#"{OPEN}<Relationships xmlns="{OF_PACKAGE}">{inside}</Relationships>"#)
}

/// The parts of a workbook with these sheets, each with the XML of its rows.
fn parts(sheets: &[(&str, &str)], strings: &str) -> Vec<(&'static str, String)> {
    const PATHS: [&str; 2] = ["xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"];
    let main = |name, inside: &str| format!(r#"{OPEN}<{name} xmlns="{MAIN}">{inside}</{name}>"#);
    let (mut names, mut links, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for (n, (name, rows)) in sheets.iter().enumerate() {
        names.push(format!(r#"<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>"#));
        links.push(relation(&format!("r{n}"), "worksheet", &PATHS[n][3..]));
        parts.push((PATHS[n], main("worksheet", &format!("<sheetData>{rows}</sheetData>"))));
    }
    let formats = r#"<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs>"#;
    let workbook = main("workbook", &format!("<sheets>{}</sheets>", names.concat()));
    let workbook = workbook.replace("<sheets>", &format!("<sheets xmlns:r=\"{OF_DOCUMENT}\">"));
    parts.extend([
        ("[Content_Types].xml", format!("{OPEN}<Types/>")),
        ("_rels/.rels", relations(&relation("r1", "officeDocument", "xl/workbook.xml"))),
        ("xl/workbook.xml", workbook),
        ("xl/_rels/workbook.xml.rels", relations(&links.concat())),
        ("xl/styles.xml", main("styleSheet", formats)),
        ("xl/sharedStrings.xml", main("sst", strings).replace("<sst", "<sst uniqueCount=\"2\"")),
    ]);
    parts
}

/// A row of texts.
fn row(number: u32, cells: &[(&str, &str)]) -> String {
    let cells = cells.iter().map(|(column, text)| {
        format!(r#"<c r="{column}{number}" t="inlineStr"><is><t>{text}</t></is></c>"#)
    });
    format!(r#"<row r="{number}">{}</row>"#, cells.collect::<String>())
}

fn people() -> Vec<u8> {
    let header = row(
        3,
        &[
            ("B", "email"),
            ("C", "last_active_date"),
            ("D", "age"),
            ("E", "accepted_t_and_c"),
            ("F", "custom_fields.note"),
            ("G", "uid"),
        ],
    );
    let first = concat!(
        r#"<row r="5"><c r="B5" t="s"><v>0</v></c><c r="C5" s="1"><v>45292</v></c>"#,
        r#"<c r="D5"><f>30+6</f><v>36.0</v></c><c r="E5" t="b"><v>1</v></c>"#,
        r#"<c r="F5" t="s"><v>1</v></c><c r="G5"><v>4.915112345678E12</v></c></row>"#,
    );
    let second = concat!(
        r#"<row r="6"><c r="B6" t="inlineStr"><is><t xml:space="preserve"> b@x.org </t></is></c>"#,
        r#"<c r="C6" s="2"><v>45292.5</v></c><c r="F6" t="e"><v>#N/A</v></c></row>"#,
    );
    let rows = format!("{header}{first}{second}");
    let strings = "<si><t>a@x.org</t></si><si><r><t xml:space=\"preserve\">6&quot;, </t></r>\
                   <r><t>pipe</t></r></si>";
    let other = row(1, &[("A", "uid")]) + &row(2, &[("A", "u-1")]);
    zip_of(&parts(&[("People", &rows), ("Other", &other)], strings))
}

#[test]
fn a_sheet_is_read_as_a_spreadsheet_shows_it() {
    let workbook = people();
    let (blocks, found) = read(&upsert(), &workbook).unwrap();
    let first = concat!(
        r#"{"identities":[{"email":"a@x.org"},{"uid":"4915112345678"}],"#,
        r#""last_active_date":"2024-01-01","age":36,"accepted_t_and_c":true,"#,
        r#""custom_fields":{"note":"6\", pipe"}}"#
    );
    let second = concat!(
        r#"{"identities":[{"email":"b@x.org"}],"#,
        r#""last_active_date":"2024-01-01T12:00:00"}"#
    );
    assert_eq!(entries(&blocks), [(0, 5, first.to_owned()), (1, 6, second.to_owned())]);
    assert_eq!(outcomes(&upsert(), &blocks), [(5, vec![]), (6, vec!["spreadsheet_error"])]);
    let format = &found.format;
    assert_eq!((format.file_type.as_str(), format.sheet.as_deref()), ("xlsx", Some("People")));
    assert_eq!((found.entries, found.content_length), (2, workbook.len() as u64));
    // Rejects are a CSV that is read as the same entries.
    let written = rejects(&blocks, &found, &["no"]);
    assert!(
        written.starts_with("error,line,,email,last_active_date,age,accepted_t_and_c,"),
        "{written}"
    );
    let (again, _) = read(&upsert(), &written).unwrap();
    let contents = |blocks: &[Block]| entries(blocks).into_iter().map(|entry| entry.2);
    assert!(contents(&again).eq(contents(&blocks)), "{written}");
    let sheet = |name: &str| ReadOptions { sheet: Some(name.to_owned()), ..upsert() };
    let (blocks, _) = read(&sheet("Other"), &workbook).unwrap();
    assert_eq!(entries(&blocks), [(0, 2, r#"{"identities":[{"uid":"u-1"}]}"#.to_owned())]);
    let fault = refused(&sheet("other"), &workbook);
    assert!(fault.detail.contains("its sheets are \"People\", \"Other\""), "{}", fault.detail);
}

#[test]
fn an_error_of_any_spreadsheet_is_one_of_its_cell() {
    let error = |cell: &str, error: &str| format!(r#"<c r="{cell}" t="e"><v>{error}</v></c>"#);
    let header = row(1, &[("A", "uid"), ("B", "last_city"), ("C", "full_name")]);
    // An XML parser sees a text in the second row.
    let text = row(2, &[("A", "u1"), ("B", "City"), ("C", r#"a > c t="e""#)]);
    let rows: Vec<_> = (3..)
        .zip(["#SPILL!", "#CALC!", "#FIELD!", "#BLOCKED!", "#N/A"])
        .map(|(n, of)| {
            row(n, &[("A", "u")]).replace("</row>", &(error(&format!("B{n}"), of) + "</row>"))
        })
        .collect();
    let rows = header + &text + &rows.concat();
    let workbook = zip_of(&parts(&[("S", &rows)], ""));
    let (blocks, _) = read(&upsert(), &workbook).unwrap();
    let faults = |line| (line, vec!["spreadsheet_error"]);
    let right = [(2, vec![]), faults(3), faults(4), faults(5), faults(6), faults(7)];
    assert_eq!(outcomes(&upsert(), &blocks), right);
    assert!(
        entries(&blocks)[0].2.contains(r#""full_name":"a > c t=\"e\"""#),
        "{:?}",
        entries(&blocks)
    );
}

#[test]
fn the_first_sheet_that_is_shown_is_read() {
    let sheet = |uid: &str| row(1, &[("A", "uid")]) + &row(2, &[("A", uid)]);
    let (first, second) = (sheet("a"), sheet("b"));
    let mut parts = parts(&[("Old", &first), ("New", &second)], "");
    let shown = parts[4].1.clone();
    for state in ["hidden", "veryHidden"] {
        let hidden = format!(r#"name="Old" state="{state}""#);
        parts[4].1 = shown.replace(r#"name="Old""#, &hidden);
        let (blocks, found) = read(&upsert(), zip_of(&parts)).unwrap();
        assert!(entries(&blocks)[0].2.contains(r#""uid":"b""#), "{blocks:?}");
        assert_eq!(found.format.sheet.as_deref(), Some("New"));
        // By its name, a hidden sheet is read.
        let options = ReadOptions { sheet: Some("Old".to_owned()), ..upsert() };
        let (blocks, _) = read(&options, zip_of(&parts)).unwrap();
        assert!(entries(&blocks)[0].2.contains(r#""uid":"a""#), "{blocks:?}");
    }
    parts[4].1 = parts[4].1.replace(r#"name="New""#, r#"name="New" state="hidden""#);
    let fault = refused(&upsert(), zip_of(&parts));
    assert!(fault.detail.contains(r#"name the one to read, of "Old", "New""#), "{fault:?}");
}

#[test]
fn a_workbook_with_a_password_is_refused_as_one() {
    let name = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes);
    let ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".iter().copied().chain([0; 2000]);
    let fault = refused(&upsert(), ole.clone().chain(name).collect::<Vec<u8>>());
    assert!(fault.detail.contains("a workbook with a password: save it without"), "{fault:?}");
    let fault = refused(&upsert(), ole.collect::<Vec<u8>>());
    assert!(fault.detail.contains("an old workbook (.xls), or one with a password"), "{fault:?}");
    // Each part may be encrypted, too: the first flag of its entries in the directory.
    let mut zip = people();
    let entries: Vec<usize> =
        (0..zip.len() - 4).filter(|at| zip[*at..].starts_with(b"PK\x01\x02")).collect();
    for at in entries {
        zip[at + 8] |= 1;
    }
    assert!(refused(&upsert(), zip).detail.contains("the workbook has a password"));
}

#[test]
fn however_a_workbook_is_cut_its_blocks_are_the_same() {
    let rows: String = std::iter::once(row(1, &[("A", "uid")]))
        .chain((2..30_000).map(|n| row(n, &[("A", &format!("u{n}"))])))
        .collect();
    let workbook = zip_of(&parts(&[("S", &rows)], ""));
    let (blocks, found) = read(&upsert(), &workbook).unwrap();
    assert_eq!(found.entries, 29_998);
    let (cut, again) = read_pieces(&upsert(), workbook.chunks(997)).unwrap();
    assert_eq!((cut, again), (blocks.clone(), found));
    let (packed, _) = read(&upsert(), gzip(&workbook)).unwrap();
    assert_eq!(packed, blocks);
    // In steps, with the memory that each takes.
    let mut reader = FileReader::new(upsert());
    assert!(reader.push(&workbook).unwrap().is_empty() && !reader.has_more());
    let mut stepped = reader.end().unwrap();
    assert!(reader.memory_bytes() > 64 << 20 && reader.has_more());
    while reader.has_more() {
        stepped.extend(reader.push(&[]).unwrap());
        assert!(reader.memory_bytes() < 8 << 20);
    }
    stepped.extend(reader.finish().unwrap().0);
    assert_eq!(stepped, blocks);
}

#[test]
fn a_workbook_that_is_damaged_or_a_bomb_is_refused_with_the_way_out() {
    let good = people();
    let blanks = " ".repeat(70 << 20);
    let bomb = zip_of(&parts(&[("S", &blanks)], ""));
    let dense = zip_of(&parts(&[("S", &blanks[..20 << 20])], ""));
    // The directory says that the part is small.
    let mut liar = bomb.clone();
    let at = liar.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    let first = liar.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    assert!(first < at);
    liar[first + 24..first + 28].copy_from_slice(&100_u32.to_le_bytes());
    let mut greedy = parts(&[("S", "")], "");
    greedy[6].1 = greedy[6].1.replace("uniqueCount=\"2\"", "uniqueCount=\"99999999999999\"");
    assert!(greedy[6].1.contains("9999"));
    let no_cells =
        zip_of(&[("[Content_Types].xml", String::new()), ("xl/nothing.xml", String::new())]);
    for (bytes, code, detail) in [
        (&good[..good.len() - 30], ErrorCode::InvalidPayload, "damaged or cut short"),
        (&good[..200], ErrorCode::InvalidPayload, "damaged or cut short"),
        (&no_cells, ErrorCode::InvalidPayload, "damaged or cut short"),
        (&zip_of(&greedy), ErrorCode::InvalidPayload, "a part has other texts than it says"),
        (&bomb, ErrorCode::TooLarge, "more than 67108864 bytes unpacked"),
        (&dense, ErrorCode::TooLarge, "more than 200 times its size unpacked"),
        (&liar, ErrorCode::InvalidPayload, "damaged or cut short"),
        (&zip_of(&[("a.csv", "uid\n1\n".to_owned())]), ErrorCode::InvalidPayload, "a zip file"),
        (&zip_of(&parts(&[("S", "")], "")), ErrorCode::EmptyPayload, "the file is empty"),
        (
            &zip_of(&parts(&[("S", &(row(2, &[("A", "uid")]) + &row(1, &[("A", "x")])))], "")),
            ErrorCode::InvalidPayload,
            "rows are not in order",
        ),
    ] {
        let fault = refused(&upsert(), bytes);
        assert_eq!(fault.code, code, "{}", fault.detail);
        assert!(fault.detail.contains(detail), "{}", fault.detail);
        if !detail.contains("zip") && !detail.contains("empty") {
            assert!(fault.detail.ends_with("save the sheet as CSV in UTF-8"), "{}", fault.detail);
        }
    }
    let mut damaged = good.clone();
    for at in (100..good.len() - 100).step_by(13) {
        damaged[at] ^= 0x55;
        // It is read or refused; it never panics.
        let _ = read(&upsert(), &damaged);
        damaged[at] ^= 0x55;
    }
}

//! Tables of issues: exports of other desks, several rows as one issue, and rows that are faulty.

use super::rejected::rejects;
use super::*;

fn import() -> ReadOptions {
    options(Action::ImportIssues)
}

const EXPORT: &str = concat!(
    "Ticket ID,Subject,Description,Created at,Requester,Requester name,Status,Tags\r\n",
    "7,Late,\"Hello,\r\n\r\nwhere is it?\",2024-01-01T09:00:00Z,Ann <ann@x.org>,Ann,open,a|b\r\n",
    "7,Late,\"On \"\"its\"\" way\",2024-01-01T10:00:00Z,bob@desk.org,Bob,open,a|b\r\n",
    "7,,Thanks,,,,,\r\n",
    "8,Lost,Gone,2024-01-02,cy@x.org,,Solved,\r\n",
    ",No id,One,2024-01-03T00:00:00Z,d@x.org,,pending,\r\n",
    ",No id,Two,2024-01-04T00:00:00Z,d@x.org,,new,\r\n",
);

#[test]
fn an_export_of_another_desk_becomes_issues_with_their_messages() {
    let (blocks, found) = read(&import(), EXPORT).unwrap();
    let right = [
        (
            0,
            2,
            concat!(
                r#"{"id":"7","title":"Late","created_at":"2024-01-01T09:00:00Z","#,
                r#""author_email":"ann@x.org","author_name":"Ann","state_data":{"state":"new"},"#,
                r#""tags":["a","b"],"messages":[{"body":"Hello,\r\n\r\nwhere is it?"},"#,
                r#"{"body":"On \"its\" way","created_at":"2024-01-01T10:00:00Z","#,
                r#""author":{"name":"Bob","emails":["bob@desk.org"]}},{"body":"Thanks"}]}"#
            ),
        ),
        (
            1,
            7,
            concat!(
                r#"{"id":"8","title":"Lost","created_at":"2024-01-02","author_email":"cy@x.org","#,
                r#""state_data":{"state":"resolved"},"messages":[{"body":"Gone"}]}"#
            ),
        ),
        (
            2,
            8,
            concat!(
                r#"{"title":"No id","created_at":"2024-01-03T00:00:00Z","author_email":"d@x.org","#,
                r#""state_data":{"state":"agent-replied"},"messages":[{"body":"One"}]}"#
            ),
        ),
        (
            3,
            9,
            concat!(
                r#"{"title":"No id","created_at":"2024-01-04T00:00:00Z","author_email":"d@x.org","#,
                r#""state_data":{"state":"new"},"messages":[{"body":"Two"}]}"#
            ),
        ),
    ];
    assert_eq!(entries(&blocks), right.map(|(index, line, entry)| (index, line, entry.to_owned())));
    assert_eq!(found.entries, 4);
    assert_eq!(outcomes(&import(), &blocks), [2, 7, 8, 9].map(|line| (line, Vec::new())));
    let notes = notes(&blocks);
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes[0].contains("reduced") && notes[0].contains("taken as the state new"));
    let fields = found.columns.iter().map(|(_, field)| field.as_deref().unwrap_or("-"));
    assert_eq!(
        fields.collect::<Vec<_>>(),
        [
            "id",
            "title",
            "message",
            "created_at",
            "author_email",
            "author_name",
            "state_data.state",
            "tags"
        ]
    );
    // However the bytes are cut.
    for size in [1, 3, 7, 64] {
        let (cut, _) = read_pieces(&import(), EXPORT.as_bytes().chunks(size)).unwrap();
        assert_eq!(cut, blocks, "{size}");
    }
    // Each issue brings all its rows, which are read back as the same issue.
    let written = rejects(&blocks, &found, &["no"]);
    assert!(written.contains("\"no\",6,7,,Thanks,,,,,\r\n"), "{written}");
    let (again, _) = read(&import(), &written).unwrap();
    let contents = |blocks: &[Block]| entries(blocks).into_iter().map(|entry| entry.2);
    assert!(contents(&again).eq(contents(&blocks)));
}

#[test]
fn rows_of_one_issue_that_do_not_fit_together_fail_it_with_all_its_rows() {
    let table = |rows: &str| format!("id,message,created_at,title\n{rows}");
    for (rows, right, code, detail) in [
        (
            "1,a,2024-01-01,T\n1,b,,U\n2,c,2024-01-01,\n",
            2,
            "id_conflict",
            "line 3: column \\\"title\\\"",
        ),
        ("1,a,2024-01-01,T\n1,\"b,,\n1,c,,\n2,c,2024-01-01,\n", 2, "open_quote", "line 3"),
        ("1,a,2024-01-01,T\n1,b,,,,\n1,c,,\n2,c,2024-01-01,\n", 2, "too_many_cells", "line 3"),
        ("1,a,2024-01-01,T\n1,#REF!,,\n2,c,2024-01-01,\n", 2, "spreadsheet_error", "line 3"),
    ] {
        let (blocks, found) = read(&import(), table(rows)).unwrap();
        let outcomes = outcomes(&import(), &blocks);
        assert_eq!((outcomes.len(), outcomes[0].1.contains(&code)), (right, true), "{outcomes:?}");
        assert!(outcomes[1].1.is_empty(), "{outcomes:?}");
        let notes = notes(&blocks);
        assert!(notes[0].contains(detail), "{notes:?}");
        let written = rejects(&blocks[..1], &found, &["no"]);
        assert_eq!(written.lines().count(), rows.lines().count() + 1, "{written}");
    }
    let (blocks, _) = read(&import(), table("1,a,2024-01-01,T\n1,a,2024-01-01,T\n")).unwrap();
    assert!(notes(&blocks)[0].contains("line 3 repeats the row before it"));
    assert!(entries(&blocks)[0].2.ends_with(r#""messages":[{"body":"a"}]}"#));
    // A broken row between two issues is its own entry.
    let (blocks, _) =
        read(&import(), table("1,a,2024-01-01,T\nx,\"y\n2,b,2024-01-01,T\n")).unwrap();
    let outcomes = outcomes(&import(), &blocks);
    assert_eq!(outcomes.iter().map(|found| found.0).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(outcomes[1].1, ["open_quote"]);
}

#[test]
fn faulty_fields_of_issues_are_left_out_if_asked() {
    let table = "created_at,custom_fields.due:date,custom_fields.n:number,language,title\n\
                 2024-01-01,soon,x,de,T\n2024-01-01,2024-02-03,1.50,de,T\n";
    let (blocks, _) = read(&import(), table).unwrap();
    assert_eq!(outcomes(&import(), &blocks)[0].1, ["wrong_type", "wrong_type"]);
    let leave_out = ReadOptions { leave_out: true, ..import() };
    let (blocks, _) = read(&leave_out, table).unwrap();
    assert_eq!(outcomes(&leave_out, &blocks), [(2, vec![]), (3, vec![])]);
    let notes = notes(&blocks);
    assert_eq!(notes[0].matches("left_out").count(), 2, "{notes:?}");
    let due = r#""due":{"type":"date","value":"2024-02-03"}"#;
    let fields = format!(r#""custom_fields":{{{due},"n":{{"type":"number","value":1.50}}}}"#);
    assert!(entries(&blocks)[1].2.contains(&fields));
    let table = "created_at,feedback_rating\n2024-01-01,9\n";
    let (blocks, _) = read(&leave_out, table).unwrap();
    assert_eq!(outcomes(&leave_out, &blocks), [(2, vec![])]);
}

#[test]
fn an_issue_of_too_many_rows_fails_with_each_of_them() {
    let rows: Vec<String> = (0..25_000).map(|n| format!("1,m{n},2024-01-01\n")).collect();
    let table = format!("id,message,created_at\n{}", rows.concat());
    let (blocks, found) = read(&import(), &table).unwrap();
    let outcomes = outcomes(&import(), &blocks);
    assert!(outcomes.iter().all(|(_, codes)| codes.contains(&"too_many")), "{outcomes:?}");
    let written = rejects(&blocks, &found, &["no"]);
    assert_eq!(written.lines().count(), 25_001);
}

#[test]
fn issues_are_deleted_by_a_column_of_ids() {
    let delete = options(Action::DeleteIssues);
    let (blocks, _) = read(&delete, "Ticket ID\n7\nx\n").unwrap();
    let right = [(0, 2, r#"{"id":"7"}"#.to_owned()), (1, 3, r#"{"id":"x"}"#.to_owned())];
    assert_eq!(entries(&blocks), right);
    assert_eq!(outcomes(&delete, &blocks)[1].1, ["wrong_type"]);
    let fault = refused(&delete, "id,title\n7,T\n");
    assert!(fault.detail.contains("\"title\" is not read"), "{}", fault.detail);
    let ignoring = ReadOptions { others: OtherColumns::Ignore, ..delete };
    let (blocks, _) = read(&ignoring, "id,title\n7,T\n").unwrap();
    assert_eq!(entries(&blocks)[0].2, r#"{"id":"7"}"#);
}

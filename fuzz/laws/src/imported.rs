//! Issues as a store has them after an import, and the law of every stored issue: it is JSON, shows
//! its times in either form, agrees with its columns, and comes back from an export as itself.

use std::collections::HashMap;

use caseload_model::ids::DomainName;
use caseload_model::issue::write::IssueRecord;
use caseload_model::issue::{
    App, ImportContext, ImportMode, ImportPlan, MissingWindows, NewIssue, StoredIssue,
    TakenTimestamps, plan_imports, prepare_imports, write_issue,
};
use caseload_model::issue_query::{IssueView, TimestampFormat};
use caseload_model::payload::Block;
use caseload_model::record::PreparedEntry;
use caseload_model::task::Family;

use crate::entries::blocks_of;
use crate::iso_times::compare;
use crate::second;

pub(crate) fn domain() -> DomainName {
    DomainName::parse("acme").expect("a domain name")
}

pub(crate) fn default_app() -> App {
    App { app_id: "web".to_owned(), publish_id: "1".to_owned() }
}

/// The plan of an import into a domain that has these issues.
pub(crate) fn plan(
    stored: &[IssueRecord],
    block: &Block,
    prepared: &[PreparedEntry<NewIssue>],
) -> ImportPlan {
    let of_store = |record: &IssueRecord| StoredIssue {
        created_at: record.columns.created_at,
        original_created_at: record.columns.original_created_at,
        head: record.head.clone(),
        body: record.body.clone(),
    };
    let taken = || stored.iter().map(|record| record.columns.created_at);
    let mut context = ImportContext {
        default_app: default_app(),
        apps: vec![default_app()],
        next_publish_number: 2,
        last_issue_id: stored.iter().map(|record| record.columns.id).max().unwrap_or_default(),
        free_ids: Vec::new(),
        stored: stored.iter().map(|record| (record.columns.id, of_store(record))).collect(),
        earlier: HashMap::new(),
        changed: None,
        taken_timestamps: TakenTimestamps::new(taken().max()),
    };
    loop {
        let need: MissingWindows =
            match plan_imports(&context, &block.bytes, prepared, ImportMode::default()) {
                Ok(plan) => return plan,
                Err(need) => need,
            };
        for window in need.windows() {
            let within = taken().filter(|at| window.from <= *at && *at <= window.until);
            context.taken_timestamps.add_window(window, within.collect::<Vec<_>>());
        }
    }
}

/// The issues of an empty domain after the import of a block.
pub(crate) fn records(block: &Block) -> Vec<IssueRecord> {
    let mut prepared = prepare_imports(&domain(), block);
    let plan = plan(&[], block, &prepared);
    let record = |row: caseload_model::issue::IssueRow| {
        let issue = prepared[row.source].item.as_mut().expect("only accepted entries are made");
        IssueRecord { columns: row.columns, head: row.head, body: std::mem::take(&mut issue.body) }
    };
    plan.issues.into_iter().map(record).collect()
}

/// The law of stored issues with different ids.
pub(crate) fn check(records: &[IssueRecord]) {
    if records.is_empty() {
        return;
    }
    let mut exports = [Vec::new(), Vec::new()];
    for record in records {
        for (timestamps, out) in
            [TimestampFormat::Unix, TimestampFormat::Iso8601].into_iter().zip(&mut exports)
        {
            let view = IssueView { timestamps, ..IssueView::FULL };
            let mut text = Vec::new();
            write_issue(&record.fragments(), &view, &mut text);
            assert!(second::is_json(&text), "an issue is JSON");
            assert!(text.iter().all(|byte| *byte >= 0x20), "an issue is one line");
            out.extend_from_slice(&text);
            out.push(b'\n');
        }
    }
    let lines = |text: &[u8]| text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let [unix, iso]: [Vec<Vec<u8>>; 2] = [lines(&exports[0]), lines(&exports[1])];
    for (unix, iso) in unix.iter().zip(&iso).filter(|(unix, _)| !unix.is_empty()) {
        compare(unix, iso);
    }
    for export in exports {
        comes_back(records, &export);
    }
}

/// Importing an export changes nothing, and reads the stored columns.
fn comes_back(records: &[IssueRecord], export: &[u8]) {
    let by_id: HashMap<u64, &IssueRecord> =
        records.iter().map(|record| (record.columns.id, record)).collect();
    for block in blocks_of(export, Family::Issues) {
        let prepared = prepare_imports(&domain(), &block);
        for prepared in &prepared {
            let issue = match &prepared.item {
                Ok(issue) => issue,
                Err(rejected) => panic!("an exported issue is refused: {rejected:?}"),
            };
            let stored = by_id[&issue.id.expect("an exported issue has its id")];
            assert_eq!(issue.facts, stored.columns.facts, "the fragments say what columns say");
        }
        let plan = plan(records, &block, &prepared);
        assert!(plan.issues.is_empty() && plan.records.failed == 0, "{:?}", errors(&plan));
        let results = String::from_utf8(plan.records.results).expect("records are UTF-8");
        assert!(
            results.lines().all(|line| line.contains(r#""outcome":"unchanged""#)),
            "an export changes nothing: {results}"
        );
    }
}

fn errors(plan: &ImportPlan) -> String {
    String::from_utf8_lossy(&plan.records.errors).into_owned()
}

//! `caseload check`: reads all stored data and verifies its rules. Each check is one function in a
//! list and runs in a snapshot of its own, so that writers continue. A check repairs nothing.

mod attachments;
mod checksums;
mod issues;
mod profiles;
mod tables;
mod tasks;
mod terms;

use std::path::PathBuf;
use std::sync::Arc;

use caseload_store::check::Findings;
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::{CheckReport, OpenMode, StoreError};
use rusqlite::Connection;

use crate::Fault;
use crate::engine::{Engine, on_blocking_thread};
use crate::issues::check_text_index;

/// A check of one part of the stored data.
type Check = fn(&Connection, &mut Findings) -> Result<(), Fault>;

/// All checks, in the order of the report.
const CHECKS: &[(&str, Check)] = &[
    ("the database file", tables::file),
    ("references between tables", tables::references),
    ("checksums of rows", checksums::rows),
    ("domains", tables::domains),
    ("tasks", tasks::tasks),
    ("records of tasks", tasks::records),
    ("core profiles", profiles::core),
    ("identities", profiles::identities),
    ("terms of profiles", terms::of_profiles),
    ("app profiles", profiles::app),
    ("issues", issues::rows),
    ("counts of issues", issues::counts),
    ("terms of issues", terms::of_issues),
    ("text index", check_text_index),
    ("attachments", attachments::files),
];

/// Runs all checks on an opened store.
pub(super) async fn run(engine: &Engine) -> Result<CheckReport, Fault> {
    let mut report = CheckReport::default();
    for (name, check) in CHECKS {
        // A check is a long read: it leaves the slots of short ones to callers.
        let found = engine
            .read_throttled(NO_DOMAIN, None, true, move |conn, _| Ok(run_one(conn, name, *check)))
            .await?;
        report.verified.extend(found.verified);
        report.faults.extend(found.faults);
    }
    Ok(report)
}

/// Runs all checks in the transaction of a connection.
pub(super) fn run_on(conn: &Connection) -> CheckReport {
    let mut report = CheckReport::default();
    for (name, check) in CHECKS {
        let found = run_one(conn, name, *check);
        report.verified.extend(found.verified);
        report.faults.extend(found.faults);
    }
    report
}

/// Opens a file, runs all checks on it and closes it.
pub(super) async fn run_on_file(path: PathBuf) -> Result<CheckReport, Fault> {
    let open = move || Engine::open(&path, OpenMode::Admin, |_| Ok(()), None);
    let engine = Arc::new(on_blocking_thread(open).await?);
    let report = run(&engine).await;
    on_blocking_thread(move || engine.close()).await?;
    report
}

fn run_one(conn: &Connection, name: &str, check: Check) -> CheckReport {
    let mut findings = Findings::default();
    let ended = check(conn, &mut findings);
    findings.end(name, ended.map_err(StoreError::from))
}

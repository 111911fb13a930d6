//! `caseload check`: reads all stored data and verifies its rules. Each check is one function in a
//! list and runs in a snapshot of its own, so that writers continue. A check repairs nothing.

mod stored;
mod tables;

use std::path::PathBuf;
use std::sync::Arc;

use caseload_store::check::{
    Findings, changes, checksums, issues, profiles, tables as rules, tasks, terms, webhooks,
};
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::{CheckReport, OpenMode, StoreError};
use rusqlite::Connection;

use crate::Fault;
use crate::engine::{Engine, on_blocking_thread};
use crate::tx::Tx;

/// A check of one part of the stored data.
type Check = fn(&Connection, &mut Findings) -> Result<(), Fault>;

/// All checks, in the order of the report.
const CHECKS: &[(&str, Check)] = &[
    ("the database file", tables::file),
    ("references between tables", tables::references),
    ("checksums of rows", |conn, findings| Ok(checksums::rows(&Tx(conn), findings)?)),
    ("domains", |conn, findings| Ok(rules::domains(&Tx(conn), findings)?)),
    ("tasks", |conn, findings| Ok(tasks::tasks(&Tx(conn), findings)?)),
    ("imports", |conn, findings| Ok(tasks::imports(&Tx(conn), findings)?)),
    ("records of tasks", |conn, findings| Ok(tasks::records(&Tx(conn), findings)?)),
    ("core profiles", |conn, findings| Ok(profiles::core(&Tx(conn), findings)?)),
    ("identities", |conn, findings| Ok(profiles::identities(&Tx(conn), findings)?)),
    ("terms of profiles", |conn, findings| Ok(terms::of_profiles(&Tx(conn), findings)?)),
    ("app profiles", |conn, findings| Ok(profiles::app(&Tx(conn), findings)?)),
    ("issues", |conn, findings| Ok(issues::rows(&Tx(conn), findings)?)),
    ("counts of issues", |conn, findings| Ok(issues::counts(&Tx(conn), findings)?)),
    ("terms of issues", |conn, findings| Ok(terms::of_issues(&Tx(conn), findings)?)),
    ("text index", |conn, findings| Ok(rules::text_index(&Tx(conn), findings)?)),
    ("changes", |conn, findings| Ok(changes::changes(&Tx(conn), findings)?)),
    ("webhooks", |conn, findings| Ok(webhooks::webhooks(&Tx(conn), findings)?)),
    ("attachments", |conn, findings| Ok(rules::attachments(&Tx(conn), findings)?)),
];

/// Runs all checks on an opened store.
pub(super) async fn run(engine: &Engine) -> Result<CheckReport, Fault> {
    let mut report = CheckReport::default();
    for (name, check) in CHECKS {
        // A check is a long read: it leaves the slots of short ones to callers.
        let found = engine
            .readers()
            .read(NO_DOMAIN, None, true, move |conn, _| Ok(run_one(conn, name, *check)))
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

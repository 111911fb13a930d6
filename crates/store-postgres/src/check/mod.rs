//! `caseload check` on PostgreSQL: reads all stored data, domain by domain, and verifies its rules.
//! Each check is one function in a list and runs in a snapshot of its own, so that writers
//! continue. Pages and indexes are left to the data checksums of the database.

mod queue;
mod stored;

use std::time::Duration;

use super::engine::{BlockingClient, Engine, Nodes};
use caseload_store::check::{
    Findings, changes, checksums, issues, profiles, tables, tasks, terms, webhooks,
};
use caseload_store::{CheckReport, StoreError};
use stored::Stored;

/// A check of one part of the stored data.
type Check = for<'a> fn(&'a BlockingClient<'a>, &mut Findings) -> Result<(), StoreError>;

/// All checks, in the order of the report.
const CHECKS: &[(&str, Check)] = &[
    ("checksums of rows", |db, findings| checksums::rows(&Stored(db), findings)),
    ("domains", |db, findings| tables::domains(&Stored(db), findings)),
    ("tasks", |db, findings| tasks::tasks(&Stored(db), findings)),
    ("imports", |db, findings| tasks::imports(&Stored(db), findings)),
    ("the queue", |db, findings| queue::queue(&Stored(db), findings)),
    ("records of tasks", |db, findings| tasks::records(&Stored(db), findings)),
    ("core profiles", |db, findings| profiles::core(&Stored(db), findings)),
    ("identities", |db, findings| profiles::identities(&Stored(db), findings)),
    ("terms of profiles", |db, findings| terms::of_profiles(&Stored(db), findings)),
    ("app profiles", |db, findings| profiles::app(&Stored(db), findings)),
    ("issues", |db, findings| issues::rows(&Stored(db), findings)),
    ("counts of issues", |db, findings| issues::counts(&Stored(db), findings)),
    ("terms of issues", |db, findings| terms::of_issues(&Stored(db), findings)),
    ("text index", |db, findings| tables::text_index(&Stored(db), findings)),
    ("changes", |db, findings| changes::changes(&Stored(db), findings)),
    ("webhooks", |db, findings| webhooks::webhooks(&Stored(db), findings)),
    ("attachments", |db, findings| tables::attachments(&Stored(db), findings)),
];

/// How often a cluster is looked at before a fault counts, and the time in between.
const LOOKS_MAX: u32 = 5;
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(super) async fn run(engine: &Engine) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport::default();
    for (name, check) in CHECKS {
        let mut found = look(engine, name, *check).await?;
        let mut looks = 1;
        // The nodes of a cluster show a transaction at different moments.
        while !found.faults.is_empty() && engine.nodes() == Nodes::Many && looks < LOOKS_MAX {
            tokio::time::sleep(LOOK_AGAIN).await;
            found = look(engine, name, *check).await?;
            looks += 1;
        }
        report.verified.extend(found.verified);
        report.faults.extend(found.faults);
    }
    report.notes = pages_without_checksums(engine).await?;
    Ok(report)
}

/// A warning for each server that does not compare its pages, and so its indexes, with checksums.
/// On a cluster, a worker that does not answer gets none.
pub(super) async fn pages_without_checksums(engine: &Engine) -> Result<Vec<String>, StoreError> {
    let settings = match engine.nodes() {
        Nodes::One => "SELECT 'the PostgreSQL server', current_setting('data_checksums')",
        Nodes::Many => {
            "SELECT 'the coordinator', current_setting('data_checksums') UNION ALL
             SELECT 'the worker ' || nodename || ':' || nodeport, result
             FROM run_command_on_workers('SHOW data_checksums')"
        }
    };
    let rows = engine.read(None, settings, |client, settings| {
        Box::pin(async { client.rows(settings, &[]).await })
    });
    let rows = rows.await?;
    let off = rows.iter().filter(|row| row.get::<_, &str>(1) == "off");
    Ok(off
        .map(|row| {
            format!(
                "{} has no data checksums, so damage to its pages and indexes may stay unnoticed; \
                 to turn them on, stop it and run `pg_checksums --enable`",
                row.get::<_, &str>(0)
            )
        })
        .collect())
}

/// One check, in a snapshot of its own.
async fn look(
    engine: &Engine,
    name: &'static str,
    check: Check,
) -> Result<CheckReport, StoreError> {
    let read = engine.read_blocking_without_limit(move |db| {
        let mut findings = Findings::default();
        match check(db, &mut findings) {
            // Damage ends up in the report. Other faults end the whole check.
            Err(StoreError::Corrupt(fault)) => {
                Ok(findings.end(name, Err(StoreError::Corrupt(fault))))
            }
            ended => ended.map(|()| findings.end(name, Ok(()))),
        }
    });
    read.await
}

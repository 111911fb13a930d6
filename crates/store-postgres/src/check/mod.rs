//! `caseload check` on PostgreSQL: reads all stored data, domain by domain, and verifies its rules.
//! Each check is one function in a list and runs in a snapshot of its own, so that writers
//! continue. Pages and indexes are left to the data checksums of the database.

mod checksums;
mod issues;
mod profiles;
mod tables;
mod tasks;
mod terms;

use std::time::Duration;

use futures_util::future::BoxFuture;

use super::engine::{Client, Engine, Nodes};
use super::issues::check_text_index;
use caseload_store::check::Findings;
use caseload_store::{CheckReport, StoreError};

/// A check of one part of the stored data.
type Check = for<'a> fn(&'a Client, &'a mut Findings) -> BoxFuture<'a, Result<(), StoreError>>;

/// All checks, in the order of the report.
const CHECKS: &[(&str, Check)] = &[
    ("checksums of rows", |client, findings| Box::pin(checksums::rows(client, findings))),
    ("domains", |client, findings| Box::pin(tables::domains(client, findings))),
    ("tasks", |client, findings| Box::pin(tasks::tasks(client, findings))),
    ("the queue", |client, findings| Box::pin(tasks::queue(client, findings))),
    ("records of tasks", |client, findings| Box::pin(tasks::records(client, findings))),
    ("core profiles", |client, findings| Box::pin(profiles::core(client, findings))),
    ("identities", |client, findings| Box::pin(profiles::identities(client, findings))),
    ("terms of profiles", |client, findings| Box::pin(terms::of_profiles(client, findings))),
    ("app profiles", |client, findings| Box::pin(profiles::app(client, findings))),
    ("issues", |client, findings| Box::pin(issues::rows(client, findings))),
    ("counts of issues", |client, findings| Box::pin(issues::counts(client, findings))),
    ("terms of issues", |client, findings| Box::pin(terms::of_issues(client, findings))),
    ("attachments", |client, findings| Box::pin(issues::files(client, findings))),
];

/// How often a cluster is looked at before a fault counts, and the time in between.
const LOOKS_MAX: u32 = 5;
const LOOK_AGAIN: Duration = Duration::from_secs(1);

const NO_PAGE_CHECKSUMS: &str = "the database has no data checksums, so a damaged page or index \
     may stay unseen: stop it and run `pg_checksums --enable`";

pub(super) async fn run(engine: &Engine) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport::default();
    for (name, check) in CHECKS {
        let mut found = look(engine, name, check).await?;
        let mut looks = 1;
        // The nodes of a cluster show a transaction at different moments.
        while !found.faults.is_empty() && engine.nodes() == Nodes::Many && looks < LOOKS_MAX {
            tokio::time::sleep(LOOK_AGAIN).await;
            found = look(engine, name, check).await?;
            looks += 1;
        }
        report.verified.extend(found.verified);
        report.faults.extend(found.faults);
    }
    report.notes.extend(pages_without_checksums(engine).await?.map(str::to_owned));
    let found = check_text_index(engine).await?;
    report.verified.extend(found.verified);
    report.faults.extend(found.faults);
    Ok(report)
}

/// A warning if the database does not compare its pages, and so its indexes, with checksums.
pub(super) async fn pages_without_checksums(
    engine: &Engine,
) -> Result<Option<&'static str>, StoreError> {
    let setting = engine.read(None, (), |client, ()| {
        Box::pin(async {
            let row = client.row("SELECT current_setting('data_checksums')", &[]).await?;
            Ok(row.get::<_, String>(0))
        })
    });
    Ok((setting.await? == "off").then_some(NO_PAGE_CHECKSUMS))
}

/// One check, in a snapshot of its own.
async fn look(
    engine: &Engine,
    name: &'static str,
    check: &Check,
) -> Result<CheckReport, StoreError> {
    let read = engine.read_with_limit_per_statement(None, check, |client, check| {
        Box::pin(async move {
            let mut findings = Findings::default();
            match check(client, &mut findings).await {
                // Damage ends up in the report. Other faults end the whole check.
                Err(StoreError::Corrupt(fault)) => {
                    Ok(findings.end(name, Err(StoreError::Corrupt(fault))))
                }
                ended => ended.map(|()| findings.end(name, Ok(()))),
            }
        })
    });
    read.await
}

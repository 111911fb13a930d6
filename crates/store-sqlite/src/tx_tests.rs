//! The index of the log of changes, in a store of its own: the rows of batches of few and of many
//! records, the histories that are found by them, and the rows that are deleted with a batch.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use caseload_model::change::{Author, Batch, ChangeAction, Effect, Resource};
use caseload_model::time::UnixMillis;
use caseload_store::ReadHistory;
use caseload_store::changes::{drop_through, history, log};

use super::*;
use crate::engine;

const DOMAIN: DomainId = DomainId(1);

/// A store with a domain, and its log.
fn open() -> Connection {
    let conn = engine::open_in_memory().unwrap();
    conn.execute_batch(
        "PRAGMA foreign_keys = OFF;
         INSERT INTO domain_clocks (domain_id, last_app_number) VALUES (1, 1)",
    )
    .unwrap();
    conn
}

fn add(tx: DomainTx<'_>, resource: Resource, ids: impl IntoIterator<Item = u64>) {
    let effects = ids.into_iter().map(|id| Effect::new(resource, id, ChangeAction::Updated));
    log(&tx, &Batch::new(UnixMillis(1), Author::Unknown, effects.collect())).unwrap();
}

fn count(tx: DomainTx<'_>) -> u64 {
    let select = "SELECT count(*) FROM change_records WHERE domain_id = ?1";
    tx.find(select, caseload_store::values![DOMAIN], |row| row.get(0)).unwrap().unwrap()
}

/// The positions of the changes of an issue, newest first.
fn positions(tx: DomainTx<'_>, id: u64) -> Vec<u64> {
    let resource = Resource::Issue;
    let request = ReadHistory { domain: DOMAIN, resource, id, before: None, changes_max: 100 };
    let page = history(&tx, &request).unwrap();
    assert_eq!(page.next, None);
    page.changes.iter().map(|change| change.position).collect()
}

#[test]
fn a_batch_has_a_row_for_each_of_few_records_and_one_for_many() {
    let conn = open();
    let tx = DomainTx { conn: &conn, domain: DOMAIN };
    add(tx, Resource::Task, 1..=5);
    assert_eq!(count(tx), 0, "tasks have no history");
    add(tx, Resource::Issue, [7, 8, 7]);
    assert_eq!(count(tx), 2);
    add(tx, Resource::Issue, 1..=32);
    assert_eq!(count(tx), 2 + 32);
    add(tx, Resource::Issue, 1..=33);
    assert_eq!(count(tx), 2 + 32 + 1);
    add(tx, Resource::CoreProfile, 1..=10_000);
    assert_eq!(count(tx), 2 + 32 + 2);
    assert_eq!(positions(tx, 7), [40 + 7, 8 + 7, 8, 6]);
    assert_eq!(positions(tx, 33), [40 + 33]);
    assert_eq!(positions(tx, 34), [0; 0]);
}

#[test]
fn the_rows_of_dropped_batches_are_found_and_deleted() {
    let conn = open();
    let tx = DomainTx { conn: &conn, domain: DOMAIN };
    add(tx, Resource::Issue, [7, 8]);
    add(tx, Resource::Issue, 1..=40);
    add(tx, Resource::Issue, [7]);
    // Damaged, so that its effects are unknown.
    add(tx, Resource::Issue, [7, 9]);
    tx.change("UPDATE changes SET bytes = x'00' WHERE last_position = 45", &[]).unwrap();
    add(tx, Resource::Issue, [7]);
    assert_eq!(count(tx), 2 + 1 + 1 + 2 + 1);
    for (through, left) in [(1, 7), (2, 5), (41, 5), (42, 4), (43, 3), (45, 1), (1000, 0)] {
        drop_through(&tx, through).unwrap();
        assert_eq!(count(tx), left, "through {through}");
    }
}

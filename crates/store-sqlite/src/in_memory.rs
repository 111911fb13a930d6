//! A store in memory on the caller's thread, for simulations of the task engine. It has the tables,
//! the statements and the rules of this backend, without its threads and files, so that the order
//! of all transactions is the caller's choice. The caller runs the shared rules in a transaction
//! that it asks for; commands that only this backend has are calls of one transaction. Leases that
//! a server gets in the commit of another command ([`crate::slot_leasing`]) are asked for by the
//! caller. Invariant: only the arguments of the calls so far decide about an answer.

use caseload_model::ids::DomainId;
use caseload_model::task::{Family, Task};
use caseload_store::sql::{Query, Sql as _};
use caseload_store::tasks::{self as rules, ClaimResult, QueuePlace};
use caseload_store::{
    ApplyChunk, CheckReport, ChunkApplied, ClaimTasks, ClaimedTask, RenewLeases, StoreError, values,
};
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::engine::WriteContext;
use crate::tx::{DomainTx, Tx};
use crate::{check, engine, tasks};

/// A store in memory.
#[derive(Debug)]
pub struct InMemoryStore {
    conn: Mutex<Connection>,
    /// All tables with rows that a caller can add.
    tables: Vec<String>,
}

/// An answer, and the tasks that the commit of the command leased.
pub type WithLeases<T> = (T, Vec<ClaimedTask>);

impl InMemoryStore {
    /// An empty store.
    pub fn new() -> Result<Self, StoreError> {
        let conn = engine::open_in_memory()?;
        let select = "SELECT name FROM sqlite_schema WHERE type = 'table'
                      AND name NOT IN ('caseload_migrations', 'probe') ORDER BY rowid DESC";
        let tables = Tx(&conn).list(select, &[], |row| row.get(0))?;
        Ok(Self { conn: Mutex::new(conn), tables })
    }

    /// Removes all rows, so that the store is as a new one.
    pub fn clear(&self) -> Result<(), StoreError> {
        self.write(|tx| {
            self.tables
                .iter()
                .try_for_each(|table| tx.change(&format!("DELETE FROM {table}"), &[]).map(drop))
        })
    }

    /// Runs `work` in a transaction. An error undoes it.
    pub fn write<T>(
        &self,
        work: impl FnOnce(Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let conn = self.conn.lock();
        execute(&conn, "SAVEPOINT command")?;
        let answer = work(Tx(&conn));
        if answer.is_err() {
            execute(&conn, "ROLLBACK TO command")?;
        }
        execute(&conn, "RELEASE command")?;
        answer
    }

    /// [`InMemoryStore::write`] in one domain.
    pub fn write_in<T>(
        &self,
        domain: DomainId,
        work: impl FnOnce(DomainTx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.write(|Tx(conn)| work(DomainTx { conn, domain }))
    }

    /// Runs `work` and undoes it, like a commit that fails.
    pub fn undone<T>(&self, work: impl FnOnce(&Self) -> T) -> Result<T, StoreError> {
        // The transaction of the work is a savepoint of this one.
        execute(&self.conn.lock(), "SAVEPOINT undone")?;
        let answer = work(self);
        let conn = self.conn.lock();
        execute(&conn, "ROLLBACK TO undone")?;
        execute(&conn, "RELEASE undone")?;
        Ok(answer)
    }

    /// Runs `work` in one domain, and then leases runnable tasks if the caller asks for it.
    pub fn leasing<T>(
        &self,
        domain: DomainId,
        lease: Option<&ClaimTasks>,
        work: impl FnOnce(DomainTx<'_>) -> Result<T, StoreError>,
    ) -> Result<WithLeases<T>, StoreError> {
        self.write(|tx| {
            let answer = work(DomainTx { conn: tx.0, domain })?;
            let leased = match lease {
                Some(command) => tasks::claim(tx, command)?.claimed,
                None => Vec::new(),
            };
            Ok((answer, leased))
        })
    }

    /// The answer to a query that has one row at most.
    pub fn find<T>(&self, query: &Query<T>) -> Result<Option<T>, StoreError> {
        Ok(Tx(&self.conn.lock()).ask(query)?.pop())
    }

    /// Runs a read of one domain.
    pub fn read_in<T>(
        &self,
        domain: DomainId,
        work: impl FnOnce(DomainTx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(DomainTx { conn: &self.conn.lock(), domain })
    }

    /// Voids leases and uploads, as a server does that opens the store alone.
    pub fn void_leases(&self) -> Result<(), StoreError> {
        self.write(tasks::void_leases_and_uploads)
    }

    /// A task of a family.
    pub fn task(
        &self,
        domain: DomainId,
        family: Family,
        id: &str,
    ) -> Result<Option<Task>, StoreError> {
        self.find(&rules::of_family::<DomainTx<'_>>(domain, family, id))
    }

    pub fn claim_tasks(&self, command: &ClaimTasks) -> Result<Vec<ClaimedTask>, StoreError> {
        self.write(|tx| Ok(tasks::claim(tx, command)?.claimed))
    }

    /// The tasks that a server would claim. With [`InMemoryStore::begin`] this is a claim in
    /// several transactions.
    pub fn choose(&self, command: &ClaimTasks) -> Result<Vec<QueuePlace>, StoreError> {
        self.write(|tx| tasks::choose(tx, command))
    }

    /// Leases one of these tasks. The caller knows whether another server has leased it since.
    pub fn begin(
        &self,
        place: &QueuePlace,
        command: &ClaimTasks,
    ) -> Result<ClaimResult, StoreError> {
        self.write(|tx| tasks::begin(tx, place, command))
    }

    /// Extends all leases of a server that has the store alone.
    pub fn renew_leases(&self, command: &RenewLeases) -> Result<(), StoreError> {
        self.write(|tx| tasks::renew(tx, command))
    }

    /// Extends those leases of a server that it knows, each with its domain, task and epoch: a
    /// server that shares a store may not have got the answer to a claim.
    pub fn renew_known_leases(
        &self,
        command: &RenewLeases,
        known: &[(DomainId, String, i64)],
    ) -> Result<(), StoreError> {
        let RenewLeases { server, lease_until } = command;
        let renew = "UPDATE tasks SET lease_until = max(lease_until, ?2) WHERE lease_server = ?1
                     AND domain_id = ?3 AND id = ?4 AND lease_epoch = ?5";
        self.write(|tx| {
            known.iter().try_for_each(|(domain, id, epoch)| {
                let values = values![server, lease_until, domain, id, epoch];
                tx.change(renew, values).map(drop)
            })
        })
    }

    pub fn release_leases(&self, server: &str) -> Result<(), StoreError> {
        self.write(|tx| tasks::release(tx, server))
    }

    pub fn apply_chunk(
        &self,
        command: &ApplyChunk,
        lease: Option<&ClaimTasks>,
    ) -> Result<WithLeases<ChunkApplied>, StoreError> {
        let context = WriteContext::alone();
        self.leasing(command.domain, lease, |tx| tasks::apply_here(tx, &context, command))
    }

    /// Verifies the laws of all stored data.
    pub fn check(&self) -> CheckReport {
        check::run_on(&self.conn.lock())
    }

    /// The rows of a table that belong to a domain, or of all domains if none is named.
    pub fn rows(&self, table: &str, domain: Option<DomainId>) -> Result<u64, StoreError> {
        let (all, domain) = (domain.is_none(), domain.unwrap_or(DomainId(0)));
        let count = format!("SELECT count(*) FROM {table} WHERE ?1 OR domain_id = ?2");
        let found = Tx(&self.conn.lock()).find(&count, values![all, domain], |row| row.get(0))?;
        Ok(found.unwrap_or_default())
    }
}

fn execute(conn: &Connection, sql: &str) -> Result<(), StoreError> {
    Tx(conn).change(sql, &[]).map(drop)
}

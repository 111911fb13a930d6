//! Running tasks and keeping the store: the capabilities that only this backend can implement. The
//! others are those of every [`Backend`].

use std::sync::Arc;

use caseload_model::task::Task;
use caseload_model::time::UnixMillis;
use caseload_store::failpoint::{self, Failpoint};
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::tasks as rules;
use caseload_store::{
    ApplyChunk, Backend, BackupReport, CheckReport, ChunkApplied, ClaimTasks, ClaimedTask,
    CreateBackup, FailAttempt, IndexTexts, RenewLeases, StoreFuture, StoreMetrics, Upkeep, Work,
    WorkerSlots,
};
use caseload_store::{changes, webhooks};
use rusqlite::Connection;
use tokio::sync::watch;

use crate::engine::{Weight, WriteContext, on_blocking_thread};
use crate::tx::{DomainTx, Tx};
use crate::{SqliteStore, backup, boxed, check, issues, tasks};

impl Work for SqliteStore {
    fn claim_tasks(&self, command: ClaimTasks) -> StoreFuture<'_, Vec<ClaimedTask>> {
        let written = self.write(move |tx| tasks::claim(*tx, &command));
        Box::pin(async move {
            let claims = written.await?;
            failpoint::reached(Failpoint::ClaimAfterCommit);
            Ok(claims.claimed)
        })
    }

    fn renew_leases(&self, command: RenewLeases) -> StoreFuture<'_, ()> {
        self.write(move |tx| tasks::renew(*tx, &command))
    }

    fn release_leases(&self, server: &str) -> StoreFuture<'_, ()> {
        let server = server.to_owned();
        let released = self.write(move |tx| tasks::release(*tx, &server));
        Box::pin(async move {
            released.await?;
            self.wake();
            Ok(())
        })
    }

    fn apply_chunk(&self, command: ApplyChunk) -> StoreFuture<'_, ChunkApplied> {
        Box::pin(async move {
            let applied = tasks::apply(&self.engine, command).await?;
            failpoint::reached(Failpoint::ChunkAfterCommit);
            self.note(&applied.task);
            Ok(applied)
        })
    }

    fn fail_attempt(&self, command: FailAttempt) -> StoreFuture<'_, Task> {
        let failed = self.write_in(command.domain, move |tx| rules::fail_attempt(&tx, &command));
        Box::pin(async move {
            let task = failed.await?;
            self.wake();
            self.note(&task);
            Ok(task)
        })
    }

    fn register(&self, slots: Arc<dyn WorkerSlots>) {
        self.slot_leasing.register(slots);
    }

    fn wake_ups(&self) -> watch::Receiver<u64> {
        self.slot_leasing.wake_ups()
    }
}

impl Upkeep for SqliteStore {
    fn ready(&self) -> StoreFuture<'_, ()> {
        boxed(self.probe.ready(&self.engine))
    }

    fn metrics(&self) -> StoreFuture<'_, StoreMetrics> {
        let tasks =
            self.engine.read(|conn| Ok(rules::unfinished_by_lease::<DomainTx<'_>>(&Tx(conn))?));
        let webhooks = self.find(webhooks::states());
        Box::pin(async move {
            let tasks = tasks.await?;
            let (webhooks_waiting, webhooks_paused) = webhooks.await?.unwrap_or_default();
            let completed = self.completed.lock().clone();
            let (database_bytes, log_bytes) = self.engine.file_bytes();
            let servers = u64::from(self.engine.is_served()?);
            Ok(StoreMetrics {
                commits: self.engine.commits(),
                writes: self.engine.writes(),
                log_bytes,
                database_bytes,
                disk_free_bytes: self.engine.disk_free_bytes(),
                servers,
                tasks_waiting: tasks.waiting,
                tasks_running: tasks.running,
                tasks_delayed: tasks.delayed,
                webhooks_waiting,
                webhooks_paused,
                completed,
            })
        })
    }

    fn check(&self) -> StoreFuture<'_, CheckReport> {
        boxed(check::run(&self.engine))
    }

    fn backup(&self, command: CreateBackup) -> StoreFuture<'_, BackupReport> {
        boxed(backup::run(&self.engine, command))
    }

    fn purge_expired(&self, now: UnixMillis) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let purge = move |conn: &Connection, _: &WriteContext<'_>| {
                Ok(rules::purge_step(&Tx(conn), now)?)
            };
            let more = self.engine.write_in(NO_DOMAIN, Weight::Long, purge).await?;
            failpoint::reached(Failpoint::PurgeAfterCommit);
            Ok(more)
        })
    }

    fn purge_changes(&self, before: UnixMillis) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let purge = move |conn: &Connection, _: &WriteContext<'_>| {
                let in_domain = |domain| DomainTx { conn, domain };
                Ok(changes::purge_step(&Tx(conn), before, in_domain)?)
            };
            let more = self.engine.write_in(NO_DOMAIN, Weight::Long, purge).await?;
            failpoint::reached(Failpoint::PurgeAfterCommit);
            Ok(more)
        })
    }

    fn index_texts(&self, how: IndexTexts) -> StoreFuture<'_, bool> {
        boxed(issues::index_texts(&self.engine, how))
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        let engine = self.engine.clone();
        boxed(async move { on_blocking_thread(move || engine.close()).await })
    }
}

//! Running tasks and keeping the store: the capabilities that only this backend can implement. The
//! others are those of every [`Backend`].

use std::time::Duration;

use caseload_model::task::{Family, Task};
use caseload_model::time::UnixMillis;
use caseload_store::sql::Sql;
use caseload_store::tasks::{self as rules, Claims};
use caseload_store::{
    ApplyChunk, Backend, BackupReport, CheckReport, ChunkApplied, ClaimTasks, ClaimedTask,
    CreateBackup, FailAttempt, IndexTexts, RenewLeases, StoreError, StoreFuture, StoreMetrics,
    Upkeep, Work,
};
use caseload_store::{changes, webhooks};
use tokio::sync::watch;

use crate::engine::Nodes;
use crate::store::{PostgresStore, wake};
use crate::tx::DomainTx;
use crate::{check, domains, issues, sessions, tasks};

/// How long a task that is visible in the queue may take to become visible itself, or to be marked.
const UNSEEN_WAIT: Duration = Duration::from_millis(20);

impl Work for PostgresStore {
    fn claim_tasks(&self, command: ClaimTasks) -> StoreFuture<'_, Vec<ClaimedTask>> {
        Box::pin(async move {
            let (server, now) = (command.server.clone(), command.now);
            self.engine.follow_lease(command.lease());
            let claims = match self.engine.nodes() {
                Nodes::One => {
                    self.engine
                        .write(command, |client, command| Box::pin(rules::claim(client, command)))
                        .await
                }
                Nodes::Many => tasks::claim_apart(&self.engine, &self.avoided, command).await,
            };
            let Claims { claimed, locked, unseen, .. } = claims?;
            let has_locked = !locked.is_empty();
            self.leases.add(&server, &claimed);
            if tasks::end_holders(&self.engine, locked, now).await {
                self.wake();
            }
            // On a cluster, another server may mark a task that this one could run.
            let is_passed_over = self.engine.nodes() == Nodes::Many && has_locked;
            if unseen > 0 || is_passed_over {
                let wake_ups = self.wake_ups.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(UNSEEN_WAIT).await;
                    wake(&wake_ups);
                });
            }
            Ok(claimed)
        })
    }

    fn renew_leases(&self, command: RenewLeases) -> StoreFuture<'_, ()> {
        let leases = self.leases.of(&command.server);
        Box::pin(self.engine.write((command, leases), |client, (command, leases)| {
            Box::pin(tasks::renew(client, command, leases))
        }))
    }

    fn release_leases(&self, server: &str) -> StoreFuture<'_, ()> {
        self.leases.remove_all(server);
        let release = self
            .engine
            .write(server.to_owned(), |client, server| Box::pin(tasks::release(client, server)));
        Box::pin(async move {
            release.await?;
            self.wake();
            Ok(())
        })
    }

    fn apply_chunk(&self, command: ApplyChunk) -> StoreFuture<'_, ChunkApplied> {
        Box::pin(async move {
            let (domain, epoch) = (command.domain, command.lease_epoch);
            let task_id = command.task_id.clone();
            let applied = tasks::apply(&self.engine, command).await;
            if let Ok(applied) = &applied {
                self.note(&applied.task);
                if applied.task.action.family() == Family::Issues {
                    self.compactor.note(domain);
                }
            }
            let ended = match &applied {
                Ok(applied) => applied.task.outcome.is_some(),
                Err(fault) => matches!(fault, StoreError::LeaseLost),
            };
            if ended {
                self.leases.remove(domain, &task_id, epoch);
                // The domain's next writing task may begin.
                self.wake();
            }
            applied
        })
    }

    fn fail_attempt(&self, command: FailAttempt) -> StoreFuture<'_, Task> {
        Box::pin(async move {
            self.leases.remove(command.domain, &command.task_id, command.lease_epoch);
            let fail = self.write_in(command.domain, move |tx| rules::fail_attempt(&tx, &command));
            let task = fail.await?;
            self.wake();
            self.note(&task);
            Ok(task)
        })
    }

    fn wake_ups(&self) -> watch::Receiver<u64> {
        self.wake_ups.subscribe()
    }
}

impl Upkeep for PostgresStore {
    fn ready(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.probe.ready(&self.engine))
    }

    fn metrics(&self) -> StoreFuture<'_, StoreMetrics> {
        Box::pin(async move {
            let read = self.read(|db| {
                let size = "SELECT pg_database_size(current_database())";
                let bytes = db.find(size, &[], |row| row.get(0))?.unwrap_or_default();
                let tasks = rules::unfinished_by_lease::<DomainTx<'_>>(db)?;
                let servers = db.find(sessions::SERVERS, &[], |row| row.get(0))?;
                Ok((bytes, tasks, servers.unwrap_or_default()))
            });
            let (database_bytes, tasks, servers) = read.await?;
            // The other figures are known if a node of a cluster is away.
            let states = self.find(webhooks::states()).await.ok().flatten();
            let (webhooks_waiting, webhooks_paused) = states.unwrap_or_default();
            let completed = self.completed.lock().clone();
            Ok(StoreMetrics {
                commits: self.engine.commits(),
                writes: self.engine.writes().clone(),
                // PostgreSQL manages its own log.
                log_bytes: 0,
                database_bytes,
                // The database may be on another machine.
                disk_free_bytes: None,
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
        Box::pin(check::run(&self.engine))
    }

    fn backup(&self, command: CreateBackup) -> StoreFuture<'_, BackupReport> {
        let reason = "the store is a PostgreSQL database; back it up with pg_dump or pg_basebackup";
        Box::pin(async move { Err(StoreError::BackupTarget { file: command.file, reason }) })
    }

    fn purge_expired(&self, now: UnixMillis) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            // Any server may continue the removal of a domain that another server did not finish.
            let removed = domains::remove_step(&self.engine).await?;
            let purged = self.engine.write_blocking(move |db| tasks::purge_step(db, now)).await?;
            // Deltas that other servers left.
            Ok(issues::compact_remaining(&self.engine).await? || purged || removed)
        })
    }

    fn purge_changes(&self, before: UnixMillis) -> StoreFuture<'_, bool> {
        Box::pin(self.engine.write_blocking(move |db| {
            changes::purge_step(db, before, |domain| DomainTx { db, domain })
        }))
    }

    fn index_texts(&self, how: IndexTexts) -> StoreFuture<'_, bool> {
        Box::pin(issues::index_texts(&self.engine, how))
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let background = std::mem::take(&mut *self.background.lock());
            for task in background {
                task.stop().await;
            }
            self.engine.close();
            Ok(())
        })
    }
}

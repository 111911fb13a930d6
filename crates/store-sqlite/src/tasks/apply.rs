//! The transaction of a chunk on the writer thread. A get action and a dry run are planned on
//! readers, so that only their records take the writer's time.

use std::time::Duration;

use caseload_model::task::Action;
use caseload_store::checksum::sealed;
use caseload_store::erasure::{Prepared, Searched, prepare};
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::sql::Sql as _;
use caseload_store::tasks::{
    CHUNK_WORK_MAX, ChunkBlocks, ChunkEnd, ChunkStart, ChunkStore, PackedRecords, PlannedChunk,
    TaskStore as _, kind_code, plan_dry_run, store_planned, write_chunk,
};
use caseload_store::{ApplyChunk, ChunkApplied, StoreError, values};
use rusqlite::Connection;

use super::reading;
use crate::engine::{Engine, Weight, WorkLimit, WriteContext};
use crate::issues::Import;
use crate::leftovers::SecureDelete;
use crate::tx::DomainTx;
use crate::{Fault, clock, domains};

/// How long a chunk takes further slices.
const WORK_USUAL: Duration = Duration::from_secs(1);

pub(crate) async fn apply(
    engine: &Engine,
    command: ApplyChunk,
) -> Result<ChunkApplied, StoreError> {
    let erases = command.action == Action::ErasePerson;
    let searched = if erases { prepare_erasure(engine, &command).await? } else { None };
    let (planned, command) = plan(engine, command).await?;
    let weight = planned
        .as_ref()
        .map_or(Weight::Long, |planned| Weight::of_bytes(planned.records.packed_bytes()));
    let (applied, spent) = engine
        .write_in(command.domain, weight, move |conn, context| {
            let limit = WorkLimit::begin(CHUNK_WORK_MAX);
            let _secure = erases.then(|| SecureDelete::begin(conn)).transpose()?;
            let mut chunk = Chunk::new(conn, (context, &limit), &command);
            let planned = match planned {
                None if !command.action.writes() => {
                    Some(reading::read_on_writer(chunk.tx, context, &command)?)
                }
                planned => planned,
            };
            let (applied, taken) = if let Some(planned) = &planned {
                (store_planned(&mut chunk, &command, planned), Vec::new())
            } else {
                let entries = ChunkBlocks::begin(&command)?;
                write_chunk(&mut chunk, &command, entries, searched.as_deref())
            };
            let applied = applied?;
            if applied.task.outcome.is_some() {
                // The domain's next writing task may begin.
                context.made_runnable(command.clock.now());
            }
            Ok((applied, (taken, planned, command)))
        })
        .await?;
    // Thousands of entries: neither the writer nor the caller waits until they are dropped.
    drop(tokio::task::spawn_blocking(move || drop(spent)));
    if erases && applied.task.outcome.is_some() {
        // The last step overwrote the rows that it deleted; the log has the pages as they were.
        engine.empty_log().await?;
    }
    Ok(applied)
}

/// The search before the next step of an erasure. If only the last step is left, this clears the
/// bytes that the others deleted: a crash before that one commits repeats it.
async fn prepare_erasure(
    engine: &Engine,
    command: &ApplyChunk,
) -> Result<Option<Box<Searched>>, StoreError> {
    let (domain, task_id) = (command.domain, command.task_id.clone());
    let read = engine.readers().read(NO_DOMAIN, None, false, move |conn, _| {
        Ok(prepare(&DomainTx { conn, domain }, &task_id)?)
    });
    match read.await? {
        Prepared::Nothing => Ok(None),
        Prepared::Searched(searched) => Ok(Some(searched)),
        Prepared::Ending => {
            domains::clear(engine).await?;
            Ok(None)
        }
    }
}

/// The same in the transaction of the caller, planning included.
pub(crate) fn apply_here(
    tx: DomainTx<'_>,
    context: &WriteContext<'_>,
    command: &ApplyChunk,
) -> Result<ChunkApplied, StoreError> {
    let limit = WorkLimit::begin(Duration::MAX);
    let mut chunk = Chunk::new(tx.conn, (context, &limit), command);
    let planned = match (command.action.writes(), command.dry_run) {
        (true, false) => {
            return write_chunk(&mut chunk, command, ChunkBlocks::begin(command)?, None).0;
        }
        (true, true) => plan_dry_run(&tx, &mut Import::new(tx, command), command)?,
        (false, _) => reading::read_on_writer(tx, context, command)?,
    };
    store_planned(&mut chunk, command, &planned)
}

/// The plan of a chunk that is planned on readers; `None` if the writer does all of it.
async fn plan(
    engine: &Engine,
    command: ApplyChunk,
) -> Result<(Option<PlannedChunk>, ApplyChunk), Fault> {
    let (writes, dry_run) = (command.action.writes(), command.dry_run);
    if writes && !dry_run || !writes && engine.is_idle() {
        return Ok((None, command));
    }
    let (planned, command) = if writes {
        // All of a task in one go: it takes as long as it takes.
        engine
            .readers()
            .read(NO_DOMAIN, None, false, move |conn, _| {
                let tx = DomainTx { conn, domain: command.domain };
                let planned = plan_dry_run(&tx, &mut Import::new(tx, &command), &command)?;
                Ok((planned, command))
            })
            .await?
    } else {
        reading::read_chunk(engine, command).await?
    };
    Ok((Some(planned), command))
}

/// The transaction of a chunk.
struct Chunk<'c> {
    tx: DomainTx<'c>,
    import: Import<'c>,
    context: &'c WriteContext<'c>,
    limit: &'c WorkLimit,
}

impl<'c> Chunk<'c> {
    fn new(
        conn: &'c Connection,
        (context, limit): (&'c WriteContext<'c>, &'c WorkLimit),
        command: &ApplyChunk,
    ) -> Self {
        let tx = DomainTx { conn, domain: command.domain };
        Self { tx, import: Import::new(tx, command), context, limit }
    }
}

impl<'c> ChunkStore for Chunk<'c> {
    type Statements = DomainTx<'c>;
    type Import = Import<'c>;

    const SLICE_ENTRIES: usize = 1000;

    fn statements(&self) -> DomainTx<'c> {
        self.tx
    }

    fn import(&mut self) -> &mut Import<'c> {
        &mut self.import
    }

    fn begin(&mut self, id: &str) -> Result<Option<ChunkStart>, StoreError> {
        let Some(clock) = clock::profiles(self.tx)? else { return Ok(None) };
        let task = self.tx.lock(id)?;
        Ok(task.map(|task| ChunkStart { task, clock }))
    }

    fn should_end(&mut self) -> Result<bool, StoreError> {
        Ok(self.context.should_yield() || self.limit.elapsed() >= WORK_USUAL)
    }

    fn should_not_wait(&self) -> bool {
        self.context.has_waiters()
    }

    fn finish(&mut self, end: &ChunkEnd<'_>) -> Result<(), StoreError> {
        if let Some(imported) = end.imported {
            self.import.finish(imported)?;
        }
        if let Some(clock) = end.clock {
            clock::advance_profiles(self.tx, clock)?;
        }
        let (domain, task_id) = (self.tx.domain, &end.task.task.id);
        for PackedRecords { kind, first_index, next_index, lines, bytes } in end.records {
            let kind = kind_code(*kind);
            self.tx.change(
                "INSERT INTO record_blocks
                 (domain_id, task_id, kind, first_index, next_index, lines, bytes, checksum)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                &sealed(values![domain, task_id, kind, first_index, next_index, lines, bytes]),
            )?;
        }
        self.tx.save(end.task)
    }
}

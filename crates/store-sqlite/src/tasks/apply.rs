//! The transaction of a chunk on the writer thread. A get action and a dry run are planned on
//! readers, so that only their records take the writer's time.

use caseload_model::task::Task;
use caseload_model::time::UnixMillis;
use caseload_store::tasks::{
    ChunkBlocks, ChunkEnd, ChunkStart, ChunkStore, PackedRecords, TaskStore as _, chunk_applied,
    kind_code, plan_dry_run, store_planned, write_chunk,
};
use caseload_store::{ApplyChunk, ChunkApplied, StoreError};
use rusqlite::{Connection, params};

use super::reading;
use crate::clock;
use crate::engine::{Engine, Weight, WriteContext};
use crate::issues::Import;
use crate::tx::DomainTx;

pub(crate) async fn apply(
    engine: &Engine,
    command: ApplyChunk,
) -> Result<ChunkApplied, StoreError> {
    if command.action.writes() && !command.dry_run {
        let (applied, spent) = engine
            .write_weighing(Weight::Long, move |conn, context| {
                let mut entries = ChunkBlocks::begin(&command)?;
                let task =
                    write_chunk(&mut Chunk::new(conn, context, &command), &command, &mut entries)?;
                let (done, rest, taken) = entries.end();
                note_end(&task, command.now, context);
                Ok((chunk_applied(task, done, rest), (taken, command)))
            })
            .await?;
        drop_aside(spent);
        return Ok(applied);
    }
    if !command.action.writes() && engine.is_idle() {
        let (applied, spent) = engine
            .write_weighing(Weight::Long, move |conn, context| {
                let mut chunk = Chunk::new(conn, context, &command);
                let planned = reading::read_on_writer(chunk.tx, context, &command)?;
                let task = store_planned(&mut chunk, &command, &planned)?;
                note_end(&task, command.now, context);
                Ok((chunk_applied(task, planned.done, planned.rest.clone()), (planned, command)))
            })
            .await?;
        drop_aside(spent);
        return Ok(applied);
    }
    let (planned, command) = if command.action.writes() {
        // All of a task in one go: it takes as long as it takes.
        engine
            .read_within(None, move |conn| {
                let tx = DomainTx { conn, domain: command.domain };
                let planned = plan_dry_run(&tx, &mut Import::new(tx, &command), &command)?;
                Ok((planned, command))
            })
            .await?
    } else {
        reading::read_chunk(engine, command).await?
    };
    let weight = Weight::of_bytes(planned.records.packed_bytes());
    let (applied, spent) = engine
        .write_weighing(weight, move |conn, context| {
            let task = store_planned(&mut Chunk::new(conn, context, &command), &command, &planned)?;
            note_end(&task, command.now, context);
            Ok((chunk_applied(task, planned.done, planned.rest.clone()), (planned, command)))
        })
        .await?;
    drop_aside(spent);
    Ok(applied)
}

/// Thousands of entries: neither the writer nor the caller waits until they are dropped.
fn drop_aside(spent: impl Send + 'static) {
    drop(tokio::task::spawn_blocking(move || drop(spent)));
}

/// After a task completed, the domain's next writing task may begin.
fn note_end(task: &Task, now: UnixMillis, context: &WriteContext<'_>) {
    if task.outcome.is_some() {
        context.made_runnable(now);
    }
}

/// The transaction of a chunk.
struct Chunk<'c> {
    tx: DomainTx<'c>,
    import: Import<'c>,
    context: &'c WriteContext<'c>,
}

impl<'c> Chunk<'c> {
    fn new(conn: &'c Connection, context: &'c WriteContext<'c>, command: &ApplyChunk) -> Self {
        let tx = DomainTx { conn, domain: command.domain };
        Self { tx, import: Import::new(tx, command), context }
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
        Ok(self.context.should_yield())
    }

    fn should_not_wait(&self) -> bool {
        self.context.is_waited_for()
    }

    fn finish(&mut self, end: &ChunkEnd<'_>) -> Result<(), StoreError> {
        if let Some(known) = end.imported {
            self.import.finish(known)?;
        }
        if let Some(clock) = end.clock {
            clock::advance_profiles(self.tx, clock)?;
        }
        for PackedRecords { kind, first_index, next_index, lines, bytes } in end.records {
            self.tx.execute(
                "INSERT INTO record_blocks
                 (domain_id, task_id, kind, first_index, next_index, lines, bytes)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    self.tx.domain.0,
                    end.task.task.id,
                    kind_code(*kind),
                    first_index,
                    next_index,
                    lines,
                    bytes,
                ],
            )?;
        }
        self.tx.save(end.task)
    }
}

//! Moving a whole store to another place or another backend. Rows go table by table, in batches;
//! each batch is committed with the position behind it, so that a copy that was cut off at any
//! moment goes on where its last commit was, and no row comes twice. Both ends are locked against
//! servers, and the target can be opened by nothing else until everything is there, equal to the
//! source by digests of every table that are read anew from both ends, and sound by the check.
//! Nothing here knows SQL; the backends' ends ([`end::CopyEnd`]) do.

mod digest;
pub mod end;
pub mod numbering;
pub mod rows;
pub mod tables;

pub use digest::TableDigest;
pub use rows::CopyBatch;

use crate::{CheckReport, StoreError};
use digest::Digester;
use end::{CopyEnd, Progress, refused};
use numbering::Moves;
use rows::Rows;
use tables::{TABLES, Table};

/// What a copy is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyStage {
    /// Verifying the laws of the source.
    CheckingSource,
    /// An earlier run was cut off; this one goes on behind so many rows.
    GoingOn,
    Copying,
    /// Reading both ends anew.
    Comparing,
    /// Verifying the laws of the target.
    CheckingTarget,
}

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyStep {
    pub stage: CopyStage,
    /// The table at hand; empty where it is all of them.
    pub table: &'static str,
    /// Rows that are done in this stage, of all tables.
    pub rows: u64,
}

/// A copy that is complete, durable, equal to its source and sound.
#[derive(Debug, Clone)]
pub struct CopyReport {
    /// What each table holds at both ends.
    pub tables: Vec<(&'static str, TableDigest)>,
    /// Runs it took.
    pub attempts: u64,
    /// What was verified by reading the target.
    pub check: CheckReport,
}

/// A copy between two ends that are open: into one that is empty, or that holds the beginning of
/// this copy.
#[expect(missing_debug_implementations, reason = "the ends have nothing to show")]
pub struct Copying<'a> {
    /// The source, with the location that messages name it by.
    pub from: (String, &'a dyn CopyEnd),
    /// The target, with its location.
    pub to: (String, &'a dyn CopyEnd),
    /// Whether an unfinished copy in the target is thrown away first.
    pub restart: bool,
    pub batch: CopyBatch,
}

/// Makes the copy and calls `tell` with its progress. The ends remain open.
pub async fn copy(
    copying: Copying<'_>,
    tell: &(dyn Fn(CopyStep) + Sync),
) -> Result<CopyReport, StoreError> {
    Copy { from: copying.from.1, to: copying.to.1, command: &copying, tell }.run().await
}

struct Copy<'a> {
    from: &'a dyn CopyEnd,
    to: &'a dyn CopyEnd,
    command: &'a Copying<'a>,
    tell: &'a (dyn Fn(CopyStep) + Sync),
}

impl Copy<'_> {
    async fn run(&self) -> Result<CopyReport, StoreError> {
        if self.from.progress().await?.is_some() {
            return Err(refused(format!(
                "{} is itself an unfinished copy; finish that one first",
                self.command.from.0
            )));
        }
        let progress = self.begin().await?;
        let attempts = progress.attempt.unsigned_abs();
        self.copy_tables(progress).await?;
        self.to.settle(self.from.last_domain_id().await?).await?;
        let tables = self.compare().await?;
        self.say(CopyStage::CheckingTarget, "", 0);
        let check = self.to.check().await?;
        demand_sound("the copy", &check)?;
        self.to.finish().await?;
        Ok(CopyReport { tables, attempts, check })
    }

    fn say(&self, stage: CopyStage, table: &'static str, rows: u64) {
        (self.tell)(CopyStep { stage, table, rows });
    }

    /// Finds out whether this copy may begin or go on, and where.
    async fn begin(&self) -> Result<Progress, StoreError> {
        let source = self.mark().await?;
        match self.to.progress().await? {
            Some(_) if self.command.restart => self.to.clear().await?,
            Some(progress) => return self.go_on(progress, &source).await,
            None => {}
        }
        if let Some(table) = self.to.filled().await? {
            return Err(refused(format!(
                "{} is not empty: its table {table} has rows; a copy needs an empty target",
                self.command.to.0
            )));
        }
        self.say(CopyStage::CheckingSource, "", 0);
        demand_sound("the source", &self.from.check().await?)?;
        let progress = Progress {
            source,
            origin: self.command.from.0.clone(),
            attempt: 1,
            table: TABLES[0].name.to_owned(),
            position: None,
            rows: 0,
        };
        self.to.begin(progress.clone()).await?;
        Ok(progress)
    }

    /// Takes up what an earlier run began.
    async fn go_on(&self, mut progress: Progress, source: &[u8]) -> Result<Progress, StoreError> {
        if progress.source != source {
            return Err(self.refuse_other(&progress));
        }
        progress.attempt += 1;
        self.to.begin(progress.clone()).await?;
        self.say(CopyStage::GoingOn, "", progress.rows.unsigned_abs());
        Ok(progress)
    }

    fn refuse_other(&self, progress: &Progress) -> StoreError {
        let Copying { from: (from, _), to: (to, _), .. } = self.command;
        refused(format!(
            "{to} holds an unfinished copy of {}, and {from} is not what was copied: it is another \
             store, or it has changed since; with --restart that copy is thrown away and a new one \
             is made",
            progress.origin
        ))
    }

    /// A digest of the source by which a later run sees whether it has changed.
    async fn mark(&self) -> Result<Vec<u8>, StoreError> {
        let mut mark = Vec::new();
        for table in TABLES.iter().filter(|table| table.marks) {
            let TableDigest { rows, digest } =
                self.digest_of(self.from, table, None, &|_| {}).await?;
            mark.extend_from_slice(&rows.to_le_bytes());
            mark.extend_from_slice(&digest.to_le_bytes());
        }
        Ok(mark)
    }

    /// How rows are numbered at the target; `None` where they keep their numbers.
    async fn renumbering(&self) -> Result<Option<Moves>, StoreError> {
        if self.from.counts_over_domains() || !self.to.counts_over_domains() {
            return Ok(None);
        }
        Ok(Some(Moves::one_behind_the_other(&self.from.row_spans().await?)))
    }

    async fn copy_tables(&self, mut progress: Progress) -> Result<(), StoreError> {
        let moves = self.renumbering().await?;
        while !progress.table.is_empty() {
            let place = TABLES.iter().position(|table| table.name == progress.table);
            let place = place.ok_or_else(|| {
                StoreError::Corrupt(format!("a copy stands at no table: {}", progress.table))
            })?;
            let tables = (&TABLES[place], TABLES.get(place + 1));
            progress = self.copy_table(tables, moves.as_ref(), progress).await?;
        }
        Ok(())
    }

    /// Copies what is left of one table: the next batch is read while one is written.
    async fn copy_table(
        &self,
        (table, next_table): (&'static Table, Option<&'static Table>),
        moves: Option<&Moves>,
        mut progress: Progress,
    ) -> Result<Progress, StoreError> {
        let batch = self.command.batch;
        let mut rows = self.from.read(table, progress.position.clone(), batch).await?;
        loop {
            progress.rows += rows.len() as i64;
            progress.position = rows.next.take();
            let Some(position) = progress.position.clone() else { break };
            let rows_there = numbered(moves, table, rows)?;
            let writing = self.to.write(table, rows_there, progress.clone());
            let (written, read) =
                tokio::join!(writing, self.from.read(table, Some(position), batch));
            written?;
            self.say(CopyStage::Copying, table.name, progress.rows.unsigned_abs());
            rows = read?;
        }
        progress.table = next_table.map_or(String::new(), |table| table.name.to_owned());
        self.to.write(table, numbered(moves, table, rows)?, progress.clone()).await?;
        self.say(CopyStage::Copying, table.name, progress.rows.unsigned_abs());
        Ok(progress)
    }

    /// What every table holds, read anew from both ends.
    async fn compare(&self) -> Result<Vec<(&'static str, TableDigest)>, StoreError> {
        let mut found = Vec::new();
        let mut compared = 0;
        // Numbers that differ between the ends are compared by what they say.
        let [from_moves, to_moves] = if self.renumbering().await?.is_some() {
            let (from, to) = (self.from.row_spans().await?, self.to.row_spans().await?);
            [from, to].map(|spans| Some(Moves::to_the_beginning(&spans)))
        } else {
            [None, None]
        };
        for table in TABLES {
            let tell = |rows| self.say(CopyStage::Comparing, table.name, compared + rows);
            let (from, to) = tokio::join!(
                self.digest_of(self.from, table, from_moves.as_ref(), &tell),
                self.digest_of(self.to, table, to_moves.as_ref(), &|_| {})
            );
            let (from, to) = (from?, to?);
            if from != to {
                return Err(StoreError::Corrupt(format!(
                    "the copy differs from its source in table {}: {} rows and digest {:032x} \
                     there, {} rows and digest {:032x} here; begin anew with --restart",
                    table.name, from.rows, from.digest, to.rows, to.digest
                )));
            }
            compared += from.rows;
            found.push((table.name, from));
        }
        Ok(found)
    }

    /// Reads a whole table; the next batch comes while one is digested.
    async fn digest_of(
        &self,
        end: &dyn CopyEnd,
        table: &'static Table,
        moves: Option<&Moves>,
        tell: &(dyn Fn(u64) + Sync),
    ) -> Result<TableDigest, StoreError> {
        let mut digester = Digester::new(table);
        let mut rows = end.read(table, None, self.command.batch).await?;
        loop {
            let position = rows.next.take();
            let rows_there = numbered(moves, table, rows)?;
            let digesting = tokio::task::spawn_blocking(move || {
                digester.add(&rows_there);
                digester
            });
            let Some(position) = position else {
                digester = joined(digesting.await)?;
                tell(digester.found().rows);
                return Ok(digester.found());
            };
            let (digested, read) =
                tokio::join!(digesting, end.read(table, Some(position), self.command.batch));
            digester = joined(digested)?;
            tell(digester.found().rows);
            rows = read?;
        }
    }
}

fn numbered(moves: Option<&Moves>, table: &Table, rows: Rows) -> Result<Rows, StoreError> {
    match moves {
        Some(moves) => moves.apply(table, &rows),
        None => Ok(rows),
    }
}

fn joined<T>(done: Result<T, tokio::task::JoinError>) -> Result<T, StoreError> {
    done.map_err(|e| StoreError::Unavailable(format!("a digest could not be made: {e}")))
}

fn demand_sound(what: &str, check: &CheckReport) -> Result<(), StoreError> {
    let Some(first) = check.faults.first() else { return Ok(()) };
    let faults = check.faults.len();
    Err(StoreError::Corrupt(format!(
        "a check of {what} found {faults} faults; the first one: {first}"
    )))
}

//! Copies a whole store to another location or another backend. Rows are copied table by table, in
//! batches. Each batch commits together with the position after it, so that an interrupted copy
//! resumes without losing or repeating a row. Both stores are locked against servers, and the
//! target cannot be opened otherwise until all rows are there, the digests of every table at both
//! ends are equal, and the check finds no fault. The SQL is in the backends ([`end::CopyEnd`]).

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
use numbering::BlockShifts;
use rows::Rows;
use tables::{TABLES, Table};

/// The stages of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyStage {
    /// Running the check on the source.
    CheckingSource,
    /// An earlier run was interrupted; this one resumes after so many rows.
    Resuming,
    Copying,
    /// Reading both stores again and comparing their digests.
    Comparing,
    /// Running the check on the target.
    CheckingTarget,
}

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyStep {
    pub stage: CopyStage,
    /// The current table; empty if the stage covers all tables.
    pub table: &'static str,
    /// Rows of all tables that this stage has processed.
    pub rows: u64,
}

/// A copy that is complete, durable, equal to its source and sound.
#[derive(Debug, Clone)]
pub struct CopyReport {
    /// The rows and the digest of each table, equal at both ends.
    pub tables: Vec<(&'static str, TableDigest)>,
    /// How many runs the copy took.
    pub attempts: u64,
    /// The result of the check on the target.
    pub check: CheckReport,
}

/// One open store of a copy, with its location for messages.
#[expect(missing_debug_implementations, reason = "an end has nothing to show")]
pub struct NamedEnd<'a> {
    pub location: String,
    pub end: &'a dyn CopyEnd,
}

/// A copy between two open stores. The target is empty or contains the beginning of this copy.
#[expect(missing_debug_implementations, reason = "the ends have nothing to show")]
pub struct OpenCopy<'a> {
    pub from: NamedEnd<'a>,
    pub to: NamedEnd<'a>,
    /// Whether to discard an unfinished copy in the target first.
    pub restart: bool,
    pub batch: CopyBatch,
}

/// Makes the copy and calls `report` with its progress. Both ends remain open.
pub async fn copy(
    copy: &OpenCopy<'_>,
    report: &(dyn Fn(CopyStep) + Sync),
) -> Result<CopyReport, StoreError> {
    Run { from: copy.from.end, to: copy.to.end, copy, report }.run().await
}

/// One run of a copy.
struct Run<'a> {
    from: &'a dyn CopyEnd,
    to: &'a dyn CopyEnd,
    copy: &'a OpenCopy<'a>,
    report: &'a (dyn Fn(CopyStep) + Sync),
}

impl Run<'_> {
    async fn run(&self) -> Result<CopyReport, StoreError> {
        if self.from.progress().await?.is_some() {
            return Err(refused(format!(
                "{} is itself an unfinished copy; finish that copy first",
                self.copy.from.location
            )));
        }
        let progress = self.begin().await?;
        let attempts = progress.attempt.unsigned_abs();
        self.copy_tables(progress).await?;
        self.to.set_derived(self.from.last_domain_id().await?).await?;
        let tables = self.compare().await?;
        self.report(CopyStage::CheckingTarget, "", 0);
        let check = self.to.check().await?;
        require_sound("the copy", &check)?;
        self.to.finish().await?;
        Ok(CopyReport { tables, attempts, check })
    }

    fn report(&self, stage: CopyStage, table: &'static str, rows: u64) {
        (self.report)(CopyStep { stage, table, rows });
    }

    /// Begins the copy or resumes it, and returns where to continue.
    async fn begin(&self) -> Result<Progress, StoreError> {
        let source = self.fingerprint().await?;
        match self.to.progress().await? {
            Some(_) if self.copy.restart => self.to.clear().await?,
            Some(progress) => return self.resume(progress, &source).await,
            None => {}
        }
        if let Some(table) = self.to.filled().await? {
            return Err(refused(format!(
                "{} is not empty: its table {table} has rows; a copy needs an empty target",
                self.copy.to.location
            )));
        }
        self.report(CopyStage::CheckingSource, "", 0);
        require_sound("the source", &self.from.check().await?)?;
        let progress = Progress {
            source,
            origin: self.copy.from.location.clone(),
            attempt: 1,
            table: TABLES[0].name.to_owned(),
            position: None,
            rows: 0,
        };
        self.to.begin(progress.clone()).await?;
        Ok(progress)
    }

    /// Resumes the copy of an earlier run.
    async fn resume(&self, mut progress: Progress, source: &[u8]) -> Result<Progress, StoreError> {
        if progress.source != source {
            return Err(self.refuse_other(&progress));
        }
        progress.attempt += 1;
        self.to.begin(progress.clone()).await?;
        self.report(CopyStage::Resuming, "", progress.rows.unsigned_abs());
        Ok(progress)
    }

    fn refuse_other(&self, progress: &Progress) -> StoreError {
        let (from, to) = (&self.copy.from.location, &self.copy.to.location);
        refused(format!(
            "{to} contains an unfinished copy of {}, and {from} is not its source: it is another \
             store, or it has changed since; --restart discards that copy and begins a new one",
            progress.origin
        ))
    }

    /// A digest of the small tables of the source. A later run compares it to detect changes.
    async fn fingerprint(&self) -> Result<Vec<u8>, StoreError> {
        let mut fingerprint = Vec::new();
        for table in TABLES.iter().filter(|table| table.in_fingerprint) {
            let TableDigest { rows, digest } =
                self.digest_of(self.from, table, None, &|_| {}).await?;
            fingerprint.extend_from_slice(&rows.to_le_bytes());
            fingerprint.extend_from_slice(&digest.to_le_bytes());
        }
        Ok(fingerprint)
    }

    /// How the rows of issues are renumbered for the target; `None` if their numbers stay the same.
    async fn renumbering(&self) -> Result<Option<BlockShifts>, StoreError> {
        if self.from.counts_over_domains() || !self.to.counts_over_domains() {
            return Ok(None);
        }
        Ok(Some(BlockShifts::consecutive(&self.from.row_spans().await?)))
    }

    async fn copy_tables(&self, mut progress: Progress) -> Result<(), StoreError> {
        let shifts = self.renumbering().await?;
        while !progress.table.is_empty() {
            let place = TABLES.iter().position(|table| table.name == progress.table);
            let place = place.ok_or_else(|| {
                StoreError::Corrupt(format!("a copy is at an unknown table: {}", progress.table))
            })?;
            let tables = (&TABLES[place], TABLES.get(place + 1));
            progress = self.copy_table(tables, shifts.as_ref(), progress).await?;
        }
        Ok(())
    }

    /// Copies the rest of one table. The next batch is read while one is written.
    async fn copy_table(
        &self,
        (table, next_table): (&'static Table, Option<&'static Table>),
        shifts: Option<&BlockShifts>,
        mut progress: Progress,
    ) -> Result<Progress, StoreError> {
        let batch = self.copy.batch;
        let mut rows = self.from.read(table, progress.position.clone(), batch).await?;
        loop {
            progress.rows += rows.len() as i64;
            progress.position = rows.next.take();
            let Some(position) = progress.position.clone() else { break };
            let rows_there = numbered(shifts, table, rows)?;
            let writing = self.to.write(table, rows_there, progress.clone());
            let (written, read) =
                tokio::join!(writing, self.from.read(table, Some(position), batch));
            written?;
            self.report(CopyStage::Copying, table.name, progress.rows.unsigned_abs());
            rows = read?;
        }
        progress.table = next_table.map_or(String::new(), |table| table.name.to_owned());
        self.to.write(table, numbered(shifts, table, rows)?, progress.clone()).await?;
        self.report(CopyStage::Copying, table.name, progress.rows.unsigned_abs());
        Ok(progress)
    }

    /// Reads every table again at both ends and compares the digests.
    async fn compare(&self) -> Result<Vec<(&'static str, TableDigest)>, StoreError> {
        let mut found = Vec::new();
        let mut compared = 0;
        // Row numbers that differ between the backends are compared relative to their domain.
        let [from_shifts, to_shifts] = if self.renumbering().await?.is_some() {
            let (from, to) = (self.from.row_spans().await?, self.to.row_spans().await?);
            [from, to].map(|spans| Some(BlockShifts::to_first_block(&spans)))
        } else {
            [None, None]
        };
        for table in TABLES {
            let report = |rows| self.report(CopyStage::Comparing, table.name, compared + rows);
            let (from, to) = tokio::join!(
                self.digest_of(self.from, table, from_shifts.as_ref(), &report),
                self.digest_of(self.to, table, to_shifts.as_ref(), &|_| {})
            );
            let (from, to) = (from?, to?);
            if from != to {
                return Err(StoreError::Corrupt(format!(
                    "the copy differs from its source in table {}: {} rows and digest {:032x} \
                     there, {} rows and digest {:032x} here; start over with --restart",
                    table.name, from.rows, from.digest, to.rows, to.digest
                )));
            }
            compared += from.rows;
            found.push((table.name, from));
        }
        Ok(found)
    }

    /// Digests a whole table. The next batch is read while one is digested.
    async fn digest_of(
        &self,
        end: &dyn CopyEnd,
        table: &'static Table,
        shifts: Option<&BlockShifts>,
        report: &(dyn Fn(u64) + Sync),
    ) -> Result<TableDigest, StoreError> {
        let mut digester = Digester::new(table);
        let mut rows = end.read(table, None, self.copy.batch).await?;
        loop {
            let position = rows.next.take();
            let rows_there = numbered(shifts, table, rows)?;
            let digesting = tokio::task::spawn_blocking(move || {
                digester.add(&rows_there);
                digester
            });
            let Some(position) = position else {
                digester = joined(digesting.await)?;
                report(digester.found().rows);
                return Ok(digester.found());
            };
            let (digested, read) =
                tokio::join!(digesting, end.read(table, Some(position), self.copy.batch));
            digester = joined(digested)?;
            report(digester.found().rows);
            rows = read?;
        }
    }
}

fn numbered(shifts: Option<&BlockShifts>, table: &Table, rows: Rows) -> Result<Rows, StoreError> {
    match shifts {
        Some(shifts) => shifts.apply(table, &rows),
        None => Ok(rows),
    }
}

fn joined<T>(done: Result<T, tokio::task::JoinError>) -> Result<T, StoreError> {
    done.map_err(|e| StoreError::Unavailable(format!("a digest could not be made: {e}")))
}

fn require_sound(what: &str, check: &CheckReport) -> Result<(), StoreError> {
    let Some(first) = check.faults.first() else { return Ok(()) };
    let faults = check.faults.len();
    Err(StoreError::Corrupt(format!(
        "a check of {what} found {faults} faults; the first one: {first}"
    )))
}

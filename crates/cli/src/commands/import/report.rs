//! How an import ended: its first failed entries, its faults and warnings by code, its sums, and
//! the next step.

use std::path::{Path, PathBuf};

use caseload_client::{Body, BulkActions, RecordList, Task};
use caseload_model::task::Action;
use serde::Deserialize;

use super::failures::{FAILURES_PRINTED_MAX, note_failure, note_groups, read_record};
use super::options::OutputArgs;
use crate::commands::fault_groups::FaultGroups;
use crate::commands::follow::note_doubles;
use crate::failure::{Done, Failure};
use crate::part_file::PartFile;
use crate::printer::{Printer, note};

/// The files that an import writes. They get their names when the import has ended.
pub(super) struct Outputs<'a> {
    errors: Option<PartFile>,
    rejects: Option<(PartFile, &'a PathBuf)>,
}

impl<'a> Outputs<'a> {
    pub(super) fn create(args: &'a OutputArgs, imported: &Path) -> Result<Self, Failure> {
        args.are_apart(imported)?;
        let errors = args.errors.as_deref().map(PartFile::create).transpose()?;
        let rejects = args.rejects.as_ref();
        let rejects = rejects.map(|path| Ok::<_, Failure>((PartFile::create(path)?, path)));
        Ok(Self { errors, rejects: rejects.transpose()? })
    }
}

/// The sums of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Totals {
    created: u64,
    updated: u64,
    unchanged: u64,
}

/// The member of a result record that decides how it is counted.
#[derive(Deserialize)]
struct ResultRecord {
    outcome: String,
}

/// Reports a completed import.
pub(super) async fn report(
    (imports, action): (BulkActions<'_>, Action),
    import: &Task,
    mut outputs: Outputs<'_>,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    let id = &import.task_id;
    if import.has_errors() {
        failed_entries(imports, import, outputs.errors.as_mut()).await?;
    }
    note_doubles(import);
    if import.warnings > 0 {
        let mut groups = FaultGroups::default();
        groups.add(&imports.warning_summary(id).await?);
        note(format_args!("warnings:\n{}", groups.message().trim_end()));
    }
    let totals = totals((imports, action), import).await?;
    if let Some(file) = outputs.errors {
        file.complete()?;
    }
    let mut rejects = None;
    if let Some((mut file, path)) = outputs.rejects {
        write(&mut file, imports.rejects(id).await?).await?;
        file.complete()?;
        rejects = Some(path);
    }
    printer.line(totals.line(action, import))?;
    note_next_step(import, rejects);
    Ok(if import.is_clean() { Done::Good } else { Done::SomeFailed })
}

/// Prints the first failed entries, and the faults of all of them if there are more.
async fn failed_entries(
    imports: BulkActions<'_>,
    import: &Task,
    mut errors: Option<&mut PartFile>,
) -> Result<(), Failure> {
    let mut lines = imports.records(&import.task_id, RecordList::Errors).await?.lines();
    let mut printed = 0;
    while let Some(record) = lines.next().await? {
        if printed < FAILURES_PRINTED_MAX {
            note_failure(&record)?;
            printed += 1;
        } else if errors.is_none() {
            break;
        }
        if let Some(file) = &mut errors {
            file.write(&record)?;
            file.write(b"\n")?;
        }
    }
    let failed = import.counts.failed;
    if failed > FAILURES_PRINTED_MAX {
        note_groups(failed, &imports.error_summary(&import.task_id).await?);
    }
    Ok(())
}

async fn write(file: &mut PartFile, mut body: Body) -> Result<(), Failure> {
    while let Some(bytes) = body.chunk().await? {
        file.write(&bytes)?;
    }
    Ok(())
}

/// Counts the results by their outcomes.
async fn totals(
    (imports, action): (BulkActions<'_>, Action),
    import: &Task,
) -> Result<Totals, Failure> {
    let mut totals = Totals::default();
    if action == Action::CreateCoreProfiles {
        totals.created = import.counts.succeeded;
        return Ok(totals);
    }
    let mut lines = imports.records(&import.task_id, RecordList::Results).await?.lines();
    while let Some(line) = lines.next().await? {
        match read_record::<ResultRecord>(&line)?.outcome.as_str() {
            "unchanged" => totals.unchanged += 1,
            "updated" => totals.updated += 1,
            "erased" => {}
            _ => totals.created += 1,
        }
    }
    Ok(totals)
}

impl Totals {
    /// The totals of an action, with those that it can have.
    fn line(self, action: Action, import: &Task) -> String {
        let mut counts = Vec::new();
        if !matches!(action, Action::UpdateCoreProfiles | Action::UpdateAppProfiles) {
            counts.push(("created", self.created));
        }
        if action != Action::CreateCoreProfiles && (action != Action::ImportIssues || import.upsert)
        {
            counts.push(("updated", self.updated));
        }
        counts.extend([("unchanged", self.unchanged), ("failed", import.counts.failed)]);
        for (name, count) in
            [("not processed", import.counts.unprocessed), ("warnings", import.warnings)]
        {
            if count > 0 {
                counts.push((name, count));
            }
        }
        let counts: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        counts.join("  ")
    }
}

fn note_next_step(import: &Task, rejects: Option<&PathBuf>) {
    let id = &import.task_id;
    if import.dry_run {
        note(format_args!(
            "dry run: nothing was written; `caseload bulk run {id}` imports the same entries"
        ));
    }
    if import.has_errors() {
        match rejects {
            Some(path) => note(format_args!(
                "hint: correct the entries in {} and import this file with the same flags",
                path.display()
            )),
            None => note(format_args!(
                "hint: `caseload bulk rejects {id} >FILE` writes what failed, in the form of the \
                 file, to correct it and import it"
            )),
        }
    }
    if import.counts.unprocessed > 0 {
        note(format_args!("hint: `caseload bulk retry {id}` runs the entries that are left"));
    }
}

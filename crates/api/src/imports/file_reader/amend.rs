//! Changes of entries that the caller asked for: members of JSON with other names, times in a time
//! zone, and faulty fields left out. An entry that needs no change has its bytes. Only the last
//! one needs validation at the upload; without it none happens here.
//!
//! A field is left out if the entry is good without it. So required fields fail the entry as
//! before. Identities and ids are never left out. Cells of tables are left out where rows become
//! entries.

use std::borrow::Cow;
use std::collections::BTreeMap;

use caseload_files::Format;
use caseload_model::entry_times::take_in_zone;
use caseload_model::error_code::{EntryErrorCode, EntryWarningCode};
use caseload_model::issue::MESSAGE_BODY_BYTES_MAX;
use caseload_model::json::{self, Json};
use caseload_model::notes::Notes;
use caseload_model::payload::{Block, Entry, Side};
use caseload_model::record::{EntryFault, EntryWarning, WARNINGS_MAX};
use caseload_model::task::{Action, Family};
use caseload_model::time::zone::Zone;
use caseload_store::{ChunkWork, EntryContext};

use super::options::ReadOptions;

/// How the entries of a file are changed.
pub(super) struct Amendment {
    action: Action,
    context: EntryContext,
    renames: Vec<(String, Option<String>)>,
    zone: Option<Zone>,
    leave_out: bool,
}

/// A changed entry and the notes about it.
#[derive(Default)]
struct Changed {
    text: Vec<u8>,
    notes: Notes,
}

impl Amendment {
    /// The changes of a file in this format; `None` if there are none.
    pub(super) fn of(options: &ReadOptions, format: Format) -> Option<Self> {
        let is_json = matches!(format, Format::Lines | Format::Array);
        let renames = if is_json { options.columns.clone() } else { Vec::new() };
        // A row of a profile is checked while it is read.
        let is_checked_here = is_json || options.action.family() == Family::Issues;
        let leave_out = is_checked_here && options.leave_out;
        let zone = options.timezone.clone();
        let any = leave_out || zone.is_some() || !renames.is_empty();
        let (action, context) = (options.action, options.context.clone());
        any.then_some(Self { action, context, renames, zone, leave_out })
    }

    pub(super) fn apply(&self, block: &Block) -> Block {
        let mut changes = BTreeMap::new();
        for entry in block.entries.iter().filter(|entry| entry.oversize.is_none()) {
            if let Some(text) = self.rewritten(block, entry) {
                changes.insert(entry.index, Changed { text, notes: Notes::default() });
            }
        }
        if !self.leave_out {
            return with_changes(block, &changes);
        }
        let rewritten = with_changes(block, &changes);
        let without = self.without_faulty_fields(&rewritten);
        if without.is_empty() {
            return rewritten;
        }
        // A field is only left out if the entry is good then.
        let tried = with_changes(&rewritten, &without);
        let work = ChunkWork::prepare(self.action, &self.context, &tried);
        let is_good = |at: usize| work.findings(at).0.is_none();
        let good: Vec<u32> =
            (0..work.len()).filter(|at| is_good(*at)).map(|at| work.entry(at).index).collect();
        let kept = without.into_iter().filter(|(index, _)| good.binary_search(index).is_ok());
        with_changes(&rewritten, &kept.collect())
    }

    /// The entry with other names of members and times in the zone; `None` if it stays as it is.
    fn rewritten(&self, block: &Block, entry: &Entry) -> Option<Vec<u8>> {
        if self.renames.is_empty() && self.zone.is_none() {
            return None;
        }
        let Ok(mut json @ Json::Object(_)) = json::parse(block.bytes_of(entry)) else {
            return None;
        };
        let renamed = self.rename(&mut json);
        let moved =
            self.zone.as_ref().is_some_and(|zone| take_in_zone(self.action, &mut json, zone));
        (renamed || moved).then(|| written(&json))
    }

    fn rename<'j>(&'j self, entry: &mut Json<'j>) -> bool {
        let Json::Object(members) = entry else { return false };
        let renamed = |name: &str| self.renames.iter().find(|(from, _)| from == name);
        if !members.iter().any(|(name, _)| renamed(name).is_some()) {
            return false;
        }
        members.retain_mut(|(name, _)| match renamed(name) {
            Some((_, Some(to))) => {
                *name = Cow::Borrowed(to);
                true
            }
            Some((_, None)) => false,
            None => true,
        });
        true
    }

    /// The faulty entries whose faults all are in fields that may be left out, without these.
    fn without_faulty_fields(&self, block: &Block) -> BTreeMap<u32, Changed> {
        let work = ChunkWork::prepare(self.action, &self.context, block);
        let mut changes = BTreeMap::new();
        for at in 0..work.len() {
            let Some(rejection) = work.findings(at).0.filter(|found| found.readable) else {
                continue;
            };
            let entry = work.entry(at);
            let Ok(mut json) = json::parse(block.bytes_of(entry)) else { continue };
            let mut warnings = Vec::new();
            let mut leave_out = |fault| self.leave_out(&mut json, fault, &mut warnings).is_some();
            let is_without = rejection.faults.iter().all(&mut leave_out);
            if is_without {
                warnings.truncate(WARNINGS_MAX);
                let notes = Notes { faults: Vec::new(), warnings };
                changes.insert(entry.index, Changed { text: written(&json), notes });
            }
        }
        changes
    }

    /// Takes the field of a fault out of an entry, with a warning unless it is out already. `None`
    /// if it may not be left out.
    fn leave_out(
        &self,
        entry: &mut Json<'_>,
        fault: &EntryFault,
        warnings: &mut Vec<EntryWarning>,
    ) -> Option<()> {
        let mut steps: Vec<String> =
            fault.pointer.as_deref()?.split('/').skip(1).map(unescaped).collect();
        let is_body = self.action == Action::ImportIssues
            && fault.code == EntryErrorCode::TooLong
            && matches!(&steps[..], [list, _, body] if list == "messages" && body == "body");
        if is_body {
            cut_body(at_path(entry, &steps)?);
            warnings.push(warning(EntryWarningCode::Cut, &steps, fault, "It was cut"));
            return Some(());
        }
        while !is_member(entry, &steps) {
            steps.pop()?;
        }
        let (name, before) = steps.split_last()?;
        let is_list_of_messages = before.is_empty() && name == "messages";
        if is_list_of_messages || steps.iter().any(|step| step == "identities") || is_id(name) {
            return None;
        }
        if let Some(Json::Object(members)) = at_path(entry, before) {
            let count = members.len();
            members.retain(|(member, _)| member != name);
            if members.len() < count {
                let code = EntryWarningCode::LeftOut;
                warnings.push(warning(code, &steps, fault, "The field was left out"));
            }
        }
        Some(())
    }
}

/// Whether a member says which record an entry is about, or which one it belongs to.
fn is_id(name: &str) -> bool {
    matches!(name, "id" | "pid" | "email" | "emails" | "author_email")
        || name.ends_with("_id")
        || name.ends_with("-id")
}

/// Whether the last step is the name of a member of a map, and not a place in a list.
fn is_member(entry: &mut Json<'_>, steps: &[String]) -> bool {
    let Some((_, before)) = steps.split_last() else { return false };
    // A part that is out already was a member.
    at_path(entry, before).is_none_or(|parent| matches!(parent, Json::Object(_)))
}

fn at_path<'e, 'j>(entry: &'e mut Json<'j>, steps: &[String]) -> Option<&'e mut Json<'j>> {
    let Some((step, rest)) = steps.split_first() else { return Some(entry) };
    match entry {
        Json::Object(members) => {
            let (_, value) = members.iter_mut().find(|(name, _)| name == step)?;
            at_path(value, rest)
        }
        Json::Array(items) => at_path(items.get_mut(step.parse::<usize>().ok()?)?, rest),
        _ => None,
    }
}

fn cut_body(body: &mut Json<'_>) {
    if let Json::String(text) = body {
        let end = text.floor_char_boundary(MESSAGE_BODY_BYTES_MAX);
        text.to_mut().truncate(end);
    }
}

fn warning(
    code: EntryWarningCode,
    steps: &[String],
    fault: &EntryFault,
    done: &str,
) -> EntryWarning {
    let pointer = steps.iter().fold(String::new(), |at, step| json::pointer_push(&at, step));
    let value = fault.value.clone().unwrap_or_else(|| b"null".to_vec());
    EntryWarning { code, pointer, detail: format!("{}. {done}", fault.detail), value }
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

fn written(json: &Json<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    json.write_to(&mut text);
    text
}

/// The block with the changed entries. An entry without rows has its old bytes as its row.
fn with_changes(block: &Block, changes: &BTreeMap<u32, Changed>) -> Block {
    if changes.is_empty() {
        return block.clone();
    }
    let mut new = Block { base_urls: block.base_urls.clone(), ..Block::default() };
    for entry in &block.entries {
        let (index, line, oversize) = (entry.index, entry.line, entry.oversize);
        let changed = changes.get(&index);
        let mut add = |bytes: &[u8]| {
            let start = new.bytes.len();
            new.bytes.extend_from_slice(bytes);
            start..new.bytes.len()
        };
        let range = add(changed.map_or(block.bytes_of(entry), |changed| &changed.text[..]));
        new.entries.push(Entry { index, line, range, oversize, of_row: entry.of_row });
        let mut rows: Vec<_> = block.rows_of(entry).collect();
        if rows.is_empty() && changed.is_some() {
            rows.push((line, block.bytes_of(entry)));
        }
        new.rows.extend(rows.into_iter().map(|(line, row)| Side { index, line, range: add(row) }));
        let mut notes = Vec::new();
        let old = block.notes_of(entry).unwrap_or_default();
        if let Some(changed) = changed {
            let mut all = Notes::read(old).unwrap_or_default();
            all.warnings.extend(changed.notes.warnings.iter().cloned());
            all.warnings.truncate(WARNINGS_MAX);
            all.write(&mut notes);
        }
        let notes = if notes.is_empty() { old } else { &notes[..] };
        if !notes.is_empty() {
            new.notes.push(Side { index, line, range: add(notes) });
        }
    }
    new
}

//! Notes: the faults and warnings that the reader of a file found while it made entries of rows.
//! The payload has them as JSON text with the entry ([`Block::notes_of`]), and [`add_notes`] is
//! the one place that merges them with those of validation. A fault without a pointer is one of a
//! row that cannot be read: the entry is then the row as it was in the file.

use crate::entry::id_of;
use crate::error_code::{EntryErrorCode, EntryWarningCode};
use crate::json::{self, Json};
use crate::payload::Block;
use crate::record::{
    EntryFault, EntryWarning, PreparedEntry, Rejection, WARNINGS_MAX, write_fault, write_warning,
};
use crate::task::Action;

/// The findings of the reader about one entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    pub faults: Vec<EntryFault>,
    pub warnings: Vec<EntryWarning>,
}

impl Notes {
    /// Appends the JSON text; nothing if there are no notes.
    pub fn write(&self, out: &mut Vec<u8>) {
        if self.faults.is_empty() && self.warnings.is_empty() {
            return;
        }
        out.extend_from_slice(b"{\"errors\":");
        json::write_array(&self.faults, out, write_fault);
        out.extend_from_slice(b",\"warnings\":");
        json::write_array(&self.warnings, out, write_warning);
        out.push(b'}');
    }

    /// Reads the text of [`Notes::write`].
    pub fn read(text: &[u8]) -> Option<Self> {
        let json = json::parse(text).ok()?;
        let list = |name| match json.get(name) {
            Some(Json::Array(items)) => Some(items),
            _ => None,
        };
        let faults = list("errors")?.iter().map(|item| {
            let code = EntryErrorCode::parse(text_of(item, "code")?)?;
            let pointer = text_of(item, "pointer").map(str::to_owned);
            let detail = text_of(item, "detail")?.to_owned();
            Some(EntryFault { code, pointer, detail, value: value_of(item), owners: Vec::new() })
        });
        let warnings = list("warnings")?.iter().map(|item| {
            let code = EntryWarningCode::parse(text_of(item, "code")?)?;
            let pointer = text_of(item, "pointer")?.to_owned();
            let detail = text_of(item, "detail")?.to_owned();
            Some(EntryWarning { code, pointer, detail, value: value_of(item)? })
        });
        Some(Self {
            faults: faults.collect::<Option<_>>()?,
            warnings: warnings.collect::<Option<_>>()?,
        })
    }
}

fn text_of<'j>(item: &'j Json<'_>, name: &str) -> Option<&'j str> {
    item.get(name)?.as_str()
}

fn value_of(item: &Json<'_>) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    item.get("value")?.write_to(&mut text);
    Some(text)
}

/// Merges the notes of a block into its validated entries. Warnings of the reader come first. An
/// entry with faults of the reader is rejected with them and with those that validation found.
pub fn add_notes<T>(action: Action, block: &Block, prepared: &mut [PreparedEntry<T>]) {
    for prepared in prepared {
        let Some(text) = block.notes_of(&prepared.entry) else { continue };
        let Notes { faults, mut warnings } = Notes::read(text).unwrap_or_else(|| {
            let detail = "the notes of the reader of the file about this entry are damaged";
            let fault = EntryFault::of_row(EntryErrorCode::NotProcessed, detail.to_owned());
            Notes { faults: vec![fault], warnings: Vec::new() }
        });
        if faults.is_empty() {
            warnings.append(&mut prepared.warnings);
            warnings.truncate(WARNINGS_MAX);
            prepared.warnings = warnings;
        } else {
            prepared.warnings.clear();
            reject(action, block.bytes_of(&prepared.entry), faults, &mut prepared.item);
        }
    }
}

fn reject<T>(
    action: Action,
    entry: &[u8],
    faults: Vec<EntryFault>,
    item: &mut Result<T, Rejection>,
) {
    let is_row = faults.iter().any(|fault| fault.pointer.is_none());
    let mut rejection = match item {
        Err(found) if !is_row => Rejection { faults: Vec::new(), ..found.clone() },
        _ => {
            let json = json::parse(entry).ok().filter(|_| !is_row);
            let id = json.as_ref().and_then(|json| id_of(json, action));
            Rejection { id, faults: Vec::new(), readable: json.is_some(), named: None }
        }
    };
    let also = match item {
        Err(found) if rejection.readable => std::mem::take(&mut found.faults),
        _ => Vec::new(),
    };
    rejection.faults = faults;
    let further: Vec<_> =
        also.into_iter().filter(|fault| !is_explained(fault, &rejection.faults)).collect();
    rejection.faults.extend(further);
    *item = Err(rejection);
}

/// Whether a field is missing only because the reader left it out with a fault of its own.
fn is_explained(missing: &EntryFault, faults: &[EntryFault]) -> bool {
    let field = |fault: &EntryFault| {
        let pointer = fault.pointer.as_deref().unwrap_or_default();
        let first = pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
        // Either of the two says which core profile it is.
        if first == "core-profile-id" { "identities".to_owned() } else { first.to_owned() }
    };
    missing.code == EntryErrorCode::Required
        && faults.iter().any(|fault| field(fault) == field(missing))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::payload::{BlockBuilder, Source};
    use crate::profile::{Placeholders, prepare_core_patches};

    fn fault(code: EntryErrorCode, pointer: &str) -> EntryFault {
        let value = Json::String("x\n\u{1f600}".into());
        EntryFault::new(code, pointer, "says \"why\"").with_value(&value)
    }

    fn warning(code: EntryWarningCode) -> EntryWarning {
        let (pointer, detail) = ("/a~1b/0".to_owned(), "d".to_owned());
        EntryWarning { code, pointer, detail, value: b"1.50".to_vec() }
    }

    fn block(entry: &str, notes: &Notes) -> Block {
        let (mut text, mut blocks) = (Vec::new(), Vec::new());
        notes.write(&mut text);
        let mut builder = BlockBuilder::new(1 << 20, 10);
        builder.append(entry.as_bytes());
        builder.close(7, Source { rows: &[(7, b"row")], notes: &text }, &mut blocks);
        builder.finish(&mut blocks).unwrap();
        blocks.remove(0)
    }

    /// The faults by code, whether it is readable, its id; or the warnings.
    fn merged(entry: &str, notes: &Notes) -> (Vec<&'static str>, bool, Option<Vec<u8>>) {
        let action = Action::UpdateCoreProfiles;
        let block = block(entry, notes);
        let mut prepared = prepare_core_patches(action, &block, &Placeholders::default());
        add_notes(action, &block, &mut prepared);
        let PreparedEntry { item, warnings, .. } = prepared.remove(0);
        match item {
            Ok(_) => (warnings.iter().map(|found| found.code.as_str()).collect(), true, None),
            Err(Rejection { id, faults, readable, .. }) => {
                (faults.iter().map(|fault| fault.code.as_str()).collect(), readable, id)
            }
        }
    }

    #[test]
    fn notes_come_back_as_they_were() {
        let faults = vec![
            fault(EntryErrorCode::WrongType, "/age"),
            EntryFault::of_row(EntryErrorCode::OpenQuote, "q".to_owned()),
        ];
        let notes = Notes { faults, warnings: vec![warning(EntryWarningCode::LeftOut)] };
        let mut text = Vec::new();
        notes.write(&mut text);
        assert_eq!(Notes::read(&text), Some(notes));
        assert_eq!(Notes::read(b"{}"), None);
        Notes::default().write(&mut text);
        assert!(text.ends_with(b"}]}"), "empty notes have no text");
    }

    #[test]
    fn warnings_of_the_reader_come_first_and_its_faults_fail_the_entry() {
        let notes = |codes: &[EntryErrorCode], pointer: &str| Notes {
            faults: codes.iter().map(|code| fault(*code, pointer)).collect(),
            warnings: vec![warning(EntryWarningCode::LeftOut)],
        };
        let placeholder = r#"{"core-profile-id":"5","identities":[{"uid":"n/a"}]}"#;
        let of = |words: &[&'static str], readable, id: Option<&str>| {
            (words.to_vec(), readable, id.map(|id| id.as_bytes().to_vec()))
        };
        let merged_warnings = merged(placeholder, &notes(&[], ""));
        assert_eq!(merged_warnings, of(&["left_out", "placeholder"], true, None));
        let wrong = notes(&[EntryErrorCode::WrongType], "/age");
        assert_eq!(merged(placeholder, &wrong), of(&["wrong_type"], true, Some("\"5\"")));
        let both = r#"{"core-profile-id":"5","tags":1}"#;
        let found = merged(both, &wrong);
        assert_eq!(found, of(&["wrong_type", "wrong_type"], true, Some("\"5\"")));
        assert_eq!(merged("{}", &wrong).0, ["wrong_type", "required"]);
    }

    #[test]
    fn a_field_that_the_reader_left_out_is_not_missing_as_well() {
        for pointer in ["/identities/0/email", "/core-profile-id"] {
            let faults = vec![fault(EntryErrorCode::InvalidIdentity, pointer)];
            let notes = Notes { faults, warnings: Vec::new() };
            assert_eq!(merged("{}", &notes).0, ["invalid_identity"]);
        }
    }

    #[test]
    fn a_row_that_cannot_be_read_has_no_faults_of_json_even_if_it_is_json() {
        let faults = vec![EntryFault::of_row(EntryErrorCode::TooManyCells, "c".to_owned())];
        let notes = Notes { faults, warnings: Vec::new() };
        for row in ["a,\"b", r#"{"core-profile-id":"5"}"#, "{}"] {
            assert_eq!(merged(row, &notes), (vec!["too_many_cells"], false, None), "{row}");
        }
    }
}

//! Ids that a spreadsheet rounded. It has 15 digits of a number and writes zeros for the others,
//! and an update would then write to other people. One id may end in a zero; if all do, they were
//! rounded.

use super::cells::Cell;

/// A table of fewer rows is not judged.
const ROWS_MIN: u64 = 5;
/// Digits of an id that a spreadsheet may round.
const DIGITS_MIN: usize = 15;

/// The columns of a table that have ids, while its rows are read. A column is dropped at the first
/// id that was not rounded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoundedIds {
    suspects: Vec<Suspect>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Suspect {
    column: usize,
    name: String,
    ids: u64,
}

impl RoundedIds {
    pub(super) fn of(columns: impl Iterator<Item = (usize, String)>) -> Self {
        let suspects = columns.map(|(column, name)| Suspect { column, name, ids: 0 }).collect();
        Self { suspects }
    }

    /// Takes the next row.
    pub fn see<'c>(&mut self, cell: impl Fn(usize) -> Cell<'c>) {
        self.suspects.retain_mut(|suspect| {
            let cell = cell(suspect.column);
            if cell.is_blank() {
                return true;
            }
            suspect.ids += 1;
            let text = cell.own().trim();
            text.len() >= DIGITS_MIN
                && text.ends_with('0')
                && text.bytes().all(|byte| byte.is_ascii_digit())
        });
    }

    /// Why the table is refused, if its rows so far show it.
    pub fn refusal(&self) -> Option<String> {
        let Suspect { name, ids, .. } =
            self.suspects.iter().find(|suspect| suspect.ids >= ROWS_MIN)?;
        Some(format!(
            "all {ids} ids in the {name} end in 0: a spreadsheet rounded them, and they name other \
             records now. Export the table again, import it into the spreadsheet with this column \
             as text, and make the changes there"
        ))
    }
}

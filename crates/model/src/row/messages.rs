//! Several rows as one issue. A row that follows with the same id adds its message. Its time and
//! author, if they are others than those of the first row, are those of the message. All its other
//! cells are empty or say the same as in the first row; if not, the issue is faulty, because only
//! one of the two values can be right.

use std::borrow::Cow;

use super::addresses::addresses;
use super::cells::{Cell, Form};
use super::columns::{RowColumns, Source};
use super::entry::{Row, RowEntry, RowRules};
use super::issues::{AUTHOR_EMAIL, MESSAGES};
use crate::error_code::EntryErrorCode as Code;
use crate::json::{ValuePath, write_string};
use crate::profile::{IdentityType, quoted};

/// The cells that each message has of its own.
const OWN: [&str; 3] = ["created_at", AUTHOR_EMAIL, "author_name"];

impl RowColumns {
    /// The id of a row whose next ones may add messages to it. `None` if it has none, or if the
    /// table has no messages.
    pub fn id_of<'c>(&self, cell: impl Fn(usize) -> Cell<'c>) -> Option<&'c str> {
        self.members.iter().find(|(_, source)| matches!(source, Source::Message(_)))?;
        let id = self.members.iter().find_map(|(_, source)| match source {
            Source::Id(column) => Some(cell(*column).own()),
            _ => None,
        });
        id.filter(|id| !id.is_empty())
    }

    /// Adds the message of a row to the `entry` of a row with the same id, which was written with
    /// `number` messages. `first` has the cells of that row.
    pub fn write_message<'f, 'c>(
        &self,
        rules: &RowRules,
        first: impl Fn(usize) -> Cell<'f>,
        cell: impl Fn(usize) -> Cell<'c>,
        number: usize,
        entry: &mut Vec<u8>,
    ) -> RowEntry {
        let mut row = Row::new(self, rules, &cell, true);
        row.compare(&first);
        // The entry ends with its messages.
        let end = entry.len().saturating_sub(2);
        let tail = entry.split_off(end);
        let before = entry.len();
        if number > 0 {
            entry.push(b',');
        }
        if !row.message(&first, number, entry) {
            entry.truncate(before);
        }
        entry.extend_from_slice(&tail);
        if row.checker.faults.is_empty() {
            return RowEntry::Entry(row.checker.warnings);
        }
        RowEntry::Faulty(row.checker.into_faults())
    }

    pub(super) fn column_of(&self, name: &str) -> Option<usize> {
        self.members.iter().find_map(|(member, source)| match source {
            Source::Cell(column, _) => (*member == name).then_some(*column),
            _ => None,
        })
    }
}

impl<'c, F: Fn(usize) -> Cell<'c>> Row<'_, F> {
    /// Writes the list with the message of the first row, which may be empty.
    pub(super) fn first_message(&mut self, column: usize, out: &mut Vec<u8>) -> bool {
        out.push(b'[');
        let before = out.len();
        out.push(b'{');
        if self.body(column, 0, out) {
            out.push(b'}');
        } else {
            out.truncate(before);
        }
        out.push(b']');
        true
    }

    fn body(&mut self, column: usize, number: usize, out: &mut Vec<u8>) -> bool {
        match self.text(column) {
            Ok(None) => false,
            Ok(Some(text)) => {
                out.extend_from_slice(b"\"body\":");
                write_string(&text, out);
                true
            }
            Err(fault) => {
                let list = ValuePath::field(MESSAGES);
                let item = list.item(number);
                self.faulty(&item.key("body"), column, fault)
            }
        }
    }

    /// Writes the message of a row that follows; `false` if it has none.
    fn message<'f>(
        &mut self,
        first: &impl Fn(usize) -> Cell<'f>,
        number: usize,
        out: &mut Vec<u8>,
    ) -> bool {
        let columns = self.columns;
        let body = columns.members.iter().find_map(|(_, source)| match source {
            Source::Message(column) => Some(*column),
            _ => None,
        });
        out.push(b'{');
        if !body.is_some_and(|column| self.body(column, number, out)) {
            return false;
        }
        let [created_at, email, name] = OWN.map(|name| {
            let column = columns.column_of(name)?;
            let is_other = (self.cell)(column).own() != first(column).own();
            let text = self.own_text(name, column, number)?;
            is_other.then_some(text)
        });
        let mut members = columns.members.iter();
        let author = members.find(|(member, _)| *member == AUTHOR_EMAIL);
        let is_name = author.is_some_and(|(_, source)| self.named_person(source).is_some());
        let (email, name) = if is_name { (None, email) } else { (email, name) };
        if let Some(text) = created_at {
            out.extend_from_slice(b",\"created_at\":");
            // Validation of the entry finds a text that is not a time.
            let _ = Form::Moment.write(&text, "", out);
        }
        if email.is_some() || name.is_some() {
            out.extend_from_slice(b",\"author\":{");
            if let Some(name) = &name {
                out.extend_from_slice(b"\"name\":");
                write_string(name, out);
            }
            if let Some(email) = &email {
                let address = addresses(IdentityType::Email, email);
                out.extend_from_slice(if name.is_some() { b"," } else { b"" });
                out.extend_from_slice(b"\"emails\":");
                crate::json::write_array(address, out, write_string);
            }
            out.push(b'}');
        }
        out.push(b'}');
        true
    }

    /// The text of a cell that the message may have of its own.
    fn own_text(&mut self, name: &str, column: usize, number: usize) -> Option<Cow<'c, str>> {
        self.text(column).unwrap_or_else(|fault| {
            let list = ValuePath::field(MESSAGES);
            let item = list.item(number);
            self.faulty(&item.key(name), column, fault);
            None
        })
    }

    /// Adds a fault for each cell that says something else than the first row.
    fn compare<'f>(&mut self, first: &impl Fn(usize) -> Cell<'f>) {
        for (name, source) in &self.columns.members {
            let columns: Vec<usize> = match source {
                Source::Cell(column, _) if !OWN.contains(name) => vec![*column],
                Source::Map(_, keys) => keys.iter().map(|(_, column, _)| *column).collect(),
                _ => Vec::new(),
            };
            for column in columns {
                let (cell, other) = ((self.cell)(column), first(column));
                if cell.is_blank() || cell.own() == other.own() {
                    continue;
                }
                let detail = format!(
                    "the first row of this issue has {}, and a row that follows with the same id \
                     has {}; a row that adds a message repeats the cells of the first row or \
                     leaves them empty",
                    quoted(other.own()),
                    quoted(cell.own())
                );
                self.faulty(&ValuePath::field(name), column, (Code::IdConflict, detail));
            }
        }
    }
}

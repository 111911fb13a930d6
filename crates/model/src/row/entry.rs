//! The entry of a row. A faulty cell gives no value: either the whole row is faulty, or its field
//! is left out. Every fault names its column.

use std::borrow::Cow;

use super::addresses::addresses;
use super::cells::{Cell, CellFault, Form, list, looks_like_list};
use super::columns::{RowColumns, Source};
use super::header::{IDENTITIES, RowField};
use super::issues::{name_field, oddity};
use crate::error_code::{EntryErrorCode as Code, EntryWarningCode};
use crate::ids::IdentityKey;
use crate::json::{Json, ValuePath, parse, write_string};
use crate::profile::{Checker, IdentityType, Placeholders, is_rounded, quoted, rounded};
use crate::record::{EntryFault, EntryWarning, WARNINGS_MAX};
use crate::spelling::trimmed;

/// How the cells of all rows are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRules {
    /// Between two members of a list in one cell.
    pub separator: String,
    /// The text of a cell that clears its field.
    pub null: Option<String>,
    /// Whether a faulty field is left out. Without this it fails its row. An identity or an id is
    /// never left out.
    pub leave_out: bool,
    pub placeholders: Placeholders,
}

impl Default for RowRules {
    fn default() -> Self {
        let (separator, placeholders) = ("|".to_owned(), Placeholders::default());
        Self { separator, null: None, leave_out: false, placeholders }
    }
}

/// The result of reading a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowEntry {
    /// All cells are blank.
    Blank,
    /// An entry, which was written, with its oddities.
    Entry(Vec<EntryWarning>),
    /// An entry without its faulty fields, which was written, and their faults.
    Faulty(Vec<EntryFault>),
}

impl RowColumns {
    /// Writes the entry of a row on one line, without a newline. An empty cell gives no member.
    pub fn write_entry<'c>(
        &self,
        rules: &RowRules,
        cell: impl Fn(usize) -> Cell<'c>,
        out: &mut Vec<u8>,
    ) -> RowEntry {
        if (0..self.len()).all(|column| cell(column).is_blank()) {
            return RowEntry::Blank;
        }
        let start = out.len();
        let mut row = Row::new(self, rules, &cell, rules.leave_out);
        row.write(out);
        if !row.checker.faults.is_empty() && !row.checks {
            // Faulty values are left out, too, so that each is named once, with its column.
            out.truncate(start);
            row = Row::new(self, rules, &cell, true);
            row.write(out);
        }
        if row.checker.faults.is_empty() {
            return RowEntry::Entry(row.checker.warnings);
        }
        RowEntry::Faulty(row.checker.into_faults())
    }
}

/// A row while its entry is written.
pub(super) struct Row<'r, F> {
    pub(super) columns: &'r RowColumns,
    pub(super) rules: &'r RowRules,
    pub(super) cell: &'r F,
    /// Whether values are checked by the rules of their fields.
    checks: bool,
    pub(super) checker: Checker,
}

impl<'c, 'r, F: Fn(usize) -> Cell<'c>> Row<'r, F> {
    pub(super) fn new(
        columns: &'r RowColumns,
        rules: &'r RowRules,
        cell: &'r F,
        checks: bool,
    ) -> Self {
        Self { columns, rules, cell, checks, checker: Checker::default() }
    }

    fn write(&mut self, out: &mut Vec<u8>) {
        let columns = self.columns;
        let mut separator = b'{';
        for (name, source) in &columns.members {
            let named = self.named_person(source);
            let name = named.map_or(*name, |field| field.name);
            let before = out.len();
            out.push(separator);
            write_string(name, out);
            out.push(b':');
            let any = match source {
                Source::Id(column) => self.id(name, *column, out),
                Source::Cell(column, field) => {
                    self.value(None, *column, &named.unwrap_or(*field), None, out)
                }
                Source::Map(field, keys) => self.map(field, keys, out),
                Source::Identities(identities) => self.identities(identities, out),
                Source::Message(column) => self.first_message(*column, out),
            };
            if any {
                separator = b',';
            } else {
                out.truncate(before);
            }
        }
        out.extend_from_slice(if separator == b'{' { b"{}" } else { b"}" });
        for column in &columns.unnamed {
            if !(self.cell)(*column).is_blank() {
                let number = column + 1;
                let detail = format!(
                    "it has no name, and this row has a value there; give the column a name, or \
                     leave out #{number}"
                );
                self.faulty(&ValuePath::Root, *column, (Code::UnknownField, detail));
            }
        }
    }

    /// The field that a cell of a person fills if it has a name and no address, and if no other
    /// cell has the name.
    pub(super) fn named_person(&self, source: &Source) -> Option<RowField> {
        let Source::Cell(column, field) = source else { return None };
        let field = name_field(field, (self.cell)(*column).text)?;
        let other = self.columns.column_of(field.name);
        other.is_none_or(|column| (self.cell)(column).is_blank()).then_some(field)
    }

    /// The text of a cell; `None` if the cell says nothing.
    pub(super) fn text(&self, column: usize) -> Result<Option<Cow<'c, str>>, CellFault> {
        let cell = (self.cell)(column);
        if cell.text.is_empty() || !cell.quoted && cell.is_blank() {
            return Ok(None);
        }
        cell.read().map(Some)
    }

    fn is_null(&self, column: usize) -> bool {
        self.rules.null.as_deref() == Some((self.cell)(column).own())
    }

    fn id(&mut self, name: &str, column: usize, out: &mut Vec<u8>) -> bool {
        let text = if self.is_null(column) { Ok(None) } else { self.text(column) };
        match text {
            Ok(None) => false,
            Ok(Some(text)) if is_rounded(&text) => {
                let fault = (Code::SpreadsheetError, rounded(&text));
                self.fault(&ValuePath::field(name), column, fault)
            }
            Ok(Some(text)) => {
                write_string(&text, out);
                true
            }
            Err(fault) => self.fault(&ValuePath::field(name), column, fault),
        }
    }

    /// Writes the value of a field, or of a key inside it; returns `false` if there is none.
    fn value(
        &mut self,
        key: Option<&str>,
        column: usize,
        field: &RowField,
        form: Option<Form>,
        out: &mut Vec<u8>,
    ) -> bool {
        let of_field = ValuePath::field(field.name);
        let path = key.map_or(of_field, |key| ValuePath::Key(&of_field, key));
        if self.is_null(column) {
            out.extend_from_slice(b"null");
            return self.columns.patches;
        }
        let form = form.unwrap_or(field.form);
        let text = match self.text(column) {
            Ok(Some(text)) => text,
            Ok(None) => return false,
            Err(fault) => return self.faulty(&path, column, fault),
        };
        let is_list = form == Form::List && !trimmed(&text).starts_with('[');
        if !form.is_text() && trimmed(&text).is_empty()
            || is_list && list(&text, &self.rules.separator).next().is_none()
        {
            return false;
        }
        let start = out.len();
        if let Err(fault) = form.write(&text, &self.rules.separator, out) {
            return self.faulty(&path, column, fault);
        }
        if self.checks && !self.passes(key, column, field, &out[start..]) {
            return false;
        }
        if is_list {
            self.look_for_lists(&path, column, &text);
        }
        if let Some((code, detail)) = oddity(form, &text) {
            let detail = format!("{}: {detail}", self.columns.shown(column));
            let value = Json::String(Cow::Borrowed(&*text));
            self.warn(EntryWarning::new(code, &path, detail, &value));
        }
        true
    }

    /// Checks a value by the rules of its field.
    fn passes(&mut self, key: Option<&str>, column: usize, field: &RowField, value: &[u8]) -> bool {
        let (Some(rule), Ok(value)) = (field.of_profile, parse(value)) else { return true };
        let value = match key {
            Some(key) => Json::Object(vec![(Cow::Borrowed(key), value)]),
            None => value,
        };
        let mut checker = Checker::default();
        checker.value(rule, &value);
        let is_good = checker.faults.is_empty();
        for found in checker.faults {
            let shown = self.columns.shown(column);
            let detail = format!("{shown}: {}", found.detail);
            if self.rules.leave_out && field.name != IDENTITIES {
                self.left_out(found.pointer.unwrap_or_default(), column, &detail);
            } else if !self.checker.is_full() {
                self.checker.faults.push(EntryFault { detail, ..found });
            }
        }
        is_good
    }

    fn map(&mut self, field: &RowField, keys: &[(String, usize, Form)], out: &mut Vec<u8>) -> bool {
        let mut separator = b'{';
        for (key, column, form) in keys {
            let before = out.len();
            out.push(separator);
            write_string(key, out);
            out.push(b':');
            if self.value(Some(key), *column, field, Some(*form), out) {
                separator = b',';
            } else {
                out.truncate(before);
            }
        }
        out.push(b'}');
        separator == b','
    }

    fn identities(&mut self, identities: &[(IdentityType, usize)], out: &mut Vec<u8>) -> bool {
        let mut keys: Vec<IdentityKey> = Vec::new();
        for (kind, column) in identities {
            let text = if self.is_null(*column) { Ok(None) } else { self.text(*column) };
            let found = text.and_then(|text| match &text {
                None => Ok(Vec::new()),
                Some(text) => self.values(*kind, text),
            });
            let values = match found {
                Ok(values) => values,
                Err(fault) => {
                    let list = ValuePath::field("identities");
                    let item = list.item(keys.len());
                    self.fault(&item.key(kind.as_str()), *column, fault);
                    continue;
                }
            };
            for value in values {
                let key = IdentityKey::new(*kind, &value);
                if keys.contains(&key) {
                    continue;
                }
                out.extend_from_slice(if keys.is_empty() { b"[{" } else { b",{" });
                write_string(kind.as_str(), out);
                out.push(b':');
                write_string(&value, out);
                out.push(b'}');
                keys.push(key);
            }
        }
        out.push(b']');
        !keys.is_empty()
    }

    /// The identities of a cell with text.
    fn values(&self, kind: IdentityType, text: &str) -> Result<Vec<String>, CellFault> {
        // A rounded number may have a comma.
        if is_rounded(trimmed(text)) {
            return Err((Code::SpreadsheetError, rounded(text)));
        }
        let values = addresses(kind, text);
        if values.is_empty() {
            let detail = "the cell has blanks alone; an identity needs a value, and a person \
                          without this one an empty cell";
            return Err((Code::InvalidIdentity, detail.to_owned()));
        }
        for value in &values {
            if is_rounded(value) {
                return Err((Code::SpreadsheetError, rounded(value)));
            }
            if self.rules.placeholders.have(kind, value) {
                let detail = format!(
                    "{} is a placeholder, not a person; leave the cell empty if the person has no \
                     {}",
                    quoted(value),
                    kind.as_str()
                );
                return Err((Code::InvalidIdentity, detail));
            }
        }
        Ok(values.into_iter().map(str::to_owned).collect())
    }

    /// Adds a fault that fails the row.
    fn fault(&mut self, path: &ValuePath<'_>, column: usize, (code, detail): CellFault) -> bool {
        let detail = format!("{}: {detail}", self.columns.shown(column));
        let value = Json::String(Cow::Borrowed((self.cell)(column).text));
        self.checker.fault(code, path, &value, detail);
        false
    }

    /// Leaves a faulty field out, or adds its fault.
    pub(super) fn faulty(&mut self, path: &ValuePath<'_>, column: usize, fault: CellFault) -> bool {
        let is_identities =
            matches!(path, ValuePath::Key(ValuePath::Root, name) if *name == IDENTITIES);
        if !self.rules.leave_out || is_identities {
            return self.fault(path, column, fault);
        }
        let detail = format!("{}: {}", self.columns.shown(column), fault.1);
        self.left_out(path.pointer(), column, &detail);
        false
    }

    fn left_out(&mut self, pointer: String, column: usize, detail: &str) {
        let value = Json::String(Cow::Borrowed((self.cell)(column).text));
        let detail = format!("{detail}. The field was left out");
        let path = ValuePath::Root;
        let warning = EntryWarning::new(EntryWarningCode::LeftOut, &path, detail, &value);
        self.warn(EntryWarning { pointer, ..warning });
    }

    fn look_for_lists(&mut self, path: &ValuePath<'_>, column: usize, text: &str) {
        for (at, member) in list(text, &self.rules.separator).enumerate() {
            let Some(why) = looks_like_list(member, &self.rules.separator) else { continue };
            let detail = format!("{}: {why}", self.columns.shown(column));
            let value = Json::String(Cow::Borrowed(member));
            let code = EntryWarningCode::LooksLikeList;
            self.warn(EntryWarning::new(code, &path.item(at), detail, &value));
        }
    }

    pub(super) fn warn(&mut self, warning: EntryWarning) {
        if self.checker.warnings.len() < WARNINGS_MAX {
            self.checker.warnings.push(warning);
        }
    }
}

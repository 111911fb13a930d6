//! Records as rows of a table that an import reads back: it finds each record unchanged. The model
//! chooses the columns, and `http::csv` writes the cells. A custom field with a column of its own
//! has its type in the header. The first records show it; the cell of a value of another type names
//! that type.

use std::borrow::Cow;
use std::sync::Arc;

use caseload_model::issue::FieldType;
use caseload_model::json::{self, Json};
use caseload_model::profile::{type_word, typed_by, typed_cell};
use caseload_model::spelling::trimmed;

use crate::http::csv::{
    DamagedRecord, Members, Style, at_path, find, members, text_of, write_header, write_row,
};

const CUSTOM_FIELDS: &str = "custom_fields";

/// A table whose header is still to be written.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Arc<[Column]>,
    /// Whether a custom field is a map of its type and value.
    has_typed_fields: bool,
    pub(crate) style: Style,
}

#[derive(Debug, Clone)]
enum Column {
    /// The path of a member.
    Member(String),
    /// A custom field, and its type if that is known.
    Field(String, Option<FieldType>),
}

impl Column {
    /// A column as the caller names it, perhaps with its type.
    fn named(name: String) -> Self {
        let Some((CUSTOM_FIELDS, key)) = name.split_once('.') else { return Self::Member(name) };
        let typed = key
            .rsplit_once(':')
            .and_then(|(key, word)| Some(Self::Field(key.to_owned(), Some(typed_by(word)?))));
        typed.unwrap_or_else(|| Self::Field(key.to_owned(), None))
    }

    /// A text shows its type only if its name would show another one.
    fn header(&self) -> Cow<'_, str> {
        let (key, kind) = match self {
            Self::Member(name) => return Cow::Borrowed(name),
            Self::Field(key, kind) => (key, kind),
        };
        let kind = kind.unwrap_or(FieldType::Singleline);
        let names_type = |(_, word): (&str, &str)| typed_by(&trimmed(word).to_lowercase());
        if kind == FieldType::Singleline && key.rsplit_once(':').and_then(names_type).is_none() {
            return Cow::Owned(format!("{CUSTOM_FIELDS}.{key}"));
        }
        Cow::Owned(format!("{CUSTOM_FIELDS}.{key}:{}", type_word(kind)))
    }
}

impl Table {
    pub(crate) fn of_issues(columns: Vec<String>) -> Self {
        Self::new(columns, true)
    }

    pub(crate) fn of_profiles(columns: Vec<String>) -> Self {
        Self::new(columns, false)
    }

    fn new(columns: Vec<String>, has_typed_fields: bool) -> Self {
        let columns = columns.into_iter().map(Column::named).collect();
        Self { columns, has_typed_fields, style: Style::Plain }
    }

    /// The table with the types that the first records have, and its first row.
    pub(crate) fn begin(&mut self, lines: &[u8]) -> Result<Vec<u8>, DamagedRecord> {
        let mut columns = self.columns.to_vec();
        for line in records(lines) {
            let unknown = |column: &&mut Column| matches!(column, Column::Field(_, None));
            let mut unknown = columns.iter_mut().filter(unknown).peekable();
            if unknown.peek().is_none() {
                break;
            }
            let record = members(line)?;
            for column in unknown {
                if let Column::Field(key, kind) = column {
                    let found = self.field(&record, key)?.filter(|(_, value)| *value != b"null");
                    *kind = found.map(|(kind, _)| kind);
                }
            }
        }
        let mut out = Vec::new();
        let names: Vec<_> = columns.iter().map(Column::header).collect();
        write_header(names.iter().map(|name| &**name), self.style, &mut out);
        self.columns = columns.into();
        Ok(out)
    }

    /// Appends the rows of records, one record per line of `lines`.
    pub(crate) fn rows(&self, lines: &[u8], out: &mut Vec<u8>) -> Result<(), DamagedRecord> {
        for line in records(lines) {
            let record = members(line)?;
            let cells = self.columns.iter().map(|column| self.cell(&record, column));
            let cells = cells.collect::<Result<Vec<_>, _>>()?;
            write_row(cells.into_iter(), self.style, out);
        }
        Ok(())
    }

    fn cell<'a>(
        &self,
        record: &Members<'a>,
        column: &Column,
    ) -> Result<Option<Cow<'a, [u8]>>, DamagedRecord> {
        match column {
            Column::Member(path) => Ok(at_path(record, path)?.map(text_of)),
            Column::Field(key, of_column) => {
                let Some((kind, value)) = self.field(record, key)? else { return Ok(None) };
                let json = json::parse(value).map_err(|_| DamagedRecord)?;
                if json == Json::Null {
                    return Ok(None);
                }
                let of_column = of_column.unwrap_or(FieldType::Singleline);
                let word = if self.has_typed_fields { kind.as_str() } else { type_word(kind) };
                let typed = typed_cell(of_column, (kind, word), &json);
                Ok(Some(typed.map_or_else(|| text_of(value), |typed| typed.into_bytes().into())))
            }
        }
    }

    /// A custom field: its type and value.
    fn field<'a>(
        &self,
        record: &Members<'a>,
        key: &str,
    ) -> Result<Option<(FieldType, &'a [u8])>, DamagedRecord> {
        let Some(fields) = find(record, CUSTOM_FIELDS) else { return Ok(None) };
        let fields = members(fields)?;
        let Some(field) = find(&fields, key) else { return Ok(None) };
        if !self.has_typed_fields {
            let is_text = field.first() == Some(&b'"');
            let kind = if is_text { FieldType::Singleline } else { FieldType::Number };
            return Ok(Some((kind, field)));
        }
        let field = members(field)?;
        let word = find(&field, "type").map(text_of);
        let kind =
            FieldType::ALL.iter().find(|kind| word.as_deref() == Some(kind.as_str().as_bytes()));
        Ok(kind.copied().zip(find(&field, "value")))
    }
}

fn records(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

//! The columns of a table: which member of an entry each one is. All faults of a header
//! are found at once.

use std::collections::HashMap;

use super::cells::{Cell, Form};
use super::header::{self, IDENTITIES, Place, RowField, Unplaced};
use super::issues::{self, MESSAGES};
use super::rounded::RoundedIds;
use super::words::{is_core, plain};
use crate::profile::{IdentityType, Table};
use crate::spelling::trimmed;
use crate::task::{Action, Family};

/// The columns that a table of rejected rows has before those of its file.
pub const REJECTS_COLUMNS: [&str; 2] = ["error", "line"];

/// The columns of a table whose rows are entries of one action. By default it has no columns.
#[derive(Debug, Clone, Default)]
pub struct RowColumns {
    pub(super) members: Vec<(&'static str, Source)>,
    /// Columns without a name. A row with text in one of them is faulty.
    pub(super) unnamed: Vec<usize>,
    /// Whether the first two columns are those of a table of rejected rows.
    of_rejects: bool,
    /// The names of all columns, as the file has them.
    names: Vec<String>,
    /// Whether `null` clears a field.
    pub(super) patches: bool,
}

/// The columns that a member of an entry comes from, each by its index.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Id(usize),
    Cell(usize, RowField),
    Map(RowField, Vec<(String, usize, Form)>),
    Identities(Vec<(IdentityType, usize)>),
    /// The body of the first message.
    Message(usize),
}

/// The records that rows become.
#[derive(Debug, Clone, Copy)]
enum Records {
    Profiles(&'static Table),
    Issues,
}

impl Records {
    fn of(action: Action) -> Self {
        match action.family() {
            Family::Issues => Self::Issues,
            Family::Identity => Self::Profiles(Table::of(action)),
        }
    }

    const fn id_field(self) -> &'static str {
        match self {
            Self::Profiles(table) => table.id_field,
            Self::Issues => "id",
        }
    }

    fn place(self, action: Action, name: &str) -> Result<Place, Unplaced> {
        match self {
            Self::Profiles(table) => header::place(table, action, name),
            Self::Issues => issues::place(action, name),
        }
    }

    fn custom_field(self, name: &str) -> Result<Place, String> {
        match self {
            Self::Profiles(table) => header::custom_field(table, name),
            Self::Issues => issues::custom_field(name),
        }
    }
}

/// The use of columns that no field has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OtherColumns {
    /// They are faults of the header.
    #[default]
    Refuse,
    /// They are not read.
    Ignore,
    /// Each becomes the custom field of its name.
    Custom,
}

/// A fault of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFault {
    /// Index of the column; none if the header lacks one.
    pub column: Option<usize>,
    pub detail: String,
}

impl RowColumns {
    /// Reads a header. A rename gives the column of a name, or of a number as in `#3`, the name of
    /// a field; a column that is renamed to nothing is left out. Every fault is found; a preview
    /// shows the columns without the faulty ones.
    pub fn read(
        action: Action,
        header: &[Cell<'_>],
        renames: &[(String, String)],
        others: OtherColumns,
    ) -> (Self, Vec<ColumnFault>) {
        let records = Records::of(action);
        let names: Vec<String> = header.iter().map(|cell| cell.own().to_owned()).collect();
        let (patches, of_rejects) = (action.patches(), is_of_rejects(header));
        let mut columns = Self { of_rejects, names, patches, ..Self::default() };
        let mut faults: Vec<ColumnFault> = unused(header, renames)
            .map(|from| ColumnFault {
                column: None,
                detail: format!("there is no column {from:?}, which is given another name"),
            })
            .collect();
        let mut used = UsedColumns::default();
        for (column, cell) in header.iter().enumerate() {
            let renamed = rename_of(renames, column, *cell);
            let name = renamed.unwrap_or_else(|| cell.own());
            let is_front = of_rejects && column < REJECTS_COLUMNS.len();
            if renamed == Some("") || renamed.is_none() && is_front {
                continue;
            }
            if trimmed(name).is_empty() {
                if others != OtherColumns::Ignore {
                    columns.unnamed.push(column);
                }
                continue;
            }
            let placed = match (records.place(action, name), others) {
                (Err(Unplaced::Unknown(_)), OtherColumns::Ignore) if renamed.is_none() => continue,
                (Err(Unplaced::Unknown(_)), OtherColumns::Custom) if renamed.is_none() => {
                    records.custom_field(name)
                }
                (Err(Unplaced::Unknown(detail) | Unplaced::Wrong(detail)), _) => Err(detail),
                (Ok(place), _) => Ok(place),
            };
            match placed.and_then(|place| used.take(name, place)) {
                Ok(place) => columns.add(records, column, place),
                Err(detail) => faults.push(ColumnFault { column: Some(column), detail }),
            }
        }
        // Rows that follow add messages at the end of an entry.
        columns.members.sort_by_key(|(name, _)| *name == MESSAGES);
        if let Some(detail) = columns.missing(records, action).filter(|_| faults.is_empty()) {
            faults.push(ColumnFault { column: None, detail });
        }
        (columns, faults)
    }

    /// Looks for rounded ids in the rows of the table.
    pub fn rounded_ids(&self) -> RoundedIds {
        let ids = self.members.iter().flat_map(|(_, source)| match source {
            Source::Id(column) => vec![*column],
            Source::Identities(identities) => {
                let is_id = |kind| !matches!(kind, IdentityType::Email | IdentityType::PhoneNumber);
                identities.iter().filter(|(kind, _)| is_id(*kind)).map(|(_, at)| *at).collect()
            }
            Source::Cell(..) | Source::Map(..) | Source::Message(_) => Vec::new(),
        });
        RoundedIds::of(ids.map(|column| (column, self.shown(column))))
    }

    /// Each column of the header with the field that it fills, if there is one.
    pub fn fields(&self) -> Vec<(String, Option<String>)> {
        let filled = |column: usize| {
            self.members.iter().find_map(|(member, source)| match source {
                Source::Id(at) | Source::Cell(at, _) => {
                    (*at == column).then(|| (*member).to_owned())
                }
                Source::Message(at) => (*at == column).then(|| issues::MESSAGE.to_owned()),
                Source::Map(_, keys) => {
                    let (key, ..) = keys.iter().find(|(_, at, _)| *at == column)?;
                    Some(format!("{member}.{key}"))
                }
                Source::Identities(identities) => {
                    let (kind, _) = identities.iter().find(|(_, at)| *at == column)?;
                    Some(kind.as_str().to_owned())
                }
            })
        };
        let names = self.names.iter().enumerate();
        names.map(|(column, name)| (name.clone(), filled(column))).collect()
    }

    /// Whether the first columns are [`REJECTS_COLUMNS`], which no entry has.
    pub const fn is_of_rejects(&self) -> bool {
        self.of_rejects
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether the table has no columns.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// A column as a sentence names it.
    pub(super) fn shown(&self, column: usize) -> String {
        match self.names.get(column).map(|name| trimmed(name)) {
            Some(name) if !name.is_empty() => format!("column {name:?}"),
            _ => format!("column #{}", column + 1),
        }
    }

    fn add(&mut self, records: Records, column: usize, place: Place) {
        match place {
            Place::LeftOut => {}
            Place::Id => self.members.push((records.id_field(), Source::Id(column))),
            Place::Whole(field) => self.members.push((field.name, Source::Cell(column, field))),
            Place::Message => self.members.push((MESSAGES, Source::Message(column))),
            Place::Inside(field, key, form) => {
                let source = self.member(field.name, || Source::Map(field, Vec::new()));
                if let Source::Map(_, keys) = source {
                    keys.push((key, column, form));
                }
            }
            Place::Identity(kind, _) => {
                let source = self.member(IDENTITIES, || Source::Identities(Vec::new()));
                if let Source::Identities(identities) = source {
                    identities.push((kind, column));
                }
            }
        }
    }

    fn member(&mut self, name: &'static str, new: impl FnOnce() -> Source) -> &mut Source {
        let known = self.members.iter().position(|(member, _)| *member == name);
        let at = known.unwrap_or_else(|| {
            self.members.push((name, new()));
            self.members.len() - 1
        });
        &mut self.members[at].1
    }

    /// The column that the header lacks and each entry needs, as a sentence.
    fn missing(&self, records: Records, action: Action) -> Option<String> {
        let has = |name| self.members.iter().any(|(member, _)| *member == name);
        let Records::Profiles(table) = records else { return issues::missing(action, has) };
        let has_name = has(table.id_field) || is_core(table) && has(IDENTITIES);
        (!has_name).then(|| match action {
            Action::UpdateAppProfiles | Action::DeleteAppProfiles => {
                "no column is the pid of the profile".to_owned()
            }
            _ => "no column is an identity, such as email or identity.uid".to_owned(),
        })
    }
}

/// Whether a rename names this column: by its name, or by its number.
fn names(from: &str, column: usize, cell: Cell<'_>) -> bool {
    let from = trimmed(from);
    from == trimmed(cell.text) || from.strip_prefix('#') == Some(&(column + 1).to_string())
}

/// The field that a column is renamed to. A name comes before a number.
fn rename_of<'r>(
    renames: &'r [(String, String)],
    column: usize,
    cell: Cell<'_>,
) -> Option<&'r str> {
    let by_name = renames.iter().find(|(from, _)| trimmed(from) == trimmed(cell.text));
    let found = by_name.or_else(|| renames.iter().find(|(from, _)| names(from, column, cell)));
    found.map(|(_, to)| trimmed(to))
}

/// The renames that no column has.
fn unused<'r>(
    header: &[Cell<'_>],
    renames: &'r [(String, String)],
) -> impl Iterator<Item = &'r String> {
    let is_used =
        |from: &str| header.iter().enumerate().any(|(column, cell)| names(from, column, *cell));
    renames
        .iter()
        .map(|(from, _)| from)
        .filter(move |from| !is_used(from))
        .collect::<Vec<_>>()
        .into_iter()
}

/// Whether a header is that of a table of rejected rows.
fn is_of_rejects(header: &[Cell<'_>]) -> bool {
    let mut names = REJECTS_COLUMNS.iter().zip(header);
    header.len() > REJECTS_COLUMNS.len()
        && names.all(|(name, cell)| plain(trimmed(cell.text)) == *name)
}

/// The places that columns have so far, each with the name of its column.
#[derive(Debug, Default)]
struct UsedColumns {
    places: HashMap<(&'static str, String), String>,
    /// The first column inside each member.
    insides: HashMap<&'static str, String>,
}

impl UsedColumns {
    /// Takes a place. `Err` names the column that has it.
    fn take(&mut self, name: &str, place: Place) -> Result<Place, String> {
        let (member, key) = match &place {
            Place::LeftOut => return Ok(place),
            Place::Id => ("", String::new()),
            Place::Whole(field) => (field.name, String::new()),
            Place::Message => (MESSAGES, String::new()),
            Place::Inside(field, key, _) => (field.name, format!(".{key}")),
            Place::Identity(kind, number) => {
                let number = number
                    .map_or_else(|| format!("#{}", self.places.len()), |number| number.to_string());
                (IDENTITIES, format!(".{}.{number}", kind.as_str()))
            }
        };
        let whole = if key.is_empty() {
            self.insides.get(member)
        } else {
            self.places.get(&(member, String::new()))
        };
        if let Some(other) = whole.or_else(|| self.places.get(&(member, key.clone()))) {
            let more = match place {
                Place::Identity(kind, Some(number)) if *other != IDENTITIES => {
                    format!("; a second one is identity.{}.{}", kind.as_str(), number + 1)
                }
                _ => String::new(),
            };
            return Err(format!("{name:?} is the same member as the column {other:?}{more}"));
        }
        if !key.is_empty() {
            self.insides.entry(member).or_insert_with(|| name.to_owned());
        }
        self.places.insert((member, key), name.to_owned());
        Ok(place)
    }
}

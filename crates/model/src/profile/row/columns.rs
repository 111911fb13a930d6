//! The columns of a table of profiles, and the entry that the cells of a row give. A column is
//! named like the field; a dot leads into a map. Identities have short names, because a table has
//! no arrays: `email` is `identity.email`.

use std::collections::HashMap;

use super::super::check::NAME_COMPONENTS;
use super::super::field::{APP, CORE, Table};
use super::super::identity::IdentityType;
use super::cells::Form;
use crate::dialects::advice;
use crate::json::write_string;
use crate::spelling::same_name;
use crate::task::Action;

/// The highest number of an identity's column, as in `identity.email.2`.
const IDENTITY_NUMBER_MAX: u32 = 100;

const IDENTITIES: &str = "identities";
const NAMES: &str = "names";
const CUSTOM_FIELDS: &str = "custom_fields";

/// The columns of a table whose rows are entries of one action. By default it has no columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowColumns {
    members: Vec<(&'static str, Source)>,
}

/// The columns that a member of an entry comes from, each by its index.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Cell(usize, Form),
    Map(Vec<(String, usize, Form)>),
    Identities(Vec<(IdentityType, usize)>),
}

/// The place of a column in an entry.
#[derive(Debug)]
enum Place {
    Whole(&'static str, Form),
    Inside(&'static str, String, Form),
    Identity(IdentityType, u32),
    /// Only the server sets this member; an export has it.
    LeftOut,
}

/// A fault of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFault {
    /// Index of the column; none if the header lacks one.
    pub column: Option<usize>,
    pub detail: String,
}

impl RowColumns {
    /// Reads the names of the columns; a column without a name is not part of an entry. `Err` has
    /// every fault.
    pub fn read(action: Action, names: &[Option<&str>]) -> Result<Self, Vec<ColumnFault>> {
        let table = match action {
            Action::UpdateAppProfiles => &APP,
            _ => &CORE,
        };
        let mut columns = Self::default();
        let mut used = UsedColumns::default();
        let mut faults = Vec::new();
        for (column, name) in names.iter().enumerate() {
            let Some(name) = name else { continue };
            let placed = place(table, action, name.trim())
                .and_then(|place| used.take(name, &place).map(|()| place));
            match placed {
                Ok(place) => columns.add(column, place),
                Err(detail) => faults.push(ColumnFault { column: Some(column), detail }),
            }
        }
        if let Some(detail) = columns.missing(table, action).filter(|_| faults.is_empty()) {
            faults.push(ColumnFault { column: None, detail });
        }
        if faults.is_empty() { Ok(columns) } else { Err(faults) }
    }

    /// Writes the entry of a row on one line, without a newline. An empty cell gives no member.
    /// Writes nothing and returns `false` if every cell is empty.
    pub fn write_entry<'c>(&self, cell: impl Fn(usize) -> &'c str, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        for (name, source) in &self.members {
            let before = out.len();
            out.push(if before == start { b'{' } else { b',' });
            write_string(name, out);
            out.push(b':');
            if !source.write(&cell, out) {
                out.truncate(before);
            }
        }
        let has_members = out.len() > start;
        if has_members {
            out.push(b'}');
        }
        has_members
    }

    fn add(&mut self, column: usize, place: Place) {
        match place {
            Place::LeftOut => {}
            Place::Whole(name, form) => self.members.push((name, Source::Cell(column, form))),
            Place::Inside(name, key, form) => {
                let source = self.member(name, || Source::Map(Vec::new()));
                if let Source::Map(keys) = source {
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

    /// The column that the header lacks, if no entry of it could name its profile.
    fn missing(&self, table: &Table, action: Action) -> Option<String> {
        let has = |name| self.members.iter().any(|(member, _)| *member == name);
        let has_name = has(table.id_field) || table.id_field == CORE.id_field && has(IDENTITIES);
        (!has_name).then(|| match action {
            Action::UpdateAppProfiles => "no column is the pid of the profile".to_owned(),
            _ => "no column is an identity, such as email or identity.uid".to_owned(),
        })
    }
}

impl Source {
    /// Writes the value; returns `false`, with anything written, if all cells are empty.
    fn write<'c>(&self, cell: impl Fn(usize) -> &'c str, out: &mut Vec<u8>) -> bool {
        let mut any = false;
        match self {
            Self::Cell(column, form) => {
                any = !cell(*column).is_empty();
                if any {
                    form.write(cell(*column), out);
                }
            }
            Self::Map(keys) => {
                for (key, column, form) in keys.iter().filter(|(_, at, _)| !cell(*at).is_empty()) {
                    out.push(if any { b',' } else { b'{' });
                    write_string(key, out);
                    out.push(b':');
                    form.write(cell(*column), out);
                    any = true;
                }
                out.push(b'}');
            }
            Self::Identities(identities) => {
                for (kind, column) in identities.iter().filter(|(_, at)| !cell(*at).is_empty()) {
                    out.extend_from_slice(if any { b",{" } else { b"[{" });
                    write_string(kind.as_str(), out);
                    out.push(b':');
                    write_string(cell(*column), out);
                    out.push(b'}');
                    any = true;
                }
                out.push(b']');
            }
        }
        any
    }
}

/// The places that columns have so far, each with the name of its column.
#[derive(Debug, Default)]
struct UsedColumns {
    places: HashMap<(&'static str, String), String>,
    /// The first column inside each member.
    insides: HashMap<&'static str, String>,
}

impl UsedColumns {
    fn take(&mut self, name: &str, place: &Place) -> Result<(), String> {
        let (member, key, other) = match place {
            Place::LeftOut => return Ok(()),
            Place::Whole(member, _) => (*member, String::new(), self.insides.get(member)),
            Place::Inside(member, key, _) => {
                (*member, format!(".{key}"), self.places.get(&(*member, String::new())))
            }
            Place::Identity(kind, number) => (
                IDENTITIES,
                format!(".{}.{number}", kind.as_str()),
                self.places.get(&(IDENTITIES, String::new())),
            ),
        };
        let other = other.or_else(|| self.places.get(&(member, key.clone())));
        if let Some(other) = other {
            let more = match place {
                Place::Identity(kind, number) if *other != IDENTITIES => {
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
        Ok(())
    }
}

/// Finds the place of a column by its name. `Err` says what is wrong with the name.
fn place(table: &'static Table, action: Action, name: &str) -> Result<Place, String> {
    let is_core = table.id_field == CORE.id_field;
    if name.is_empty() {
        return Err("the column has no name".to_owned());
    }
    if same_name(table.id_field, name) {
        return match action {
            Action::CreateCoreProfiles => Err(format!(
                "a new profile gets its {} from the server; update and upsert take it",
                table.id_field
            )),
            _ => Ok(Place::Whole(table.id_field, Form::Text)),
        };
    }
    if table.read_only.contains(&name) || !is_core && same_name(CORE.id_field, name) {
        return Ok(Place::LeftOut);
    }
    if let Some(field) = table.fields.iter().find(|field| field.name == name) {
        return Ok(Place::Whole(field.name, Form::of(field.rule)));
    }
    if let Some(key) = name.strip_prefix("custom_fields.") {
        return custom_field(key);
    }
    if is_core && let Some(place) = name_component(name).or_else(|| identity(name)) {
        return Ok(place);
    }
    let advice = advice(name, &known(table, is_core).collect::<Vec<_>>());
    Err(format!("{name:?} is not a field of {}s; {advice}", table.noun))
}

/// `custom_fields.plan`, or with a type `custom_fields.seats:number`.
fn custom_field(key: &str) -> Result<Place, String> {
    let (key, form) = match key.rsplit_once(':') {
        Some((key, "number")) => (key, Form::Number),
        Some((key, "text")) => (key, Form::Text),
        _ => (key, Form::Text),
    };
    if key.is_empty() {
        return Err("a custom field needs a name, as in custom_fields.plan".to_owned());
    }
    Ok(Place::Inside(CUSTOM_FIELDS, key.to_owned(), form))
}

fn name_component(name: &str) -> Option<Place> {
    let component = name.strip_prefix("names.").unwrap_or(name);
    let known = NAME_COMPONENTS.iter().find(|known| **known == component)?;
    Some(Place::Inside(NAMES, (*known).to_owned(), Form::Text))
}

/// `email`, `identity.email`, or `identity.email.2`.
fn identity(name: &str) -> Option<Place> {
    let rest = name.strip_prefix("identity.").or_else(|| name.strip_prefix("identities."));
    let (kind, number) = match rest.unwrap_or(name).rsplit_once('.') {
        Some((kind, number)) => (kind, number.parse().ok()?),
        None => (rest.unwrap_or(name), 1),
    };
    let kind = IdentityType::parse(kind)?;
    (1..=IDENTITY_NUMBER_MAX).contains(&number).then_some(Place::Identity(kind, number))
}

/// The names that a column may have.
fn known(table: &'static Table, is_core: bool) -> impl Iterator<Item = &'static str> {
    let core = is_core.then(|| {
        IdentityType::ALL.iter().map(|kind| kind.as_str()).chain(NAME_COMPONENTS.iter().copied())
    });
    let fields = table.fields.iter().map(|field| field.name);
    fields.chain([table.id_field]).chain(core.into_iter().flatten())
}

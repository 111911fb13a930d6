//! The stored and the shown form of profiles. The stored form is the fields text: members in the
//! order of the field table, maps in the order of arrival, numbers as sent. The shown form is the
//! same text between id and times, so reading a profile only concatenates bytes. A shown profile is
//! valid input of an update, which then changes nothing.

use super::field::{Field, Rule, Slots, Table};
use crate::ids::CoreProfileId;
use crate::json::{self, Json, write_decimal, write_map, write_string};
use crate::time::UnixMillis;

/// A stored app profile without its pid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAppProfile {
    pub app_id: String,
    pub name: String,
    /// A JSON array of strings, as text.
    pub emails: Vec<u8>,
    /// The fields text; empty until an update sets a field.
    pub fields: Vec<u8>,
    pub created_at: UnixMillis,
    pub updated_at: UnixMillis,
}

/// Appends a core profile as the get action shows it.
pub fn render_core(
    id: CoreProfileId,
    created_at: UnixMillis,
    fields: &[u8],
    updated_at: UnixMillis,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"{\"core-profile-id\":\"");
    write_decimal(id.0, out);
    out.push(b'"');
    finish(fields, created_at, updated_at, out);
}

/// Appends an app profile as the get action shows it.
pub fn render_app(pid: &str, profile: &StoredAppProfile, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"pid\":");
    write_string(pid, out);
    out.extend_from_slice(b",\"app_id\":");
    write_string(&profile.app_id, out);
    out.extend_from_slice(b",\"name\":");
    write_string(&profile.name, out);
    out.extend_from_slice(b",\"emails\":");
    out.extend_from_slice(&profile.emails);
    finish(&profile.fields, profile.created_at, profile.updated_at, out);
}

/// The end of a shown record: fields, times, closing brace.
fn finish(fields: &[u8], created_at: UnixMillis, updated_at: UnixMillis, out: &mut Vec<u8>) {
    if !fields.is_empty() {
        out.push(b',');
        out.extend_from_slice(fields);
    }
    out.extend_from_slice(b",\"created_at\":");
    write_decimal(created_at.0, out);
    out.extend_from_slice(b",\"updated_at\":");
    write_decimal(updated_at.0, out);
    out.push(b'}');
}

/// Appends the fields text of a record whose members are in `slots`; `null` counts as absent. `out`
/// is empty.
pub(super) fn write_fields(table: &Table, slots: &Slots<'_, '_>, out: &mut Vec<u8>) {
    for (field, value) in table.fields.iter().zip(slots) {
        if let Some(value) = value {
            write_field(field, value, out);
        }
    }
}

/// Appends a member to a fields text, unless its value is `null`.
pub(super) fn write_field(field: &Field, value: &Json<'_>, fields: &mut Vec<u8>) {
    if value != &Json::Null {
        write_name(field, fields);
        write_value(field.rule, value, fields);
    }
}

/// Appends the name of a member, and the comma between it and the member before.
fn write_name(field: &Field, fields: &mut Vec<u8>) {
    fields.extend_from_slice(if fields.is_empty() { b"\"" } else { b",\"" });
    fields.extend_from_slice(field.name.as_bytes());
    fields.extend_from_slice(b"\":");
}

fn write_value(rule: Rule, value: &Json<'_>, out: &mut Vec<u8>) {
    let Json::Object(members) = value else { return value.write_to(out) };
    if !rule.merges() {
        return value.write_to(out);
    }
    let members = members.iter().filter(|(_, value)| *value != Json::Null);
    write_map(members.map(|(key, value)| (key, value)), out, |_, value, out| value.write_to(out));
}

/// The fields text as a JSON map.
pub(crate) fn braced(fields: &[u8]) -> Vec<u8> {
    [b"{", fields, b"}"].concat()
}

/// Reads a stored record. It was valid when it was written; if it is not, the store is damaged and
/// the process must not build on it.
pub(super) fn parse_stored(text: &[u8]) -> Json<'_> {
    json::parse(text).expect("a stored profile is valid JSON")
}

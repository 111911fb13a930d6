//! A change as callers read it: a JSON map. The log has no value of a profile, because it would
//! have to be erased with the person.

use super::{Author, Change, Effect};
use crate::json::{write_array, write_string};

impl Change {
    /// Appends the change as a JSON map.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let Self { position, at, effect, by, request_id } = self;
        let Effect { resource, id, action, fields, index, values } = effect;
        out.extend_from_slice(format!("{{\"position\":\"{position}\",\"at\":{}", at.0).as_bytes());
        member("resource", resource.as_str(), out);
        member("id", &id.to_string(), out);
        member("action", action.as_str(), out);
        out.extend_from_slice(b",\"fields\":");
        write_array(fields.iter(), out, |name, out| write_string(name, out));
        write_author("by", by, *index, out);
        if let Some(request_id) = request_id {
            member("request_id", request_id, out);
        }
        if !values.is_empty() {
            out.extend_from_slice(b",\"changes\":{");
            out.extend_from_slice(values);
            out.push(b'}');
        }
        out.push(b'}');
    }
}

/// Appends the author as a member, if one is known.
pub(super) fn write_author(name: &str, by: &Author, index: Option<u32>, out: &mut Vec<u8>) {
    let members: &[(&str, &str)] = match by {
        Author::Unknown => return,
        Author::Key { id, name } => &[("key_id", id), ("key_name", name)],
        Author::Task { id } => &[("task_id", id)],
        Author::Command { line } => &[("command", line)],
    };
    out.extend_from_slice(format!(",\"{name}\":{{").as_bytes());
    let begin = out.len();
    for (name, value) in members {
        member(name, value, out);
    }
    // The comma before the first member.
    out.remove(begin);
    if let Some(index) = index {
        out.extend_from_slice(format!(",\"index\":{index}").as_bytes());
    }
    out.push(b'}');
}

fn member(name: &str, value: &str, out: &mut Vec<u8>) {
    out.push(b',');
    write_string(name, out);
    out.push(b':');
    write_string(value, out);
}

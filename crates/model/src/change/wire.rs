//! A change as callers read it: a JSON map. The log has no value of a profile, because it would
//! have to be erased with the person.

use super::{Author, Change, Effect};
use crate::json::{write_array, write_decimal, write_string};

impl Change {
    /// Appends the change as a JSON map.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let Self { position, at, effect, by, request_id } = self;
        let Effect { resource, id, action, fields, index, values } = effect;
        out.extend_from_slice(b"{\"position\":\"");
        write_decimal(*position, out);
        out.extend_from_slice(b"\",\"at\":");
        write_decimal(at.0, out);
        name("resource", out);
        write_word(resource.as_str(), out);
        name("id", out);
        id.write_json(out);
        name("action", out);
        write_word(action.as_str(), out);
        name("fields", out);
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
pub(super) fn write_author(of: &str, by: &Author, index: Option<u32>, out: &mut Vec<u8>) {
    let members: &[(&str, &str)] = match by {
        Author::Unknown => return,
        Author::Key { id, name } => &[("key_id", id), ("key_name", name)],
        Author::Task { id } => &[("task_id", id)],
        Author::Command { line } => &[("command", line)],
    };
    name(of, out);
    out.push(b'{');
    let begin = out.len();
    for (name, value) in members {
        member(name, value, out);
    }
    // The comma before the first member.
    out.remove(begin);
    if let Some(index) = index {
        name("index", out);
        write_decimal(index, out);
    }
    out.push(b'}');
}

fn member(of: &str, value: &str, out: &mut Vec<u8>) {
    name(of, out);
    write_string(value, out);
}

/// The name of a further member.
fn name(word: &str, out: &mut Vec<u8>) {
    out.push(b',');
    write_word(word, out);
    out.push(b':');
}

/// A word of the form, in which nothing has to be escaped.
fn write_word(word: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(word.as_bytes());
    out.push(b'"');
}

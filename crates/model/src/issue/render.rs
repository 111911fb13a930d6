//! Writes the members of JSON maps, one after another, in the order of the calls. The caller writes
//! the braces, because a head has none.

use crate::json::{Json, write_array, write_decimal, write_map, write_string};

/// A run of members, separated by commas.
pub(super) struct Members<'o> {
    out: &'o mut Vec<u8>,
    comma: bool,
}

impl<'o> Members<'o> {
    /// Begins a run of members; `comma` says whether other members precede it.
    pub(super) fn new(out: &'o mut Vec<u8>, comma: bool) -> Self {
        Self { out, comma }
    }

    /// Writes the key and returns the buffer for its value.
    pub(super) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if self.comma {
            self.out.push(b',');
        }
        self.comma = true;
        write_string(key, self.out);
        self.out.push(b':');
        self.out
    }

    pub(super) fn text(&mut self, key: &str, text: &str) {
        write_string(text, self.key(key));
    }

    pub(super) fn optional_text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    pub(super) fn number(&mut self, key: &str, number: i64) {
        write_decimal(number, self.key(key));
    }

    pub(super) fn raw(&mut self, key: &str, json: &[u8]) {
        self.key(key).extend_from_slice(json);
    }

    pub(super) fn optional_json(&mut self, key: &str, json: Option<&Json<'_>>) {
        if let Some(json) = json {
            json.write_to(self.key(key));
        }
    }
}

/// Appends an array of strings.
pub(super) fn write_texts<'t>(texts: impl IntoIterator<Item = &'t str>, out: &mut Vec<u8>) {
    write_array(texts, out, write_string);
}

/// Appends an array of values that are already rendered.
pub(super) fn write_rendered(items: &[Vec<u8>], out: &mut Vec<u8>) {
    write_array(items, out, |item, out| out.extend_from_slice(item));
}

/// Appends `meta` with every number and boolean as a string; `null` stays.
pub(super) fn write_meta(json: &Json<'_>, out: &mut Vec<u8>) {
    match json {
        Json::Number(digits) => write_string(digits, out),
        Json::Bool(value) => write_string(if *value { "true" } else { "false" }, out),
        Json::Null | Json::String(_) => json.write_to(out),
        Json::Array(items) => write_array(items, out, write_meta),
        Json::Object(members) => {
            write_map(members.iter().map(|(key, value)| (key, value)), out, |_, value, out| {
                write_meta(value, out);
            });
        }
    }
}

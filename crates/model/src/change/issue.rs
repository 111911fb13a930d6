//! The effect of a write on an issue, from the issue before and after it. Values are shown of the
//! fields that desks steer by; of messages only the ids, and of private notes only the number,
//! because the log would keep texts that are redacted later.

use std::borrow::Cow;

use super::{ChangeAction, Effect, Resource};
use crate::issue::IssueFacts;
use crate::issue::write::IssueRecord;
use crate::json::{elements_at, members_at, write_array, write_string};

/// The effect of a change; without any, it has no fields.
pub fn issue_effect(before: &IssueRecord, after: &IssueRecord) -> Effect {
    let mut found = Differences::default();
    let facts = [&before.columns.facts, &after.columns.facts];
    found.value("state", &facts.map(|facts| shown(facts.state.as_str())));
    found.value("assignee_id", &facts.map(|facts| option(facts.assignee_id.as_ref())));
    found.value("queue", &facts.map(|facts| option(facts.queue.as_ref().map(|queue| &queue.id))));
    found.value("tags", &facts.map(tags));
    found.value("title", &[before, after].map(title));
    let (was, is) = (&before.body, &after.body);
    found.name("meta", was.meta != is.meta);
    found.name("custom_fields", was.custom_fields != is.custom_fields);
    found.messages(&was.messages, &is.messages);
    found.notes(was.private_notes.as_deref(), is.private_notes.as_deref());
    let Differences { names, values } = found;
    let effect = Effect::new(Resource::Issue, after.columns.id, ChangeAction::Updated);
    Effect { values, ..effect.of_fields(names) }
}

#[derive(Default)]
struct Differences {
    names: Vec<Cow<'static, str>>,
    values: Vec<u8>,
}

impl Differences {
    fn name(&mut self, name: &'static str, differs: bool) {
        if differs {
            self.names.push(name.into());
        }
    }

    /// A field with its values as JSON.
    fn value(&mut self, name: &'static str, [from, to]: &[Vec<u8>; 2]) {
        if from == to {
            return;
        }
        self.name(name, true);
        self.member(name);
        let parts: [&[u8]; 5] = [b"{\"from\":", from, b",\"to\":", to, b"}"];
        self.values.extend_from_slice(&parts.concat());
    }

    fn messages(&mut self, from: &[u8], to: &[u8]) {
        self.name("messages", from != to);
        let mut added = to_ids(to).skip(elements_at(from, 0).count()).peekable();
        if added.peek().is_some() {
            self.member("messages.added");
            write_array(added, &mut self.values, |id, out| out.extend_from_slice(id));
        }
    }

    fn notes(&mut self, from: Option<&[u8]>, to: Option<&[u8]>) {
        self.name("private_notes", from != to);
        let count = |notes: Option<&[u8]>| elements_at(notes.unwrap_or_default(), 0).count();
        let added = count(to).saturating_sub(count(from));
        if added > 0 {
            self.member("private_notes.added");
            self.values.extend_from_slice(added.to_string().as_bytes());
        }
    }

    fn member(&mut self, name: &str) {
        if !self.values.is_empty() {
            self.values.push(b',');
        }
        write_string(name, &mut self.values);
        self.values.push(b':');
    }
}

/// The ids of messages as they are written.
fn to_ids(messages: &[u8]) -> impl Iterator<Item = &[u8]> {
    elements_at(messages, 0).map(|message| {
        let id = members_at(messages, message.start).find(|(key, _)| *key == b"id");
        id.map_or(&b"null"[..], |(_, id)| &messages[id])
    })
}

fn title(issue: &IssueRecord) -> Vec<u8> {
    let map = [b"{", issue.head.as_slice(), b"}"].concat();
    let found = members_at(&map, 0).find(|(key, _)| *key == b"title");
    found.map_or_else(|| b"null".to_vec(), |(_, title)| map[title].to_vec())
}

fn tags(facts: &IssueFacts) -> Vec<u8> {
    let mut out = Vec::new();
    write_array(&facts.tags, &mut out, |tag, out| write_string(tag, out));
    out
}

fn option(text: Option<&String>) -> Vec<u8> {
    text.map_or_else(|| b"null".to_vec(), |text| shown(text))
}

fn shown(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_string(text, &mut out);
    out
}

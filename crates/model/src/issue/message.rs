//! One message of an issue, and its rendered form. Imports and single writes both make messages
//! here, so they look the same.

use super::person::{Person, write_person};
use super::render::{Members, write_rendered};
use crate::json::Json;
use crate::time::UnixMillis;

/// The side that a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    EndUser,
    /// Someone at the desk. The word on the wire is the one that existing clients compare with.
    Agent,
}

/// Whether the origin of a rendered message is the end user.
pub(crate) fn is_of_end_user(origin: &str) -> bool {
    origin == Origin::EndUser.as_str()
}

impl Origin {
    pub(super) const WORDS: [(&'static str, Self); 2] =
        [("end-user", Self::EndUser), ("helpshift", Self::Agent)];

    const fn as_str(self) -> &'static str {
        match self {
            Self::EndUser => "end-user",
            Self::Agent => "helpshift",
        }
    }
}

/// A message. Parts that an entry does not give may be missing.
#[derive(Default)]
pub(super) struct Message<'j> {
    pub(super) id: Option<&'j str>,
    pub(super) body: &'j str,
    pub(super) created_at: UnixMillis,
    pub(super) origin: Option<Origin>,
    pub(super) author: Option<Person<'j>>,
    /// Rendered.
    pub(super) attachments: Vec<Vec<u8>>,
    /// Rendered.
    pub(super) attachment: Option<Vec<u8>>,
    pub(super) intent_labels: Option<&'j Json<'j>>,
    pub(super) sentiment: Option<&'j Json<'j>>,
    pub(super) kind: Option<&'j str>,
}

impl Message<'_> {
    /// Appends the message as a map.
    pub(super) fn render(&self, id: &str, origin: Origin, author: &Person<'_>, out: &mut Vec<u8>) {
        out.push(b'{');
        let mut members = Members::new(out, false);
        members.text("id", id);
        members.text("body", self.body);
        members.number("created_at", self.created_at.0);
        members.text("origin", origin.as_str());
        write_person(author, members.key("author"));
        // `attachment` is the first of `attachments`; either one alone implies the other.
        let first = self.attachment.as_ref().or(self.attachments.first());
        if let Some(first) = first {
            let all = &self.attachments;
            let all = if all.is_empty() { std::slice::from_ref(first) } else { all };
            write_rendered(all, members.key("attachments"));
            members.raw("attachment", first);
        }
        members.optional_json("intent_labels", self.intent_labels);
        members.optional_json("sentiment", self.sentiment);
        members.optional_text("type", self.kind);
        out.push(b'}');
    }
}

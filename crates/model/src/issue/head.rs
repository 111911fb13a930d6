//! The head of an issue: the members from `id` to `cc`, in fixed order. The plan of an import sets
//! the id, the app and `created_at` last, so a head is first rendered as a template of three parts,
//! with gaps for these.

use super::UNASSIGNED;
use super::columns::IssueFacts;
use super::render::{Members, write_texts};
use crate::ids::DomainName;
use crate::json::write_string;
use crate::spelling::trimmed;
use crate::time::UnixMillis;

/// The rendered head, with gaps for the members that the plan sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadTemplate {
    /// `title`, `tags`.
    before_app: Vec<u8>,
    /// `domain` to `state_data`.
    before_created: Vec<u8>,
    /// `updated_at` to `cc`.
    after_created: Vec<u8>,
}

impl HeadTemplate {
    /// Renders the head, except for the parts that [`HeadTemplate::render`] adds.
    pub(super) fn new(
        context: &HeadContext<'_>,
        facts: &IssueFacts,
        title: &str,
        cc: Option<Vec<&str>>,
    ) -> Self {
        let mut head = Self::default();
        let mut members = Members::new(&mut head.before_app, true);
        members.text("title", title);
        write_texts(facts.tags.iter().map(String::as_str), members.key("tags"));

        let mut members = Members::new(&mut head.before_created, true);
        members.text("domain", context.domain.as_str());
        members.text("hs_user_id", context.hs_user_id);
        members.text("author_name", context.author.name);
        members.text("author_email", context.author.email);
        members.text("assignee_id", context.assignee.id.unwrap_or(UNASSIGNED));
        match context.assignee.name {
            Some(name) => members.text("assignee_name", name),
            None => members.raw("assignee_name", b"null"),
        }
        members.raw("redacted", if facts.redacted { b"true" } else { b"false" });
        let state_data = members.key("state_data");
        state_data.push(b'{');
        let mut inner = Members::new(state_data, false);
        inner.text("state", facts.state.as_str());
        inner.number("changed_at", facts.changed_at.0);
        state_data.push(b'}');

        let mut members = Members::new(&mut head.after_created, true);
        members.number("updated_at", facts.updated_at.0);
        members.optional_text("language", facts.language.as_deref());
        members.optional_text("platform_type", facts.platform_type.as_deref());
        if let Some(mode) = &facts.issue_mode {
            let out = members.key("issue_mode_data");
            out.extend_from_slice(b"{\"issue_mode\":");
            write_string(mode, out);
            out.push(b'}');
        }
        if let Some(cc) = cc {
            write_texts(cc.into_iter().map(trimmed), members.key("cc"));
        }
        head
    }

    /// The whole head: members without braces.
    pub fn render(
        &self,
        id: u64,
        (app_id, app_publish_id): (&str, &str),
        created_at: UnixMillis,
        original_created_at: Option<UnixMillis>,
    ) -> Vec<u8> {
        let parts = [&self.before_app, &self.before_created, &self.after_created];
        let known = parts.iter().map(|part| part.len()).sum::<usize>();
        let mut out = Vec::with_capacity(known + app_id.len() + app_publish_id.len() + 128);
        out.extend_from_slice(format!("\"id\":{id}").as_bytes());
        out.extend_from_slice(&self.before_app);
        let mut members = Members::new(&mut out, true);
        members.text("app_id", app_id);
        members.text("app_publish_id", app_publish_id);
        out.extend_from_slice(&self.before_created);
        let mut members = Members::new(&mut out, true);
        members.number("created_at", created_at.0);
        if let Some(original) = original_created_at {
            members.number("original_created_at", original.0);
        }
        out.extend_from_slice(&self.after_created);
        out
    }
}

/// The author of an issue, as the head names them.
pub(super) struct Author<'j> {
    pub(super) profile: Option<&'j str>,
    pub(super) name: &'j str,
    pub(super) email: &'j str,
}

/// The assignee of an issue.
pub(super) struct Assignee<'j> {
    pub(super) id: Option<&'j str>,
    pub(super) name: Option<&'j str>,
    pub(super) email: Option<&'j str>,
}

/// The values that a head is rendered from, except its own fields.
pub(super) struct HeadContext<'c> {
    pub(super) domain: &'c DomainName,
    pub(super) created_at: UnixMillis,
    pub(super) last_message_at: Option<UnixMillis>,
    pub(super) author: &'c Author<'c>,
    pub(super) assignee: &'c Assignee<'c>,
    pub(super) hs_user_id: &'c str,
}

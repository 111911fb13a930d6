//! Plans a new issue: its columns, its fragments, its author's app profile and the answer to the
//! caller, all from one request. The context has everything that the domain determines: id, times,
//! app and the author's profile.

use std::borrow::Cow;

use super::Moment;
use super::attachment::{Attachment, write_attachments};
use super::author::{AppProfileSummary, identifier_of_pid};
use super::message::render_message;
use super::record::{IssueRecord, IssueWriteError};
use super::requests::CreateRequest;
use crate::fold::fold;
use crate::ids::DomainName;
use crate::issue::fragments::IssueBody;
use crate::issue::head::{Assignee, Author, HeadContext, HeadTemplate};
use crate::issue::message::Origin;
use crate::issue::person::Person;
use crate::issue::render::{Members, write_rendered, write_texts};
use crate::issue::{App, AppProfileRow, IssueColumns, IssueFacts, IssueState, TEXT_CHARS_MAX};
use crate::time::UnixMillis;

use super::merge::merge;

/// Everything that the domain determines about a new issue.
#[derive(Debug, Clone)]
pub struct CreateContext<'c> {
    pub domain: &'c DomainName,
    pub id: u64,
    pub created_at: UnixMillis,
    /// The time of the change, and randomness for the message's id.
    pub moment: Moment,
    pub app: App,
    /// The id of the author's app profile.
    pub pid: String,
    /// That profile, if it exists.
    pub profile: Option<AppProfileSummary>,
    pub attachments: &'c [Attachment],
}

/// The rows of a new issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatePlan {
    pub issue: IssueRecord,
    /// To insert if its id is free.
    pub app_profile: AppProfileRow,
    /// The body of the answer.
    pub answer: Vec<u8>,
}

/// Plans a new issue.
pub fn plan_create(
    context: &CreateContext<'_>,
    request: &CreateRequest,
) -> Result<CreatePlan, IssueWriteError> {
    let CreateContext { domain, id, created_at, moment, app, pid, profile, attachments } = context;
    let known = profile.as_ref();
    let name = request.author_name.clone().or_else(|| known.map(|p| p.name.clone()));
    let name = name.unwrap_or_default();
    let email = request.email.clone().or_else(|| known.and_then(AppProfileSummary::email));
    let email = email.unwrap_or_default();
    let emails: Vec<&str> = Some(email.as_str()).filter(|e| !e.is_empty()).into_iter().collect();
    let columns = IssueColumns {
        id: *id,
        created_at: *created_at,
        original_created_at: None,
        app_id: app.app_id.clone(),
        app_publish_id: app.publish_id.clone(),
        facts: facts(request, moment.at, pid, &email),
    };
    let title = request.title.as_deref().unwrap_or_else(|| beginning(&request.body));
    let author = Author { profile: Some(pid), name: &name, email: &email };
    let head_context = HeadContext {
        domain,
        created_at: *created_at,
        last_message_at: None,
        author: &author,
        assignee: &Assignee { id: None, name: None, email: None },
        hs_user_id: pid,
    };
    let cc = request.cc.as_ref().map(|cc| cc.iter().map(String::as_str).collect());
    let head = HeadTemplate::new(&head_context, &columns.facts, title, cc);
    let head = head.render(*id, (&app.app_id, &app.publish_id), *created_at, None);
    let person = Person {
        id: Some(Cow::Borrowed(pid)),
        name: &name,
        emails: emails.clone(),
        phone_number: None,
    };
    let at = Moment { at: *created_at, random: moment.random };
    let message =
        render_message(domain, (&request.body, attachments), Origin::EndUser, &person, at);
    let mut messages = Vec::new();
    write_rendered(&[message], &mut messages);
    let meta = merge(b"{}", request.meta.as_deref().unwrap_or(b"{}"))?;
    let custom_fields = request.custom_fields.render_set();
    let body = IssueBody { messages, meta, custom_fields, ..IssueBody::default() };
    let issue = IssueRecord { columns, head, body }.check_size()?;
    let answer = answer(domain, &issue, title, attachments);
    let mut profile_emails = Vec::new();
    write_texts(emails, &mut profile_emails);
    let app_profile = AppProfileRow {
        pid: pid.clone(),
        app_id: app.app_id.clone(),
        name,
        emails: profile_emails,
        identifier: identifier_of_pid(request, pid).map(str::to_owned),
    };
    Ok(CreatePlan { issue, app_profile, answer })
}

fn facts(request: &CreateRequest, at: UnixMillis, pid: &str, email: &str) -> IssueFacts {
    IssueFacts {
        updated_at: at,
        changed_at: at,
        state: IssueState::New,
        assignee_id: None,
        assignee_name: None,
        queue: None,
        hs_user_id: pid.to_owned(),
        author_email: fold(email),
        rating: None,
        language: request.language.clone(),
        platform_type: request.platform_type.clone(),
        issue_mode: None,
        redacted: false,
        tags: request.tags.clone(),
    }
}

/// The beginning of a body, as long as a title may be.
fn beginning(body: &str) -> &str {
    body.char_indices().nth(TEXT_CHARS_MAX).map_or(body, |(end, _)| &body[..end])
}

fn answer(
    domain: &DomainName,
    issue: &IssueRecord,
    title: &str,
    attachments: &[Attachment],
) -> Vec<u8> {
    let mut out = b"{".to_vec();
    let mut members = Members::new(&mut out, false);
    members.number("created_at", issue.columns.created_at.0);
    members.text("id", &issue.columns.id.to_string());
    members.text("title", title);
    let tags = issue.columns.facts.tags.iter().map(String::as_str);
    write_texts(tags, members.key("tags"));
    members.raw("meta", &issue.body.meta);
    members.raw("custom_fields", &issue.body.custom_fields);
    write_attachments(domain, attachments, &mut members);
    out.push(b'}');
    out
}

//! The authors of writes: the end user of a new or existing issue, or an agent. An end user has one
//! app profile per app and identity. Its id is derived from the two, so the same person gets the
//! same profile without a lookup.

use std::borrow::Cow;

use super::record::IssueRecord;
use super::requests::CreateRequest;
use crate::fold::fold;
use crate::ids::{DomainName, app_profile_id, pid_of_uid};
use crate::issue::person::Person;
use crate::json::{self, Json};
use crate::profile::{IdentityKey, IdentityType};

/// The parts of an agent that a write needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSummary {
    pub id: String,
    pub name: String,
    /// Empty if unknown.
    pub email: String,
}

impl AgentSummary {
    pub(super) fn person(&self) -> Person<'_> {
        let emails = Some(self.email.as_str()).filter(|email| !email.is_empty());
        Person {
            id: Some(Cow::Borrowed(&self.id)),
            name: &self.name,
            emails: emails.into_iter().collect(),
            phone_number: None,
        }
    }
}

/// The parts of an app profile that a write needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppProfileSummary {
    pub pid: String,
    pub name: String,
    /// A JSON array of strings.
    pub emails: Vec<u8>,
}

impl AppProfileSummary {
    /// The first address, if there is one.
    pub(super) fn email(&self) -> Option<String> {
        let Ok(Json::Array(emails)) = json::parse(&self.emails) else { return None };
        emails.first().and_then(Json::as_str).map(str::to_owned)
    }
}

/// The id of the app profile of a new issue's author in an app; `None` means the domain's default
/// app. Without an identity the profile is new.
pub fn author_pid(
    domain: &DomainName,
    request: &CreateRequest,
    app_id: Option<&str>,
    random: u64,
) -> String {
    let app = app_id.unwrap_or_default();
    let seed = match (&request.email, uid(request)) {
        (Some(email), _) => format!("email\0{app}\0{}", fold(email)),
        (None, Some(uid)) => {
            return pid_of_uid(domain, app, &IdentityKey::new(IdentityType::Uid, uid));
        }
        (None, None) => format!("nobody\0{app}\0{random}"),
    };
    app_profile_id(domain, seed.as_bytes())
}

/// The author's id in the caller's system. An `end_user_id` that is the pid of an app profile is
/// none.
fn uid(request: &CreateRequest) -> Option<&str> {
    request.end_user_id.as_deref().or(request.identifier.as_deref())
}

/// The identifier from which [`author_pid`] made this id, if it made it from one.
pub(super) fn identifier_of_pid<'r>(request: &'r CreateRequest, pid: &str) -> Option<&'r str> {
    uid(request).filter(|uid| request.email.is_none() && *uid != pid)
}

/// The author of an issue, as its head names them.
pub(super) struct IssueAuthor {
    pid: String,
    name: String,
    email: String,
}

impl IssueAuthor {
    pub(super) fn of(record: &IssueRecord) -> Option<Self> {
        let map = [b"{", record.head.as_slice(), b"}"].concat();
        let head = json::parse(&map).ok()?;
        let text = |key: &str| head.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        Some(Self {
            pid: record.columns.facts.hs_user_id.clone(),
            name: text("author_name"),
            email: text("author_email"),
        })
    }

    pub(super) fn person(&self) -> Person<'_> {
        let emails = Some(self.email.as_str()).filter(|email| !email.is_empty());
        Person {
            id: Some(Cow::Borrowed(&self.pid)),
            name: &self.name,
            emails: emails.into_iter().collect(),
            phone_number: None,
        }
    }
}

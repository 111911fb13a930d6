//! Who is who in an issue: whose the issue is, who wrote each message, and which app profiles and
//! agents that names. Missing ids are derived from the given values, so that the same entry always
//! names the same people. An app profile gets every address that its issue gives, because by each
//! of them the issue belongs to a person.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::desk_addresses::is_default_address;
use super::source::Source;
use crate::fold::fold;
use crate::ids::app_profile_id;
use crate::issue::head::{Assignee, Author};
use crate::issue::message::{Message, Origin};
use crate::issue::person::Person;
use crate::issue::render::write_texts;

/// An app profile that an issue names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppProfileMention {
    pub pid: String,
    /// Empty if unknown.
    pub name: String,
    /// A JSON array of strings.
    pub emails: Vec<u8>,
}

/// An agent that an issue names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentMention {
    pub id: String,
    /// Empty if unknown.
    pub name: String,
    pub email: Option<String>,
}

/// An app profile while the addresses of its author are collected.
struct Writer<'c> {
    pid: String,
    name: String,
    emails: Vec<&'c str>,
    /// The same addresses, folded.
    known: HashSet<String>,
}

impl Writer<'_> {
    fn into_mention(self) -> AppProfileMention {
        let mut emails = Vec::new();
        write_texts(self.emails, &mut emails);
        AppProfileMention { pid: self.pid, name: self.name, emails }
    }
}

/// The people of one issue.
pub(super) struct People<'c> {
    source: &'c Source<'c>,
    app_id: &'c str,
    author: &'c Author<'c>,
    assignee: &'c Assignee<'c>,
    hs_user_id: String,
    /// The address of the issue's author, folded once: it may be long, and every message of an
    /// end user may be compared with it.
    own_email: String,
    writers: Vec<Writer<'c>>,
    agents: Vec<AgentMention>,
    /// Indices in the two lists, by id.
    indices: [HashMap<String, usize>; 2],
    /// The addresses that messages give, by the id of their author. Made for the first message of
    /// the desk without an address.
    addresses: Option<HashMap<&'c str, &'c str>>,
}

impl<'c> People<'c> {
    pub(super) fn new(
        source: &'c Source<'c>,
        app_id: Option<&'c str>,
        author: &'c Author<'c>,
        assignee: &'c Assignee<'c>,
        messages: &[Message<'c>],
    ) -> Self {
        let mut people = Self {
            source,
            app_id: app_id.unwrap_or_default(),
            author,
            assignee,
            hs_user_id: String::new(),
            own_email: fold(author.email),
            writers: Vec::new(),
            agents: Vec::new(),
            indices: Default::default(),
            addresses: None,
        };
        people.hs_user_id = people.author_profile(messages);
        let pid = people.hs_user_id.clone();
        people.add_writer(&pid, author.name, &[author.email]);
        if let Some(id) = assignee.id {
            people.add_agent(
                id,
                assignee.name.unwrap_or_default(),
                assignee.email.map(str::to_owned),
            );
        }
        people
    }

    pub(super) fn hs_user_id(&self) -> &str {
        &self.hs_user_id
    }

    pub(super) fn into_named(self) -> (Vec<AppProfileMention>, Vec<AgentMention>) {
        (self.writers.into_iter().map(Writer::into_mention).collect(), self.agents)
    }

    /// The app profile of the issue's author: the given one, else that of the first end user who
    /// wrote a message, else one derived from the author's address in the app, else one derived
    /// from the entry.
    fn author_profile(&self, messages: &[Message<'c>]) -> String {
        if let Some(given) = self.author.profile {
            return given.to_owned();
        }
        let end_users = || {
            let written = messages.iter().enumerate();
            written.filter(|(n, message)| self.is_surely_end_user(*n, message)).map(|(_, m)| m)
        };
        let mut people = end_users().filter_map(|message| message.author.as_ref());
        if let Some(id) = people.clone().find_map(|person| person.id.as_deref()) {
            return id.to_owned();
        }
        let email = Some(self.author.email)
            .filter(|email| !email.is_empty())
            .or_else(|| people.find_map(|person| person.emails.first().copied()));
        if let Some(email) = email {
            return self.profile_of_email(email);
        }
        let mut seed = b"entry\0".to_vec();
        seed.extend_from_slice(self.source.fingerprint());
        app_profile_id(self.source.domain, &seed)
    }

    /// One app profile per app and address.
    fn profile_of_email(&self, email: &str) -> String {
        let seed = format!("email\0{}\0{}", self.app_id, fold(email));
        app_profile_id(self.source.domain, seed.as_bytes())
    }

    /// Whether a message is an end user's, decided before the issue's author is known.
    fn is_surely_end_user(&self, index: usize, message: &Message<'_>) -> bool {
        match message.origin {
            Some(origin) => origin == Origin::EndUser,
            None => index == 0 && !self.is_assignee(message),
        }
    }

    fn is_assignee(&self, message: &Message<'_>) -> bool {
        let author = message.author.as_ref().and_then(|author| author.id.as_deref());
        author.is_some() && author == self.assignee.id
    }

    /// The side that a message comes from. A message without `origin` is the end user's if it has
    /// no author, if its author is the issue's, or if it is the first message; otherwise it is the
    /// desk's.
    pub(super) fn origin(&self, index: usize, message: &Message<'_>) -> Origin {
        let Some(origin) = message.origin else {
            let Some(author) = &message.author else { return Origin::EndUser };
            let own = match author.id.as_deref() {
                Some(id) => id == self.hs_user_id,
                None => author.emails.iter().any(|email| self.is_own_email(email)),
            };
            let end_user = own || self.is_surely_end_user(index, message);
            return if end_user { Origin::EndUser } else { Origin::Agent };
        };
        origin
    }

    fn is_own_email(&self, email: &str) -> bool {
        !email.is_empty() && fold(email) == self.own_email
    }

    /// The author of a message, with every gap filled. An agent's message without an author is the
    /// assignee's, or that of an agent without a name.
    pub(super) fn resolve(&mut self, given: Option<&Person<'c>>, origin: Origin) -> Person<'c> {
        let mut person = match (given, origin) {
            (Some(given), _) => given.clone(),
            (None, Origin::EndUser) => Person {
                name: self.author.name,
                emails: Some(self.author.email).into_iter().filter(|e| !e.is_empty()).collect(),
                ..Person::default()
            },
            (None, Origin::Agent) => Person {
                id: self.assignee.id.map(Cow::Borrowed),
                name: self.assignee.name.unwrap_or_default(),
                ..Person::default()
            },
        };
        let id = person.id.take().unwrap_or_else(|| Cow::Owned(self.missing_id(&person, origin)));
        match origin {
            Origin::EndUser => self.add_writer(&id, person.name, &person.emails),
            Origin::Agent => {
                let own = person.emails.first().filter(|email| !is_default_address(email));
                self.add_agent(&id, person.name, own.map(|email| (*email).to_owned()));
            }
        }
        person.id = Some(id);
        person
    }

    /// Adds the address of a desk message that has none: the agent's, from another message of the
    /// entry or from the domain, else that of the domain's desk.
    pub(super) fn add_address(&mut self, author: &mut Person<'c>, messages: &[Message<'c>]) {
        let given = self.addresses.get_or_insert_with(|| {
            let mut given = HashMap::new();
            for author in messages.iter().filter_map(|message| message.author.as_ref()) {
                let email = author.emails.iter().find(|email| !email.is_empty());
                // Ids of an entry are borrowed from it.
                if let (Some(Cow::Borrowed(id)), Some(email)) = (&author.id, email) {
                    given.entry(*id).or_insert(*email);
                }
            }
            given
        });
        let id = author.id.as_deref().unwrap_or_default();
        let email = given.get(id).copied().unwrap_or_else(|| self.source.addresses.of(id));
        author.emails = vec![email];
    }

    /// The id of an author without one.
    fn missing_id(&self, person: &Person<'_>, origin: Origin) -> String {
        let email = person.emails.first().copied();
        match (origin, email) {
            (Origin::EndUser, Some(email)) if !self.is_own_email(email) => {
                self.profile_of_email(email)
            }
            (Origin::EndUser, _) => self.hs_user_id.clone(),
            (Origin::Agent, email) => self.source.agent_id(email.unwrap_or(person.name)),
        }
    }

    fn add_writer(&mut self, pid: &str, name: &str, emails: &[&'c str]) {
        let at = self.indices[0].get(pid).copied().unwrap_or_else(|| {
            self.indices[0].insert(pid.to_owned(), self.writers.len());
            self.writers.push(Writer {
                pid: pid.to_owned(),
                name: String::new(),
                emails: Vec::new(),
                known: HashSet::new(),
            });
            self.writers.len() - 1
        });
        let writer = &mut self.writers[at];
        if writer.name.is_empty() {
            name.clone_into(&mut writer.name);
        }
        for &email in emails.iter().filter(|email| !email.is_empty()) {
            if writer.known.insert(fold(email)) {
                writer.emails.push(email);
            }
        }
    }

    fn add_agent(&mut self, id: &str, name: &str, email: Option<String>) {
        let at = self.indices[1].get(id).copied().unwrap_or_else(|| {
            self.indices[1].insert(id.to_owned(), self.agents.len());
            self.agents.push(AgentMention { id: id.to_owned(), name: String::new(), email: None });
            self.agents.len() - 1
        });
        let known = &mut self.agents[at];
        if known.name.is_empty() {
            name.clone_into(&mut known.name);
        }
        if known.email.is_none() {
            known.email = email;
        }
    }
}

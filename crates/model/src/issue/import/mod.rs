//! Reads entries of `import_issues`. An entry has the shape that `GET /issues` returns; it is read
//! strictly, completed with defaults and rendered. The wire rules are in docs/api.md, "Importing
//! issues".
//!
//! Everything that depends on the entry alone is decided here, without looking at stored data, so
//! the same content always becomes the same issue. Generated ids are hashes of the content, so a
//! repeated import meets the issues that it wrote before. The one exception are the addresses of
//! desk messages that have none ([`DeskAddresses`]). The plan decides what depends on the store:
//! the id, the app, and a `created_at` that is taken.

mod desk_addresses;
mod extras;
mod fingerprint;
mod head;
mod issue_map;
mod messages;
mod people;
mod source;

pub use desk_addresses::DeskAddresses;
pub use issue_map::ISSUE_FIELDS;
pub use people::{AgentMention, AppProfileMention};

use super::IssueFacts;
use super::fragments::{IssueBody, IssueFragments};
use super::head::{Assignee, HeadContext, HeadTemplate};
use super::reader::{Map, Reader};
use crate::entry::{id_of, read_entry};
use crate::error_code::EntryErrorCode;
use crate::ids::{DomainName, FOREIGN_ID_CHARS_MAX, ISSUE_ID_MAX};
use crate::json::{Json, ValuePath};
use crate::payload::{Block, Entry};
use crate::record::{EntryFault, NamedRecords, PreparedEntry, Rejection};
use crate::task::{Action, Family};
use crate::time::UnixMillis;
use desk_addresses::FilledAddresses;
use issue_map::IssueMap;
use people::People;
use source::Source;

/// An issue as an entry gives it, rendered except for the members that the plan sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIssue {
    /// `None` asks for the next free id.
    pub id: Option<u64>,
    /// As given; the plan moves it if it is taken.
    pub created_at: UnixMillis,
    /// Set if the entry says that `created_at` was moved before.
    pub original_created_at: Option<UnixMillis>,
    /// `None` means the domain's default app.
    pub app_id: Option<String>,
    pub app_publish_id: Option<String>,
    pub facts: IssueFacts,
    /// The issue's author and the end users among the authors of messages, each once.
    pub app_profiles: Vec<AppProfileMention>,
    /// The assignee and the agents among the authors of messages, each once.
    pub agents: Vec<AgentMention>,
    pub head: HeadTemplate,
    pub body: IssueBody,
    /// The indices of messages of the desk that the entry gives no address. Theirs are filled in.
    pub unaddressed: Vec<usize>,
}

/// Reads every entry of a block, for a domain whose desk and agents have no addresses.
pub fn prepare_imports(domain: &DomainName, block: &Block) -> Vec<PreparedEntry<NewIssue>> {
    prepare_imports_of(domain, &DeskAddresses::default(), block)
}

/// Reads every entry of a block.
pub fn prepare_imports_of(
    domain: &DomainName,
    addresses: &DeskAddresses,
    block: &Block,
) -> Vec<PreparedEntry<NewIssue>> {
    let addresses = FilledAddresses::new(addresses, domain);
    let prepare_one = |entry: &Entry| {
        let mut reader = Reader::default();
        let item = prepare((domain, &addresses), block, entry, &mut reader);
        PreparedEntry { entry: entry.clone(), item, warnings: reader.warnings }
    };
    block.entries.iter().map(prepare_one).collect()
}

fn prepare(
    (domain, addresses): (&DomainName, &FilledAddresses<'_>),
    block: &Block,
    entry: &Entry,
    reader: &mut Reader,
) -> Result<NewIssue, Rejection> {
    let tree = read_entry(Action::ImportIssues, block, entry)?;
    let source = Source::new(domain, addresses, &block.base_urls, &tree);
    let issue = reader
        .map(&tree, &ISSUE_FIELDS, &ValuePath::Root)
        .map(|map| new_issue(&source, &map, reader));
    if let Some(fault) = issue.as_ref().filter(|_| reader.is_good()).and_then(too_long) {
        reader.add(fault);
    }
    match issue {
        Some(issue) if reader.is_good() => Ok(issue),
        issue => {
            let issue = issue.and_then(|issue| issue.id);
            let named = NamedRecords { issue, ..NamedRecords::default() };
            Err(Rejection {
                id: id_of(&tree, Action::ImportIssues),
                faults: reader.take_faults(),
                readable: true,
                named: issue.map(|_| Box::new(named)),
            })
        }
    }
}

/// The fault of an issue that could not be imported again after an export, because filled gaps make
/// it longer than an entry may be.
fn too_long(issue: &NewIssue) -> Option<EntryFault> {
    // Names of parts, defaults of parts that are not stored, and an instant that the plan may add.
    const OTHER_BYTES_MAX: usize = 256;
    let limit = Family::Issues.entry_bytes_max();
    // Members that the plan sets count with their greatest length; every byte of an id may take
    // six.
    let longest = 6 * FOREIGN_ID_CHARS_MAX;
    let app = |id: &Option<String>| if id.is_none() { longest } else { 0 };
    let ids = (
        issue.app_id.as_deref().unwrap_or_default(),
        issue.app_publish_id.as_deref().unwrap_or_default(),
    );
    let id = issue.id.unwrap_or(ISSUE_ID_MAX);
    let head = issue.head.render(id, ids, issue.created_at, issue.original_created_at);
    let parts = IssueFragments::new(&head, &issue.body).bytes();
    let bytes = parts + app(&issue.app_id) + app(&issue.app_publish_id) + OTHER_BYTES_MAX;
    (bytes > limit).then(|| {
        let detail = format!(
            "the issue would be longer than the {limit} bytes that an issue may have, once the \
             missing fields are filled in"
        );
        EntryFault::new(EntryErrorCode::TooLarge, "", detail)
    })
}

fn new_issue(source: &Source<'_>, map: &IssueMap<'_, '_>, reader: &mut Reader) -> NewIssue {
    let id = issue_id(map, reader);
    if map.get("created_at").is_none() {
        let detail = "created_at is missing: the Unix milliseconds at which the issue began";
        reader.fault(EntryErrorCode::Required, &map.at.key("created_at"), detail, None);
    }
    let created_at = reader.instant(map, "created_at").unwrap_or_default();
    let original = reader.instant(map, "original_created_at");
    let messages = messages::read_all(source, map, created_at, reader);
    let author = head::read_author(map, reader);
    let assignee = head::read_assignee(map, reader);
    let by_email = assignee.email.map(|email| source.agent_with(email));
    let assignee = Assignee { id: assignee.id.or(by_email.as_deref()), ..assignee };
    let app_id = reader.id(map, "app_id");
    let app_publish_id = reader.id(map, "app_publish_id");
    let mut people = People::new(source, app_id, &author, &assignee, &messages);
    let (facts, head) = head::read(
        &HeadContext {
            domain: source.domain,
            created_at,
            last_message_at: messages.iter().map(|m| m.created_at).max(),
            author: &author,
            assignee: &assignee,
            hs_user_id: people.hs_user_id(),
        },
        map,
        reader,
    );
    let (messages, unaddressed) = messages::render_all(source, &messages, &mut people);
    let body = IssueBody { messages, ..extras::read(map, &facts, created_at, reader) };
    let (app_profiles, agents) = people.into_named();
    NewIssue {
        id,
        created_at,
        original_created_at: original.filter(|original| *original != created_at),
        app_id: app_id.map(str::to_owned),
        app_publish_id: app_publish_id.map(str::to_owned),
        facts,
        app_profiles,
        agents,
        head,
        body,
        unaddressed,
    }
}

/// The issue's id: a whole number, or its digits as a string, as the answer to `POST /issues` has
/// it.
pub(super) fn issue_id<const FIELDS: usize>(
    map: &Map<'_, '_, FIELDS>,
    reader: &mut Reader,
) -> Option<u64> {
    let json = map.get("id")?;
    let at = map.at.key("id");
    let max = ISSUE_ID_MAX as i64;
    let number = match json {
        Json::String(digits) if is_plain_number(digits) => {
            reader.integer_value(&Json::Number(digits), &at, (1, max))
        }
        Json::Number(_) => reader.integer_value(json, &at, (1, max)),
        _ => {
            let detail = "an issue's id is a whole number, or its digits as a string";
            reader.fault(EntryErrorCode::WrongType, &at, detail, Some(json));
            None
        }
    };
    number.map(|number| number as u64)
}

/// Whether `text` is digits without a superfluous leading zero.
fn is_plain_number(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}

//! Entries of `import_issues`: an issue in the very shape `GET /issues` returns, read strictly,
//! completed with defaults and rendered. The wire rules are in docs/api.md, "Importing issues".
//!
//! Everything that an entry alone decides is decided and rendered here, without looking at what is
//! stored: the same content always becomes the same issue. Generated ids are hashes of it, so
//! that a repeated import meets itself. What depends on the store (the id, the app, a `created_at`
//! that is taken) is left to the plan.

pub(super) mod extras;
mod fingerprint;
pub(super) mod head;
pub(super) mod message;
pub(super) mod people;
pub(super) mod reader;

use std::cell::OnceCell;

use super::fragments::{IssueBody, IssueFragments};
use super::{IssueFacts, TEXT_CHARS_MAX};
use crate::entry::{id_of, read_entry};
use crate::error_code::EntryErrorCode;
use crate::ids::{DomainName, FOREIGN_ID_CHARS_MAX, ISSUE_ID_MAX};
use crate::json::Json;
use crate::payload::{Block, Entry};
use crate::record::{EntryFault, PreparedEntry, Rejection};
use crate::task::{Action, Family};
use crate::time::UnixMillis;
use people::People;
use reader::{At, Map, Reader};

pub use head::HeadTemplate;
pub use people::{AgentMention, AppProfileMention};

/// The fields of an issue.
pub const ISSUE_FIELDS: [&str; 31] = [
    "id",
    "title",
    "tags",
    "app_id",
    "app_publish_id",
    "domain",
    "hs_user_id",
    "author_name",
    "author_email",
    "assignee_id",
    "assignee_name",
    "redacted",
    "state_data",
    "created_at",
    "original_created_at",
    "updated_at",
    "language",
    "platform_type",
    "issue_mode_data",
    "cc",
    "messages",
    "meta",
    "custom_fields",
    "feedback_rating",
    "feedback_comment",
    "queue",
    "private_notes",
    "current_predict_label",
    "original_predict_label",
    "sentiment_analysis",
    "smart_intents",
];

/// The map of an issue.
type IssueMap<'j, 'p> = Map<'j, 'p, 31>;

/// An issue as an entry gives it, rendered but for what the plan decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIssue {
    /// None asks for the next one.
    pub id: Option<u64>,
    /// As given; the plan moves it where it is taken.
    pub created_at: UnixMillis,
    /// Where the entry itself says that `created_at` was moved.
    pub original_created_at: Option<UnixMillis>,
    /// None stands for the domain's default app.
    pub app_id: Option<String>,
    pub app_publish_id: Option<String>,
    pub facts: IssueFacts,
    /// The issue's author and the end users among the authors of messages, each once.
    pub app_profiles: Vec<AppProfileMention>,
    /// The assignee and the agents among the authors of messages, each once.
    pub agents: Vec<AgentMention>,
    pub head: HeadTemplate,
    pub body: IssueBody,
}

/// Reads every entry of a block.
pub fn prepare_imports(domain: &DomainName, block: &Block) -> Vec<PreparedEntry<NewIssue>> {
    let prepare_one =
        |entry: &Entry| PreparedEntry { entry: entry.clone(), item: prepare(domain, block, entry) };
    block.entries.iter().map(prepare_one).collect()
}

fn prepare(domain: &DomainName, block: &Block, entry: &Entry) -> Result<NewIssue, Rejection> {
    let tree = read_entry(Action::ImportIssues, block, entry)?;
    let mut reader = Reader::default();
    let source = Source::new(domain, &tree);
    let issue = reader
        .map(&tree, &ISSUE_FIELDS, &At::ROOT)
        .map(|map| new_issue(&source, &map, &mut reader));
    if let Some(issue) = issue.as_ref().filter(|_| reader.faults.is_empty()) {
        reader.faults.extend(too_long(issue));
    }
    match issue {
        Some(issue) if reader.faults.is_empty() => Ok(issue),
        _ => Err(Rejection {
            id: id_of(&tree, Action::ImportIssues),
            faults: reader.faults,
            readable: true,
        }),
    }
}

/// The fault of an issue that could not be imported again after an export, because the gaps that
/// are filled make it longer than an entry may be.
fn too_long(issue: &NewIssue) -> Option<EntryFault> {
    // Names of parts, and an instant that the plan may have to add.
    const BESIDE_BYTES_MAX: usize = 192;
    let limit = Family::Issues.entry_bytes_max();
    // What the plan decides counts as long as it may be; every byte of an id may take six.
    let longest = 6 * FOREIGN_ID_CHARS_MAX;
    let app = |id: &Option<String>| if id.is_none() { longest } else { 0 };
    let ids = (
        issue.app_id.as_deref().unwrap_or_default(),
        issue.app_publish_id.as_deref().unwrap_or_default(),
    );
    let id = issue.id.unwrap_or(ISSUE_ID_MAX);
    let head = issue.head.render(id, ids, issue.created_at, issue.original_created_at);
    let parts = IssueFragments::new(&head, &issue.body).bytes();
    let bytes = parts + app(&issue.app_id) + app(&issue.app_publish_id) + BESIDE_BYTES_MAX;
    (bytes > limit).then(|| {
        let detail = format!(
            "the issue would be longer than the {limit} bytes that an issue may have, once what \
             the entry leaves out is filled in"
        );
        EntryFault::new(EntryErrorCode::TooLarge, "", detail)
    })
}

/// Where generated ids come from.
struct Source<'s> {
    domain: &'s DomainName,
    entry: &'s Json<'s>,
    fingerprint: OnceCell<[u8; 32]>,
}

impl<'s> Source<'s> {
    fn new(domain: &'s DomainName, entry: &'s Json<'s>) -> Self {
        Self { domain, entry, fingerprint: OnceCell::new() }
    }

    /// The entry's content in short; worked out once, and only where an id is missing.
    fn fingerprint(&self) -> &[u8; 32] {
        self.fingerprint.get_or_init(|| fingerprint::of(self.entry))
    }
}

fn new_issue(source: &Source<'_>, map: &IssueMap<'_, '_>, reader: &mut Reader) -> NewIssue {
    let id = issue_id(map, reader);
    if map.get("created_at").is_none() {
        let detail = "created_at is missing: the Unix milliseconds at which the issue began";
        reader.fault(EntryErrorCode::Required, &map.at.key("created_at"), detail, None);
    }
    let created_at = reader.instant(map, "created_at").unwrap_or_default();
    let original = reader.instant(map, "original_created_at");
    let messages = message::read_all(map, created_at, reader);
    let author = head::Author::read(map, reader);
    let assignee = head::Assignee::read(map, reader);
    let app_id = reader.id(map, "app_id");
    let app_publish_id = reader.id(map, "app_publish_id");
    let mut people = People::new(source, app_id, &author, &assignee, &messages);
    let (facts, head) = head::read(
        &head::Context {
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
    let body = IssueBody {
        messages: message::render_all(source, &messages, &mut people),
        ..extras::read(map, &facts, created_at, reader)
    };
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
    }
}

/// The issue's id: a whole number, or its digits as a string, as the answer to `POST /issues`
/// has it.
fn issue_id(map: &IssueMap<'_, '_>, reader: &mut Reader) -> Option<u64> {
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

/// Digits without a superfluous zero in front.
fn is_plain_number(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}

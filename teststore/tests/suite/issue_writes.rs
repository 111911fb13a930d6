//! Single writes of issues: times and ids follow the order of commits, counters and term sets
//! follow every write, attachments follow their messages, and a refused write leaves no trace. The
//! rules of issues are in the model and are tested there.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::error_code::ErrorCode;
use caseload_model::ids::ISSUE_ID_MAX;
use caseload_model::issue::INSTANT_MS_MAX;
use caseload_model::issue::write::{
    Attachment, References, read_bulk_edit, read_create, read_edit, read_message, read_note,
};
use caseload_model::issue_query::{IssueView, Paging, parse_list};
use caseload_model::task::Action;
use caseload_model::time::UnixMillis;
use caseload_store::{
    ATTACHMENT_PIECE_BYTES, AddMessage, AddNote, CreateAgent, CreateIssue, Domain, EditIssue,
    EditIssues, GetIssue, IdempotencyKey, Idempotent, StageAttachment, Store, StoreError,
    StoredAnswer, WriteOrigin,
};
use caseload_testdata::SplitMix;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::oracle::list;
use super::support::{NOW, assert_sound, domain, later, rounds, run};

pub(super) const BUDGET: Duration = Duration::from_secs(10);
const HOUR: i64 = 3_600_000;

type Fields<'f> = &'f [(&'f str, &'f str)];

fn pairs(fields: Fields<'_>) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn origin(domain: &Domain, now: UnixMillis) -> WriteOrigin {
    WriteOrigin {
        key: None,
        request_id: None,
        domain: domain.id,
        domain_name: domain.name.clone(),
        now,
        random: 7,
        idempotency: None,
    }
}

pub(crate) fn creation(domain: &Domain, fields: Fields<'_>) -> CreateIssue {
    let (request, faults) = read_create(&pairs(fields));
    assert_eq!(faults, []);
    CreateIssue { origin: origin(domain, NOW), request, attachments: Vec::new() }
}

pub(crate) async fn create(store: &Arc<dyn Store>, domain: &Domain, fields: Fields<'_>) -> u64 {
    let made = store.create_issue(creation(domain, fields)).await.unwrap().done().unwrap();
    made.location.rsplit('/').next().unwrap().parse().unwrap()
}

pub(crate) fn message(domain: &Domain, issue_id: u64, fields: Fields<'_>) -> AddMessage {
    let (request, faults) = read_message(&pairs(fields));
    assert_eq!(faults, []);
    AddMessage { origin: origin(domain, NOW), issue_id, request, attachments: Vec::new() }
}

pub(crate) fn edit(domain: &Domain, issue_id: u64, fields: Fields<'_>) -> EditIssue {
    let (request, faults) = read_edit(&pairs(fields));
    assert_eq!(faults, []);
    EditIssue { origin: origin(domain, NOW), issue_id, request }
}

pub(super) fn bulk_edit(domain: &Domain, fields: Fields<'_>) -> EditIssues {
    let (request, faults) = read_bulk_edit(&pairs(fields));
    assert_eq!(faults, []);
    EditIssues { origin: origin(domain, NOW), request }
}

async fn issue(store: &Arc<dyn Store>, domain: &Domain, id: u64) -> Value {
    let request = GetIssue { domain: domain.id, id, view: IssueView::FULL, budget: BUDGET.into() };
    let found = store.issue(request).await.unwrap().unwrap();
    serde_json::from_slice(&found.body).unwrap()
}

async fn hits(store: &Arc<dyn Store>, domain: &Domain, parameters: Fields<'_>) -> u64 {
    let query = parse_list(&pairs(parameters)).unwrap().query;
    let page = list(store, domain, &query, IssueView::default(), Paging::default()).await;
    assert_eq!(u64::from(page.count), page.total_hits, "few enough for one page");
    page.total_hits
}

async fn agent(store: &Arc<dyn Store>, domain: &Domain, id: &str) {
    let (id, name) = (id.to_owned(), id.to_uppercase());
    let email = format!("{id}@desk.example");
    store
        .create_agent(CreateAgent { domain: domain.id, id, name, email, origin: NOW.into() })
        .await
        .unwrap();
}

pub(crate) async fn a_live_issue_is_later_than_every_other_live_one_and_gets_a_larger_id(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let imported = [(40, 1), (41, 2), (42, 3), (43, 500), (44, 5)]
        .map(|(id, at)| json!({"id": id, "created_at": NOW.0 + at}).to_string());
    run(&store, &acme, "t", Action::ImportIssues, &imported).await;
    let mut issues = Vec::new();
    for body in ["x", "y", "z"] {
        let id = create(&store, &acme, &[("message-body", body)]).await;
        issues.push(issue(&store, &acme, id).await);
    }
    let at = |n: usize| issues[n]["created_at"].as_i64().unwrap() - NOW.0;
    assert_eq!([at(0), at(1), at(2)], [4, 6, 7], "now, or the next millisecond that is free");
    let ids: Vec<_> = issues.iter().map(|issue| issue["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [45, 46, 47]);
    assert_eq!(issues[0]["messages"][0]["created_at"], issues[0]["created_at"]);
    assert!(issues[1]["updated_at"].as_i64() > issues[0]["updated_at"].as_i64());
    assert_sound(&store).await;
}

pub(crate) async fn an_import_of_the_far_future_shifts_no_live_issue(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let before = create(&store, &acme, &[("message-body", "x")]).await;
    let future: Vec<_> = [NOW.0 + HOUR, NOW.0 + 1000 * HOUR, INSTANT_MS_MAX - 1]
        .map(|at| json!({"created_at": at}).to_string())
        .into();
    run(&store, &acme, "t", Action::ImportIssues, &future).await;
    let mut last = issue(&store, &acme, before).await["created_at"].as_i64().unwrap();
    for _ in 0..3 {
        let id = create(&store, &acme, &[("message-body", "x")]).await;
        let at = issue(&store, &acme, id).await["created_at"].as_i64().unwrap();
        assert!(at > last && at < NOW.0 + 10, "{at} after {last}");
        last = at;
    }
    assert_sound(&store).await;
}

pub(crate) async fn imports_at_the_last_instant_take_the_nearest_free_ones_before_it(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let at = |at: i64| json!({"created_at": at, "title": at.to_string()}).to_string();
    let lines = [at(INSTANT_MS_MAX), at(INSTANT_MS_MAX - 2), at(INSTANT_MS_MAX)];
    run(&store, &acme, "t", Action::ImportIssues, &lines).await;
    let twice = [at(INSTANT_MS_MAX), at(INSTANT_MS_MAX - 1)];
    run(&store, &acme, "u", Action::ImportIssues, &twice).await;
    let mut exported = Vec::new();
    for (id, back) in [(1, 0), (2, 2), (3, 1), (4, 3), (5, 4)] {
        let issue = issue(&store, &acme, id).await;
        assert_eq!(issue["created_at"], INSTANT_MS_MAX - back, "{issue}");
        exported.push(issue.to_string());
    }
    let beta = domain(&store, "beta").await;
    let again = run(&store, &beta, "again", Action::ImportIssues, &exported).await;
    assert_eq!(again.counts.succeeded, 5, "every export can be imported");
    assert_eq!(issue(&store, &beta, 5).await["created_at"], INSTANT_MS_MAX - 4);
    assert_sound(&store).await;
}

pub(crate) async fn new_issues_get_free_ids_after_the_largest_id_is_taken(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let largest = json!({"id": ISSUE_ID_MAX, "created_at": 1}).to_string();
    run(&store, &acme, "t", Action::ImportIssues, std::slice::from_ref(&largest)).await;
    let issues = [
        create(&store, &acme, &[("message-body", "x")]).await,
        create(&store, &acme, &[("message-body", "y")]).await,
    ];
    assert_eq!(issues, [1, 2]);
    let again = run(&store, &acme, "u", Action::ImportIssues, &[largest]).await;
    assert_eq!(
        (again.counts.succeeded, again.counts.failed),
        (1, 0),
        "the issue is found and unchanged"
    );
    assert_eq!(hits(&store, &acme, &[]).await, 3);
    assert_sound(&store).await;
}

pub(crate) async fn new_issues_get_current_times_after_the_last_instant_is_taken(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let last = json!({"created_at": INSTANT_MS_MAX}).to_string();
    let near = json!({"created_at": NOW.0 + 1}).to_string();
    run(&store, &acme, "t", Action::ImportIssues, &[last, near]).await;
    let mut times = Vec::new();
    for _ in 0..3 {
        let id = create(&store, &acme, &[("message-body", "x")]).await;
        times.push(issue(&store, &acme, id).await["created_at"].as_i64().unwrap() - NOW.0);
    }
    assert!(times.is_sorted_by(|a, b| a < b) && !times.contains(&1), "{times:?}");
    assert!(times[2] < HOUR, "{times:?}");
    assert_sound(&store).await;
}

/// The seed of the random writes.
const SEED: u64 = 1;
/// Issues that the random writes create and then change.
const ISSUES: u64 = 8;

/// A random write, printed if it fails.
#[derive(Debug)]
struct RandomWrite {
    kind: &'static str,
    issue_id: u64,
    now: UnixMillis,
    fields: Vec<(&'static str, String)>,
}

impl RandomWrite {
    /// The first writes create the issues, later ones change them.
    fn draw(random: &mut SplitMix, round: u64) -> Self {
        let tags = format!(r#"["t{}","t{}"]"#, random.below(3), random.below(3));
        let custom_fields = format!(r#"{{"n":{{"type":"number","value":{}}}}}"#, random.below(4));
        let state = random.pick(&["new", "resolved", "rejected", "agent-replied"]).to_owned();
        let agent = random.pick(&["eva", "tom", "unassigned"]).to_owned();
        let language = random.pick(&["de", "en"]).to_owned();
        let text = "hello".to_owned();
        let (kind, fields) = match random.below(5) {
            _ if round < ISSUES => ("create", vec![("message-body", text), ("language", language)]),
            0 => ("edit", vec![("tags", tags), ("assignee-id", agent)]),
            1 => ("edit", vec![("status", state), ("custom_fields", custom_fields)]),
            2 => ("message", vec![("message-body", text)]),
            3 => ("message", vec![("message-body", text), ("agent-id", "eva".to_owned())]),
            _ => {
                let ids = ("issue-ids", "[1,3,5]".to_owned());
                ("bulk edit", vec![ids, ("tags", tags), ("status", state)])
            }
        };
        let hours = if random.once_in(2) { round as i64 } else { 0 };
        let issue_id = random.below(ISSUES as usize) as u64 + 1;
        Self { kind, issue_id, now: later(hours * HOUR), fields }
    }

    async fn apply(&self, store: &Arc<dyn Store>, domain: &Domain) -> Result<(), StoreError> {
        let fields: Vec<_> = self.fields.iter().map(|(name, text)| (*name, &**text)).collect();
        match self.kind {
            "create" => store.create_issue(creation(domain, &fields)).await.map(drop),
            "edit" => {
                let mut command = edit(domain, self.issue_id, &fields);
                command.origin.now = self.now;
                store.edit_issue(command).await.map(drop)
            }
            "message" => {
                let mut command = message(domain, self.issue_id, &fields);
                command.origin.now = self.now;
                store.add_message(command).await.map(drop)
            }
            _ => store.edit_issues(bulk_edit(domain, &fields)).await.map(drop),
        }
    }
}

pub(crate) async fn random_writes_are_indexed_and_counted(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for id in ["eva", "tom"] {
        agent(&store, &acme, id).await;
    }
    let mut random = SplitMix::new(SEED);
    let mut writes = Vec::new();
    for round in 0..rounds(150) as u64 {
        let write = RandomWrite::draw(&mut random, round);
        if let Err(error) = write.apply(&store, &acme).await {
            panic!("seed {SEED}, write {round}, {write:?}: {error}");
        }
        writes.push(write);
    }
    // The check compares counters and term sets with the issues.
    let faults = store.check().await.unwrap().faults;
    assert!(faults.is_empty(), "seed {SEED}: {faults:#?} after {writes:#?}");
    let mut total = 0;
    for state in ["new", "new-for-agent", "agent-replied", "waiting-for-agent", "resolved"] {
        total += hits(&store, &acme, &[("state", state)]).await;
    }
    total += hits(&store, &acme, &[("state", "rejected")]).await;
    assert_eq!(total, ISSUES);
    let mut found = 0;
    for id in 1..=ISSUES {
        found += u64::from(issue(&store, &acme, id).await["tags"].to_string().contains("\"t1\""));
    }
    assert_eq!(hits(&store, &acme, &[("tags", r#"{"or":["t1"]}"#)]).await, found);
}

pub(crate) async fn concurrent_messages_are_all_stored_in_the_order_of_their_times(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let id = create(&store, &acme, &[("message-body", "x")]).await;
    let texts: Vec<String> = (0..60).map(|n| n.to_string()).collect();
    let adding = texts.iter().map(|text| {
        let mut command = message(&acme, id, &[("message-body", text)]);
        command.origin.random = text.parse().unwrap();
        store.add_message(command)
    });
    for added in join_all(adding).await {
        assert!(added.unwrap().done().is_some());
    }
    let issue = issue(&store, &acme, id).await;
    let messages = issue["messages"].as_array().unwrap();
    let times: Vec<_> = messages.iter().map(|m| m["created_at"].as_i64().unwrap()).collect();
    assert_eq!(times.len(), 61);
    assert!(times.is_sorted_by(|a, b| a < b), "times must increase: {times:?}");
    assert_eq!(issue["updated_at"].as_i64(), times.last().copied());
    assert_sound(&store).await;
}

pub(crate) async fn a_bulk_edit_with_a_fault_changes_nothing(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    agent(&store, &other, "zoe").await;
    for _ in 0..3 {
        create(&store, &acme, &[("message-body", "x")]).await;
    }
    create(&store, &other, &[("message-body", "x")]).await;
    let before = [issue(&store, &acme, 1).await, issue(&store, &acme, 3).await];
    for (fields, faults) in [
        (&[("issue-ids", "[1,2,4,77]"), ("status", "resolved")][..], &["issue-ids"][..]),
        (&[("issue-ids", "[1]"), ("assignee-id", "zoe")], &["assignee-id"]),
        (&[("issue-ids", "[9]"), ("assignee-id", "zoe")], &["issue-ids", "assignee-id"]),
    ] {
        let refused = store.edit_issues(bulk_edit(&acme, fields)).await;
        let Err(StoreError::Refused(found)) = refused else { panic!("{refused:?}") };
        let named: Vec<_> = found.iter().map(|fault| fault.parameter.as_str()).collect();
        assert_eq!(named, faults);
        let (request, _) = read_bulk_edit(&pairs(fields));
        let references: References = request.references();
        assert_eq!(store.reference_faults(acme.id, references).await.unwrap(), found);
    }
    assert_eq!([issue(&store, &acme, 1).await, issue(&store, &acme, 3).await], before);
    let missing = store.edit_issue(edit(&acme, 9, &[("title", "x")])).await;
    assert!(matches!(missing, Err(StoreError::NotFound { .. })), "{missing:?}");
    let answer = store.edit_issues(bulk_edit(&acme, &[("issue-ids", "[3]"), ("tags", "[]")])).await;
    let answer = answer.unwrap().done().unwrap();
    assert_eq!(answer.body, br#"{"issue-count":1,"edit-info":{"tags":[]}}"#);
    assert_sound(&store).await;
}

pub(crate) async fn an_issue_cannot_grow_beyond_the_limit_of_an_import(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let id = create(&store, &acme, &[("message-body", "x")]).await;
    let long = "x".repeat(1 << 20);
    for _ in 0..7 {
        store.add_message(message(&acme, id, &[("message-body", &long)])).await.unwrap();
    }
    let before = issue(&store, &acme, id).await;
    let refused = store.add_message(message(&acme, id, &[("message-body", &long)])).await;
    let Err(StoreError::Refused(faults)) = refused else { panic!("it was accepted") };
    assert_eq!(faults[0].code, ErrorCode::TooLarge);
    assert_eq!(issue(&store, &acme, id).await, before);
    assert_sound(&store).await;
}

pub(crate) async fn a_repeated_write_gets_the_first_answer_and_writes_nothing(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let key = |content: u8, name: &str| IdempotencyKey {
        text: name.to_owned(),
        content: [content; 32],
        expires_at: later(HOUR),
    };
    let keyed = |content: u8| {
        let mut command = creation(&acme, &[("message-body", "x")]);
        command.origin.idempotency = Some(key(content, "create"));
        command
    };
    let first = store.create_issue(keyed(1)).await.unwrap().done().unwrap();
    assert_eq!(store.create_issue(keyed(1)).await.unwrap(), Idempotent::Replayed(first.clone()));
    let other = store.create_issue(keyed(2)).await;
    assert!(matches!(other, Err(StoreError::IdempotencyKeyReused)), "{other:?}");
    let note = |text: &str| {
        let (request, _) = read_note(&pairs(&[("note-text", text)]));
        let mut origin = origin(&acme, NOW);
        origin.idempotency = Some(key(3, "note"));
        AddNote { origin, issue_id: 1, request }
    };
    let added = store.add_note(note("n")).await.unwrap().done().unwrap();
    let answer = StoredAnswer { location: first.location, body: br#"{"added-note":"n"}"#.to_vec() };
    assert_eq!(added, answer);
    assert_eq!(store.add_note(note("n")).await.unwrap(), Idempotent::Replayed(answer));
    assert_eq!(issue(&store, &acme, 1).await["private_notes"].as_array().unwrap().len(), 1);
    assert_eq!(hits(&store, &acme, &[]).await, 1);
    assert_sound(&store).await;
}

/// Stages a file in these pieces. Returns its description for a message.
pub(crate) async fn staged(
    store: &Arc<dyn Store>,
    domain: &Domain,
    id: &str,
    pieces: &[Vec<u8>],
) -> Attachment {
    for (number, bytes) in pieces.iter().enumerate() {
        let (id, number, bytes) = (id.to_owned(), number as u32, bytes.clone());
        let command = StageAttachment { key: None, domain: domain.id, id, number, bytes, now: NOW };
        store.stage_attachment(command).await.unwrap();
    }
    Attachment {
        id: id.to_owned(),
        file_name: "f".to_owned(),
        content_type: "text/plain".to_owned(),
        size: pieces.iter().map(Vec::len).sum::<usize>() as u64,
    }
}

pub(crate) async fn attachments_belong_to_their_message(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    let pieces = [vec![1; ATTACHMENT_PIECE_BYTES], vec![2; 5]];
    let file = staged(&store, &acme, "a1", &pieces).await;
    let empty = staged(&store, &acme, "a2", &[Vec::new()]).await;
    assert_eq!(store.attachment(acme.id, "a1").await.unwrap(), None, "only staged");
    let mut command = creation(&acme, &[("message-body", "x")]);
    command.attachments = vec![file.clone(), empty];
    drop(store.create_issue(command).await.unwrap());
    assert_eq!(store.attachment(acme.id, "a1").await.unwrap().as_ref(), Some(&file));
    assert_eq!(store.attachment(other.id, "a1").await.unwrap(), None);
    for (number, piece) in pieces.into_iter().enumerate() {
        let number = number as u32;
        assert_eq!(store.attachment_piece(acme.id, "a1", number).await.unwrap(), Some(piece));
        assert_eq!(store.attachment_piece(other.id, "a1", number).await.unwrap(), None);
    }
    store.discard_attachments(acme.id, vec!["a1".to_owned()]).await.unwrap();
    while store.purge_expired(later(1000 * HOUR)).await.unwrap() {}
    assert!(
        store.attachment(acme.id, "a1").await.unwrap().is_some(),
        "the file belongs to a message"
    );
    let mut again = creation(&acme, &[("message-body", "y")]);
    again.attachments = vec![file];
    let again = store.create_issue(again).await;
    assert!(
        matches!(again, Err(StoreError::AttachmentLost)),
        "a file can belong to one message only: {again:?}"
    );
    assert_sound(&store).await;
    store.delete_domain(acme.id).await.unwrap();
    assert_eq!(store.attachment_piece(acme.id, "a1", 0).await.unwrap(), None);
    assert_sound(&store).await;
}

pub(crate) async fn unclaimed_attachments_are_purged(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for id in ["a1", "a2", "a3"] {
        staged(&store, &acme, id, &[vec![1; 10], vec![2; 10]]).await;
    }
    store.discard_attachments(acme.id, vec!["a1".to_owned(), "none".to_owned()]).await.unwrap();
    assert_eq!(store.attachment_piece(acme.id, "a1", 0).await.unwrap(), None);
    while store.purge_expired(later(HOUR - 1)).await.unwrap() {}
    assert!(store.attachment_piece(acme.id, "a2", 1).await.unwrap().is_some());
    while store.purge_expired(later(HOUR)).await.unwrap() {}
    assert_eq!(store.attachment_piece(acme.id, "a2", 1).await.unwrap(), None);
    let late = StageAttachment {
        key: None,
        domain: acme.id,
        id: "a3".to_owned(),
        number: 2,
        bytes: vec![3],
        now: later(HOUR),
    };
    let late = store.stage_attachment(late).await;
    assert!(matches!(late, Err(StoreError::AttachmentLost)), "{late:?}");
    assert_sound(&store).await;
}

pub(crate) async fn a_message_with_a_lost_attachment_is_refused(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let kept = staged(&store, &acme, "a1", &[vec![1; 10]]).await;
    let lost = Attachment { id: "none".to_owned(), ..kept.clone() };
    let mut command = creation(&acme, &[("message-body", "x")]);
    command.attachments = vec![kept.clone(), lost];
    let refused = store.create_issue(command).await;
    assert!(matches!(refused, Err(StoreError::AttachmentLost)), "{refused:?}");
    assert_eq!(hits(&store, &acme, &[]).await, 0);
    let mut command = creation(&acme, &[("message-body", "x")]);
    command.attachments = vec![kept];
    assert!(store.create_issue(command).await.unwrap().done().is_some());
    assert_sound(&store).await;
}

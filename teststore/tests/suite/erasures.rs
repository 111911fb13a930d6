//! Erasing one person of many: profiles, issues, tasks, answers and the log have nothing of them,
//! and everything else is as it was. `stored/erasures.rs` and `embedded/deleted.rs` read the raw
//! rows and files.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::change::{ChangeAction, Resource};
use caseload_model::erasure::{Erasure, ErasureCounts, IssuesOfErased, Person, Selector};
use caseload_model::ids::IdentityKey;
use caseload_model::issue_query::{IssueView, Paging, parse_list};
use caseload_model::key::Access;
use caseload_model::named_view::{NewView, ViewList, ViewScope};
use caseload_model::profile::IdentityType;
use caseload_model::task::Action;
use caseload_store::{
    CreateKey, CreateTask, CreateView, Domain, FindPerson, FoundPerson, GetIssue, IdempotencyKey,
    OfView, StagePayload, Store, StoreError, pack_block,
};
use serde_json::{Value, json};

use super::changes::follow;
use super::issue_writes::{create, creation, edit, staged};
use super::oracle::list;
use super::support::{
    NOW, assert_sound, block, chunk, claim, claim_at, domain, errors, later, next_block,
    profile_id, results, run, run_command, task_of,
};

/// A word in each text of the person, and in none of the others.
pub(crate) const WORD: &str = "vanishing";
/// The same of another person.
pub(crate) const OTHER: &str = "staying";
const PEOPLE: usize = 40;
pub(crate) const ADDRESS: &str = "vanishing@example.org";

fn profile(word: &str, n: usize) -> Value {
    json!({
        "identities": [
            {"email": format!("{word}@example.org")},
            {"uid": format!("{word}-uid")},
            {"phone_number": format!("+49 30 {}", 1_000_000 + n)},
        ],
        "names": {"first_name": format!("{word} name")},
        "custom_fields": {"note": format!("{word} note ").repeat(20)},
    })
}

fn issue(word: &str, n: usize) -> Value {
    let author = json!({"name": word, "emails": [format!("{word}@example.org")]});
    json!({
        "id": 1000 + n, "created_at": NOW.0 - n as i64, "title": format!("{word} title"),
        "author_name": word, "author_email": format!("{word}@example.org"), "tags": ["kept"],
        "meta": {"phone": word}, "state_data": {"state": "resolved"},
        "messages": [
            {"body": format!("{word} asks ").repeat(30), "created_at": NOW.0, "author": author},
            {"body": "the desk answers", "created_at": NOW.0 + 1, "origin": "helpshift"},
        ],
    })
}

/// The words of all people, the erased one among them.
fn words() -> impl Iterator<Item = (usize, String)> {
    let word = |n| match n {
        7 => WORD.to_owned(),
        8 => OTHER.to_owned(),
        _ => format!("person-{n}"),
    };
    (0..PEOPLE).map(move |n| (n, word(n)))
}

/// Fills a domain with records of many people, each in all places in which a person may be.
pub(crate) async fn fill_with_people(store: &Arc<dyn Store>, domain: &Domain) {
    fill_with(store, domain, &words().collect::<Vec<_>>()).await;
}

/// Does the same with these people: their numbers and words. [`WORD`] and [`OTHER`] follow each
/// other.
pub(crate) async fn fill_with(store: &Arc<dyn Store>, domain: &Domain, people: &[(usize, String)]) {
    let of_all = |entry: &dyn Fn(&str, usize) -> Value| -> Vec<String> {
        people.iter().map(|(n, word)| entry(word, *n).to_string()).collect()
    };
    run(store, domain, "people", Action::CreateCoreProfiles, &of_all(&profile)).await;
    let get = |line: &String| json!({"core-profile-id": profile_id(line)}).to_string();
    assert_eq!(errors(store, domain.id, "people").await, [""; 0]);
    let gets: Vec<_> = results(store, domain.id, "people").await.iter().map(get).collect();
    run(store, domain, "gets", Action::GetCoreProfiles, &gets).await;
    // Conflicts, whose entries and errors remain.
    run(store, domain, "again", Action::CreateCoreProfiles, &of_all(&profile)).await;
    let mut raw = of_all(&|word, _| {
        let uid = format!("{word}-uid");
        json!({"identities": [{"uid": uid}], "age": "old"})
    });
    raw.push(format!("{{not JSON: {ADDRESS}"));
    raw.push("{not JSON: other@example.org".to_owned());
    run(store, domain, "raw", Action::CreateCoreProfiles, &raw).await;
    run(store, domain, "issues", Action::ImportIssues, &of_all(&issue)).await;
    assert_eq!(errors(store, domain.id, "issues").await, [""; 0]);
    let renamed = of_all(&|word, n| {
        let mut issue = issue(word, n);
        issue["title"] = format!("{word} other title").into();
        issue
    });
    let renamed = task_of(domain, "renamed", Action::ImportIssues, &renamed, 11);
    run_command(store, CreateTask { upsert: true, ..renamed }, NOW).await;
    run(store, domain, "known", Action::ImportIssues, &of_all(&issue)).await;
    for word in [WORD, OTHER] {
        write_live(store, domain, word).await;
        write_view(store, domain, word).await;
    }
    let lines = of_all(&profile);
    let command = task_of(domain, "dry", Action::UpsertCoreProfiles, &lines, 7);
    run_command(store, CreateTask { dry_run: true, ..command }, NOW).await;
    let end = 1 + people.iter().position(|(_, word)| word == WORD).unwrap();
    let (some, others) = (end.saturating_sub(4)..end, end..lines.len().min(end + 4));
    for (task_id, lines) in [("upload", &lines[some]), ("other-upload", &lines[others])] {
        let blocks = vec![pack_block(&block(lines, 0)).unwrap()];
        let (key, task_id, domain) = (None, task_id.to_owned(), domain.id);
        store.stage_payload(StagePayload { key, domain, task_id, blocks, now: NOW }).await.unwrap();
    }
}

/// A live issue of the person with a file, a changed title and a stored answer.
async fn write_live(store: &Arc<dyn Store>, domain: &Domain, word: &str) {
    let pieces = [format!("{word} file ").repeat(100).into_bytes(), vec![1]];
    let file = staged(store, domain, &format!("file-{}", word.len()), &pieces).await;
    let (body, email) = (format!("{word} live"), format!("{word}@example.org"));
    let fields = [("message-body", body.as_str()), ("email", email.as_str())];
    let mut command = creation(domain, &fields);
    command.attachments = vec![file];
    let text = format!("key-{}", word.len());
    let key = IdempotencyKey { text, content: [9; 32], expires_at: later(9_000_000) };
    command.origin.idempotency = Some(key);
    let made = store.create_issue(command).await.unwrap().done().unwrap();
    let id = made.location.rsplit('/').next().unwrap().parse().unwrap();
    for title in ["first title", "second title"] {
        let title = format!("{word} {title}");
        drop(store.edit_issue(edit(domain, id, &[("title", &title)])).await.unwrap());
    }
}

/// A named view of the person's issues.
async fn write_view(store: &Arc<dyn Store>, domain: &Domain, word: &str) {
    let (key_id, mut hash) = (format!("key-{}", word.len()), [word.len() as u8; 32]);
    hash[0] = domain.id.0 as u8;
    let (id, access, origin) = (key_id.clone(), Access::Read, NOW.into());
    let (name, domain) = ("a key".to_owned(), domain.id);
    let key = CreateKey { domain, id, hash, name, access, origin, expires_at: None };
    store.create_key(key).await.unwrap();
    let (name, query) = ("One author".to_owned(), format!("author={word}%40example.org"));
    let view = NewView { name, list: ViewList::Issues, query, scope: ViewScope::Key };
    let of = OfView { domain, key_id, id: format!("view-{}", word.len()), now: NOW };
    store.create_view(CreateView { of, view }).await.unwrap();
}

pub(crate) fn selector(address: &str) -> Selector {
    Selector::Identity(IdentityKey::new(IdentityType::Email, address))
}

pub(crate) async fn find(
    store: &Arc<dyn Store>,
    of: &Domain,
    selector: Selector,
    issues: IssuesOfErased,
) -> Option<FoundPerson> {
    let (domain, budget) = (of.id, Duration::from_secs(30).into());
    let request = FindPerson { domain, selector, issues, count: true, tasks: None, budget };
    store.find_person(request).await.unwrap()
}

pub(crate) fn erasure(
    domain: &Domain,
    task: &str,
    person: Person,
    issues: IssuesOfErased,
) -> CreateTask {
    let block = Erasure { person, issues }.block();
    let blocks = vec![pack_block(&block).unwrap()];
    let lines = [String::new()];
    CreateTask { blocks, ..task_of(domain, task, Action::ErasePerson, &lines, 1) }
}

/// Erases the person, and returns the receipt.
pub(crate) async fn erase(
    store: &Arc<dyn Store>,
    domain: &Domain,
    issues: IssuesOfErased,
) -> Value {
    let found = find(store, domain, selector(ADDRESS), issues).await.unwrap();
    let task = run_command(store, erasure(domain, "erase", found.person, issues), NOW).await;
    assert_eq!((task.counts.succeeded, task.warnings), (1, 0));
    let receipt = results(store, domain.id, "erase").await.remove(0);
    serde_json::from_str(&receipt).unwrap()
}

/// All records of all tasks of a domain that `fill_with_people` filled.
async fn all_records(store: &Arc<dyn Store>, domain: &Domain) -> Vec<String> {
    let mut all = Vec::new();
    for task in ["people", "gets", "again", "raw", "issues", "renamed", "known", "dry"] {
        all.extend(results(store, domain.id, task).await);
        all.extend(errors(store, domain.id, task).await);
    }
    all
}

pub(crate) async fn an_erased_person_leaves_nothing_and_the_others_stay(store: Arc<dyn Store>) {
    for issues in [IssuesOfErased::Redacted, IssuesOfErased::Deleted] {
        let acme = domain(&store, &format!("{issues:?}").to_lowercase()).await;
        fill_with_people(&store, &acme).await;
        let before = all_records(&store, &acme).await;
        let promised = find(&store, &acme, selector(ADDRESS), issues).await.unwrap();
        let by_id = Selector::CoreProfile(*promised.person.core_profile_ids.first().unwrap());
        let same = find(&store, &acme, by_id, issues).await;
        assert_eq!(same.as_ref(), Some(&promised), "each selector leads to the whole person");
        for pid in promised.person.pids.clone() {
            let same = find(&store, &acme, Selector::AppProfile(pid), issues).await;
            assert_eq!(same.as_ref(), Some(&promised));
        }
        let position = store.last_position(acme.id).await.unwrap();
        let receipt = erase(&store, &acme, issues).await;
        let counts = |name: &str| receipt["counts"][name].as_u64().unwrap();
        let ErasureCounts { core_profiles, app_profiles, messages, attachments, .. } =
            promised.counts;
        assert_eq!((core_profiles, attachments, counts("issues")), (1, 1, 2), "{receipt}");
        for (name, count) in [
            ("core_profiles", core_profiles),
            ("app_profiles", app_profiles),
            ("messages", messages),
            ("attachments", attachments),
            ("entries", promised.counts.entries),
            ("records", promised.counts.records),
        ] {
            assert_eq!(counts(name), count, "the dry run promised {name}: {receipt}");
        }
        assert_eq!(receipt["erased_at"], NOW.0);
        assert!(!receipt.to_string().contains(WORD), "{receipt}");
        assert_eq!(find(&store, &acme, selector(ADDRESS), issues).await, None);
        let after = all_records(&store, &acme).await;
        assert_eq!(before.len(), after.len());
        for (old, new) in before.iter().zip(&after) {
            let is_persons = old != new;
            assert_eq!(is_persons, new.contains("\"erased\":true"), "{old}\n{new}");
            assert!(!new.contains(WORD), "{new}");
        }
        let changed = before.iter().zip(&after).filter(|(old, new)| old != new).count();
        assert_eq!(changed as u64, counts("records"));
        let actions = [ChangeAction::Redacted, ChangeAction::Erased];
        let effects = follow(&store, &acme, position, 1000).await;
        let effects: Vec<_> = effects
            .into_iter()
            .map(|change| change.effect)
            .filter(|effect| actions.contains(&effect.action))
            .collect();
        let of = |resource| effects.iter().filter(move |effect| effect.resource == resource);
        assert_eq!(of(Resource::CoreProfile).count(), 1);
        assert_eq!(of(Resource::AppProfile).count() as u64, app_profiles);
        let action = actions[usize::from(issues == IssuesOfErased::Deleted)];
        assert!(of(Resource::Issue).all(|effect| effect.action == action));
        assert_eq!(of(Resource::Issue).count(), 2);
        assert!(effects.iter().all(|effect| effect.values.is_empty() && effect.fields.is_empty()));
        issues_follow(&store, &acme, issues).await;
    }
    while store.purge_expired(NOW).await.unwrap() {}
    assert_sound(&store).await;
}

async fn issues_follow(store: &Arc<dyn Store>, of: &Domain, mode: IssuesOfErased) {
    let hits = async |fields: &[(&str, &str)]| {
        let fields: Vec<_> =
            fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let query = parse_list(&fields).unwrap().query;
        list(store, of, &query, IssueView::default(), Paging::default()).await.total_hits
    };
    let left = PEOPLE as u64 + if mode == IssuesOfErased::Deleted { 0 } else { 2 };
    assert_eq!(hits(&[]).await, left);
    assert_eq!(hits(&[("author_emails", "staying@example.org")]).await, 2);
    assert_eq!(hits(&[("author_emails", ADDRESS)]).await, 0);
    let (domain, budget) = (of.id, Duration::from_secs(30).into());
    let get = GetIssue { domain, id: 1007, view: IssueView::FULL, budget };
    let shown = store.issue(get).await.unwrap();
    if mode == IssuesOfErased::Deleted {
        assert_eq!(shown, None);
        return;
    }
    let shown: Value = serde_json::from_slice(&shown.unwrap().body).unwrap();
    let told = ["title", "redacted", "author_email", "hs_user_id", "tags"].map(|name| &shown[name]);
    let wanted =
        [json!("[redacted]"), json!(true), json!(""), json!("[redacted]"), json!(["kept"])];
    assert_eq!(told, wanted.each_ref());
    assert_eq!(shown["messages"][1]["body"], "the desk answers");
    let pieces = store.attachment_piece(of.id, &format!("file-{}", WORD.len()), 0).await.unwrap();
    assert_eq!(pieces, None);
}

/// The parts of the tasks that hold the person.
async fn parts(store: &Arc<dyn Store>, of: &Domain) -> Vec<FoundPerson> {
    let (mut parts, mut next) = (Vec::new(), Some(0));
    while let Some(after) = next {
        let budget = Duration::from_secs(30).into();
        let request = FindPerson {
            domain: of.id,
            selector: selector(ADDRESS),
            issues: IssuesOfErased::Redacted,
            count: true,
            tasks: Some(after),
            budget,
        };
        let part = store.find_person(request).await.unwrap().unwrap();
        next = part.tasks.as_ref().unwrap().next;
        parts.push(part);
    }
    parts
}

pub(crate) async fn tasks_are_shown_with_the_entries_that_an_erasure_takes(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    fill_with_people(&store, &acme).await;
    let counted = find(&store, &acme, selector(ADDRESS), IssuesOfErased::Redacted).await.unwrap();
    let [found] = &parts(&store, &acme).await[..] else { panic!("one part") };
    assert_eq!((&found.person, found.counts), (&counted.person, counted.counts));
    let tasks = &found.tasks.as_ref().unwrap().tasks;
    let ids: Vec<_> = tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["people", "gets", "again", "raw", "issues", "renamed", "known", "dry"]);
    let of = |id: &str| tasks.iter().find(|task| task.id == id).unwrap();
    let sizes = |id: &str| {
        let task = of(id);
        (task.entries.len(), task.results.len(), task.errors.len())
    };
    assert_eq!((sizes("gets"), sizes("again"), sizes("raw")), ((0, 1, 0), (1, 0, 1), (2, 0, 2)));
    let mut text = Vec::new();
    found.tasks.as_ref().unwrap().write(&mut text);
    let text = String::from_utf8(text).unwrap();
    assert!(!text.contains(OTHER) && !text.contains("person-"), "{text}");
    for part in ["{not JSON: vanishing", "vanishing title", "vanishing note"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    erase(&store, &acme, IssuesOfErased::Redacted).await;
}

pub(crate) async fn each_task_is_shown_once_however_long_it_is(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    run(&store, &acme, "first", Action::CreateCoreProfiles, &[profile(WORD, 1).to_string()]).await;
    let id = profile_id(&results(&store, acme.id, "first").await[0]);
    let mut lines =
        vec![json!({"core-profile-id": "1", "pad": "x".repeat(250_000)}).to_string(); 80];
    lines.push(json!({"core-profile-id": id}).to_string());
    for task in ["long", "longer", "longest"] {
        let command = task_of(&acme, task, Action::GetCoreProfiles, &lines, 10);
        store.create_task(command).await.unwrap();
    }
    let mut ids = Vec::new();
    let parts = parts(&store, &acme).await;
    for part in &parts {
        let tasks = part.tasks.as_ref().unwrap();
        assert_eq!(part.counts.entries, tasks.entries());
        ids.extend(tasks.tasks.iter().map(|task| task.id.clone()));
        let mut of_payload = tasks.tasks.iter().filter(|task| task.id != "first");
        assert!(of_payload.all(|task| task.entries.len() == 1 && task.entries[0].index == 80));
    }
    assert_eq!(ids, ["first", "long", "longer", "longest"]);
    assert!(parts.len() > 2, "a part ends after a long task: {}", parts.len());
}

pub(crate) async fn a_killed_erasure_continues_and_counts_everything_once(store: Arc<dyn Store>) {
    let (whole, parts) = (domain(&store, "whole").await, domain(&store, "parts").await);
    for domain in [&whole, &parts] {
        fill_with_people(&store, domain).await;
    }
    let mode = IssuesOfErased::Redacted;
    let wanted = erase(&store, &whole, mode).await;
    let found = find(&store, &parts, selector(ADDRESS), mode).await.unwrap();
    store.create_task(erasure(&parts, "erase", found.person, mode)).await.unwrap();
    // Each server makes one step and stops.
    for n in 0..1000 {
        let claimed = claim_at(&store, &format!("server-{n}"), NOW, 1).await.remove(0);
        let step = chunk(&claimed, next_block(&store, &claimed, 0).await, NOW);
        let applied = store.apply_chunk(step.clone()).await.unwrap();
        if applied.task.outcome.is_some() {
            break;
        }
        assert_eq!((applied.done, applied.next_index, applied.rest.is_some()), (0, 0, true));
        store.release_leases(&format!("server-{n}")).await.unwrap();
        let late = store.apply_chunk(step).await;
        assert!(matches!(late, Err(StoreError::LeaseLost)), "{late:?}");
    }
    let receipt = results(&store, parts.id, "erase").await.remove(0);
    let receipt: Value = serde_json::from_str(&receipt).unwrap();
    assert_eq!(receipt["counts"], wanted["counts"]);
    while store.purge_expired(NOW).await.unwrap() {}
    assert_sound(&store).await;
}

pub(crate) async fn no_one_and_placeholders_are_not_erased(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let mode = IssuesOfErased::Redacted;
    for (n, address) in ["noreply@example.org", "ada@example.org"].into_iter().enumerate() {
        let id = format!("u{n}");
        let fields = [("message-body", "x"), ("email", address), ("identifier", &*id)];
        create(&store, &acme, &fields).await;
    }
    for selector in [
        selector("nobody@example.org"),
        selector("noreply@example.org"),
        Selector::CoreProfile(caseload_model::ids::CoreProfileId(7)),
        Selector::AppProfile("unknown".to_owned()),
        Selector::AppProfile("[redacted]".to_owned()),
    ] {
        assert_eq!(find(&store, &acme, selector.clone(), mode).await, None, "{selector:?}");
    }
    let found = find(&store, &acme, selector("ada@example.org"), mode).await.unwrap();
    assert_eq!(found.person.issue_ids, [2].into());
}

pub(crate) async fn a_cancelled_erasure_can_be_erased_and_run_again(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    fill_with_people(&store, &acme).await;
    let mode = IssuesOfErased::Redacted;
    let found = find(&store, &acme, selector(ADDRESS), mode).await.unwrap();
    store.create_task(erasure(&acme, "first", found.person.clone(), mode)).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    let step = chunk(&claimed, next_block(&store, &claimed, 0).await, NOW);
    for _ in 0..2 {
        store.apply_chunk(step.clone()).await.unwrap();
    }
    let cancel = caseload_store::CancelTask {
        domain: acme.id,
        key: None,
        family: caseload_model::task::Family::Issues,
        task_id: "first".to_owned(),
        now: NOW,
    };
    store.cancel_task(cancel).await.unwrap();
    store.apply_chunk(step).await.unwrap();
    assert_eq!(store.retry_payload(acme.id, "first").await.unwrap().len(), 1);
    run_command(&store, erasure(&acme, "second", found.person, mode), NOW).await;
    let left = store.retry_payload(acme.id, "first").await.unwrap();
    let left = caseload_store::unpack_block(&left[0].bytes).unwrap();
    assert!(String::from_utf8_lossy(&left).contains("{\"erased\":true}"));
    while store.purge_expired(NOW).await.unwrap() {}
    assert_sound(&store).await;
}

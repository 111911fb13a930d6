//! Redactions of parts of issues: each request of a form by itself, the places from which a text
//! goes, and the log in which a redaction is found again.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::change::{ChangeAction, Resource};
use caseload_model::erasure::{Erasure, IssuesOfErased, Person, RedactionId};
use caseload_model::issue_query::IssueView;
use caseload_model::task::{Action, TaskStatus};
use caseload_store::{
    Domain, FindMessages, FindPerson, GetIssue, GetRedaction, IdempotencyKey, Idempotent, Redact,
    RedactionCommand, RedactionTarget, Store, StoredAnswer, pack_block,
};
use serde_json::{Value, json};

use super::changes::follow;
use super::erasures::selector;
use super::issue_writes::{create, creation, edit, message, origin, staged};
use super::support::{NOW, assert_sound, domain, later, run, task_of};

const BUDGET: Duration = Duration::from_secs(30);

async fn issue(store: &Arc<dyn Store>, domain: &Domain, id: u64) -> Value {
    let request = GetIssue { domain: domain.id, id, view: IssueView::FULL, budget: BUDGET.into() };
    let found = store.issue(request).await.unwrap().unwrap();
    serde_json::from_slice(&found.body).unwrap()
}

async fn redact(
    store: &Arc<dyn Store>,
    domain: &Domain,
    targets: Vec<Result<RedactionTarget, String>>,
) -> Vec<Value> {
    let command = |target| RedactionCommand { external_id: None, app_publish_id: None, target };
    let requests = targets.into_iter().map(command).collect();
    let command = Redact { origin: origin(domain, NOW), requests };
    let answer = store.redact(command).await.unwrap().done().unwrap();
    outcomes(&answer)
}

fn outcomes(answer: &StoredAnswer) -> Vec<Value> {
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    answer["response"].as_array().unwrap().clone()
}

fn id_of(outcome: &Value) -> RedactionId {
    assert_eq!(outcome["success"], true, "{outcome}");
    outcome["redaction_id"].as_str().unwrap().parse().unwrap()
}

async fn messages(store: &Arc<dyn Store>, domain: &Domain, ids: &[&str]) -> Vec<Vec<u64>> {
    let wanted = ids.iter().map(|id| (*id).to_owned()).collect();
    let request = FindMessages { domain: domain.id, ids: wanted, budget: BUDGET.into() };
    let found = store.find_messages(request).await.unwrap();
    let of = |id: &&str| found.get(*id).into_iter().flatten().copied().collect();
    ids.iter().map(of).collect()
}

pub(crate) async fn each_part_is_redacted_and_found_in_the_log(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let file = staged(&store, &acme, "file", &[b"secret file".to_vec()]).await;
    let fields = [("message-body", "secret one"), ("title", "first secret")];
    let mut command = creation(&acme, &fields);
    command.attachments = vec![file];
    let made = store.create_issue(command).await.unwrap().done().unwrap();
    let id: u64 = made.location.rsplit('/').next().unwrap().parse().unwrap();
    drop(store.edit_issue(edit(&acme, id, &[("title", "second secret")])).await.unwrap());
    let other = create(&store, &acme, &[("message-body", "public"), ("title", "public")]).await;
    let mut said = message(&acme, id, &[("message-body", "secret two")]);
    let key = IdempotencyKey { text: "k".to_owned(), content: [1; 32], expires_at: later(9_000) };
    said.origin.idempotency = Some(key);
    drop(store.add_message(said).await.unwrap());
    let before = issue(&store, &acme, id).await;
    let second = before["messages"][1]["id"].as_str().unwrap().to_owned();
    assert_eq!(messages(&store, &acme, &[&second, "no"]).await, [vec![id], vec![]]);
    let position = store.last_position(acme.id).await.unwrap();
    let targets = vec![
        Ok(RedactionTarget::Title(id)),
        Err("no reason".to_owned()),
        Ok(RedactionTarget::Message { issue: id, id: second }),
        Ok(RedactionTarget::Attachment("file".to_owned())),
        Ok(RedactionTarget::Attachment("other".to_owned())),
        Ok(RedactionTarget::Title(999)),
        Ok(RedactionTarget::Title(id)),
    ];
    let found = redact(&store, &acme, targets).await;
    let success: Vec<&Value> = found.iter().map(|one| &one["success"]).collect();
    assert_eq!(success, [true, false, true, true, false, false, true]);
    assert_eq!(found[1]["reason"], "no reason");
    assert_eq!(found[6].get("redaction_id"), None, "it is redacted by the first request");
    let after = issue(&store, &acme, id).await;
    let bodies: Vec<_> = (0..2).map(|n| after["messages"][n]["body"].as_str().unwrap()).collect();
    assert_eq!(
        (after["title"].as_str(), &bodies[..]),
        (Some("[redacted]"), &["secret one", "[redacted]"][..])
    );
    assert_eq!(after["redacted"], true);
    assert!(store.attachment(acme.id, "file").await.unwrap().is_none());
    assert!(store.attachment_piece(acme.id, "file", 0).await.unwrap().is_none());
    assert_eq!(
        store.stored_answer(acme.id, "k").await.unwrap(),
        None,
        "a stored answer has the text"
    );
    let changes = follow(&store, &acme, position, 100).await;
    assert!(changes.iter().all(|change| change.effect.action == ChangeAction::Redacted));
    assert_eq!(changes.len(), 3);
    let log = follow(&store, &acme, 0, 100).await;
    let values = log.iter().map(|change| String::from_utf8_lossy(&change.effect.values));
    assert!(values.into_iter().all(|values| !values.contains("secret")), "a title in the log");
    for n in [0, 2, 3] {
        let id = id_of(&found[n]);
        let get = |id| store.redaction(GetRedaction { domain: acme.id, id });
        let logged = get(id).await.unwrap().unwrap();
        assert_eq!((logged.issue_ids, logged.at), (vec![id.issue], id.at));
        let wrong = [
            RedactionId { issue: other, ..id },
            RedactionId { issue: u64::MAX, ..id },
            RedactionId { first: u32::MAX, ..id },
            RedactionId { count: u32::MAX, ..id },
            RedactionId { count: 0, ..id },
            RedactionId { at: later(9_000_000), ..id },
        ];
        for wrong in wrong {
            assert_eq!(get(wrong).await.unwrap(), None, "{wrong}");
        }
    }
    assert_eq!(issue(&store, &acme, other).await["title"], "public");
    assert_sound(&store).await;
}

pub(crate) async fn the_issues_of_a_person_are_redacted_and_the_person_stays(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let import = |n: u64, word: &str| {
        let author = json!({"name": word, "emails": [format!("{word}@example.org")]});
        json!({
            "id": 100 + n, "created_at": NOW.0 - n as i64, "title": format!("{word} title"),
            "author_name": word, "author_email": format!("{word}@example.org"),
            "messages": [{"id": "shared", "body": format!("{word} asks"), "created_at": NOW.0,
                          "author": author}],
        })
        .to_string()
    };
    let entries: Vec<String> =
        (0..70).map(|n| import(n, if n < 60 { "ada" } else { "bob" })).collect();
    run(&store, &acme, "import", Action::ImportIssues, &entries).await;
    assert_eq!(messages(&store, &acme, &["shared"]).await[0].len(), 70);
    let find = || {
        let (domain, selector) = (acme.id, selector("ada@example.org"));
        let (issues, budget) = (IssuesOfErased::Redacted, BUDGET.into());
        let (count, tasks) = (false, None);
        store.find_person(FindPerson { domain, selector, issues, count, tasks, budget })
    };
    let person: Person = find().await.unwrap().unwrap().person;
    let targets = vec![Ok(RedactionTarget::IssuesOf(person)), Ok(RedactionTarget::Issue(165))];
    let found = redact(&store, &acme, targets).await;
    for (outcome, ids) in found.iter().zip([(100..160).collect::<Vec<u64>>(), vec![165]]) {
        let request = GetRedaction { domain: acme.id, id: id_of(outcome) };
        let mut logged = store.redaction(request).await.unwrap().unwrap().issue_ids;
        logged.sort_unstable();
        assert_eq!(logged, ids);
    }
    for (id, gone) in [(100, true), (159, true), (160, false), (165, true), (169, false)] {
        let shown = issue(&store, &acme, id).await.to_string();
        assert_eq!(!shown.contains("asks") && !shown.contains("@example"), gone, "{id}: {shown}");
    }
    assert_sound(&store).await;
}

pub(crate) async fn a_form_that_erases_a_person_makes_a_task_with_its_other_effects(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let id = create(&store, &acme, &[("message-body", "x"), ("title", "secret")]).await;
    let block = Erasure::default().block();
    let lines = [String::new()];
    let task = task_of(&acme, "erase", Action::ErasePerson, &lines, 1);
    let task = caseload_store::CreateTask { blocks: vec![pack_block(&block).unwrap()], ..task };
    let targets = [Ok(RedactionTarget::User(Box::new(task))), Ok(RedactionTarget::Title(id))];
    let command = |target| RedactionCommand {
        external_id: Some("mine".to_owned()),
        app_publish_id: None,
        target,
    };
    let key = IdempotencyKey { text: "k".to_owned(), content: [1; 32], expires_at: later(9_000) };
    let mut origin = origin(&acme, NOW);
    origin.idempotency = Some(key);
    let command = Redact { origin, requests: targets.into_iter().map(command).collect() };
    let answer = store.redact(command.clone()).await.unwrap().done().unwrap();
    let found = outcomes(&answer);
    assert_eq!(
        (&found[0]["redaction_id"], &found[0]["external_redaction_id"]),
        (&json!("erase"), &json!("mine"))
    );
    let request = GetRedaction { domain: acme.id, id: id_of(&found[1]) };
    assert_eq!(store.redaction(request).await.unwrap().unwrap().issue_ids, [id]);
    let task = store.task(acme.id, caseload_model::task::Family::Issues, "erase").await.unwrap();
    assert_eq!(task.unwrap().status, TaskStatus::Created);
    let position = store.last_position(acme.id).await.unwrap();
    assert_eq!(store.redact(command).await.unwrap(), Idempotent::Replayed(answer));
    assert_eq!(store.last_position(acme.id).await.unwrap(), position);
    let log = follow(&store, &acme, position - 2, 100).await;
    let resources: Vec<Resource> = log.iter().map(|change| change.effect.resource).collect();
    assert_eq!(resources, [Resource::Task, Resource::Issue]);
    assert_sound(&store).await;
}

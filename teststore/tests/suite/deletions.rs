//! Deleting one record by a call: two calls, an edit or a task at the same time, repeats, and
//! records of other domains. `stored/deletions.rs` compares the rows that are left with those after
//! a task.

use std::sync::Arc;

use caseload_model::ids::CoreProfileId;
use caseload_model::issue_query::IssueView;
use caseload_model::profile_query::{ProfileId, ProfileView};
use caseload_model::task::Action;
use caseload_store::{
    DeleteIssue, DeleteProfile, Domain, GetIssue, GetProfile, IdempotencyKey, Idempotent, Store,
    StoreError, StoredAnswer,
};
use futures_util::future::{join, join_all};
use serde_json::json;

use super::issue_writes::{BUDGET, create, edit, origin};
use super::people::answers;
use super::support::{
    NOW, apply_all, assert_not_found, assert_sound, claim, domain, later, profile_id, results,
    rounds, run, task_of, uid,
};

type Deleted = Result<Idempotent<StoredAnswer>, StoreError>;

/// A record to delete.
#[derive(Debug, Clone)]
pub(crate) enum Record {
    Issue(u64),
    Profile(ProfileId),
}

impl Record {
    /// Deletes it by a call at this time; a key makes the call repeatable.
    pub(crate) async fn delete_at(
        &self,
        store: &Arc<dyn Store>,
        domain: &Domain,
        after: i64,
        key: Option<IdempotencyKey>,
    ) -> Deleted {
        let mut origin = origin(domain, later(after));
        origin.idempotency = key;
        match self.clone() {
            Self::Issue(issue_id) => store.delete_issue(DeleteIssue { origin, issue_id }).await,
            Self::Profile(id) => store.delete_profile(DeleteProfile { origin, id }).await,
        }
    }

    async fn delete(&self, store: &Arc<dyn Store>, domain: &Domain) -> Deleted {
        self.delete_at(store, domain, 0, None).await
    }

    async fn is_there(&self, store: &Arc<dyn Store>, of: &Domain) -> bool {
        let (domain, budget) = (of.id, BUDGET.into());
        match self.clone() {
            Self::Issue(id) => {
                let view = IssueView::default();
                store.issue(GetIssue { domain, id, view, budget }).await.unwrap().is_some()
            }
            Self::Profile(id) => {
                let (domain_name, view) = (of.name.clone(), ProfileView::default());
                let get = GetProfile { domain, domain_name, id, view, budget };
                store.profile(get).await.unwrap().is_some()
            }
        }
    }
}

/// The core profiles that a task makes with these uids.
pub(crate) async fn core_profiles(
    store: &Arc<dyn Store>,
    domain: &Domain,
    task: &str,
    uids: impl Iterator<Item = String>,
) -> Vec<CoreProfileId> {
    let entries: Vec<_> = uids.map(|name| uid(&name)).collect();
    run(store, domain, task, Action::CreateCoreProfiles, &entries).await;
    let made = results(store, domain.id, task).await;
    made.iter().map(|line| CoreProfileId(profile_id(line).parse().unwrap())).collect()
}

/// A new issue, its author and a core profile.
async fn one_of_each(store: &Arc<dyn Store>, domain: &Domain, round: usize) -> [Record; 3] {
    let uid = format!("u{round}");
    let id = create(store, domain, &[("message-body", "x"), ("identifier", &uid)]).await;
    let get = GetIssue { domain: domain.id, id, view: IssueView::FULL, budget: BUDGET.into() };
    let shown = store.issue(get).await.unwrap().unwrap().body;
    let shown: serde_json::Value = serde_json::from_slice(&shown).unwrap();
    let pid = shown["hs_user_id"].as_str().unwrap().to_owned();
    let core = core_profiles(store, domain, &uid, std::iter::once(uid.clone())).await.remove(0);
    [
        Record::Issue(id),
        Record::Profile(ProfileId::App(pid)),
        Record::Profile(ProfileId::Core(core)),
    ]
}

pub(crate) async fn one_of_two_calls_deletes_the_record(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    for round in 0..rounds(8) {
        for record in one_of_each(&store, &acme, round).await {
            assert_not_found(&record.delete(&store, &other).await);
            assert!(record.is_there(&store, &acme).await, "another domain has no reach");
            let both = join(record.delete(&store, &acme), record.delete(&store, &acme)).await;
            let (done, refused) = if both.0.is_ok() { both } else { (both.1, both.0) };
            assert_eq!(done.unwrap(), Idempotent::Done(StoredAnswer::default()), "{record:?}");
            assert_not_found(&refused);
            assert!(!record.is_there(&store, &acme).await, "{record:?}");
        }
    }
    assert_sound(&store).await;
}

pub(crate) async fn a_repeated_deletion_gets_the_first_answer(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for (n, record) in one_of_each(&store, &acme, 0).await.into_iter().enumerate() {
        let key = |content| {
            let (text, content) = (format!("k{n}"), [content; 32]);
            Some(IdempotencyKey { text, content, expires_at: later(9000) })
        };
        let delete = async |content| record.delete_at(&store, &acme, 0, key(content)).await;
        assert_eq!(delete(1).await.unwrap(), Idempotent::Done(StoredAnswer::default()));
        assert_eq!(delete(1).await.unwrap(), Idempotent::Replayed(StoredAnswer::default()));
        let reused = delete(2).await;
        assert!(matches!(reused, Err(StoreError::IdempotencyKeyReused)), "{reused:?}");
        assert_not_found(&record.delete(&store, &acme).await);
    }
    assert_sound(&store).await;
}

pub(crate) async fn an_edit_meets_a_deleting_call_before_or_after_it(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for round in 0..rounds(24) {
        let id = create(&store, &acme, &[("message-body", "x")]).await;
        let (tags, record) = (format!("[\"t{round}\"]"), Record::Issue(id));
        let edit = store.edit_issue(edit(&acme, id, &[("tags", &tags)]));
        let (edited, deleted) = join(edit, record.delete(&store, &acme)).await;
        assert!(deleted.is_ok(), "{deleted:?}");
        assert!(matches!(&edited, Ok(_) | Err(StoreError::NotFound { .. })), "{edited:?}");
        assert!(!record.is_there(&store, &acme).await);
    }
    // The check compares counters, sets and bytes with the issues, of which none is left.
    assert_sound(&store).await;
}

pub(crate) async fn a_task_meets_deleting_calls_between_its_chunks(store: Arc<dyn Store>) {
    const PEOPLE: usize = 400;
    let acme = domain(&store, "acme").await;
    for round in 0..rounds(4) {
        let made = (0..PEOPLE).map(|n| format!("u{round}-{n}"));
        let ids = core_profiles(&store, &acme, &format!("make {round}"), made).await;
        let entry = |id: &CoreProfileId| {
            json!({"core-profile-id": id.to_string(), "age": round, "tags": ["t"]}).to_string()
        };
        let entries: Vec<_> = ids.iter().map(entry).collect();
        let task = format!("task {round}");
        let command = task_of(&acme, &task, Action::UpdateCoreProfiles, &entries, 20);
        store.create_task(command).await.unwrap();
        let claimed = claim(&store, 1).await.remove(0);
        let gone: Vec<_> = ids.iter().step_by(7).map(|id| ProfileId::Core(*id)).collect();
        let gone: Vec<_> = gone.into_iter().map(Record::Profile).collect();
        let deleting = join_all(gone.iter().map(|record| record.delete(&store, &acme)));
        let (deleted, updated) = join(deleting, apply_all(&store, &claimed, NOW)).await;
        assert!(deleted.iter().all(Result::is_ok), "{deleted:?}");
        for (n, answer) in answers(&store, &acme, &task).await.iter().enumerate() {
            let may_be_gone = n % 7 == 0 && answer.starts_with("not_found");
            assert!(answer == "updated" || may_be_gone, "round {round}, entry {n}: {answer}");
        }
        assert!(updated.counts.succeeded >= (PEOPLE - gone.len()) as u32);
        for record in &gone {
            assert!(!record.is_there(&store, &acme).await, "{record:?} came back");
        }
    }
    assert_sound(&store).await;
}

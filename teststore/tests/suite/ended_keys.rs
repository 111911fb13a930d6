//! Commands of callers whose keys ended after the request began: the transaction that would commit
//! looks at the key again.

use std::fmt::Debug;
use std::sync::Arc;

use caseload_model::issue::write::read_create;
use caseload_model::key::Access;
use caseload_model::task::Action;
use caseload_model::time::UnixMillis;
use caseload_store::{
    CancelTask, CreateImport, CreateIssue, CreateKey, CreateTask, Domain, StageAttachment,
    StagePayload, Store, StoreError, WriteOrigin,
};

use super::imports::import_of;
use super::support::{NOW, assert_sound, domain, later, task_of, uid};

const CREATE: Action = Action::CreateCoreProfiles;

fn creation(domain: &Domain, key: Option<String>, now: UnixMillis) -> CreateIssue {
    let (request, _) = read_create(&[("message-body".to_owned(), "x".to_owned())]);
    let (name, idempotency) = (domain.name.clone(), None);
    let origin = WriteOrigin {
        domain: domain.id,
        domain_name: name,
        key,
        now,
        random: 7,
        request_id: None,
        idempotency,
    };
    CreateIssue { origin, request, attachments: Vec::new() }
}

fn assert_ended<T: Debug>(answer: &Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::KeyEnded)), "{answer:?}");
}

pub(crate) async fn a_command_of_a_key_that_ended_is_refused(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for (n, id) in ["revoked", "expiring"].into_iter().enumerate() {
        let (hash, id) = ([n as u8; 32], id.to_owned());
        let expires_at = (n == 1).then(|| later(5));
        let (domain, name, access, now) = (acme.id, id.clone(), Access::Write, NOW);
        let key = CreateKey { domain, id, hash, name, access, origin: now.into(), expires_at };
        store.create_key(key).await.unwrap();
    }
    let (revoked, expiring) = (Some("revoked".to_owned()), Some("expiring".to_owned()));
    let task = |id: &str, key: &Option<String>| {
        let command = task_of(&acme, id, CREATE, &[uid(id)], 1);
        CreateTask { key: key.clone(), ..command }
    };
    for key in [&revoked, &expiring] {
        store.create_issue(creation(&acme, key.clone(), NOW)).await.unwrap();
    }
    store.create_task(task("t", &revoked)).await.unwrap();
    assert_ended(&store.create_issue(creation(&acme, expiring, later(5))).await);
    assert!(store.revoke_key(acme.id, "revoked", NOW.into()).await.unwrap());
    assert_ended(&store.create_issue(creation(&acme, revoked.clone(), NOW)).await);
    assert_ended(&store.create_task(task("u", &revoked)).await);
    let import = import_of(&acme, "i", CREATE, &[&[uid("i")]]);
    assert_ended(&store.create_import(CreateImport { key: revoked.clone(), ..import }).await);
    let (domain, family, task_id) = (acme.id, CREATE.family(), "t".to_owned());
    let key = revoked.clone();
    let cancel = CancelTask { domain, key, family, task_id, now: NOW };
    assert_ended(&store.cancel_task(cancel.clone()).await);
    assert_ended(&store.cancel_import(cancel).await);
    let (task_id, blocks, key) = ("v".to_owned(), Vec::new(), revoked.clone());
    let staged = StagePayload { domain, key, task_id, blocks, now: NOW };
    assert_ended(&store.stage_payload(staged).await);
    let (id, bytes, key) = ("file".to_owned(), vec![0], revoked);
    let piece = StageAttachment { domain, key, id, number: 0, bytes, now: NOW };
    assert_ended(&store.stage_attachment(piece).await);
    assert_sound(&store).await;
}

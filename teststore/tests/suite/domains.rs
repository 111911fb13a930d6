//! Domains, API keys, apps and agents: the records that operators create and remove. All but the
//! domains themselves belong to a domain and are deleted with it.

use std::sync::Arc;

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::Desk;
use caseload_model::key::Access;
use caseload_model::task::{Action, Family};
use caseload_model::time::UnixMillis;
use caseload_store::{
    CreateAgent, CreateApp, CreateDomain, CreateKey, Domain, RotateKey, Store, StoreError,
};

use super::support::{
    NOW, assert_not_found, assert_sound, assert_taken, domain, later, lines, run, task_of, uid,
};

fn key(domain: DomainId, id: &str, hash: u8) -> CreateKey {
    CreateKey {
        domain,
        id: id.to_owned(),
        hash: [hash; 32],
        name: format!("name of {id}"),
        access: Access::Write,
        origin: NOW.into(),
        expires_at: Some(later(1000)),
    }
}

pub(crate) async fn a_new_domain_has_one_app_called_web(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    assert_eq!(store.domain(&acme.name).await.unwrap(), Some(acme.clone()));
    let apps = store.apps(acme.id).await.unwrap();
    assert_eq!(apps.len(), 1);
    assert_eq!((apps[0].title.as_str(), apps[0].publish_id.as_str()), ("Web", "1"));
    assert_eq!(apps[0].id, "acme_app_20231114221320000-000000000000007");
    store.ready().await.unwrap();
}

pub(crate) async fn two_domains_cannot_share_a_name(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let again = CreateDomain { name: acme.name.clone(), origin: NOW.into(), random: 1 };
    assert_taken(&store.create_domain(again).await);
    assert_eq!(store.domains().await.unwrap(), [acme]);
}

pub(crate) async fn domains_are_listed_by_name(store: Arc<dyn Store>) {
    for name in ["b", "a-1", "c", "a"] {
        domain(&store, name).await;
    }
    let names: Vec<_> =
        store.domains().await.unwrap().into_iter().map(|d| d.name.to_string()).collect();
    assert_eq!(names, ["a", "a-1", "b", "c"]);
    let unknown = DomainName::parse("d").unwrap();
    assert_eq!(store.domain(&unknown).await.unwrap(), None);
}

pub(crate) async fn a_desk_has_a_default_and_belongs_to_its_domain(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    assert_eq!(acme.desk, Desk::default());
    let (name, email) = ("Aid \u{e9}".to_owned(), Some("aid@acme.example".to_owned()));
    let desk = Desk { name, email };
    store.set_desk(acme.id, desk.clone(), NOW.into()).await.unwrap();
    let listed = store.domains().await.unwrap();
    assert_eq!(listed, [Domain { desk: desk.clone(), ..acme.clone() }, other]);
    assert_eq!(store.domain(&acme.name).await.unwrap().unwrap().desk, desk);
    store.set_desk(acme.id, Desk::default(), NOW.into()).await.unwrap();
    assert_eq!(store.domain(&acme.name).await.unwrap(), Some(acme));
    assert_not_found(&store.set_desk(DomainId(4711), desk, NOW.into()).await);
    assert_sound(&store).await;
}

/// Of 40 sessions and 20 codes that are made at once, 20 sessions and all codes remain.
async fn sessions_of_a_key_are_bounded(store: &Arc<dyn Store>, domain: DomainId) {
    use caseload_store::SessionKind::{Code, Session};
    let made = (0..60).map(|n: u8| {
        let store = store.clone();
        let kind = if n < 40 { Session } else { Code };
        let (hash, expires_at) = ([100 + n; 32], later(500 + i64::from(n)));
        let key_id = "k1".to_owned();
        let session =
            caseload_store::CreateSession { domain, hash, key_id, kind, now: later(0), expires_at };
        async move { store.create_session(session).await }
    });
    let made: tokio::task::JoinSet<_> = made.collect();
    assert!(made.join_all().await.iter().all(Result::is_ok));
    for (kind, of) in [(Session, 0..40), (Code, 40..60)] {
        let mut found = 0;
        for n in of {
            found += u8::from(store.key_by_session([100 + n; 32], kind).await.unwrap().is_some());
        }
        assert_eq!(found, 20, "{kind:?}");
    }
}

pub(crate) async fn a_key_grants_access_until_it_expires_or_is_revoked(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    store.create_key(key(acme.id, "k1", 1)).await.unwrap();
    assert_eq!(store.key_by_hash([9; 32]).await.unwrap(), None);
    let grant = store.key_by_hash([1; 32]).await.unwrap().unwrap();
    assert_eq!((grant.domain, &grant.domain_name), (acme.id, &acme.name));
    assert_eq!((grant.key.id.as_str(), grant.key.access), ("k1", Access::Write));
    assert!(grant.works_at(later(999)) && !grant.works_at(later(1000)));

    let kind = caseload_store::SessionKind::Session;
    let session = caseload_store::CreateSession {
        domain: acme.id,
        hash: [7; 32],
        key_id: "k1".to_owned(),
        kind,
        now: later(0),
        expires_at: later(500),
    };
    store.create_session(session).await.unwrap();
    let of_session = store.key_by_session([7; 32], kind).await.unwrap().unwrap();
    assert_eq!(of_session.key.expires_at, Some(later(500)));
    let code = caseload_store::SessionKind::Code;
    assert_eq!(store.key_by_session([7; 32], code).await.unwrap(), None);
    assert!(store.end_session(acme.id, [7; 32]).await.unwrap());
    assert!(!store.end_session(acme.id, [7; 32]).await.unwrap());
    sessions_of_a_key_are_bounded(&store, acme.id).await;
    let (id, name) = ("q1".to_owned(), "Returns".to_owned());
    let queue = caseload_store::CreateQueue { domain: acme.id, id, name, origin: later(0).into() };
    store.create_queue(queue.clone()).await.unwrap();
    assert_taken(&store.create_queue(queue).await);

    store.touch_key(acme.id, "k1", later(5)).await.unwrap();
    store.touch_key(acme.id, "k1", later(3)).await.unwrap();
    assert_eq!(store.keys(acme.id).await.unwrap()[0].last_used_at, Some(later(5)));

    assert!(store.revoke_key(acme.id, "k1", later(10).into()).await.unwrap());
    assert!(store.revoke_key(acme.id, "k1", later(20).into()).await.unwrap());
    assert!(!store.revoke_key(acme.id, "k2", later(10).into()).await.unwrap());
    assert!(!store.revoke_key(DomainId(acme.id.0 + 1), "k1", later(10).into()).await.unwrap());
    let grant = store.key_by_hash([1; 32]).await.unwrap().unwrap();
    assert_eq!(grant.key.revoked_at, Some(later(10)), "the first revocation counts");
    assert!(!grant.works_at(NOW));
}

pub(crate) async fn a_key_with_a_known_id_or_hash_is_refused(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    store.create_key(key(acme.id, "k1", 1)).await.unwrap();
    assert_taken(&store.create_key(key(acme.id, "k1", 2)).await);
    assert_taken(&store.create_key(key(other.id, "k2", 1)).await);
    store.create_key(key(other.id, "k1", 2)).await.unwrap();
    let mut oldest = key(acme.id, "k0", 3);
    oldest.origin.now = UnixMillis(5);
    store.create_key(oldest).await.unwrap();
    let ids: Vec<_> = store.keys(acme.id).await.unwrap().into_iter().map(|k| k.id).collect();
    assert_eq!(ids, ["k0", "k1"]);
}

pub(crate) async fn a_replaced_key_passes_on_its_access_and_ends(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    let rotate = |id: &str, new: u8, old_expires_at: Option<UnixMillis>| RotateKey {
        domain: acme.id,
        id: id.to_owned(),
        new_id: format!("k{new}"),
        new_hash: [new; 32],
        origin: later(1).into(),
        old_expires_at,
    };
    for (n, access) in [(10, Access::Read), (20, Access::Write), (30, Access::Admin)] {
        let old = format!("k{n}");
        let endless = CreateKey { access, expires_at: None, ..key(acme.id, &old, n) };
        store.create_key(endless).await.unwrap();
        store.touch_key(acme.id, &old, later(0)).await.unwrap();
        store.rotate_key(rotate(&old, n + 1, None)).await.unwrap();
        let grant = async |hash| store.key_by_hash([hash; 32]).await.unwrap().unwrap();
        let (ended, new) = (grant(n).await.key, grant(n + 1).await.key);
        assert_eq!((ended.revoked_at, ended.expires_at), (Some(later(1)), None));
        assert_eq!((new.id, new.name, new.access), (format!("k{}", n + 1), ended.name, access));
        assert_eq!((new.created_at, new.last_used_at), (later(1), None));
        assert_eq!((new.expires_at, new.revoked_at), (None, None));
        // With time to change over: the old key works until then, or until its own end.
        for (next, grace, end) in [(n + 2, 500, 500), (n + 3, 2000, 1000)] {
            let (id, of) = (format!("x{next}"), 100 + next);
            store.create_key(CreateKey { access, ..key(acme.id, &id, of) }).await.unwrap();
            store.rotate_key(rotate(&id, next, Some(later(grace)))).await.unwrap();
            let (old, new) = (grant(of).await, grant(next).await);
            assert_eq!((old.key.expires_at, old.key.revoked_at), (Some(later(end)), None));
            assert!(old.works_at(later(end - 1)) && !old.works_at(later(end)));
            assert_eq!((new.key.expires_at, new.key.access), (Some(later(1000)), access));
        }
    }
    let keys = store.keys(acme.id).await.unwrap();
    // Revoked, expired, of another domain, of none; and a new key that exists already.
    assert!(matches!(store.rotate_key(rotate("k10", 99, None)).await, Err(StoreError::KeyEnded)));
    let late = RotateKey { origin: later(1000).into(), ..rotate("k12", 99, Some(later(2000))) };
    assert!(matches!(store.rotate_key(late).await, Err(StoreError::KeyEnded)));
    store.create_key(key(other.id, "theirs", 90)).await.unwrap();
    assert_not_found(&store.rotate_key(rotate("theirs", 99, None)).await);
    assert_not_found(&store.rotate_key(rotate("none", 99, None)).await);
    assert_taken(&store.rotate_key(rotate("k11", 90, None)).await);
    assert_eq!(store.keys(acme.id).await.unwrap(), keys, "a refusal changes nothing");
    // Of two at once, one replaces the key.
    let (one, two) = tokio::join!(
        store.rotate_key(rotate("k11", 98, None)),
        store.rotate_key(rotate("k11", 99, None))
    );
    assert_eq!(u8::from(one.is_ok()) + u8::from(two.is_ok()), 1, "{one:?} {two:?}");
    assert_eq!(store.keys(acme.id).await.unwrap().len(), keys.len() + 1);
    assert_sound(&store).await;
}

pub(crate) async fn records_of_an_unknown_domain_are_refused(store: Arc<dyn Store>) {
    let mut nowhere = domain(&store, "acme").await;
    nowhere.id = DomainId(4711);
    assert_not_found(&store.create_key(key(nowhere.id, "k", 1)).await);
    let (id, title, now) = ("a".to_owned(), "A".to_owned(), NOW);
    assert_not_found(
        &store.create_app(CreateApp { domain: nowhere.id, id, title, origin: now.into() }).await,
    );
    let (id, name, email) = ("a".to_owned(), "A".to_owned(), String::new());
    assert_not_found(
        &store
            .create_agent(CreateAgent { domain: nowhere.id, id, name, email, origin: now.into() })
            .await,
    );
    let task = task_of(&nowhere, "t", Action::CreateCoreProfiles, &lines(&["{}"]), 1);
    assert_not_found(&store.create_task(task).await);
    assert_not_found(&store.delete_domain(nowhere.id).await);
    assert_eq!(store.keys(nowhere.id).await.unwrap(), []);
}

pub(crate) async fn apps_get_increasing_publish_ids(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for (n, id) in ["ios", "android"].into_iter().enumerate() {
        let command = CreateApp {
            domain: acme.id,
            id: id.to_owned(),
            title: id.to_uppercase(),
            origin: later(n as i64 + 1).into(),
        };
        let app = store.create_app(command.clone()).await.unwrap();
        assert_eq!(app.publish_id, (n + 2).to_string());
        assert_taken(&store.create_app(command).await);
    }
    let apps = store.apps(acme.id).await.unwrap();
    let listed: Vec<_> = apps.iter().map(|a| (a.title.as_str(), a.publish_id.as_str())).collect();
    assert_eq!(listed, [("Web", "1"), ("IOS", "2"), ("ANDROID", "3")]);
}

pub(crate) async fn an_agent_id_that_exists_is_refused(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let command = CreateAgent {
        domain: acme.id,
        id: "agent-1".to_owned(),
        name: "Åsa".to_owned(),
        email: "asa@example.com".to_owned(),
        origin: NOW.into(),
    };
    let agent = store.create_agent(command.clone()).await.unwrap();
    assert_taken(&store.create_agent(command).await);
    assert_eq!(store.agents(acme.id).await.unwrap(), [agent]);
}

pub(crate) async fn deleting_a_domain_removes_all_its_data_and_no_other_data(
    store: Arc<dyn Store>,
) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    let entries: Vec<_> = (0..2500).map(|n| uid(&format!("u{n}"))).collect();
    for domain in [&acme, &other] {
        run(&store, domain, "t", Action::CreateCoreProfiles, &entries).await;
    }
    store.create_key(key(acme.id, "k", 1)).await.unwrap();
    store.delete_domain(acme.id).await.unwrap();
    assert_eq!(store.domain(&acme.name).await.unwrap(), None);
    assert_eq!(store.key_by_hash([1; 32]).await.unwrap(), None);
    assert_eq!(store.task(acme.id, Family::Identity, "t").await.unwrap(), None);
    assert!(store.task(other.id, Family::Identity, "t").await.unwrap().is_some());
    assert_sound(&store).await;
    let again = domain(&store, "acme").await;
    assert_ne!(again.id, acme.id, "the id of a deleted domain is never used again");
    let task = run(&store, &again, "t", Action::CreateCoreProfiles, &entries).await;
    assert_eq!(task.counts.succeeded, 2500, "identities of the old domain are free");
    assert_sound(&store).await;
}

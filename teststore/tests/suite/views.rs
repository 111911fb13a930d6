//! Named views: who sees them, names and limits under commands at once, the end of a key, and the
//! erasure of a person whom a view names.

use std::sync::Arc;

use caseload_model::change::ChangeAction;
use caseload_model::erasure::IssuesOfErased;
use caseload_model::error_code::ErrorCode;
use caseload_model::key::Access;
use caseload_model::named_view::{
    DOMAIN_VIEWS_MAX, KEY_VIEWS_MAX, NewView, ViewEdit, ViewList, ViewScope,
};
use caseload_model::time::UnixMillis;
use caseload_store::{
    CreateKey, CreateView, Domain, NamedView, OfView, RotateKey, Store, StoreError,
};

use super::changes::follow;
use super::erasures::{ADDRESS, erase};
use super::issue_writes::create as create_issue;
use super::support::{NOW, assert_sound, domain, later};

const LIST: ViewList = ViewList::Issues;

async fn key(store: &Arc<dyn Store>, domain: &Domain, id: &str, expires_at: Option<UnixMillis>) {
    let mut hash = [domain.id.0 as u8; 32];
    hash[..id.len()].copy_from_slice(id.as_bytes());
    let (id, name, access) = (id.to_owned(), "a key".to_owned(), Access::Read);
    let key =
        CreateKey { domain: domain.id, id, hash, name, access, origin: NOW.into(), expires_at };
    store.create_key(key).await.unwrap();
}

fn of(domain: &Domain, key_id: &str, id: &str, now: UnixMillis) -> OfView {
    OfView { domain: domain.id, key_id: key_id.to_owned(), id: id.to_owned(), now }
}

fn new_view(of: OfView, name: &str, scope: ViewScope) -> CreateView {
    let (name, query) = (name.to_owned(), "state=new&tags=gold".to_owned());
    CreateView { of, view: NewView { name, list: LIST, query, scope } }
}

async fn create(
    store: &Arc<dyn Store>,
    of: OfView,
    name: &str,
    scope: ViewScope,
) -> Result<NamedView, StoreError> {
    store.create_view(new_view(of, name, scope)).await
}

/// The names of the views that a key sees.
async fn names(store: &Arc<dyn Store>, domain: &Domain, key_id: &str) -> Vec<String> {
    let views = store.views(domain.id, key_id).await.unwrap();
    views.into_iter().map(|view| view.name).collect()
}

fn codes<T>(answer: Result<T, StoreError>) -> Vec<ErrorCode> {
    match answer {
        Err(StoreError::Refused(faults)) => faults.into_iter().map(|fault| fault.code).collect(),
        Err(other) => panic!("{other}"),
        Ok(_) => Vec::new(),
    }
}

/// A view of the domain and one of a key, for a store with rows in every table.
pub(crate) async fn fill_views(store: &Arc<dyn Store>, domain: &Domain, key_id: &str) {
    for (id, scope) in [("shared", ViewScope::Domain), ("own", ViewScope::Key)] {
        create(store, of(domain, key_id, id, NOW), "Gold\u{e9} ☂", scope).await.unwrap();
    }
}

pub(crate) async fn a_view_is_seen_by_its_key_or_by_its_domain(store: Arc<dyn Store>) {
    let (acme, beta) = (domain(&store, "acme").await, domain(&store, "beta").await);
    for (domain, id) in [(&acme, "one"), (&acme, "two"), (&beta, "one")] {
        key(&store, domain, id, None).await;
    }
    let position = store.last_position(acme.id).await.unwrap();
    let own = create(&store, of(&acme, "one", "b", NOW), "b", ViewScope::Key).await.unwrap();
    create(&store, of(&acme, "one", "a", NOW), "a", ViewScope::Domain).await.unwrap();
    assert_eq!(names(&store, &acme, "one").await, ["a", "b"]);
    assert_eq!(names(&store, &acme, "two").await, ["a"]);
    assert_eq!(names(&store, &beta, "one").await, [""; 0]);
    assert_eq!(store.view(acme.id, "one", "b").await.unwrap().as_ref(), Some(&own));
    let query = Some("state=rejected".to_owned());
    let edit = ViewEdit { query, ..ViewEdit::default() };
    // Neither another key nor another domain reaches it.
    for (domain, key_id) in [(&acme, "two"), (&beta, "one")] {
        assert_eq!(store.view(domain.id, key_id, "b").await.unwrap(), None);
        let of = of(domain, key_id, "b", NOW);
        let edited = store.edit_view(of.clone(), edit.clone()).await;
        assert!(matches!(edited, Err(StoreError::NotFound { .. })), "{edited:?}");
        let deleted = store.delete_view(of).await;
        assert!(matches!(deleted, Err(StoreError::NotFound { .. })), "{deleted:?}");
    }
    let edited = store.edit_view(of(&acme, "one", "b", later(5)), edit.clone()).await.unwrap();
    assert_eq!((&*edited.query, &*edited.name), ("state=rejected", "b"));
    assert_eq!((edited.created_at, edited.updated_at), (NOW, later(5)));
    // The same again changes nothing.
    assert_eq!(store.edit_view(of(&acme, "one", "b", later(9)), edit).await.unwrap(), edited);
    store.delete_view(of(&acme, "two", "a", NOW)).await.unwrap();
    assert_eq!(store.views(acme.id, "one").await.unwrap(), [edited]);
    let gone = store.edit_view(of(&acme, "one", "a", NOW), ViewEdit::default()).await;
    assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
    assert_eq!(store.last_position(acme.id).await.unwrap(), position, "the log has no views");
    store.delete_domain(acme.id).await.unwrap();
    while store.purge_expired(NOW).await.unwrap() {}
    assert_eq!(names(&store, &acme, "one").await, [""; 0]);
    let late = create(&store, of(&acme, "one", "c", NOW), "c", ViewScope::Key).await;
    assert!(matches!(late, Err(StoreError::NotFound { .. })), "{late:?}");
    assert_sound(&store).await;
}

pub(crate) async fn of_two_views_at_once_one_gets_the_name(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for id in ["one", "two"] {
        key(&store, &acme, id, None).await;
    }
    let at_once = ["a", "b", "c", "d"].map(|id| {
        let (store, of) = (store.clone(), of(&acme, "one", id, NOW));
        tokio::spawn(async move { create(&store, of, "Gold", ViewScope::Domain).await })
    });
    let mut made = Vec::new();
    for creation in at_once {
        match creation.await.unwrap() {
            Ok(view) => made.push(view.id),
            other => assert_eq!(codes(other), [ErrorCode::NameTaken]),
        }
    }
    assert_eq!(made.len(), 1);
    // Other scopes and other lists have names of their own.
    for key_id in ["one", "two"] {
        let of = of(&acme, key_id, &format!("of-{key_id}"), NOW);
        create(&store, of, "Gold", ViewScope::Key).await.unwrap();
    }
    let mut of_people = new_view(of(&acme, "one", "p", NOW), "Gold", ViewScope::Domain);
    of_people.view.list = ViewList::People;
    store.create_view(of_people).await.unwrap();
    create(&store, of(&acme, "one", "s", NOW), "Silver", ViewScope::Domain).await.unwrap();
    let rename = |name: &str| ViewEdit { name: Some(name.to_owned()), query: None };
    let taken = store.edit_view(of(&acme, "one", "s", NOW), rename("Gold")).await;
    assert_eq!(codes(taken), [ErrorCode::NameTaken]);
    let renamed = store.edit_view(of(&acme, "one", "s", NOW), rename("silver")).await.unwrap();
    assert_eq!(renamed.name, "silver");
    assert_sound(&store).await;
}

pub(crate) async fn a_key_and_a_domain_have_no_more_views_than_they_may(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for id in ["one", "two"] {
        key(&store, &acme, id, None).await;
    }
    for (scope, most) in [(ViewScope::Key, KEY_VIEWS_MAX), (ViewScope::Domain, DOMAIN_VIEWS_MAX)] {
        let id = |n: u64| format!("{}-{n}", scope.as_str());
        for n in 2..most {
            create(&store, of(&acme, "one", &id(n), NOW), &id(n), scope).await.unwrap();
        }
        let at_once: Vec<_> = (most..most + 4)
            .map(|n| {
                let (store, of, name) = (store.clone(), of(&acme, "one", &id(n), NOW), id(n));
                tokio::spawn(async move { create(&store, of, &name, scope).await })
            })
            .collect();
        let mut refused = 0;
        for creation in at_once {
            let found = codes(creation.await.unwrap());
            assert!(found.is_empty() || found == [ErrorCode::LimitReached], "{found:?}");
            refused += found.len();
        }
        assert_eq!(refused, 2, "{scope:?}");
        let both = create(&store, of(&acme, "one", "x", NOW), &id(2), scope).await;
        assert_eq!(codes(both), [ErrorCode::NameTaken, ErrorCode::LimitReached]);
    }
    create(&store, of(&acme, "two", "y", NOW), "y", ViewScope::Key).await.unwrap();
    assert_sound(&store).await;
}

pub(crate) async fn the_views_of_a_key_end_with_it_or_go_to_the_key_that_replaces_it(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    for (id, ends) in [("old", None), ("revoked", None), ("ending", Some(later(5)))] {
        key(&store, &acme, id, ends).await;
        create(&store, of(&acme, id, id, NOW), id, ViewScope::Key).await.unwrap();
    }
    create(&store, of(&acme, "revoked", "shared", NOW), "shared", ViewScope::Domain).await.unwrap();
    let rotation = RotateKey {
        domain: acme.id,
        id: "old".to_owned(),
        new_id: "new".to_owned(),
        new_hash: [9; 32],
        origin: NOW.into(),
        old_expires_at: Some(later(50)),
    };
    store.rotate_key(rotation).await.unwrap();
    assert_eq!(names(&store, &acme, "new").await, ["old", "shared"]);
    assert_eq!(names(&store, &acme, "old").await, ["shared"]);
    assert!(store.revoke_key(acme.id, "revoked", NOW.into()).await.unwrap());
    assert_eq!(names(&store, &acme, "revoked").await, ["shared"]);
    for (key_id, now) in [("revoked", NOW), ("ending", later(5)), ("unknown", NOW)] {
        let of = of(&acme, key_id, "shared", now);
        let ended = [
            create(&store, of.clone(), "x", ViewScope::Domain).await.err(),
            store.edit_view(of.clone(), ViewEdit::default()).await.err(),
            store.delete_view(of).await.err(),
        ];
        for error in ended {
            assert!(matches!(error, Some(StoreError::KeyEnded)), "{key_id}: {error:?}");
        }
    }
    assert_eq!(names(&store, &acme, "ending").await, ["ending", "shared"], "it is not swept yet");
    create(&store, of(&acme, "new", "next", later(5)), "next", ViewScope::Key).await.unwrap();
    assert_eq!(names(&store, &acme, "ending").await, ["shared"]);
    assert_eq!(names(&store, &acme, "new").await, ["next", "old", "shared"]);
    assert_sound(&store).await;
}

pub(crate) async fn an_erasure_removes_the_views_that_name_the_person(store: Arc<dyn Store>) {
    let (acme, beta) = (domain(&store, "acme").await, domain(&store, "beta").await);
    for (domain, id) in [(&acme, "one"), (&acme, "two"), (&beta, "one")] {
        key(&store, domain, id, None).await;
    }
    create_issue(&store, &acme, &[("message-body", "x"), ("email", ADDRESS)]).await;
    let (user, host) = ADDRESS.split_once('@').unwrap();
    let query = format!("state=new&author={}%40{host}", user.to_uppercase());
    for (domain, key_id, scope) in [
        (&acme, "one", ViewScope::Domain),
        (&acme, "one", ViewScope::Key),
        (&acme, "two", ViewScope::Key),
        (&beta, "one", ViewScope::Domain),
    ] {
        let id = format!("{key_id}-{}", scope.as_str());
        let mut command = new_view(of(domain, key_id, &id, NOW), "author", scope);
        command.view.query.clone_from(&query);
        store.create_view(command).await.unwrap();
        let other = of(domain, key_id, &format!("{id}-other"), NOW);
        let mut command = new_view(other, "other", scope);
        command.view.query = format!("author=x{user}%40{host}");
        store.create_view(command).await.unwrap();
    }
    let named = of(&acme, "two", "named", NOW);
    create(&store, named, &format!("Mail of {ADDRESS}"), ViewScope::Key).await.unwrap();
    erase(&store, &acme, IssuesOfErased::Redacted).await;
    assert_eq!(names(&store, &acme, "one").await, ["other", "other"]);
    assert_eq!(names(&store, &acme, "two").await, ["other", "other"]);
    assert_eq!(names(&store, &beta, "one").await, ["author", "other"], "another domain");
    let log = follow(&store, &acme, 0, 1000).await;
    assert!(log.iter().any(|change| change.effect.action == ChangeAction::Redacted));
    assert_sound(&store).await;
}

//! The longest values that are taken, of characters that no database can compress: every store
//! takes them and finds the records that have them.

use std::sync::Arc;

use caseload_model::issue::CUSTOM_NUMBER_CHARS_MAX;
use caseload_model::issue_query::{IssueView, Paging, parse_list};
use caseload_model::profile_query::{ProfileKind, ProfileView, parse_profile_list};
use caseload_model::task::{Action, Outcome};
use caseload_store::{Domain, Store};
use caseload_testdata::SplitMix;
use serde_json::{Value, json};

use super::issue_writes::create;
use super::oracle::list;
use super::profile_lists::page_of;
use super::support::{assert_sound, domain, errors, results, run};

/// Random characters of four bytes each.
pub(super) fn text(seed: u64, chars: usize) -> String {
    let mut random = SplitMix::new(seed);
    let character = |_| char::from_u32(0x2_0000 + random.below(0xa000) as u32).unwrap();
    (0..chars).map(character).collect()
}

/// The profiles of a kind that have this identity, with those that share it.
async fn having(
    store: &Arc<dyn Store>,
    domain: &Domain,
    kind: ProfileKind,
    identity: &Value,
) -> Vec<Value> {
    let given = [("identity".to_owned(), json!([identity]).to_string())];
    let asked = parse_profile_list(kind, &given).unwrap();
    let mut page = page_of(domain, &asked.query, Paging::default());
    page.view = ProfileView::adding(kind, true);
    let found = store.list_profiles(page).await.unwrap();
    serde_json::from_slice(&[b"[", &found.body[..], b"]"].concat()).unwrap()
}

/// The longest number that a custom field takes, of random digits.
fn number() -> String {
    text(0, CUSTOM_NUMBER_CHARS_MAX)
        .chars()
        .map(|c| char::from(b'1' + (c as u32 % 9) as u8))
        .collect()
}

/// JSON with the longest number in place of a word: no JSON value of these tests has its digits.
fn with_number(json: &Value) -> String {
    json.to_string().replace("\"NUMBER\"", &number())
}

/// Runs a task, of which every entry succeeds.
async fn succeed(store: &Arc<dyn Store>, domain: &Domain, action: Action, entries: &[Value]) {
    let entries: Vec<_> = entries.iter().map(with_number).collect();
    let task = run(store, domain, action.as_str(), action, &entries).await;
    let errors = errors(store, domain.id, action.as_str()).await;
    let shown: Vec<String> = errors.iter().map(|line| line.chars().take(300).collect()).collect();
    assert_eq!(task.outcome, Some(Outcome::Succeeded), "{action:?}: {shown:?}");
}

pub(crate) async fn people_with_the_longest_identities_are_written_and_found(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let mut identities: Vec<_> = (0..20).map(|n| json!({"uid": format!("u{n}")})).collect();
    for seed in 0..4 {
        for (kind, chars) in [("uid", 750), ("email", 300), ("psn_id", 300)] {
            let beginning = text(seed, chars - 1);
            // Two people whose identities differ in the last character.
            identities.extend(["𠀀", "𠀁"].map(|last| json!({kind: beginning.clone() + last})));
        }
    }
    let entries: Vec<_> =
        identities.iter().map(|identity| json!({"identities": [identity], "age": 1})).collect();
    succeed(&store, &acme, Action::CreateCoreProfiles, &entries).await;
    let again: Vec<_> =
        identities.iter().map(|identity| json!({"identities": [identity], "age": 2})).collect();
    succeed(&store, &acme, Action::UpdateCoreProfiles, &again).await;
    for identity in &identities {
        let found = having(&store, &acme, ProfileKind::Core, identity).await;
        let shown: Vec<_> = found.iter().map(|one| (&one["identities"][0], &one["age"])).collect();
        assert_eq!(shown, [(identity, &json!(2))]);
    }
    assert_sound(&store).await;
    let deleted: Vec<_> =
        identities.iter().map(|identity| json!({"identities": [identity]})).collect();
    succeed(&store, &acme, Action::DeleteCoreProfiles, &deleted).await;
    for line in results(&store, acme.id, Action::DeleteCoreProfiles.as_str()).await {
        assert!(line.contains(r#""outcome":"deleted""#));
    }
    assert_sound(&store).await;
}

pub(crate) async fn an_author_with_the_longest_identifier_or_address_is_found(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let uid = text(1, 750);
    succeed(
        &store,
        &acme,
        Action::CreateCoreProfiles,
        &[json!({"identities": [{"uid": uid}], "age": 1})],
    )
    .await;
    for (field, kind, value) in [
        ("identifier", "uid", uid),
        ("identifier", "uid", text(2, 100_000)),
        ("email", "email", text(3, 100_000)),
    ] {
        for body in ["first", "second"] {
            create(&store, &acme, &[("message-body", body), (field, &value)]).await;
        }
        let identity = json!({kind: value});
        let found = having(&store, &acme, ProfileKind::App, &identity).await;
        assert_eq!(found.len(), 1, "{field} of {} bytes", value.len());
        let person = having(&store, &acme, ProfileKind::Core, &identity).await;
        let of_person = person.first().map(|one| &one["core-profile-id"]);
        assert_eq!(of_person.unwrap_or(&Value::Null), &found[0]["core-profile-id"]);
        if let Some(person) = person.first() {
            assert_eq!(person["app_profile_pids"], json!([found[0]["pid"]]));
        }
    }
    assert_sound(&store).await;
}

pub(crate) async fn the_longest_values_of_every_field_are_stored(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let long = |seed| text(seed, 5000);
    let id = |seed| text(seed, 255);
    let pid = id(1);
    let fields = |country: &str, language: &str| {
        json!({
            country: "Germany", language: "de", "custom_fields": {id(2): long(3)},
            "user_persona": long(4), "user_vip_segment": long(5), "user_support_status": long(6),
        })
    };
    let mut core = fields("last_country", "preferred_language");
    core["identities"] = json!([{"uid": text(7, 750), id(8): long(9)}]);
    core["names"] = json!({"first_name": long(10)});
    core["tags"] = json!([text(11, 100)]);
    core["last_city"] = json!(long(12));
    core["lifetime_value"] = json!("NUMBER");
    succeed(&store, &acme, Action::UpsertCoreProfiles, &[core]).await;
    let issue = |at: u64| {
        json!({
            "created_at": at, "title": long(14), "hs_user_id": pid, "author_name": long(15),
            "author_email": long(16), "assignee_id": id(17), "assignee_name": long(18),
            "app_id": id(19), "app_publish_id": id(20), "language": id(21),
            "platform_type": id(22), "issue_mode_data": {"issue_mode": id(23)},
            "queue": {"id": id(24), "name": long(25)}, "tags": [text(26, 1000)],
            "cc": [long(27)], "meta": {id(28): long(29)}, "feedback_rating": 5,
            "feedback_comment": long(30),
            "current_predict_label": id(31), "original_predict_label": id(32),
            "sentiment_analysis": {id(33): long(34)},
            "private_notes": [{"id": id(35), "body": long(36)}],
            "messages": [{"id": id(37), "body": long(38), "origin": "end-user", "type": id(39)}],
            "custom_fields": {
                long(40): {"type": "dropdown", "value": long(41)},
                long(42): {"type": "singleline", "value": long(43)},
                long(44): {"type": "number", "value": "NUMBER"},
            },
        })
    };
    succeed(&store, &acme, Action::ImportIssues, &[issue(1), issue(2)]).await;
    let mut app = fields("country", "language");
    app["pid"] = json!(pid);
    succeed(&store, &acme, Action::UpdateAppProfiles, &[app]).await;
    let mut refused = issue(3);
    refused["custom_fields"] = json!({"n": {"type": "number", "value": "NUMBER"}});
    let refused = with_number(&refused).replace(&number(), &format!("{}1", number()));
    run(&store, &acme, "refused", Action::ImportIssues, &[refused]).await;
    let refused = errors(&store, acme.id, "refused").await.remove(0);
    assert!(refused.contains("\"code\":\"too_long\"") && refused.contains("at most 4000"));
    assert_sound(&store).await;
    for (filter, value) in [
        ("tags", json!({"and": [text(26, 1000)]}).to_string()),
        ("custom_fields", json!({"dropdown": {"and": {long(40): {"is": long(41)}}}}).to_string()),
        ("custom_fields", with_number(&json!({"number": {"and": {long(44): {"is": "NUMBER"}}}}))),
        ("assignee-ids", json!([id(17)]).to_string()),
        ("author-emails", json!([long(16)]).to_string()),
    ] {
        let query = parse_list(&[(filter.to_owned(), value)]).unwrap().query;
        let page = list(&store, &acme, &query, IssueView::default(), Paging::default()).await;
        assert_eq!(page.total_hits, 2, "{filter}");
    }
}

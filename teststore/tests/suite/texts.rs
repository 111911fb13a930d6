//! Filters on texts find the same issues before, while and after the text index takes them in. The
//! reference reads every issue of the domain and looks for the folded text in each of its texts.

use std::collections::BTreeSet;
use std::sync::Arc;

use caseload_model::fold::fold;
use caseload_model::issue_query::{IssueView, Paging, parse_list};
use caseload_model::task::Action;
use caseload_store::{Domain, IndexTexts, Store};
use caseload_testdata::SplitMix;
use serde_json::{Value, json};

use super::issue_writes::{create, message};
use super::oracle::list;
use super::support::{assert_sound, domain, rounds, run};

/// Rounds of writes, and texts that are searched for after each.
const ROUNDS: usize = 40;
const SEARCHES: usize = 12;
/// Pieces of texts: letters that fold to others, to none or to several, marks and escapes.
const PIECES: [&str; 22] = [
    "İstanbul",
    "straße",
    "STRASSE",
    "ﬁnal",
    "\u{212a}elvin",
    "kelvin",
    "e\u{301}te",
    "été",
    "Σίσυφος",
    "ΣΊΣΥΦΟΣ",
    "日本語テキスト",
    "日本",
    "a\"b\\c",
    "tab\there",
    "\u{0}null",
    "ı",
    "password",
    "pass",
    "word ",
    "<p>",
    "crash",
    "😀😀",
];

fn text(random: &mut SplitMix) -> String {
    let pieces = random.below(5);
    (0..pieces).map(|_| random.pick(&PIECES)).collect::<Vec<_>>().join(random.pick(&["", " "]))
}

/// A part of a text, or a text of its own.
fn searched(random: &mut SplitMix, texts: &[String]) -> String {
    let from: Vec<char> = if texts.is_empty() || random.once_in(4) {
        text(random).chars().collect()
    } else {
        texts[random.below(texts.len())].chars().collect()
    };
    let begin = random.below(from.len().max(1));
    from.iter().skip(begin).take(1 + random.below(12)).collect()
}

fn imported(random: &mut SplitMix) -> String {
    let bodies = random.below(3);
    let bodies: Vec<Value> = (0..bodies).map(|_| json!({"body": text(random)})).collect();
    json!({
        "created_at": 1_000_000 + random.below(1_000_000),
        "title": text(random),
        "messages": bodies,
        "private_notes": [{"body": text(random)}],
        "feedback_rating": 3,
        "feedback_comment": text(random),
        "custom_fields": {"plan": {"type": "singleline", "value": text(random)}},
    })
    .to_string()
}

/// The issues of a list, and its total.
pub(crate) async fn listed(
    store: &Arc<dyn Store>,
    domain: &Domain,
    parameter: Option<(&str, String)>,
) -> (Vec<Value>, u64) {
    let pairs: Vec<_> =
        parameter.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let query = parse_list(&pairs).unwrap().query;
    let paging = Paging { page: 1, page_size: 1000 };
    let page = list(store, domain, &query, IssueView::FULL, paging).await;
    let body = [b"[", &page.body[..], b"]"].concat();
    (serde_json::from_slice(&body).unwrap(), page.total_hits)
}

fn id(issue: &Value) -> u64 {
    issue["id"].as_u64().unwrap()
}

/// The texts that a parameter searches.
fn texts<'i>(issue: &'i Value, parameter: &str) -> Vec<&'i str> {
    let bodies = |list: &'i Value| {
        list.as_array().into_iter().flatten().filter_map(|each| each["body"].as_str())
    };
    let title = issue["title"].as_str().filter(|title| !title.is_empty());
    let comment = issue["feedback_comment"].as_str();
    match parameter {
        "title" => title.into_iter().collect(),
        "messages" => bodies(&issue["messages"]).collect(),
        "notes" => bodies(&issue["private_notes"]).collect(),
        "feedback-comment" => comment.into_iter().collect(),
        "custom-fields" => issue["custom_fields"]["plan"]["value"].as_str().into_iter().collect(),
        _ => {
            let (messages, notes) = (bodies(&issue["messages"]), bodies(&issue["private_notes"]));
            title.into_iter().chain(comment).chain(messages).chain(notes).collect()
        }
    }
}

/// Searches for random texts and compares with the reference.
async fn search(store: &Arc<dyn Store>, domain: &Domain, random: &mut SplitMix) {
    let (issues, total) = listed(store, domain, None).await;
    assert_eq!(issues.len() as u64, total, "few enough for one page");
    let all = ["text", "title", "messages", "notes", "feedback-comment", "custom-fields"];
    let known: Vec<String> = issues
        .iter()
        .flat_map(|issue| all.iter().flat_map(|part| texts(issue, part)))
        .map(str::to_owned)
        .collect();
    for _ in 0..SEARCHES {
        let parameter = random.pick(&all);
        let (word, other) = (searched(random, &known), searched(random, &known));
        if word.trim().is_empty() || other.trim().is_empty() || word.contains('\0') {
            continue;
        }
        let either = parameter != "feedback-comment" && random.once_in(2);
        let value = match parameter {
            "text" => word.clone(),
            "custom-fields" => {
                let both = if either { json!([word, other]) } else { json!([word]) };
                let test = json!({"contains": both});
                json!({"singleline": {"and": {"plan": test}}}).to_string()
            }
            _ if either => json!({"or": [word, other]}).to_string(),
            _ => json!({"and": [word, other]}).to_string(),
        };
        let has = |issue: &Value, word: &str| {
            texts(issue, parameter).iter().any(|text| fold(text).contains(&fold(word)))
        };
        let expected: BTreeSet<u64> = issues
            .iter()
            .filter(|issue| match parameter {
                "text" => has(issue, &word),
                _ if either => has(issue, &word) || has(issue, &other),
                "custom-fields" => has(issue, &word),
                _ => has(issue, &word) && has(issue, &other),
            })
            .map(id)
            .collect();
        let (found, total) = listed(store, domain, Some((parameter, value.clone()))).await;
        assert_eq!(found.iter().map(id).collect::<BTreeSet<_>>(), expected, "{parameter}={value}");
        assert_eq!(total, expected.len() as u64, "{parameter}={value}");
    }
}

async fn delete(store: &Arc<dyn Store>, domain: &Domain, task: &str, ids: &[u64]) {
    let entries: Vec<_> = ids.iter().map(|id| json!({ "id": id }).to_string()).collect();
    run(store, domain, task, Action::DeleteIssues, &entries).await;
}

pub(crate) async fn random_writes_are_found_before_and_after_the_index_takes_them_in(
    store: Arc<dyn Store>,
) {
    let domains = [domain(&store, "acme").await, domain(&store, "other").await];
    let mut random = SplitMix::new(7);
    for round in 0..rounds(ROUNDS) {
        let domain = &domains[random.below(domains.len())];
        let (issues, _) = listed(&store, domain, None).await;
        match random.below(5) {
            0 => {
                let entries: Vec<_> =
                    (0..=random.below(40)).map(|_| imported(&mut random)).collect();
                run(&store, domain, &format!("i{round}"), Action::ImportIssues, &entries).await;
            }
            1 => {
                let body = format!("x{}", text(&mut random).replace('\0', ""));
                create(&store, domain, &[("message-body", &body)]).await;
            }
            2 if !issues.is_empty() => {
                let body = format!("y{}", text(&mut random).replace('\0', ""));
                let to = id(&issues[random.below(issues.len())]);
                store.add_message(message(domain, to, &[("message-body", &body)])).await.unwrap();
            }
            3 if !issues.is_empty() => {
                let some = issues.iter().filter(|_| random.once_in(6)).map(id);
                let some: Vec<u64> = some.collect();
                delete(&store, domain, &format!("d{round}"), &some).await;
            }
            _ => {
                let how = [IndexTexts::Due, IndexTexts::Erasures, IndexTexts::Everything];
                store.index_texts(random.pick(&how)).await.unwrap();
            }
        }
        for domain in &domains {
            search(&store, domain, &mut random).await;
        }
        if round % 8 == 0 {
            assert_sound(&store).await;
        }
    }
    while store.index_texts(IndexTexts::Everything).await.unwrap() {}
    for domain in &domains {
        search(&store, domain, &mut random).await;
    }
    assert_eq!(indexed(&store).await, issues_of(&store, &domains).await);
}

/// An issue whose texts are written again and again leaves a mark each time, which every filter on
/// texts reads.
pub(crate) async fn many_writes_of_one_issue_are_settled(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    run(&store, &acme, "t", Action::ImportIssues, &[r#"{"id":1,"created_at":1}"#.to_owned()]).await;
    for _ in 0..1023 {
        assert!(!store.index_texts(IndexTexts::Due).await.unwrap(), "it is left for later");
        let again = message(&acme, 1, &[("message-body", "again")]);
        store.add_message(again).await.unwrap();
    }
    assert!(store.index_texts(IndexTexts::Due).await.unwrap());
    assert!(!store.index_texts(IndexTexts::Due).await.unwrap());
    assert_eq!(indexed(&store).await, 1);
    assert_sound(&store).await;
}

/// A range of written rows of which some are gone has fewer issues than rows.
pub(crate) async fn marks_of_issues_that_are_gone_do_not_stay(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entry = |n: u64| json!({"id": n, "created_at": n, "title": format!("number {n}.")});
    let entries: Vec<_> = (1..=1100).map(|n| entry(n).to_string()).collect();
    run(&store, &acme, "t", Action::ImportIssues, &entries).await;
    delete(&store, &acme, "d", &(1..=200).collect::<Vec<_>>()).await;
    assert!(store.index_texts(IndexTexts::Due).await.unwrap());
    assert_eq!(indexed(&store).await, 900);
    assert!(!store.index_texts(IndexTexts::Due).await.unwrap());
    assert!(!store.index_texts(IndexTexts::Everything).await.unwrap(), "no mark is left");
}

async fn issues_of(store: &Arc<dyn Store>, domains: &[Domain]) -> u64 {
    let mut all = 0;
    for domain in domains {
        all += listed(store, domain, None).await.1;
    }
    all
}

/// The issues in segments, by a check that finds nothing wrong.
pub(crate) async fn indexed(store: &Arc<dyn Store>) -> u64 {
    assert_sound(store).await;
    let verified = store.check().await.unwrap().verified;
    let found = verified.iter().find(|(part, _)| part == "issues in the text index");
    found.expect("the check of the text index").1
}

pub(crate) async fn many_issues_are_settled_in_steps_and_a_few_are_left_for_later(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let entry = |n: u64| json!({"id": n, "created_at": n, "title": format!("number {n}.")});
    let entries: Vec<_> = (1..=9300).map(|n| entry(n).to_string()).collect();
    run(&store, &acme, "t", Action::ImportIssues, &entries).await;
    assert_eq!(indexed(&store).await, 0);
    assert!(store.index_texts(IndexTexts::Due).await.unwrap());
    assert_eq!(indexed(&store).await, 8192, "a segment");
    assert!(store.index_texts(IndexTexts::Due).await.unwrap());
    assert_eq!(indexed(&store).await, 9300);
    assert!(!store.index_texts(IndexTexts::Due).await.unwrap());
    let hits = async |text: &str| listed(&store, &acme, Some(("text", text.to_owned()))).await.1;
    assert_eq!((hits("number 8192.").await, hits("NUMBER 93").await), (1, 12));
    create(&store, &acme, &[("message-body", "one more")]).await;
    assert!(!store.index_texts(IndexTexts::Due).await.unwrap(), "it is left for later");
    assert_eq!((indexed(&store).await, hits("one more").await), (9300, 1));
    delete(&store, &acme, "d", &[8192, 8193]).await;
    assert_eq!(hits("number 819").await, 9);
    assert!(!store.index_texts(IndexTexts::Due).await.unwrap(), "so are deletions");
    while store.index_texts(IndexTexts::Erasures).await.unwrap() {}
    assert_eq!(indexed(&store).await, 9298);
    assert_eq!((hits("number 819").await, hits("one more").await), (9, 1));
}

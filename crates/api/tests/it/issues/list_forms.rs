//! Filters of `GET /v1/{domain}/issues` in the forms that clients send, against stored issues:
//! lists in every form, conditions as bare lists, and `exists` of texts.

use caseload_teststore::on_each_store;

use super::list_by_cursor::ids;
use crate::real_server::RealServer;

on_each_store!(
    a_list_finds_the_same_issues_in_each_form,
    a_bare_list_on_a_condition_finds_any_and_an_empty_one_nothing,
    notes_messages_and_comments_are_asked_for_by_exists,
);

const PATH: &str = "/v1/acme/issues";

async fn with_issues() -> RealServer {
    let real = RealServer::start().await;
    let lines = [
        r#"{"id":1,"created_at":1,"tags":["a"],"language":"en","messages":[{"body":"Hello, you"}]
            }"#,
        r#"{"id":2,"created_at":2,"tags":["b, c"],"language":"de","private_notes":[{"body":"x"}],
            "state_data":{"state":"resolved"}}"#,
        r#"{"id":3,"created_at":3,"tags":["a","b"],"feedback_comment":"fine","feedback_rating":5,
            "messages":[{"body":"Bye"}],"private_notes":[{"body":"y"}],
            "state_data":{"state":"rejected"},"assignee_id":"eva"}"#,
        r#"{"id":4,"created_at":4}"#,
    ];
    let lines: String = lines.map(|line| line.replace('\n', "") + "\n").concat();
    let task = real.run("issues", "import_issues", &lines).await;
    assert_eq!(task["counts"]["succeeded"], 4, "{task}");
    real
}

/// Asserts which issues each query finds, in the order of their ids.
async fn finds(real: &RealServer, table: &[(&str, &[u64])]) {
    for (query, expected) in table {
        let page = real.json(&format!("{PATH}?sort-order=asc&{query}")).await;
        assert_eq!(ids(page["issues"].as_array().unwrap()), *expected, "{query}");
        assert_eq!(page["total-hits"], expected.len(), "{query}");
    }
}

async fn a_list_finds_the_same_issues_in_each_form() {
    let real = with_issues().await;
    for query in [
        "state=%5B%22resolved%22,%22rejected%22%5D",
        "state=resolved,rejected",
        "state=resolved,%20rejected",
        "state=resolved&state=rejected",
        "state[]=resolved&state[]=rejected",
        "state%5B0%5D=resolved&state%5B1%5D=rejected",
        "ids=%5B2,%223%22%5D",
        "ids=2,3",
        "ids=2&ids=3&ids=2",
        "ids[]=2&ids[]=3",
    ] {
        finds(&real, &[(query, &[2, 3])]).await;
    }
    finds(&real, &[("ids=[]", &[]), ("ids[]=", &[]), ("ids=9", &[])]).await;
    real.stop().await;
}

async fn a_bare_list_on_a_condition_finds_any_and_an_empty_one_nothing() {
    let real = with_issues().await;
    let table: &[(&str, &[u64])] = &[
        ("tags=a", &[1, 3]),
        ("tags=a&tags=b,%20c", &[1, 2, 3]),
        ("tags[]=b", &[3]),
        ("tags=b,%20c", &[2]),
        ("tags=%5B%22b%22,%22b, c%22%5D", &[2, 3]),
        ("tags=[]", &[]),
        ("tags[]=", &[]),
        ("languages=en,%20de", &[1, 2]),
        ("languages=en&languages=de", &[1, 2]),
        ("languages=[]", &[]),
        ("assignee-ids=eva,tom", &[3]),
        ("assignee-ids=[]", &[]),
        ("messages=hello, you", &[1]),
        ("messages[]=BYE&messages[]=hello", &[1, 3]),
        ("messages=[]", &[]),
        ("notes=x", &[2]),
        ("feedback-comment=FINE", &[3]),
        ("feedback-comment=[]", &[]),
        ("feedback-rating=%5B%7B%22is%22:5%7D%5D", &[3]),
        ("author_emails=[]", &[]),
        ("assignee_emails=[]", &[]),
    ];
    finds(&real, table).await;
    real.stop().await;
}

async fn notes_messages_and_comments_are_asked_for_by_exists() {
    let real = with_issues().await;
    let table: &[(&str, &[u64])] = &[
        ("notes={%22exists%22:true}", &[2, 3]),
        ("notes={%22exists%22:%22False%22}", &[1, 4]),
        ("messages={%22exists%22:%221%22}", &[1, 3]),
        ("messages={%22exists%22:0}", &[2, 4]),
        ("messages={%22exists%22:true,%22nor%22:[%22bye%22]}", &[1]),
        ("messages={%22exists%22:false}&notes={%22exists%22:true}", &[2]),
        ("feedback-comment={%22exists%22:%22TRUE%22}", &[3]),
        ("feedback-comment={%22exists%22:false}&state=new", &[1, 4]),
    ];
    finds(&real, table).await;
    let by_cursor = real.json(&format!("{PATH}?cursor=*&notes={{%22exists%22:true}}")).await;
    assert_eq!(ids(by_cursor["issues"].as_array().unwrap()), [3, 2]);
    real.stop().await;
}

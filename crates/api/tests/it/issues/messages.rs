//! `POST /v1/{domain}/issues/{issue_id}/messages`: the author and the time of a message.

use caseload_teststore::on_each_store;
use serde_json::json;

use super::support::{assert_sound, create, desk, issue, say};

on_each_store!(the_author_of_a_message_is_the_end_user_or_an_agent,);

async fn the_author_of_a_message_is_the_end_user_or_an_agent() {
    let real = desk().await;
    let path = create(&real, &[("message-body", "x"), ("email", "ada@example.org")]).await;
    let end_user = say(&real, &path, &[("message-body", "more")]).await;
    assert_eq!(end_user, json!({"added-message": {"body": "more", "type": "Text"}}));
    say(&real, &path, &[("message-body", "answer"), ("agent_id", "eva"), ("message-type", "text")])
        .await;
    let issue = issue(&real, &path).await;
    let [first, second, third] = issue["messages"].as_array().unwrap().as_slice() else {
        panic!("three messages: {issue}");
    };
    assert_eq!(second["author"], first["author"]);
    assert_eq!((&second["origin"], &third["origin"]), (&json!("end-user"), &json!("helpshift")));
    let eva = json!({"name": "Eva", "id": "eva", "emails": ["Eva@Desk.example"]});
    assert_eq!(third["author"], eva);
    assert_eq!(third["created_at"], issue["updated_at"]);
    assert_eq!(third.as_object().unwrap().len(), 5, "{third}");
    assert_sound(&real).await;
    real.stop().await;
}

//! Assignees that a file names by their address alone. Each form of file leads to the same agent,
//! and a cell of a person may have a name instead.

use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::form;
use crate::real_server::RealServer;

on_each_store!(an_address_alone_is_one_agent_in_every_form_of_file,);

async fn an_address_alone_is_one_agent_in_every_form_of_file() {
    let real = RealServer::start().await;
    let path = "/v2/acme/issues/imports";
    for file in [
        "{\"id\":1,\"created_at\":1700000000000,\"assignee_email\":\" Bob@Desk.org \"}\n",
        "id,created_at,assignee_email\n2,1700000000000,Bob@desk.org\n",
        "id,created_at,Assignee,Requester\n3,1700000000000,Bob <bob@desk.org>,Ann Lee\n",
    ] {
        let form = form(&[("action", "import_issues")], file);
        let answer = real.request(Method::POST, path).multipart(form).send().await.unwrap();
        let import: Value = answer.json().await.unwrap();
        let done = real.completed(import["links"]["self"].as_str().unwrap()).await;
        assert_eq!((&done["outcome"], &done["warnings"]), (&json!("succeeded"), &json!(0)));
    }
    let filter = "assignee_emails=%7B%22or%22:[%22bob@desk.org%22]%7D";
    let found = real.json(&format!("/v1/acme/issues?{filter}")).await;
    assert_eq!(found["total-hits"], 3, "{found}");
    let issues = found["issues"].as_array().unwrap();
    assert!(issues.iter().all(|issue| issue["assignee_id"] == issues[0]["assignee_id"]));
    let agents = real.json("/v1/acme/agents").await;
    assert_eq!(agents["total-profiles"], 1, "{agents}");
    let named = issues.iter().find(|issue| issue["id"] == 3).unwrap();
    assert_eq!((&named["author_name"], &named["author_email"]), (&json!("Ann Lee"), &json!("")));
    real.stop().await;
}

//! Hints for names that a call does not know, with the names that the calls of the API do know.

use caseload_model::dialects::{advice, advice_and_names, hint};
use caseload_model::issue::ISSUE_FIELDS;
use caseload_model::issue::write::{CREATE_FIELDS, EDIT_FIELDS, NOTE_FIELDS};
use caseload_model::issue_query::LIST_PARAMETERS;
use caseload_model::profile_query::CORE_PROFILE_PARAMETERS;
use caseload_model::task_query::LIST_PARAMETERS as TASK_PARAMETERS;

#[test]
fn words_of_other_apis_are_answered_with_the_names_here() {
    let tasks = &TASK_PARAMETERS[..];
    for (word, known, expected) in [
        ("limit", &LIST_PARAMETERS[..], "did you mean page-size?"),
        ("per_page", &LIST_PARAMETERS, "did you mean page-size?"),
        ("per-page", &LIST_PARAMETERS, "did you mean page-size?"),
        ("perPage", &LIST_PARAMETERS, "did you mean page-size?"),
        ("page[size]", &LIST_PARAMETERS, "did you mean page-size?"),
        ("offset", &LIST_PARAMETERS, "did you mean cursor?"),
        ("offset", tasks, "did you mean page?"),
        ("since", &LIST_PARAMETERS, "did you mean created-since or updated-since?"),
        ("Until", &LIST_PARAMETERS, "did you mean created-until or updated-until?"),
        ("sort", &LIST_PARAMETERS, "did you mean sort-by or sort-order?"),
        ("status", &LIST_PARAMETERS, "did you mean state?"),
        ("state", tasks, "did you mean status?"),
        ("q", &LIST_PARAMETERS, "did you mean text, to search for a text?"),
        ("q", &["messages", "notes"], "did you mean messages or notes, to search for a text?"),
        ("subject", &LIST_PARAMETERS, "did you mean title?"),
        ("q", &["text", "messages"], "did you mean text, to search for a text?"),
        ("body", CREATE_FIELDS, "did you mean message-body?"),
        ("body", NOTE_FIELDS, "did you mean note-text?"),
        ("text", NOTE_FIELDS, "did you mean note-text?"),
        ("assignee", EDIT_FIELDS, "did you mean assignee-id or assignee-email?"),
        ("email", &CORE_PROFILE_PARAMETERS, "did you mean identity?"),
        ("email", &LIST_PARAMETERS, "did you mean author-emails?"),
        ("uid", &CORE_PROFILE_PARAMETERS, "did you mean identity?"),
        ("last_country", &CORE_PROFILE_PARAMETERS, "did you mean country?"),
        ("preferred_language", &CORE_PROFILE_PARAMETERS, "did you mean language?"),
        ("languages", &CORE_PROFILE_PARAMETERS, "did you mean language?"),
        ("last_name", &CORE_PROFILE_PARAMETERS, "did you mean name?"),
        ("comments", &ISSUE_FIELDS, "did you mean messages?"),
        ("description", &ISSUE_FIELDS, "did you mean messages?"),
        ("subject", &ISSUE_FIELDS, "did you mean title?"),
        ("status", &ISSUE_FIELDS, "did you mean state_data?"),
        ("Requester", &ISSUE_FIELDS, "did you mean author_email?"),
        ("created", &ISSUE_FIELDS, "did you mean created_at?"),
        ("description", &["title", "message", "state"], "did you mean message?"),
        ("status", &["title", "message", "state"], "did you mean state?"),
        ("description", CREATE_FIELDS, "did you mean message-body?"),
        ("requester", CREATE_FIELDS, "did you mean email or end_user_id?"),
        ("email", &["last_country", "identities"], "did you mean identities?"),
        ("country", &["last_country", "identities"], "did you mean last_country?"),
        // If the call has no such thing, and for all other words, a name that is near counts.
        ("limit", &["limits"], "did you mean limits?"),
        ("stat", &LIST_PARAMETERS, "did you mean state?"),
        ("pagesise", &LIST_PARAMETERS, "did you mean page-size?"),
    ] {
        assert_eq!(hint(word, known).as_deref(), Some(expected), "{word}");
    }
    for word in ["limit", "via", "priority", "organization_id", "x", ""] {
        assert_eq!(hint(word, &["title"]), None, "{word}");
        assert_eq!(hint(word, &[]), None, "{word}");
        assert_eq!(advice(word, &["title"]), "leave it out");
        assert_eq!(advice_and_names(word, &["title"]), "known here: title");
    }
}

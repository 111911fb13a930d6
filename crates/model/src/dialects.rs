//! Hints for names that no call knows. Other APIs have other names for the same thing, so a word of
//! theirs is answered with the name that it has here; any other word is answered with the nearest
//! known name, if one is near. Hints are for error messages: no name is ever accepted because a
//! hint exists for it.

use crate::spelling::{nearest_word, normalised, same_name};

/// Words of other APIs for one thing.
struct Dialect {
    /// Lower case, with underscores.
    words: &'static [&'static str],
    /// The names that the thing has here. A call that knows none of the first list is answered with
    /// the next one.
    names: &'static [&'static [&'static str]],
}

const fn dialect(
    words: &'static [&'static str],
    names: &'static [&'static [&'static str]],
) -> Dialect {
    Dialect { words, names }
}

/// Names of the text search in other APIs. The hint is needed, because the names here do not.
const TEXT: &[&str] = &["q", "query", "search", "term", "keyword", "keywords", "contains"];

static DIALECTS: &[Dialect] = &[
    dialect(
        &[
            "limit",
            "per_page",
            "perpage",
            "pagesize",
            "page[size]",
            "page[limit]",
            "page_limit",
            "size",
            "max_results",
            "maxresults",
            "results_per_page",
            "items_per_page",
            "first",
            "rows",
            "top",
            "take",
        ],
        &[&["page-size"]],
    ),
    dialect(
        &[
            "offset",
            "skip",
            "start",
            "start_at",
            "startat",
            "start_index",
            "page[offset]",
            "page[after]",
            "page[cursor]",
            "page_token",
            "pagetoken",
            "next_page_token",
            "next_cursor",
            "next_key",
            "starting_after",
            "continuation_token",
            "scroll_id",
            "marker",
            "bookmark",
        ],
        &[&["cursor"], &["page"]],
    ),
    dialect(&["page[number]", "page_number", "pagenumber", "page_no", "p"], &[&["page"]]),
    dialect(
        &["since", "from", "after_date", "start_date", "start_time", "date_from", "from_date"],
        &[&["created-since", "updated-since"]],
    ),
    dialect(
        &["until", "to", "before", "end_date", "end_time", "date_to", "to_date"],
        &[&["created-until", "updated-until"]],
    ),
    dialect(
        &["created_after", "created_from", "created_gte", "created[gte]"],
        &[&["created-since"]],
    ),
    dialect(
        &["created_before", "created_to", "created_lte", "created[lte]"],
        &[&["created-until"]],
    ),
    dialect(
        &["updated_after", "updated_from", "modified_since", "modified_after", "last_modified"],
        &[&["updated-since"]],
    ),
    dialect(&["updated_before", "updated_to", "modified_before"], &[&["updated-until"]]),
    dialect(TEXT, &[&["text"], &["messages", "notes", "feedback-comment"]]),
    dialect(
        &["sort", "sort_field", "order_by", "orderby", "ordering"],
        &[&["sort-by", "sort-order"]],
    ),
    dialect(&["order", "direction", "sort_dir", "sort_direction", "dir"], &[&["sort-order"]]),
    dialect(&["include", "expand", "embed", "with", "fields"], &[&["includes"]]),
    dialect(&["exclude", "omit", "without"], &[&["excludes"]]),
    dialect(&["status", "statuses", "states"], &[&["state"], &["status"], &["state_data"]]),
    dialect(&["state"], &[&["status"], &["state_data"]]),
    dialect(&["tag", "label", "labels"], &[&["tags"]]),
    dialect(
        &["lang", "locale", "language", "languages", "preferred_language"],
        &[&["languages"], &["language"], &["preferred_language"]],
    ),
    dialect(
        &["email", "mail", "email_address"],
        &[&["identity"], &["identities"], &["author-emails"], &["author_email"], &["emails"]],
    ),
    dialect(&["identities", "uid", "phone", "phone_number"], &[&["identity"], &["identities"]]),
    dialect(
        &["country", "last_country", "countries", "country_code"],
        &[&["country"], &["last_country"]],
    ),
    dialect(
        &["first_name", "last_name", "full_name", "display_name"],
        &[&["names"], &["name"], &["author_name"]],
    ),
    dialect(
        &["assignee", "assigned_to", "agent", "owner", "agents"],
        &[
            &["assignee-ids", "assignee-emails"],
            &["assignee-id", "assignee-email"],
            &["agent-id"],
            &["profile-id"],
        ],
    ),
    dialect(
        &[
            "author",
            "requester",
            "requester_id",
            "requester_email",
            "reporter",
            "user",
            "user_id",
            "customer",
            "contact",
            "from_email",
        ],
        &[&["author-emails", "end-user-ids"], &["email", "end-user-id"], &["author_email"]],
    ),
    dialect(&["queue", "group", "group_id", "inbox"], &[&["queue-ids"], &["queue-id"]]),
    dialect(&["app", "product", "brand", "brand_id"], &[&["app-ids"], &["app-id"]]),
    dialect(&["channel", "platform", "source"], &[&["platform-types"], &["platform-type"]]),
    dialect(&["tz", "time_zone", "zone"], &[&["timezone"]]),
    dialect(&["groupby", "by", "facet", "facets", "aggregate"], &[&["group-by"]]),
    dialect(&["mode", "issue_mode"], &[&["issue-modes"]]),
    dialect(&["rating", "csat", "satisfaction"], &[&["feedback-rating"]]),
    dialect(&["custom_field", "cf"], &[&["custom-fields"]]),
    dialect(&["output", "output_format", "content_type"], &[&["format"]]),
    dialect(
        &["body", "text", "message", "comment", "comments", "content", "description"],
        &[&["message-body"], &["note-text"], &["message"], &["messages"], &["body"]],
    ),
    dialect(&["note", "internal_note"], &[&["note-text"], &["private_notes"], &["notes"]]),
    dialect(&["subject", "summary"], &[&["title"]]),
    dialect(&["name"], &[&["title"], &["names"]]),
    dialect(&["created", "opened_at", "date_created"], &[&["created_at"], &["created-since"]]),
    dialect(&["updated", "modified_at"], &[&["updated_at"], &["updated-since"]]),
    dialect(&["type", "operation", "task_type"], &[&["action"]]),
    dialect(&["file", "data", "entries", "records", "items", "profiles"], &[&["payload"]]),
    dialect(&["dry", "dryrun", "simulate", "test", "validate_only"], &[&["dry-run"]]),
    dialect(&["id", "issue_id", "issues"], &[&["ids"], &["issue-ids"]]),
];

/// The advice for a body in JSON that is read as another type, or as none.
pub const LOOKS_LIKE_JSON: &str = "this looks like JSON: send Content-Type: application/json";

/// Advice for a caller who sent the unknown name `word`, which continues a sentence.
pub fn advice(word: &str, known: &[&str]) -> String {
    hint(word, known).unwrap_or_else(|| "leave it out".to_owned())
}

/// Advice as [`advice`] gives it, for a call with few names: all of them follow.
pub fn advice_and_names(word: &str, known: &[&str]) -> String {
    let names = known.join(", ");
    match hint(word, known) {
        Some(hint) => format!("{hint} Known here: {names}"),
        None => format!("known here: {names}"),
    }
}

/// The hint for a caller who sent the unknown name `word`; none if no known name is near. A form
/// has a name that begins like JSON if its client did not say that it is JSON.
pub fn hint(word: &str, known: &[&str]) -> Option<String> {
    if word.trim_start().starts_with(['{', '[']) && !known.is_empty() {
        return Some(format!("{LOOKS_LIKE_JSON}."));
    }
    hint_of_dialect(word, known).or_else(|| {
        let near = nearest_word(word, known.iter().copied())?;
        Some(format!("did you mean {near}?"))
    })
}

/// The hint for a caller who sent a word of another API.
pub(crate) fn hint_of_dialect(word: &str, known: &[&str]) -> Option<String> {
    let plain = normalised(word);
    let known_as = |name: &&str| known.iter().copied().find(|known| same_name(known, name));
    let of_dialect = DIALECTS.iter().filter(|dialect| dialect.words.contains(&plain.as_str()));
    let names = of_dialect
        .flat_map(|dialect| dialect.names)
        .map(|names| names.iter().filter_map(known_as).collect::<Vec<_>>())
        .find(|names| !names.is_empty())?;
    let names = alternatives(&names);
    let purpose = if TEXT.contains(&plain.as_str()) { ", to search for a text" } else { "" };
    Some(format!("did you mean {names}{purpose}?"))
}

/// `a`, `a or b`, `a, b or c`.
fn alternatives(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        names => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_in_two_dialects_and_each_is_spelled_as_words_are_compared() {
        let words: Vec<&str> = DIALECTS.iter().flat_map(|dialect| dialect.words).copied().collect();
        for (n, word) in words.iter().enumerate() {
            assert!(!words[..n].contains(word), "{word} is there twice");
            assert_eq!(normalised(word), *word);
        }
    }
}

//! Random issues as entries of `import_issues`. All are valid. Their ids differ, some are huge, and
//! the order of ids is not that of instants.

use serde_json::{Map, Value, json};

use crate::splitmix::SplitMix;
use crate::values::{EMAILS, ISSUE_ID_MAX, KEYS, NAMES, NUMBERS, STATES, WORDS, instant};

/// The agents that issues are assigned to, and their addresses: two agents share one, one has none.
/// Only some issues name the address in a message, so the agents' addresses in a store depend on
/// the issues that it was given.
pub const AGENTS: [(&str, &str); 4] =
    [("ann", "Ann@Desk.X"), ("bob", "bob@desk.x"), ("twin", "ANN@desk.x"), ("mute", "")];

/// `count` issues.
pub fn issues(seed: u64, count: u64) -> Vec<String> {
    let mut random = SplitMix::new(seed);
    (0..count).map(|n| issue(&mut random, n)).collect()
}

/// Issue number `n` of a set.
pub fn issue(random: &mut SplitMix, n: u64) -> String {
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
    put("id", json!(if random.once_in(8) { ISSUE_ID_MAX - n } else { n + 1 }));
    put("title", json!(text(random)));
    put("created_at", json!(instant(random)));
    put("state_data", json!({"state": random.pick(&STATES), "changed_at": instant(random)}));
    put("tags", json!(random.pick_up_to(names(), 3)));
    put("redacted", json!(random.once_in(4)));
    if random.once_in(2) {
        put("updated_at", json!(instant(random)));
    }
    for key in ["app_id", "hs_user_id", "language", "platform_type"] {
        if !random.once_in(3) {
            put(key, json!(random.pick(names())));
        }
    }
    if !random.once_in(3) {
        put("queue", json!({"id": random.pick(names()), "name": "a queue"}));
    }
    if !random.once_in(3) {
        put("issue_mode_data", json!({"issue_mode": random.pick(names())}));
    }
    if !random.once_in(3) {
        put("author_email", json!(random.pick(&EMAILS[..EMAILS.len() - 1])));
    }
    let agent = AGENTS[random.below(AGENTS.len())];
    if !random.once_in(3) {
        put("assignee_id", json!(agent.0));
    }
    put("messages", messages(random, agent));
    if random.once_in(2) {
        let notes = random.below(3);
        let notes = (0..notes).map(|_| json!({"body": text(random), "author": {"name": "crash"}}));
        put("private_notes", notes.collect());
    }
    if random.once_in(2) {
        put("feedback_rating", json!(1 + random.below(5)));
    }
    if random.once_in(2) {
        put("feedback_comment", json!(text(random)));
    }
    // Numbers must keep their digits, which a `serde_json` tree would change.
    let mut entry = Value::Object(entry).to_string();
    entry.truncate(entry.len() - 1);
    entry + ",\"custom_fields\":{" + &custom_fields(random) + "}}"
}

/// Names that issues have.
fn names() -> &'static [&'static str] {
    &NAMES[..NAMES.len() - 1]
}

/// A few words, sometimes none.
fn text(random: &mut SplitMix) -> String {
    random.pick_up_to(&WORDS, 4).join(" ")
}

/// Messages, some of which name the agent. Their names and ids contain words of texts, too.
fn messages(random: &mut SplitMix, agent: (&str, &str)) -> Value {
    let one = |random: &mut SplitMix| {
        let mut message = json!({"body": text(random), "author": {"name": text(random)}});
        if random.once_in(3) {
            let emails: &[&str] = if agent.1.is_empty() { &[] } else { &[agent.1] };
            message["origin"] = json!("helpshift");
            message["author"] = json!({"name": "Crash", "id": agent.0, "emails": emails});
        }
        message
    };
    (0..random.below(4)).map(|_| one(random)).collect()
}

/// Custom fields without the braces: each key has some type, with or without a value.
fn custom_fields(random: &mut SplitMix) -> String {
    let mut fields = Vec::new();
    for key in &KEYS[..KEYS.len() - 1] {
        let quoted = |text: &str| json!(text).to_string();
        let (field_type, value) = match random.below(8) {
            0 => ("checkbox", random.pick(&["true", "false", "\"true\"", "\"false\""]).to_owned()),
            1 => ("singleline", quoted(&text(random))),
            2 => ("multiline", quoted(&text(random))),
            3 => ("number", random.pick(&NUMBERS).to_owned()),
            4 => ("date", instant(random).to_string()),
            5 => ("dropdown", quoted(random.pick(names()))),
            6 => {
                let types = ["checkbox", "singleline", "multiline", "number", "date", "dropdown"];
                (random.pick(&types), "null".to_owned())
            }
            _ => continue,
        };
        fields.push(format!("{}:{{\"type\":\"{field_type}\",\"value\":{value}}}", quoted(key)));
    }
    fields.join(",")
}

//! Sample issues in the form that the issue API returns: conversations between end users and agents
//! over the last year, in several apps, states and languages, with ratings, custom fields, device
//! data and queues. They have no ids; the server assigns them.

use serde_json::{Value, json};

use super::conversations::Conversation;
use super::people::{Person, draw};
use super::splitmix::SplitMix;

const DAY_MS: u64 = 86_400_000;
const MINUTE_MS: u64 = 60_000;

const STATES: [&str; 8] = [
    "new",
    "new-for-agent",
    "new-for-agent",
    "agent-replied",
    "waiting-for-agent",
    "resolved",
    "resolved",
    "rejected",
];

/// Name, address and id ending of the agents.
const AGENTS: [[&str; 3]; 4] = [
    ["Grace Mbeki", "grace@example.org", "000000000000a01"],
    ["Niels Aagaard", "niels@example.org", "000000000000a02"],
    ["Yuki Tanaka", "yuki@example.org", "000000000000a03"],
    ["Rosa Álvarez", "rosa@example.org", "000000000000a04"],
];

/// Publish id, id ending, platform and title of the apps other than the default one.
const APPS: [[&str; 4]; 2] = [
    ["2", "000000000000b02", "ios", "iPhone app"],
    ["3", "000000000000b03", "android", "Android app"],
];

/// The ids and titles of the apps that the issues name.
pub(crate) fn apps(domain: &str) -> [(String, &'static str); 2] {
    APPS.map(|app| (app_id(domain, app), app[3]))
}

fn app_id(domain: &str, app: [&str; 4]) -> String {
    format!("{domain}_app_20240105091500000-{}", app[1])
}

/// Entries of `import_issues` as JSON Lines, oldest first. Their authors are the people who have
/// profiles with this tag.
pub(crate) fn issue_lines(count: u64, domain: &str, tag: &str, now: i64) -> Vec<u8> {
    let mut random = SplitMix::new(2);
    let mut starts: Vec<i64> =
        (0..count).map(|_| now - (DAY_MS / 4 + random.below(365 * DAY_MS)) as i64).collect();
    starts.sort_unstable();
    let mut lines = Vec::with_capacity(count as usize * 2048);
    for start in starts {
        let issue = issue(&mut random, (domain, tag), start);
        lines.extend_from_slice(issue.to_string().as_bytes());
        lines.push(b'\n');
    }
    lines
}

fn issue(random: &mut SplitMix, (domain, tag): (&str, &str), start: i64) -> Value {
    let person = draw(random);
    let topic = Conversation::draw(random, person.language);
    let agent = AGENTS[random.below(AGENTS.len() as u64) as usize];
    let state = random.pick(&STATES);
    let messages = messages(random, domain, (topic, person, agent), state, start);
    let last = messages.last().and_then(|message| message["created_at"].as_i64()).unwrap_or(start);
    let mut issue = json!({
        "title": topic.title,
        "tags": [topic.tag, random.pick(&["shop", "app", "forum"])],
        "author_name": person.full_name(),
        "author_email": person.address(tag),
        "state_data": {"state": state, "changed_at": last},
        "created_at": start,
        "updated_at": last,
        "language": person.language,
        "messages": messages,
        "custom_fields": custom_fields(random, start),
        "queue": {"id": format!("queue-{}", topic.tag), "name": topic.queue},
    });
    if state != "new" {
        issue["assignee_id"] = json!(agent_id(domain, agent));
        issue["assignee_name"] = json!(agent[0]);
    }
    if random.chance(60) {
        let app = APPS[random.below(APPS.len() as u64) as usize];
        issue["app_id"] = json!(app_id(domain, app));
        issue["app_publish_id"] = json!(app[0]);
        issue["platform_type"] = json!(app[2]);
        issue["meta"] = device(random, app[2], person);
    }
    if state == "resolved" && random.chance(70) {
        issue["feedback_rating"] = json!(1 + random.below(5));
        issue["feedback_comment"] = json!(random.pick(&["Quick and kind.", "Took a while.", "👍"]));
    }
    issue
}

fn messages(
    random: &mut SplitMix,
    domain: &str,
    (topic, person, agent): (&Conversation, &Person, [&str; 3]),
    state: &str,
    start: i64,
) -> Vec<Value> {
    let count = match state {
        "new" | "new-for-agent" => 1,
        "agent-replied" => 2,
        "waiting-for-agent" => 3,
        _ => 4,
    };
    let mut at = start;
    let mut messages = Vec::with_capacity(count);
    for (turn, body) in topic.lines.iter().take(count).enumerate() {
        let by_agent = turn % 2 == 1;
        let author = if by_agent {
            json!({"name": agent[0], "id": agent_id(domain, agent), "emails": [agent[1]]})
        } else {
            let address = format!("{}@example.org", person.slug);
            json!({"name": person.full_name(), "emails": [address]})
        };
        let origin = if by_agent { "helpshift" } else { "end-user" };
        messages.push(json!({"body": body, "created_at": at, "origin": origin, "author": author}));
        at += (MINUTE_MS * (2 + random.below(80))) as i64;
    }
    messages
}

fn agent_id(domain: &str, agent: [&str; 3]) -> String {
    format!("{domain}_profile_20240105090000000-{}", agent[2])
}

fn custom_fields(random: &mut SplitMix, start: i64) -> Value {
    let order = format!("A-{}", 10_000 + random.below(90_000));
    json!({
        "order_number": {"type": "singleline", "value": order},
        "amount": {"type": "number", "value": random.cents(30_000)},
        "channel": {"type": "dropdown", "value": random.pick(&["shop", "phone", "partner"])},
        "refund": {"type": "checkbox", "value": random.pick(&["true", "false"])},
        "bought_at": {"type": "date", "value": start - random.below(30 * DAY_MS) as i64},
    })
}

fn device(random: &mut SplitMix, platform: &str, person: &Person) -> Value {
    let model = if platform == "ios" { "tablet-9" } else { "phone-12" };
    json!({
        "application": {
            "application-version": format!("4.{}.{}", random.below(4), random.below(9)),
            "application-identifier": "org.example.app",
            "application-name": "Example",
        },
        "hardware": {
            "device-model": model,
            "battery-level": format!("{}%", 1 + random.below(100)),
            "battery-status": random.pick(&["charging", "unplugged"]),
            "free-space-phone": format!("{} MB", random.below(64_000)),
            "total-space-phone": "64000 MB",
        },
        "other": {
            "os-version": format!("{}", 14 + random.below(5)),
            "platform": platform,
            "network-type": random.pick(&["wifi", "mobile"]),
            "country-code": person.country,
            "language": person.language,
        },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::profiles::profile_lines;
    use super::*;

    #[test]
    fn the_authors_of_issues_have_profiles() {
        let now = 1_700_000_000_000;
        let mut addresses = HashSet::new();
        for line in profile_lines(30, "t", now).split(|byte| *byte == b'\n') {
            let profile: Value = serde_json::from_slice(line).unwrap_or_default();
            addresses.extend(profile["identities"][1]["email"].as_str().map(str::to_owned));
        }
        for line in issue_lines(100, "acme", "t", now).trim_ascii().split(|byte| *byte == b'\n') {
            let issue: Value = serde_json::from_slice(line).expect("a map");
            let author = issue["author_email"].as_str().expect("an address");
            assert!(addresses.contains(author), "{author}");
        }
    }

    #[test]
    fn issues_are_of_the_last_year_and_sorted_oldest_first() {
        let now = 1_700_000_000_000;
        let lines = issue_lines(100, "acme", "t", now);
        assert_eq!(lines, issue_lines(100, "acme", "t", now));
        let text = String::from_utf8(lines).expect("JSON is UTF-8");
        let created = |line| {
            let issue: Value = serde_json::from_str(line).expect("a map");
            issue["created_at"].as_i64().expect("a time")
        };
        let all: Vec<i64> = text.lines().map(created).collect();
        assert_eq!(all.len(), 100);
        assert!(all.is_sorted());
        assert!(all.iter().all(|at| (now - 366 * DAY_MS as i64..now).contains(at)));
    }
}

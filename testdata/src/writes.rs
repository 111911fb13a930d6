//! Random writes of every kind, as HTTP requests to one domain: single calls, bulk edits, deletions
//! and tasks, imports of old issues among them. Several writers meet at the same few issues and
//! people. The ids that the server chose come from lists, which a writer also reads. Some writes
//! are refused or fail, because another writer was faster.

use serde_json::{Value, json};

use crate::follower::{Members, id_text};
use crate::people::People;
use crate::splitmix::SplitMix;
use crate::values::STATES;

/// Different ids of imported issues.
const IMPORTED: usize = 60;
/// Ids that a writer remembers of each kind of record.
const KNOWN_MAX: usize = 30;
/// Actions of profile tasks; the last two are about app profiles.
const PROFILE_ACTIONS: [&str; 6] = [
    "create_core_profiles",
    "update_core_profiles",
    "upsert_core_profiles",
    "delete_core_profiles",
    "update_app_profiles",
    "delete_app_profiles",
];

/// A request, by its kind, its method, its path and its JSON body.
#[derive(Debug, Clone)]
pub struct Write {
    pub kind: &'static str,
    pub method: &'static str,
    pub path: String,
    pub body: Option<String>,
}

/// The requests of one writer.
#[derive(Debug, Clone)]
pub struct Writes {
    random: SplitMix,
    domain: String,
    /// Ids of issues, core profiles and app profiles.
    known: [Vec<String>; 3],
    number: u64,
}

impl Writes {
    pub fn new(seed: u64, domain: &str) -> Self {
        let known = Default::default();
        Self { random: SplitMix::new(seed), domain: domain.to_owned(), known, number: 0 }
    }

    /// The next request. The answer to one of the kind `read` is for [`Self::learn`].
    pub fn choose(&mut self) -> Write {
        self.number += 1;
        match self.random.below(24) {
            0..4 => self.read(),
            4..7 => self.create(),
            7..9 => self.add("message", "messages", "message-body"),
            9 => self.add("note", "private-notes", "note-text"),
            10..13 => self.edit(),
            13 => self.bulk_edit(),
            14 => self.delete(),
            15..18 => self.import(),
            18 => self.delete_issues(),
            _ => self.profile_task(),
        }
    }

    /// Remembers the ids of a list.
    pub fn learn(&mut self, answer: &str) {
        let answer: Members<'_> = serde_json::from_str(answer).unwrap_or_default();
        let lists =
            [("issues", "id"), ("core_profiles", "core-profile-id"), ("app_profiles", "pid")];
        for (known, (list, id)) in self.known.iter_mut().zip(lists) {
            if let Some(records) = answer.get(list) {
                let records: Vec<Members<'_>> =
                    serde_json::from_str(records.get()).unwrap_or_default();
                *known = records.iter().filter_map(|of| of.get(id)).map(|id| id_text(id)).collect();
            }
        }
    }

    fn write(
        &self,
        kind: &'static str,
        method: &'static str,
        path: &str,
        body: Option<String>,
    ) -> Write {
        let version = if path.starts_with("identity/") || path.ends_with("bulk_actions") {
            "v2"
        } else {
            "v1"
        };
        Write { kind, method, path: format!("/{version}/{}/{path}", self.domain), body }
    }

    fn read(&mut self) -> Write {
        let list = self.random.pick(&["issues", "identity/core_profiles", "identity/app_profiles"]);
        let sort = self.random.pick(&["creation-time", "update-time"]);
        let order = self.random.pick(&["asc", "desc"]);
        let path = format!("{list}?page-size={KNOWN_MAX}&sort-by={sort}&sort-order={order}");
        self.write("read", "GET", &path, None)
    }

    /// A record of a kind: one that is there, was there or never was.
    fn some(&mut self, kind: usize) -> String {
        let known = &self.known[kind];
        let n = self.random.below(known.len().max(1));
        known.get(n).cloned().unwrap_or_else(|| "17".to_owned())
    }

    fn text(&mut self) -> String {
        format!("text {} of {}", self.number, self.random.below(1000))
    }

    fn create(&mut self) -> Write {
        let email = format!("p{}@example.org", self.random.below(9));
        let body = json!({"message-body": self.text(), "title": self.text(), "email": email});
        self.write("create", "POST", "issues", Some(body.to_string()))
    }

    fn add(&mut self, kind: &'static str, list: &str, field: &str) -> Write {
        let path = format!("issues/{}/{list}", self.some(0));
        let mut body = json!({});
        body[field] = json!(self.text());
        self.write(kind, "POST", &path, Some(body.to_string()))
    }

    fn edit(&mut self) -> Write {
        let path = format!("issues/{}", self.some(0));
        let field = self.random.pick(&["title", "tags", "status", "assignee-id", "meta"]);
        let mut body = json!({});
        body[field] = match field {
            "tags" => json!([format!("t{}", self.random.below(5))]),
            "status" => json!(self.random.pick(&STATES)),
            "assignee-id" => json!(self.random.pick(&["unassigned", "ann", "bob"])),
            "meta" => json!({"level": self.random.below(3)}),
            _ => json!(self.text()),
        };
        self.write("edit", "PUT", &path, Some(body.to_string()))
    }

    fn bulk_edit(&mut self) -> Write {
        let ids: Vec<String> = (0..=self.random.below(4)).map(|_| self.some(0)).collect();
        let tag = format!("t{}", self.random.below(5));
        let body = json!({"issue-ids": ids, "add_tags": [tag]});
        self.write("bulk edit", "PUT", "issues", Some(body.to_string()))
    }

    fn delete(&mut self) -> Write {
        let kind = self.random.below(3);
        let list = ["issues", "identity/core_profiles", "identity/app_profiles"][kind];
        let path = format!("{list}/{}", self.some(kind));
        let name = ["delete an issue", "delete a core profile", "delete an app profile"][kind];
        self.write(name, "DELETE", &path, None)
    }

    /// Mostly few entries, sometimes more than a batch lists one by one.
    fn count(&mut self) -> usize {
        let few = 1 + self.random.below(8);
        self.random.pick(&[few, few, few, 50])
    }

    fn import(&mut self) -> Write {
        let mut entries = Vec::new();
        for _ in 0..self.count() {
            let n = self.random.below(IMPORTED) as u64;
            entries.push(crate::issue(&mut self.random, n));
        }
        let upsert = self.random.below(3) > 0;
        let (kind, more) =
            if upsert { ("upsert issues", r#","upsert":true"#) } else { ("import issues", "") };
        self.task(kind, "issues", "import_issues", more, &entries)
    }

    fn delete_issues(&mut self) -> Write {
        let count = 1 + self.random.below(8);
        let entries: Vec<String> =
            (0..count).map(|_| format!(r#"{{"id":{}}}"#, self.some(0))).collect();
        self.task("delete_issues", "issues", "delete_issues", "", &entries)
    }

    fn profile_task(&mut self) -> Write {
        let action = self.random.pick(&PROFILE_ACTIONS);
        let mut entries = Vec::new();
        for n in 0..self.count() {
            entries.push(self.profile_entry(action, n).to_string());
        }
        self.task(action, "identity", action, "", &entries)
    }

    fn profile_entry(&mut self, action: &str, n: usize) -> Value {
        let people = People::default();
        let mut entry = match action {
            "create_core_profiles" => {
                let uid = format!("{}-{n}", self.random.below(1000));
                return json!({"identities": [{"uid": uid}], "tags": ["new"]});
            }
            "delete_core_profiles" => people.deletion(&mut self.random),
            "update_app_profiles" => {
                return json!({"pid": self.some(2), "user_level": self.random.below(9)});
            }
            "delete_app_profiles" => return json!({"pid": self.some(2)}),
            _ => people.entry(&mut self.random),
        };
        if entry["core-profile-id"].is_string() {
            entry["core-profile-id"] = json!(self.some(1));
        }
        entry
    }

    fn task(
        &self,
        kind: &'static str,
        family: &str,
        action: &str,
        more: &str,
        entries: &[String],
    ) -> Write {
        let payload = entries.join(",");
        let body = format!(r#"{{"action":"{action}"{more},"payload":[{payload}]}}"#);
        self.write(kind, "POST", &format!("{family}/bulk_actions"), Some(body))
    }
}

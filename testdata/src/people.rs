//! Random entries about people, and a naive store of people: a list of records that applies one
//! entry after another and looks at every record each time. There are few identities, in several
//! spellings, so that entries meet the same people, conflict and are ambiguous.

use serde_json::{Map, Value, json};

use crate::SplitMix;

/// People, each with an id once the tested store has given it one. Who was deleted has no record.
#[derive(Debug, Clone, Default)]
pub struct People {
    people: Vec<Person>,
}

/// One of the people.
#[derive(Debug, Clone)]
pub struct Person {
    pub id: Option<String>,
    pub record: Option<Value>,
}

/// The effect of an entry: its outcome, or the codes and pointers of its faults; and the number of
/// the person that it was about.
pub type Answer = (String, Option<usize>);

impl People {
    pub fn people(&self) -> &[Person] {
        &self.people
    }

    /// Notes the id that the tested store gave to a person.
    pub fn name(&mut self, number: usize, id: &str) {
        self.people[number].id = Some(id.to_owned());
    }

    /// A random entry of `update_core_profiles` or `upsert_core_profiles`.
    pub fn entry(&self, random: &mut SplitMix) -> Value {
        let mut entry = Map::new();
        if random.once_in(4) {
            entry.insert("core-profile-id".to_owned(), self.some_id(random));
        }
        if !random.once_in(8) {
            entry.insert("identities".to_owned(), identities(random));
        }
        if random.once_in(3) {
            let age = random.pick(&["1", "2", "null", "\"3\""]);
            entry.insert("age".to_owned(), value(age));
        }
        if random.once_in(3) {
            let fields = random.pick(&["null", "{\"k\":1,\"l\":null}", "{\"l\":2}", "{}"]);
            entry.insert("custom_fields".to_owned(), value(fields));
        }
        for (name, values) in [
            ("tags", &["null", "[\"x\",\"y\"]"][..]),
            ("add_tags", &["null", "[]", "[\"x\",\"z\",\"x\"]", "[\"y\"]"]),
            ("remove_tags", &["null", "[]", "[\"y\"]", "[\"x\"]", "[\"w\",\"z\"]"]),
        ] {
            if random.once_in(4) {
                entry.insert(name.to_owned(), value(random.pick(values)));
            }
        }
        Value::Object(entry)
    }

    /// A random entry of `delete_core_profiles`.
    pub fn deletion(&self, random: &mut SplitMix) -> Value {
        let mut entry = Map::new();
        if random.once_in(2) {
            entry.insert("core-profile-id".to_owned(), self.some_id(random));
        }
        if entry.is_empty() || random.once_in(6) {
            entry.insert("identities".to_owned(), identities(random));
        }
        if random.once_in(12) {
            entry.insert("age".to_owned(), json!(1));
        }
        Value::Object(entry)
    }

    /// Of a person who is or was there, or of none.
    fn some_id(&self, random: &mut SplitMix) -> Value {
        let known: Vec<&String> = self.people.iter().filter_map(|one| one.id.as_ref()).collect();
        match known.len() {
            0 => json!("17"),
            _ if random.once_in(10) => random.pick(&[json!("17"), Value::Null].each_ref()).clone(),
            len => json!(known[random.below(len)]),
        }
    }

    /// Applies an entry of an action.
    pub fn apply(&mut self, action: &str, entry: &Value) -> Answer {
        if action.starts_with("delete") { self.delete(entry) } else { self.write(action, entry) }
    }

    fn delete(&mut self, entry: &Value) -> Answer {
        let mut faults = faulty_metadata(entry);
        if entry.get("age").is_some() {
            faults.push("unknown_field /age".to_owned());
        }
        let id = entry["core-profile-id"].as_str();
        let mut number = None;
        match (id, &entry["identities"]) {
            (Some(id), Value::Null) => {
                number = self.people.iter().position(|one| one.id.as_deref() == Some(id));
            }
            (Some(_), _) => faults.push("unknown_field /identities".to_owned()),
            (None, Value::Null) => faults.push("required /core-profile-id".to_owned()),
            (None, Value::Array(given)) if given.is_empty() => {
                faults.push("required /identities".to_owned());
            }
            (None, _) => match *self.owners(&keys(entry)) {
                [] => {}
                [one] => number = Some(one),
                _ => faults.push("ambiguous_identity /identities".to_owned()),
            },
        }
        if !faults.is_empty() {
            return (faults.join(", "), None);
        }
        match number.map(|number| self.people[number].record.take()) {
            Some(Some(_)) => ("deleted".to_owned(), number),
            _ => ("unchanged".to_owned(), None),
        }
    }

    fn write(&mut self, action: &str, entry: &Value) -> Answer {
        let keys = keys(entry);
        let mut faults = own_faults(action, entry);
        let id = entry["core-profile-id"].as_str();
        let owners = self.owners(&keys);
        let number = match id {
            Some(id) => {
                let number = self
                    .people
                    .iter()
                    .position(|one| one.record.is_some() && one.id.as_deref() == Some(id));
                if number.is_none() {
                    faults.push("not_found /core-profile-id".to_owned());
                }
                for (at, key) in keys.iter().enumerate() {
                    if self.owners(std::slice::from_ref(key)).iter().any(|n| Some(*n) != number) {
                        faults.push(format!("identity_conflict /identities/{at}"));
                    }
                }
                number
            }
            None if owners.len() > 1 => {
                faults.push("ambiguous_identity /identities".to_owned());
                None
            }
            None if owners.is_empty() && !keys.is_empty() && action.starts_with("update") => {
                faults.push("not_found /identities".to_owned());
                None
            }
            None => owners.first().copied(),
        };
        if !faults.is_empty() {
            return (faults.join(", "), None);
        }
        let Some(number) = number else {
            let record = merged(&json!({}), entry, true);
            self.people.push(Person { id: None, record: Some(record) });
            return ("created".to_owned(), Some(self.people.len() - 1));
        };
        let before = self.people[number].record.take().unwrap_or_default();
        let after = merged(&before, entry, id.is_none() || action.starts_with("upsert"));
        let outcome = if after == before { "unchanged" } else { "updated" };
        self.people[number].record = Some(after);
        (outcome.to_owned(), Some(number))
    }

    /// Everyone who has any of these identities, by its first one.
    fn owners(&self, wanted: &[(String, String)]) -> Vec<usize> {
        let mut owners = Vec::new();
        for key in wanted {
            let has = |one: &Person| one.record.as_ref().is_some_and(|r| keys(r).contains(key));
            owners.extend(self.people.iter().position(has).filter(|n| !owners.contains(n)));
        }
        owners
    }
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn identities(random: &mut SplitMix) -> Value {
    const FEW: [&str; 12] = [
        r#"{"uid":"a"}"#,
        r#"{"uid":"a","note":"1"}"#,
        r#"{"note":"2","uid":"a","more":"3"}"#,
        r#"{"uid":"b"}"#,
        r#"{"uid":"c"}"#,
        r#"{"steam_id":"a"}"#,
        r#"{"email":"X@y"}"#,
        r#"{"email":"x@y","verified":"t"}"#,
        r#"{"email":"x@Y","verified":null}"#,
        r#"{"psn_id":"q"}"#,
        r#"{"psn_id":"r"}"#,
        r#"{"psn_id":"s"}"#,
    ];
    let count = random.pick(&[0, 1, 1, 1, 1, 1, 2, 2, 2, 3]);
    if random.once_in(30) {
        return Value::Null;
    }
    (0..count).map(|_| value(random.pick(&FEW))).collect()
}

/// Type and value of an identity, as they are compared.
fn key(identity: &Value) -> (String, String) {
    let kinds = ["uid", "steam_id", "email", "psn_id"];
    let kind = kinds.into_iter().find(|kind| identity[kind].is_string()).unwrap_or_default();
    let value = identity[kind].as_str().unwrap_or_default();
    let value = if kind == "email" { value.to_lowercase() } else { value.to_owned() };
    (kind.to_owned(), value)
}

fn keys(record: &Value) -> Vec<(String, String)> {
    record["identities"].as_array().into_iter().flatten().map(key).collect()
}

/// The faults of the identities of an entry in themselves.
fn faulty_metadata(entry: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let given = entry["identities"].as_array().map_or(&[][..], Vec::as_slice);
    for (at, identity) in given.iter().enumerate() {
        if identity.get("verified").is_some_and(Value::is_null) {
            faults.push(format!("wrong_type /identities/{at}/verified"));
        }
    }
    let keys = keys(entry);
    for at in (1..keys.len()).filter(|at| keys[..*at].contains(&keys[*at])) {
        faults.push(format!("duplicate_identity /identities/{at}"));
    }
    faults
}

/// The faults of an entry of an update or upsert in itself.
fn own_faults(action: &str, entry: &Value) -> Vec<String> {
    let mut faults = faulty_metadata(entry);
    if entry["age"].is_string() {
        faults.push("wrong_type /age".to_owned());
    }
    let added = entry["add_tags"].as_array();
    let removed = entry["remove_tags"].as_array();
    if entry.get("tags").is_some() {
        faults.extend(added.map(|_| "unknown_field /add_tags".to_owned()));
        faults.extend(removed.map(|_| "unknown_field /remove_tags".to_owned()));
    } else if let (Some(added), Some(removed)) = (added, removed) {
        let both = removed.iter().position(|tag| added.contains(tag));
        faults.extend(both.map(|at| format!("out_of_range /remove_tags/{at}")));
    }
    if keys(entry).is_empty() {
        match (entry["core-profile-id"].is_string(), entry.get("identities")) {
            (true, Some(_)) => faults.push("last_identity /identities".to_owned()),
            (true, None) => {}
            (false, _) if action.starts_with("upsert") => {
                faults.push("required /identities".to_owned());
            }
            (false, _) => faults.push("required /core-profile-id".to_owned()),
        }
    }
    faults
}

/// A record after an entry.
fn merged(before: &Value, entry: &Value, adds: bool) -> Value {
    let mut after = before.clone();
    let Value::Object(members) = entry else { return after };
    let others = ["core-profile-id", "add_tags", "remove_tags"];
    for (name, change) in members.iter().filter(|(name, _)| !others.contains(&name.as_str())) {
        match change {
            Value::Null => drop(after.as_object_mut().and_then(|map| map.shift_remove(name))),
            Value::Array(given) if adds && name == "identities" => {
                let mut all = before["identities"].as_array().cloned().unwrap_or_default();
                for identity in given {
                    add(&mut all, identity);
                }
                after[name] = Value::Array(all);
            }
            Value::Object(changes) => {
                let mut map = before[name].as_object().cloned().unwrap_or_default();
                for (key, value) in changes {
                    match value {
                        Value::Null => drop(map.shift_remove(key)),
                        _ => drop(map.insert(key.clone(), value.clone())),
                    }
                }
                after[name] = Value::Object(map);
            }
            _ => after[name] = change.clone(),
        }
    }
    change_tags(&mut after, entry);
    after
}

/// Removes tags from a record, and adds those that it does not have.
fn change_tags(record: &mut Value, entry: &Value) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut tags = list(&record["tags"]);
    tags.retain(|tag| !list(&entry["remove_tags"]).contains(tag));
    for tag in list(&entry["add_tags"]) {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    if !tags.is_empty() || record.get("tags").is_some() {
        record["tags"] = Value::Array(tags);
    }
}

/// Adds an identity to those of a record, or its metadata to the one that is there.
fn add(all: &mut Vec<Value>, given: &Value) {
    let Some(known) = all.iter_mut().find(|known| key(known) == key(given)) else {
        return all.push(given.clone());
    };
    let (kind, _) = key(given);
    for (name, text) in given.as_object().into_iter().flatten().filter(|(name, _)| **name != kind) {
        known[name] = text.clone();
    }
}

//! A follower of the log of changes, as another system would be one: it takes a cursor, exports all
//! records, and then reads the log from the cursor, page by page. It takes the new state of each
//! changed record from the page itself, or reads the records by their ids. It fails at a position
//! out of order and at a gap. At the end of the log its state equals an export.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::json;
use serde_json::value::RawValue;

use crate::splitmix::SplitMix;

/// The kinds of records that are rebuilt, each with its list, its id and the parameter for ids.
const KINDS: [(&str, &str, &str, &str); 3] = [
    ("issue", "v1/{domain}/issues", "id", "ids"),
    ("core_profile", "v2/{domain}/identity/core_profiles", "core-profile-id", "ids"),
    ("app_profile", "v2/{domain}/identity/app_profiles", "pid", "pids"),
];
/// The kinds whose creation is followed.
const NAMES: [(&str, &str); 3] = [("app", "apps"), ("agent", "agents"), ("queue", "queues")];
/// Members at the end of profiles that other records decide.
const LOOKED_UP: [&str; 2] = [",\"app_profile_pids\":", ",\"core-profile-id\":"];
/// Everything that a record of the log has.
const INCLUDES: &str = "includes=feedback,custom_fields,queue,private_notes,predict_labels,\
                        sentiment_analysis,smart_intents";
/// Records that are read in one request by their ids.
const READ_MAX: usize = 50;

/// The status and the text of the answer to a GET.
pub type Got = Result<(u16, String), String>;
/// Numbers stay as they are: some are beyond those of a tree of values.
pub(crate) type Members<'p> = BTreeMap<String, &'p RawValue>;
type Key = (String, String);

/// The state of all records of a domain.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Records(BTreeMap<Key, String>);

/// A follower and its state.
#[derive(Debug)]
pub struct Follower {
    domain: String,
    random: SplitMix,
    /// Whether the pages contain the records.
    with_records: bool,
    cursor: u64,
    pub records: Records,
    /// How many records it began with.
    pub exported: usize,
    /// Whether each record that the log named is there by its last change.
    there: BTreeMap<Key, bool>,
    /// How many changes of each resource and action it followed.
    pub seen: BTreeMap<(String, String), u64>,
    pub pages: u64,
}

impl Records {
    /// Reads all records of a domain.
    pub async fn export(
        domain: &str,
        get: &mut impl AsyncFnMut(String) -> Got,
    ) -> Result<Self, String> {
        let mut all = Self::default();
        for (kind, list, ..) in KINDS {
            let includes = if kind == "issue" { INCLUDES } else { "" };
            let list = list.replace("{domain}", domain);
            let path = format!("/{list}?format=jsonl&trailer=false&{includes}");
            all.take(kind, &good(get, path).await?)?;
        }
        for (kind, list) in NAMES {
            let path = format!("/v1/{domain}/{list}?format=jsonl&page-size=1000");
            for line in good(get, path).await?.lines() {
                if let Some(id) = members(line)?.get("id") {
                    all.0.insert((kind.to_owned(), id_text(id)), String::new());
                }
            }
        }
        Ok(all)
    }

    /// Adds the lines of an export.
    fn take(&mut self, kind: &str, lines: &str) -> Result<(), String> {
        let id_of = KINDS.iter().find(|of| of.0 == kind).map_or("", |of| of.2);
        for line in lines.lines() {
            let record = members(line)?;
            let id = record.get(id_of).ok_or_else(|| format!("no {id_of}: {line}"))?;
            self.0.insert((kind.to_owned(), id_text(id)), line.to_owned());
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first few differences from an export.
    pub fn differences(&self, export: &Self) -> Vec<String> {
        let keys: BTreeSet<&Key> = self.0.keys().chain(export.0.keys()).collect();
        let differ = |key: &&&Key| self.0.get(**key) != export.0.get(**key);
        let shown = |key: &Key| {
            let (own, other) = (self.0.get(key), export.0.get(key));
            format!("{} {}: followed {own:?}, exported {other:?}", key.0, key.1)
        };
        keys.iter().filter(differ).take(3).map(|key| shown(key)).collect()
    }
}

impl Follower {
    /// Takes a cursor, then exports all records.
    pub async fn begin(
        domain: &str,
        seed: u64,
        with_records: bool,
        get: &mut impl AsyncFnMut(String) -> Got,
    ) -> Result<Self, String> {
        let page = good(get, format!("/v1/{domain}/changes?cursor=latest")).await?;
        let cursor = number(members(&page)?.get("next-cursor").copied())?;
        let records = Records::export(domain, get).await?;
        Ok(Self {
            domain: domain.to_owned(),
            random: SplitMix::new(seed),
            cursor,
            exported: records.len(),
            records,
            with_records,
            there: BTreeMap::new(),
            seen: BTreeMap::new(),
            pages: 0,
        })
    }

    /// Follows one page of the log; returns whether it was the end.
    pub async fn step(&mut self, get: &mut impl AsyncFnMut(String) -> Got) -> Result<bool, String> {
        let size = self.random.pick(&[1, 7, 100, 1000]);
        let includes = if self.with_records { "&includes=record" } else { "" };
        let log = format!("/v1/{}/changes?cursor={}", self.domain, self.cursor);
        let page = good(get, format!("{log}&page-size={size}{includes}")).await?;
        self.pages += 1;
        let page = members(&page)?;
        let changes = page.get("changes").ok_or("a page without changes")?.get();
        let changes: Vec<Members<'_>> = serde_json::from_str(changes).map_err(|e| e.to_string())?;
        let mut to_read: [BTreeSet<String>; 3] = Default::default();
        for change in &changes {
            let position = number(change.get("position").copied())?;
            if position != self.cursor + 1 {
                return Err(format!("after {} came {position}", self.cursor));
            }
            self.cursor = position;
            self.change(change, &mut to_read)?;
        }
        if number(page.get("next-cursor").copied())? != self.cursor {
            return Err(format!("the cursor of {page:?} is not its last position"));
        }
        for (kind, ids) in to_read.into_iter().enumerate() {
            let ids: Vec<String> = ids.into_iter().collect();
            for some in ids.chunks(READ_MAX) {
                self.read(kind, some, get).await?;
            }
        }
        Ok(changes.is_empty())
    }

    pub fn changes(&self) -> u64 {
        self.seen.values().sum()
    }

    fn change(
        &mut self,
        change: &Members<'_>,
        to_read: &mut [BTreeSet<String>; 3],
    ) -> Result<(), String> {
        let resource = text(change.get("resource").copied())?;
        let (id, action) = (text(change.get("id").copied())?, text(change.get("action").copied())?);
        *self.seen.entry((resource.clone(), action.clone())).or_default() += 1;
        let there = self.there.insert((resource.clone(), id.clone()), action != "deleted");
        if there.is_some_and(|there| there == (action == "created")) {
            return Err(format!("{resource} {id} was there: {there:?}, then came {action}"));
        }
        let kind = KINDS.iter().position(|(kind, ..)| *kind == resource);
        let Some(kind) = kind else {
            if action == "created" && NAMES.iter().any(|(kind, _)| *kind == resource) {
                self.records.0.insert((resource, id), String::new());
            }
            return Ok(());
        };
        if !self.with_records {
            to_read[kind].insert(id);
            return Ok(());
        }
        let record = change.get("record").ok_or("a change without its record")?.get();
        if record == "null" {
            self.records.0.remove(&(resource, id));
            return Ok(());
        }
        let end = LOOKED_UP.iter().filter(|_| kind > 0).find_map(|name| record.rfind(name));
        let own = end.map_or_else(|| record.to_owned(), |end| format!("{}}}", &record[..end]));
        self.records.0.insert((resource, id), own);
        Ok(())
    }

    /// Reads records by their ids; those that are not in the answer are gone.
    async fn read(
        &mut self,
        kind: usize,
        ids: &[String],
        get: &mut impl AsyncFnMut(String) -> Got,
    ) -> Result<(), String> {
        let (kind, list, _, parameter) = KINDS[kind];
        let list = list.replace("{domain}", &self.domain);
        let includes = if kind == "issue" { INCLUDES } else { "" };
        let ids_given = encoded(&json!(ids).to_string());
        let path = format!("/{list}?format=jsonl&trailer=false&{includes}&{parameter}={ids_given}");
        let found = good(get, path).await?;
        for id in ids {
            self.records.0.remove(&(kind.to_owned(), id.clone()));
        }
        self.records.take(kind, &found)
    }
}

async fn good(get: &mut impl AsyncFnMut(String) -> Got, path: String) -> Result<String, String> {
    let (status, text) = get(path.clone()).await?;
    if status == 200 { Ok(text) } else { Err(format!("{path} was answered {status}: {text}")) }
}

fn members(text: &str) -> Result<Members<'_>, String> {
    serde_json::from_str(text).map_err(|error| format!("{error}: {text}"))
}

/// An id that is a string or digits.
pub(crate) fn id_text(value: &RawValue) -> String {
    serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

fn text(value: Option<&RawValue>) -> Result<String, String> {
    let value = value.ok_or("a member is missing")?;
    serde_json::from_str(value.get()).map_err(|error| error.to_string())
}

fn number(value: Option<&RawValue>) -> Result<u64, String> {
    text(value)?.parse().map_err(|_| "a position that is not digits".to_owned())
}

/// A value of a query.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        let _ = if byte.is_ascii_alphanumeric() {
            write!(out, "{}", char::from(byte))
        } else {
            write!(out, "%{byte:02X}")
        };
        out
    })
}

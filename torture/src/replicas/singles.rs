//! Single writes to issues through any server, all the time: creations, messages, notes and edits.
//! Each text is unique in the run, so that acknowledged writes can be found afterwards. A write
//! without an answer is repeated with its key through another server until there is one. A few are
//! given up; they may then be there once or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use caseload_client::{Client, Params};
use parking_lot::Mutex;
use serde_json::Value;

use super::fleet::{Answer, Call, Fleet};
use super::follow::ChangeTimes;
use super::gate::Gate;
use crate::laws::DOMAINS;
use caseload_testdata::SplitMix;

/// Issues that a writer continues to change.
const OPEN_MAX: usize = 20;
/// Percentage of unanswered writes that are given up.
const GIVEN_UP: usize = 20;
/// Time limit for a write to be acknowledged by any server.
const ANSWER_MAX: Duration = Duration::from_mins(3);

/// The expected result of all single writes in a domain.
#[derive(Default)]
pub(super) struct SingleWrites {
    /// By title.
    issues: BTreeMap<String, ExpectedIssue>,
    pub(super) acknowledged: u64,
    pub(super) given_up: u64,
    pub(super) repeats: u64,
}

#[derive(Default, Clone)]
struct ExpectedIssue {
    id: Option<u64>,
    /// Messages and notes after the first message, and whether they were acknowledged.
    texts: BTreeMap<String, bool>,
    /// The last acknowledged tag.
    tag: Option<String>,
    /// Tags of edits without an answer: an edit has no key and may take effect late.
    loose: BTreeSet<String>,
}

/// One writer of a domain.
pub(super) struct Writer {
    pub(super) domain: usize,
    pub(super) name: String,
    pub(super) random: SplitMix,
    pub(super) expected: Arc<Mutex<SingleWrites>>,
}

impl Writer {
    /// Writes until the run ends.
    pub(super) async fn run(mut self, fleet: Arc<Fleet>, gate: Gate) -> Result<()> {
        let mut open: Vec<String> = Vec::new();
        let mut writes = 0;
        while let Some(pass) = gate.enter().await {
            writes += 1;
            let text = format!("{} {writes}.", self.name);
            let kind = self.random.below(10);
            if open.is_empty() || kind < 4 {
                if self.create(&fleet, &text).await? {
                    open.push(text);
                }
                if open.len() > OPEN_MAX {
                    open.remove(0);
                }
            } else {
                let title = open[self.random.below(open.len())].clone();
                self.change(&fleet, &title, &text, kind).await?;
            }
            drop(pass);
            let pause = 10 + self.random.below(80) as u64;
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        Ok(())
    }

    async fn create(&mut self, fleet: &Fleet, title: &str) -> Result<bool> {
        self.expected.lock().issues.insert(title.to_owned(), ExpectedIssue::default());
        let form = [("title", title), ("message-body", title), ("email", "ada@example.org")];
        let call = Call { path: "issues", form: Some(&form), key: Some(title), ..self.call() };
        let Some((answer, _)) = self.until_acknowledged(fleet, &call).await? else {
            return Ok(false);
        };
        let answer: Value = serde_json::from_str(&answer)?;
        let id = answer["id"].as_str().context("an answer without an id")?.parse()?;
        self.expected.lock().issues.entry(title.to_owned()).or_default().id = Some(id);
        self.read_through_another(fleet, id, title).await?;
        Ok(true)
    }

    async fn change(&mut self, fleet: &Fleet, title: &str, text: &str, kind: usize) -> Result<()> {
        let id = self.expected.lock().issues[title].id.context("a change before the creation")?;
        let tags = format!("[{text:?}]");
        let (path, form, put) = match kind {
            4..7 => (format!("issues/{id}/messages"), [("message-body", text)], false),
            7 => (format!("issues/{id}/private-notes"), [("note-text", text)], false),
            _ => (format!("issues/{id}"), [("tags", tags.as_str())], true),
        };
        {
            let mut expected = self.expected.lock();
            let single = expected.issues.entry(title.to_owned()).or_default();
            if put {
                single.loose.insert(text.to_owned());
            } else {
                single.texts.insert(text.to_owned(), false);
            }
        }
        let key = (!put).then_some(text);
        let call = Call { path: &path, form: Some(&form), put, key, ..self.call() };
        if let Some((_, tries)) = self.until_acknowledged(fleet, &call).await? {
            {
                let mut expected = self.expected.lock();
                let single = expected.issues.entry(title.to_owned()).or_default();
                if put {
                    single.tag = Some(text.to_owned());
                    if tries == 1 {
                        single.loose.remove(text);
                    }
                } else {
                    single.texts.insert(text.to_owned(), true);
                }
            }
            self.read_through_another(fleet, id, text).await?;
        }
        Ok(())
    }

    fn call(&self) -> Call<'static> {
        Call { domain: self.domain, ..Call::default() }
    }

    /// Sends the request to one server after the other until one acknowledges it. Returns the
    /// answer and the number of attempts, or `None` if it was given up.
    async fn until_acknowledged(
        &mut self,
        fleet: &Fleet,
        call: &Call<'_>,
    ) -> Result<Option<(String, u32)>> {
        let begun = Instant::now();
        let mut server = self.random.below(fleet.len());
        for tries in 1.. {
            if let Answer::Good(answer) = fleet.call(server, call).await? {
                self.expected.lock().acknowledged += 1;
                return Ok(Some((answer, tries)));
            }
            if self.random.below(100) < GIVEN_UP {
                self.expected.lock().given_up += 1;
                return Ok(None);
            }
            ensure!(begun.elapsed() < ANSWER_MAX, "{} is acknowledged by no server", call.path);
            self.expected.lock().repeats += 1;
            server = (server + 1) % fleet.len();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(None)
    }

    /// Reads an acknowledged write through another server, if that one answers.
    async fn read_through_another(&mut self, fleet: &Fleet, id: u64, text: &str) -> Result<()> {
        let server = self.random.below(fleet.len());
        let path = format!("issues/{id}?includes=%5B%22private_notes%22%5D");
        let patience = Some(Duration::from_secs(3));
        let call = Call { path: &path, patience, ..self.call() };
        if let Answer::Good(issue) = fleet.call(server, &call).await? {
            ensure!(
                issue.contains(&format!("{text:?}")),
                "{text} cannot be read through server {server}"
            );
        }
        Ok(())
    }
}

impl SingleWrites {
    /// Compares the issues of a domain that single writes created with the acknowledged writes, in
    /// a pause of the writers. `since` is a time before the first of them.
    pub(super) async fn verify(
        &mut self,
        client: &Client,
        domain: usize,
        since: i64,
    ) -> Result<ChangeTimes> {
        let mut params = Params::all_included();
        params.push("created-since", since.to_string());
        params.push("sort-order", "asc");
        params.push("page-size", "1000");
        let mut found = ChangeTimes::new();
        let mut titles = BTreeSet::new();
        let mut stream = client.stream_issues(params);
        while let Some(issue) = stream.next().await? {
            let issue: Value = serde_json::from_slice(&issue)?;
            let title = issue["title"].as_str().context("no title")?.to_owned();
            let at = || format!("{}: issue {title:?}: {issue}", DOMAINS[domain]);
            let single = self.issues.get_mut(&title);
            let single = single.context("no writer created it").with_context(at)?;
            let id = issue["id"].as_u64().context("no id")?;
            // The id of a creation that was given up is known from now on.
            ensure!(*single.id.get_or_insert(id) == id, "another id, {}", at());
            ensure!(titles.insert(title.clone()), "it is there twice, {}", at());
            single.verify(&issue).with_context(at)?;
            let updated = issue["updated_at"].as_i64().context("no time")?;
            found.insert(id, updated);
        }
        for (title, single) in &self.issues {
            let lost = single.id.is_some() && !titles.contains(title);
            ensure!(!lost, "{}: issue {title:?} was acknowledged and is lost", DOMAINS[domain]);
        }
        Ok(found)
    }
}

impl ExpectedIssue {
    fn verify(&mut self, issue: &Value) -> Result<()> {
        let bodies = [&issue["messages"], &issue["private_notes"]];
        let bodies = bodies.iter().filter_map(|list| list.as_array()).flatten();
        let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
        for body in bodies.filter_map(|m| m["body"].as_str()) {
            *seen.entry(body).or_default() += 1;
        }
        let first = issue["title"].as_str().unwrap_or_default();
        ensure!(seen.remove(first) == Some(1), "the first message is not there once");
        for (text, acknowledged) in &mut self.texts {
            let times = seen.remove(text.as_str()).unwrap_or(0);
            ensure!(times <= 1, "{text:?} is there {times} times");
            ensure!(times == 1 || !*acknowledged, "{text:?} was acknowledged and is lost");
            *acknowledged = times == 1;
        }
        ensure!(seen.is_empty(), "no writer sent {seen:?}");
        let tag = issue["tags"][0].as_str();
        let right = tag == self.tag.as_deref() || tag.is_some_and(|tag| self.loose.contains(tag));
        ensure!(right, "its tag is {tag:?}, not {:?} or one of {:?}", self.tag, self.loose);
        (self.tag, self.loose) = (tag.map(str::to_owned), BTreeSet::new());
        Ok(())
    }
}

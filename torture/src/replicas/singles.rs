//! Single writes to issues through whichever server comes: creations, messages, notes and edits,
//! all the time. Each text is there once in the whole run, so that what was acknowledged can be
//! looked for afterwards. What got no answer is asked again with its key through another server
//! until there is one; a few are given up, and may then be there once or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use caseload_client::{Client, IssueParams};
use serde_json::Value;

use super::fleet::{Answer, Call, Fleet, lock};
use super::follow::Found;
use super::gate::Gate;
use crate::laws::DOMAINS;
use caseload_testdata::SplitMix;

/// Issues that a writer goes on with.
const OPEN_MAX: usize = 20;
/// Of a hundred writes without an answer, those that are given up.
const GIVEN_UP: usize = 20;
/// Time for a write to be acknowledged through one server or another.
const ANSWER_MAX: Duration = Duration::from_mins(3);

/// What single writes must have left in a domain.
#[derive(Default)]
pub(super) struct Singles {
    /// By title.
    issues: BTreeMap<String, Single>,
    pub(super) acknowledged: u64,
    pub(super) given_up: u64,
    pub(super) repeats: u64,
}

#[derive(Default, Clone)]
struct Single {
    id: Option<u64>,
    /// Messages and notes beyond the first, acknowledged or not.
    texts: BTreeMap<String, bool>,
    /// The tag that was acknowledged last.
    tag: Option<String>,
    /// Tags of which an attempt got no answer: an edit has no key, and such a one may come late.
    loose: BTreeSet<String>,
}

/// One writer of a domain.
pub(super) struct Writer {
    pub(super) domain: usize,
    pub(super) name: String,
    pub(super) random: SplitMix,
    pub(super) book: Arc<Mutex<Singles>>,
}

impl Writer {
    /// Writes until it is told to stop.
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
        lock(&self.book).issues.insert(title.to_owned(), Single::default());
        let form = [("title", title), ("message-body", title), ("email", "ada@example.org")];
        let call = Call { path: "issues", form: Some(&form), key: Some(title), ..self.call() };
        let Some((answer, _)) = self.until_acknowledged(fleet, &call).await? else {
            return Ok(false);
        };
        let answer: Value = serde_json::from_str(&answer)?;
        let id = answer["id"].as_str().context("an answer without an id")?.parse()?;
        lock(&self.book).issues.entry(title.to_owned()).or_default().id = Some(id);
        self.seen_through_another(fleet, id, title).await?;
        Ok(true)
    }

    async fn change(&mut self, fleet: &Fleet, title: &str, text: &str, kind: usize) -> Result<()> {
        let id = lock(&self.book).issues[title].id.context("a change before the creation")?;
        let tags = format!("[{text:?}]");
        let (path, form, put) = match kind {
            4..7 => (format!("issues/{id}/messages"), [("message-body", text)], false),
            7 => (format!("issues/{id}/private-notes"), [("note-text", text)], false),
            _ => (format!("issues/{id}"), [("tags", tags.as_str())], true),
        };
        {
            let mut book = lock(&self.book);
            let single = book.issues.entry(title.to_owned()).or_default();
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
                let mut book = lock(&self.book);
                let single = book.issues.entry(title.to_owned()).or_default();
                if put {
                    single.tag = Some(text.to_owned());
                    if tries == 1 {
                        single.loose.remove(text);
                    }
                } else {
                    single.texts.insert(text.to_owned(), true);
                }
            }
            self.seen_through_another(fleet, id, text).await?;
        }
        Ok(())
    }

    fn call(&self) -> Call<'static> {
        Call { domain: self.domain, ..Call::default() }
    }

    /// Sends the call to one server after the other until one acknowledges it; the answer, and how
    /// often it was asked. None where it is given up.
    async fn until_acknowledged(
        &mut self,
        fleet: &Fleet,
        call: &Call<'_>,
    ) -> Result<Option<(String, u32)>> {
        let begun = Instant::now();
        let mut server = self.random.below(fleet.len());
        for tries in 1.. {
            if let Answer::Good(answer) = fleet.call(server, call).await? {
                lock(&self.book).acknowledged += 1;
                return Ok(Some((answer, tries)));
            }
            if self.random.below(100) < GIVEN_UP {
                lock(&self.book).given_up += 1;
                return Ok(None);
            }
            ensure!(begun.elapsed() < ANSWER_MAX, "{} is acknowledged nowhere", call.path);
            lock(&self.book).repeats += 1;
            server = (server + 1) % fleet.len();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(None)
    }

    /// What was acknowledged by one server is seen through each other one, where that answers.
    async fn seen_through_another(&mut self, fleet: &Fleet, id: u64, text: &str) -> Result<()> {
        let server = self.random.below(fleet.len());
        let path = format!("issues/{id}?includes=%5B%22private_notes%22%5D");
        let patience = Some(Duration::from_secs(3));
        let call = Call { path: &path, patience, ..self.call() };
        if let Answer::Good(issue) = fleet.call(server, &call).await? {
            ensure!(issue.contains(&format!("{text:?}")), "{text} is not seen through {server}");
        }
        Ok(())
    }
}

impl Singles {
    /// Holds the issues of a domain that single writes made against what was acknowledged, while
    /// nobody writes. `since` is a time before the first of them.
    pub(super) async fn hold(
        &mut self,
        client: &Client,
        domain: usize,
        since: i64,
    ) -> Result<Found> {
        let mut params = IssueParams::all_included();
        params.push("created-since", since.to_string());
        params.push("sort-order", "asc");
        params.push("page-size", "1000");
        let mut found = Found::new();
        let mut titles = BTreeSet::new();
        let mut stream = client.stream_issues(params);
        while let Some(issue) = stream.next().await? {
            let issue: Value = serde_json::from_slice(&issue)?;
            let title = issue["title"].as_str().context("no title")?.to_owned();
            let at = || format!("{}: issue {title:?}: {issue}", DOMAINS[domain]);
            let single = self.issues.get_mut(&title);
            let single = single.context("never asked for").with_context(at)?;
            let id = issue["id"].as_u64().context("no id")?;
            // One that was given up is known from now on.
            ensure!(*single.id.get_or_insert(id) == id, "another id, {}", at());
            ensure!(titles.insert(title.clone()), "there twice, {}", at());
            single.hold(&issue).with_context(at)?;
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

impl Single {
    fn hold(&mut self, issue: &Value) -> Result<()> {
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
        ensure!(seen.is_empty(), "nobody asked for {seen:?}");
        let tag = issue["tags"][0].as_str();
        let right = tag == self.tag.as_deref() || tag.is_some_and(|tag| self.loose.contains(tag));
        ensure!(right, "its tag is {tag:?}, not {:?} or one of {:?}", self.tag, self.loose);
        (self.tag, self.loose) = (tag.map(str::to_owned), BTreeSet::new());
        Ok(())
    }
}

//! Records the calls and answers of clients through kills, crashes, failovers and jumps of clocks,
//! and checks that each issue and each identity has a history with an order ([`checker`]). The
//! first one without ends the run and names the smallest contradiction.

mod checker;
mod issue;
mod owner;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use caseload_testdata::SplitMix;
use caseload_teststore::Backend;
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::{JoinSet, block_in_place};
use tokio::time::sleep;

use checker::{Recorded, contradiction};
use issue::{OfIssue, OnIssue};
use owner::{OfIdentity, OnIdentity, Wish};

use crate::stage::{Answered, Request, Stage};

/// Objects of a round, and the clients of each kind.
const ISSUES: usize = 2;
const UIDS: usize = 4;
const ISSUE_CLIENTS: usize = 4;
const IDENTITY_CLIENTS: usize = 3;
/// Calls of a client in a round.
const ISSUE_CALLS: usize = 24;
const IDENTITY_CALLS: usize = 8;
/// How long a client repeats a write, and one try in so many that it then gives up.
const REPEAT_MAX: Duration = Duration::from_mins(2);
const GIVEN_UP_IN: usize = 12;

/// One round: its objects and their histories.
struct Round {
    stage: Arc<Stage>,
    number: usize,
    /// Orders the events of all clients.
    time: AtomicU64,
    issues: Vec<IssueOfRound>,
    identities: Vec<Mutex<Vec<Recorded<OnIdentity>>>>,
    random: Mutex<SplitMix>,
}

struct IssueOfRound {
    id: u64,
    /// The number of the next call about it.
    next: AtomicU32,
    history: Mutex<Vec<Recorded<OnIssue>>>,
}

/// Runs so many rounds on a backend.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn run(backend: Backend, rounds: usize, seed: Option<u64>) -> Result<()> {
    let seed = seed.unwrap_or_else(SplitMix::fresh_seed);
    println!("{rounds} rounds, {backend:?}, seed {seed}");
    let begun = Instant::now();
    let mut random = SplitMix::new(seed);
    let stage = Arc::new(block_in_place(|| Stage::open(backend))?);
    let (mut faults, mut calls, mut lost) = (BTreeMap::<_, u32>::new(), 0, 0);
    for number in 0..rounds {
        let round = Arc::new(Round::begin(&stage, number, &mut random).await?);
        let mut clients = JoinSet::new();
        for _ in 0..ISSUE_CLIENTS {
            clients.spawn(round.clone().issue_client());
        }
        for _ in 0..IDENTITY_CLIENTS {
            clients.spawn(round.clone().identity_client());
        }
        sleep(Duration::from_millis(random.below(1000) as u64)).await;
        let fault = stage.strike(&mut random, number == rounds / 2).await?;
        *faults.entry(fault).or_default() += 1;
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        let (of_round, unanswered) = round.judge().with_context(|| format!("seed {seed}"))?;
        (calls, lost) = (calls + of_round, lost + unanswered);
    }
    stage.check()?;
    for (fault, count) in faults {
        println!("{fault:<44} {count:>8}");
    }
    println!("{:<44} {:>8}", "histories of an issue", rounds * ISSUES);
    println!("{:<44} {:>8}", "histories of an identity", rounds * UIDS);
    println!("{:<44} {calls:>8}", "calls in them");
    println!("{:<44} {lost:>8}", "  without an answer");
    println!("every history has an order; {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

impl Round {
    /// Makes the issues of the round.
    async fn begin(stage: &Arc<Stage>, number: usize, random: &mut SplitMix) -> Result<Self> {
        let mut round = Self {
            stage: stage.clone(),
            number,
            time: AtomicU64::new(1),
            issues: Vec::new(),
            identities: (0..UIDS).map(|_| Mutex::default()).collect(),
            random: Mutex::new(SplitMix::new(random.next())),
        };
        for n in 0..ISSUES {
            let fields = json!({ "message-body": "first", "email": "ada@example.org" });
            let path = "issues".to_owned();
            let make = Request { method: Method::POST, path, fields: Some(fields) };
            let key = format!("make-{number}-{n}");
            let answer = loop {
                if let Some(answer) = stage.send(n, &make, Some(&key)).await? {
                    break answer;
                }
                sleep(Duration::from_millis(100)).await;
            };
            let made: Value = serde_json::from_str(&answer.text)?;
            let id = made["id"].as_str().context("no id")?.parse()?;
            let (next, history) = (AtomicU32::new(1), Mutex::default());
            round.issues.push(IssueOfRound { id, next, history });
        }
        Ok(round)
    }

    fn tick(&self) -> u64 {
        self.time.fetch_add(1, Ordering::SeqCst)
    }

    fn below(&self, end: usize) -> usize {
        self.random.lock().below(end)
    }

    /// Sends a write until it is answered; `None` if the client gave up.
    async fn until_answered(&self, request: &Request, key: &str) -> Result<Option<Answered>> {
        let begun = Instant::now();
        while begun.elapsed() < REPEAT_MAX {
            if let Some(answer) = self.stage.send(self.below(9), request, Some(key)).await? {
                return Ok(Some(answer));
            }
            if self.below(GIVEN_UP_IN) == 0 {
                return Ok(None);
            }
            sleep(Duration::from_millis(150)).await;
        }
        bail!("{} is answered by no server", request.path)
    }

    async fn issue_client(self: Arc<Self>) -> Result<()> {
        for _ in 0..ISSUE_CALLS {
            let of = self.below(self.issues.len());
            let IssueOfRound { id, next, history } = &self.issues[of];
            let number = next.fetch_add(1, Ordering::SeqCst);
            let (operation, request) = issue::choose(&mut self.random.lock(), *id, number);
            let began = self.tick();
            let answer = if request.method == Method::GET {
                self.stage.send(self.below(9), &request, None).await?
            } else {
                let key = format!("{}-{of}-{number}", self.number);
                self.until_answered(&request, &key).await?
            };
            let ended = answer.is_some().then(|| self.tick());
            let is_read = matches!(operation, OnIssue::Read(_));
            let operation = match &answer {
                Some(answer) => issue::answered(operation, answer),
                None if is_read => continue,
                None => operation,
            };
            history.lock().push(Recorded { began, ended, operation });
            sleep(Duration::from_millis(self.below(60) as u64)).await;
        }
        Ok(())
    }

    async fn identity_client(self: Arc<Self>) -> Result<()> {
        // Profiles that only this client moves, and the identity of each.
        let mut own: Vec<(String, usize)> = Vec::new();
        for _ in 0..IDENTITY_CALLS {
            let uid = self.below(UIDS);
            let wish = match (self.below(3), own.pop()) {
                (1, Some((id, from))) if from != uid => Wish::Move { id, from, to: uid },
                (_, Some((id, from))) => {
                    own.push((id.clone(), from));
                    Wish::Read { id }
                }
                _ => Wish::Create { uid },
            };
            let began = self.tick();
            let record = self.task(&wish, began).await?;
            let ended = record.is_some().then(|| self.tick());
            let name = |uid: usize| format!("{}-{uid}", self.number);
            for (uid, operation) in wish.effects(record.as_ref(), UIDS, &name) {
                match (&operation, &wish) {
                    (OnIdentity::Created(id) | OnIdentity::Gained(id), _) => {
                        own.push((id.clone(), uid));
                    }
                    (OnIdentity::Refused, Wish::Move { id, from, .. }) => {
                        own.push((id.clone(), *from));
                    }
                    _ => {}
                }
                self.identities[uid].lock().push(Recorded { began, ended, operation });
            }
        }
        Ok(())
    }

    /// Runs a task of one entry; returns its record, or `None` if that stays unknown.
    async fn task(&self, wish: &Wish, began: u64) -> Result<Option<Value>> {
        let name = |uid: usize| format!("{}-{uid}", self.number);
        let fields = json!({ "action": wish.action(), "payload": [wish.entry(&name)] });
        let path = "identity/bulk_actions".to_owned();
        let submit = Request { method: Method::POST, path: path.clone(), fields: Some(fields) };
        let key = format!("task-{}-{began}", self.number);
        let Some(answer) = self.until_answered(&submit, &key).await? else { return Ok(None) };
        let task: Value = serde_json::from_str(&answer.text)?;
        let id = task["task_id"].as_str().context("no task id")?;
        let get = |path| Request { method: Method::GET, path, fields: None };
        let status = get(format!("{path}/{id}?wait=5"));
        let begun = Instant::now();
        let list = loop {
            if let Some(answer) = self.stage.send(self.below(9), &status, None).await? {
                let task: Value = serde_json::from_str(&answer.text)?;
                if task["status"] == "completed" {
                    break if task["counts"]["failed"] == 1 { "errors" } else { "results" };
                }
            }
            if begun.elapsed() > REPEAT_MAX {
                bail!("the task {id} does not complete");
            }
            sleep(Duration::from_millis(30)).await;
        };
        let records = get(format!("{path}/{id}/{list}"));
        while begun.elapsed() <= REPEAT_MAX {
            if let Some(answer) = self.stage.send(self.below(9), &records, None).await? {
                let records: Value = serde_json::from_str(&answer.text)?;
                return Ok(Some(records[0].clone()));
            }
            sleep(Duration::from_millis(100)).await;
        }
        bail!("the records of the task {id} cannot be read")
    }

    /// Checks all histories; returns the number of calls, and of those without an answer.
    fn judge(&self) -> Result<(usize, usize)> {
        let (mut calls, mut lost) = (0, 0);
        for IssueOfRound { id, history, .. } in &self.issues {
            let history = history.lock();
            if let Some(text) = contradiction::<OfIssue>(&history) {
                bail!("issue {id}: {text}");
            }
            calls += history.len();
            lost += history.iter().filter(|call| call.ended.is_none()).count();
        }
        for (uid, history) in self.identities.iter().enumerate() {
            let history = history.lock();
            if let Some(text) = contradiction::<OfIdentity>(&history) {
                bail!("identity {}-{uid}: {text}", self.number);
            }
            calls += history.len();
            lost += history.iter().filter(|call| call.ended.is_none()).count();
        }
        Ok((calls, lost))
    }
}

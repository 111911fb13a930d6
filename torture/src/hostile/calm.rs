//! The other tenant: it reads and writes all the time, a little, and times its answers. Any answer
//! but a good one and a 503 with `Retry-After` is wrong.

use std::time::{Duration, Instant};

use anyhow::Result;
use reqwest::Method;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::arena::Arena;
use super::tenant::{Reply, Tenant};

/// Pause between two requests.
const PAUSE: Duration = Duration::from_millis(20);

/// What the calm tenant met.
#[derive(Default)]
pub(crate) struct Calm {
    /// Milliseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) answered: usize,
    /// Answers 503.
    pub(crate) refused: usize,
    pub(crate) wrong: Option<String>,
}

/// A calm tenant at work.
pub(crate) struct Calming {
    stop: watch::Sender<bool>,
    running: JoinHandle<Calm>,
}

/// Makes an issue, so that there is something to read, and begins.
pub(crate) async fn begin(arena: &Arena) -> Result<Calming> {
    arena.calm.make_issue("hello").await?.good()?;
    let (stop, stopped) = watch::channel(false);
    Ok(Calming { stop, running: tokio::spawn(work(arena.calm.clone(), stopped)) })
}

impl Calming {
    pub(crate) async fn end(self) -> Calm {
        self.stop.send_replace(true);
        let wrong = Calm { wrong: Some("a panic".to_owned()), ..Calm::default() };
        self.running.await.unwrap_or(wrong)
    }
}

async fn work(tenant: Tenant, stopped: watch::Receiver<bool>) -> Calm {
    let (mut calm, mut times) = (Calm::default(), Vec::new());
    let mut round = 0_u64;
    // Some attacks are over before the first answer.
    while (calm.answered == 0 || !*stopped.borrow()) && calm.wrong.is_none() {
        round += 1;
        let begun = Instant::now();
        let answer = step(&tenant, round).await;
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
        calm.answered += 1;
        match answer {
            Ok(reply) if reply.status.is_success() => {}
            Ok(reply) if reply.status == 503 && reply.headers.contains_key("retry-after") => {
                calm.refused += 1;
            }
            Ok(reply) => calm.wrong = Some(reply.short()),
            // The attack itself may have ended the server.
            Err(_) if *stopped.borrow() => {}
            Err(error) => calm.wrong = Some(format!("no answer: {error:#}")),
        }
        tokio::time::sleep(PAUSE).await;
    }
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    (calm.p50, calm.p99) = (at(50), at(99));
    calm
}

async fn step(tenant: &Tenant, round: u64) -> Result<Reply> {
    match round % 4 {
        0 => tenant.make_issue("one more").await,
        1 => tenant.get(&tenant.path("v1", "issues?page-size=20")).await,
        2 => tenant.get(&tenant.path("v1", "issues/1")).await,
        _ => {
            let entry = format!("{{\"identities\":[{{\"uid\":\"calm-{round}\"}}]}}\n");
            let path = tenant.path("v2", "identity/bulk_actions");
            let fields = [("action", "create_core_profiles"), ("payload", &format!("[{entry}]"))];
            tenant.send(tenant.request(Method::POST, &path).form(&fields)).await
        }
    }
}

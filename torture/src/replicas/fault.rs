//! The faults of servers, their network and their database, one a round. A fault has ended when
//! [`Fault::strike`] returns: the server runs again and the wire carries again. The load continues
//! during the fault.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::time::sleep;

use super::database::Database;
use super::fleet::{Fleet, LEASE_SECONDS};
use super::{disk, nodes, takeover};
use caseload_testdata::SplitMix;

/// Time for which the tasks of a killed server are watched.
const TAKEOVER_MAX: Duration = Duration::from_secs(30);
/// Time limit to find a chunk whose session can be ended.
const CHUNK_MAX: Duration = Duration::from_secs(5);
/// Usual number of seconds that a server is away after other servers have taken its tasks over.
const LATER_SECONDS: u64 = 10;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    Kill,
    RestartFast,
    RestartImmediate,
    Cut,
    Block,
    Freeze,
    EndSession,
    WorkerCrash,
    WorkerCutOff,
    WorkerFailover,
    WorkerFull,
    CoordinatorFailover,
    BetweenCommits,
    Move,
    Isolate,
}

/// The faults of the first rounds, in order; later ones are random.
pub(super) const FAULTS: [Fault; 7] = [
    Fault::Kill,
    Fault::RestartImmediate,
    Fault::Block,
    Fault::Cut,
    Fault::EndSession,
    Fault::Freeze,
    Fault::RestartFast,
];

/// Those of a cluster, which come first there.
pub(super) const FAULTS_OF_NODES: [Fault; 8] = [
    Fault::WorkerCrash,
    Fault::BetweenCommits,
    Fault::Move,
    Fault::WorkerCutOff,
    Fault::WorkerFailover,
    Fault::WorkerFull,
    Fault::CoordinatorFailover,
    Fault::Isolate,
];

/// The outcome of a fault.
#[derive(Default)]
pub(super) struct FaultOutcome {
    /// How long tasks waited for another server.
    pub(super) takeovers: Vec<Duration>,
    pub(super) sessions: usize,
    pub(super) between_commits: usize,
}

impl Fault {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kill => "server killed",
            Self::RestartFast => "database restarted, fast",
            Self::RestartImmediate => "database restarted, immediate",
            Self::Cut => "connections of a server cut",
            Self::Block => "network of a server blocked",
            Self::Freeze => "server frozen",
            Self::EndSession => "session of a chunk ended",
            Self::WorkerCrash => "worker crashed",
            Self::WorkerCutOff => "worker cut off",
            Self::WorkerFailover => "worker failed over",
            Self::WorkerFull => "disk of a worker full",
            Self::CoordinatorFailover => "coordinator failed over",
            Self::BetweenCommits => "coordinator stopped in a commit",
            Self::Move => "shard moved",
            Self::Isolate => "domain isolated",
        }
    }

    /// Whether the fault affects one server only.
    pub(super) const fn is_of_one_server(self) -> bool {
        matches!(self, Self::Kill | Self::Cut | Self::Block | Self::Freeze)
    }

    /// Makes the fault: to the server `victim`, or to the database of all.
    pub(super) async fn strike(
        self,
        victim: usize,
        fleet: &Fleet,
        database: &Arc<Database>,
        random: &mut SplitMix,
    ) -> Result<FaultOutcome> {
        let mut outcome = FaultOutcome::default();
        match self {
            Self::Kill => {
                fleet.kill(victim)?;
                let watched = takeover::watch(Arc::clone(database), Instant::now(), TAKEOVER_MAX);
                let watched = tokio::spawn(watched);
                sleep(Duration::from_millis(random.below(6000) as u64)).await;
                fleet.serve(victim)?;
                outcome.takeovers = watched.await??;
            }
            Self::RestartFast => database.restart("fast").await?,
            Self::RestartImmediate => database.restart("immediate").await?,
            Self::Cut => {
                for _ in 0..=random.below(4) {
                    fleet.wire(victim).cut();
                    sleep(Duration::from_millis(random.below(300) as u64)).await;
                }
            }
            Self::Block | Self::Freeze => {
                let away = away(random);
                let gone = Instant::now();
                self.away(victim, fleet, true)?;
                let watched = takeover::watch(Arc::clone(database), gone, away);
                let watched = tokio::spawn(watched);
                sleep(away).await;
                self.away(victim, fleet, false)?;
                outcome.takeovers = watched.await??;
            }
            Self::WorkerCrash
            | Self::WorkerCutOff
            | Self::WorkerFailover
            | Self::WorkerFull
            | Self::CoordinatorFailover
            | Self::BetweenCommits => outcome = self.strike_node(fleet, database, random).await?,
            Self::Move => {
                let client = database.client().await?;
                for _ in 0..2 {
                    nodes::move_domain(&client, random.below(2), random.below(2)).await?;
                }
            }
            Self::Isolate => {
                nodes::isolate(&database.client().await?, random.below(2)).await?;
            }
            Self::EndSession => {
                for _ in 0..=random.below(3) {
                    outcome.sessions += usize::from(database.end_a_chunk(CHUNK_MAX).await?);
                }
            }
        }
        Ok(outcome)
    }

    /// Makes a fault of some node, and measures how soon tasks go on after it.
    async fn strike_node(
        self,
        fleet: &Fleet,
        database: &Database,
        random: &mut SplitMix,
    ) -> Result<FaultOutcome> {
        let mut outcome = FaultOutcome::default();
        let worker = &database.workers[random.below(database.workers.len())];
        let away = Duration::from_millis(500 + random.below(8000) as u64);
        match self {
            Self::WorkerCrash => worker.crash(&database.bin, away).await?,
            Self::WorkerCutOff => worker.cut_off(away).await,
            Self::WorkerFailover => worker.fail_over(database.url(), &database.bin, away).await?,
            Self::WorkerFull => disk::fill(database, fleet, random.below(2), away).await?,
            Self::CoordinatorFailover => database.fail_over(away).await?,
            _ => {
                let restart = database.restart("immediate");
                let found = worker.stop_between_commits(restart, away / 8).await?;
                outcome.between_commits = found.into();
            }
        }
        outcome.takeovers = takeover::progress(database, TAKEOVER_MAX).await?;
        Ok(outcome)
    }

    fn away(self, victim: usize, fleet: &Fleet, gone: bool) -> Result<()> {
        if self == Self::Freeze {
            return fleet.signal(victim, if gone { "-STOP" } else { "-CONT" });
        }
        fleet.wire(victim).block(gone);
        Ok(())
    }
}

/// How long a server is away: always longer than its lease, and usually so long that other servers
/// have worked on its tasks for a while.
fn away(random: &mut SplitMix) -> Duration {
    let seconds = random.pick(&[0, LATER_SECONDS, LATER_SECONDS]) + LEASE_SECONDS;
    Duration::from_millis(1000 * seconds + 500 + random.below(4000) as u64)
}

//! Starts servers and strikes them: kills, stops, cuts of the network, jumps of clocks. At the end
//! every server runs, every network carries, and every clock is right.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use caseload_bulk::{Runner, RunnerConfig};
use caseload_store::StoreError;
use tokio::time::sleep;

use super::link::{Link, Scene};
use super::server::Server;

/// The longest pause before a blow, and the longest time that a server is away.
const PAUSE_MS: usize = 15_000;
const AWAY_MS: usize = 60_000;
/// Jumps of clocks in milliseconds. The last ones are those of a clock that was set by hand; one is
/// longer than records and answers are stored.
const JUMPS_MS: [i64; 9] = [
    -1_000,
    1_000,
    -40_000,
    40_000,
    600_000,
    -600_000,
    86_400_000,
    20 * 86_400_000,
    400 * 86_400_000,
];
/// Time in which a server that starts has seen its clock.
const FIRST_LOOK_MS: i64 = 1_000;
/// How often a server looks for work. It is longer than in the program: each look is a simulated
/// transaction.
const POLL: Duration = Duration::from_secs(4);

/// Starts the server at a place.
pub(super) fn start(world: &Arc<Scene>, place: usize) -> Result<(), StoreError> {
    if world.plan.servers == 1 {
        // The server has the store alone.
        world.store.void_leases()?;
    }
    let link = Link::new(world, place, format!("{place}-{}", world.elapsed_ms()));
    let config = RunnerConfig {
        tasks_at_once: world.pick(&[1, 2, 8]),
        poll_every: POLL,
        // A jump of its clock is over before the server believes it.
        purge_after_start: Duration::ZERO,
        one_thread: true,
        ..RunnerConfig::new(link.name.clone())
    };
    let (work, upkeep) = (Arc::new(Server(link.clone())), Arc::new(Server(link.clone())));
    let runner = Runner::start(work, upkeep, link.clock(), config);
    world.note("starts of a server", place, "");
    world.links.lock()[place] = Some(link);
    world.runners.lock()[place] = Some(runner);
    Ok(())
}

/// Strikes now and then, until it is aborted or has struck often enough.
pub(super) async fn run(world: Arc<Scene>) {
    for _ in 0..world.plan.blows {
        sleep(world.millis_below(PAUSE_MS)).await;
        let place = world.below(world.plan.servers);
        match world.below(5) {
            0 | 1 => kill(&world, place),
            2 => stop(&world, place).await,
            3 => cut(&world, place),
            _ => jump(&world, place),
        }
        sleep(world.millis_below(AWAY_MS)).await;
        let is_down = world.links.lock()[place].is_none();
        if is_down && start(&world, place).is_err() {
            return;
        }
    }
}

fn kill(world: &Scene, place: usize) {
    let (link, runner) = (world.links.lock()[place].take(), world.runners.lock()[place].take());
    let Some((link, runner)) = link.zip(runner) else { return };
    link.kill();
    world.killed.lock().push(runner);
    world.note("kills of a server", place, "");
}

async fn stop(world: &Scene, place: usize) {
    let (link, runner) = (world.links.lock()[place].take(), world.runners.lock()[place].take());
    let Some((link, runner)) = link.zip(runner) else { return };
    world.note("stops of a server", place, "");
    runner.stop().await;
    link.kill();
}

fn cut(world: &Scene, place: usize) {
    if let Some(link) = &world.links.lock()[place] {
        world.note("cuts of a network", place, "");
        link.cut(world.millis_below(AWAY_MS));
    }
}

fn jump(world: &Scene, place: usize) {
    if let Some(link) = &world.links.lock()[place] {
        let millis = world.pick(&JUMPS_MS);
        // The first clock that a server sees is its only measure. In the program, records expire by
        // it an hour later, and here at once, so it is right here.
        if world.elapsed_ms() - link.started_ms < FIRST_LOOK_MS {
            return;
        }
        world.note("jumps of a clock", place, &millis.to_string());
        // A jump forwards of a right clock, or back from a wrong one.
        let before = link.offset.load(Ordering::Relaxed);
        link.offset.store(if before == 0 { millis } else { 0 }, Ordering::Relaxed);
    }
}

/// Ends all faults.
pub(super) fn end(world: &Arc<Scene>) -> Result<(), StoreError> {
    world.calm_down();
    for place in 0..world.plan.servers {
        let link = world.links.lock()[place].clone();
        match link {
            None => start(world, place)?,
            Some(link) => {
                link.offset.store(0, Ordering::Relaxed);
                link.mend();
            }
        }
    }
    Ok(())
}

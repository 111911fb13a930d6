//! One schedule from its seed: clients, servers and blows until all tasks have ended, and then the
//! verdict on all stored data.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};
use std::time::Duration;

use caseload_model::ids::DomainName;
use caseload_store::{CreateDomain, admin};
use caseload_store_sqlite::InMemoryStore;

use super::laws::Law;
use super::link::Scene;
use super::world::{Played, World};
use super::{chaos, clients, verdict};

/// Clients of a schedule.
const CLIENTS: usize = 2;
/// Virtual time after the last fault in which all tasks must end. It is longer than every lease and
/// every pause before a retry.
const END_MAX: Duration = Duration::from_mins(30);
/// Pause between two looks at the tasks.
const LOOK_EVERY: Duration = Duration::from_secs(2);

thread_local! {
    /// The first panic of this thread in a schedule. Tasks of the runtime catch theirs.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes panics of schedules instead of printing them.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            PANIC.with_borrow_mut(|first| {
                first.get_or_insert_with(|| format!("a panic: {panic}"));
            });
        }));
    });
}

/// Plays the schedule of a seed on the store, which is emptied first.
pub(super) fn play(store: &Arc<InMemoryStore>, seed: u64, traced: bool) -> Played {
    note_panics();
    PANIC.take();
    let played = catch_unwind(AssertUnwindSafe(|| in_runtime(store, seed, traced)));
    let mut played = played.unwrap_or_default();
    if let Some(panic) = PANIC.take() {
        played.fault.get_or_insert(panic);
    }
    played
}

fn in_runtime(store: &Arc<InMemoryStore>, seed: u64, traced: bool) -> Played {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = match builder.enable_time().start_paused(true).build() {
        Ok(runtime) => runtime,
        Err(error) => return Played { fault: Some(error.to_string()), ..Played::default() },
    };
    runtime.block_on(async {
        let world = Arc::new(Scene::new(World::new(store.clone(), seed, traced)));
        if let Err(error) = events(&world).await {
            world.require(Law::Durable, false, || format!("the store failed: {error}"));
        }
        // A link knows its world and the world its links.
        world.links.lock().clear();
        world.runners.lock().clear();
        world.killed.lock().clear();
        world.played()
    })
}

async fn events(world: &Arc<Scene>) -> anyhow::Result<()> {
    world.store.clear()?;
    for (n, name) in ["first", "second"].into_iter().enumerate() {
        let command = CreateDomain {
            name: DomainName::parse(name)?,
            origin: world.now().into(),
            random: n as u64,
        };
        let domain = world.store.write(|tx| admin::create_domain(&tx, &command))?;
        world.ledger.lock().domains.push(domain);
    }
    for place in 0..world.plan.servers {
        chaos::start(world, place)?;
    }
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(clients::run(world.clone(), number));
    }
    let blows = tokio::spawn(chaos::run(world.clone()));
    while clients.join_next().await.is_some() {}
    blows.abort();
    chaos::end(world)?;
    let ended = tokio::time::timeout(END_MAX, all_end(world)).await.is_ok();
    world.require(Law::Ends, ended, || world.ledger.lock().unfinished());
    if !world.is_broken() {
        verdict::judge(world)?;
    }
    Ok(())
}

/// Waits until all tasks that were accepted have ended.
async fn all_end(world: &Scene) {
    while !world.ledger.lock().all_ended() && !world.is_broken() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

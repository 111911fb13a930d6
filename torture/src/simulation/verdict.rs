//! The verdict on a schedule whose tasks have all ended: every record, every profile and every list
//! is compared with a naive replay of the entries in the order of acceptance. Then the time passes
//! after which all records expire.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use caseload_model::issue_query::Paging;
use caseload_model::task::{Action, Family, TaskStatus};
use caseload_model::task_query::TaskFilter;
use caseload_model::time::UnixMillis;
use caseload_store::tasks as rules;
use caseload_store::{ListTasks, RecordKind};

use super::clients::{Record, records};
use super::entries::Planned;
use super::laws::Law;
use super::ledger::{Ledger, Seen};
use super::link::Scene;

/// The longest time that anything is stored: payloads, records, answers and uploads.
const STORED_MAX_MS: i64 = 800 * 86_400_000;
/// Steps of a purge, at most.
const STEPS_MAX: usize = 10_000;
/// The whole store is checked after one schedule in so many: a check reads everything.
const CHECK_EVERY: usize = 16;

/// The profiles of a domain as the entries before leave them.
#[derive(Default)]
struct Profiles {
    /// Values of `uid` that have an owner.
    owned: BTreeSet<usize>,
    /// By id: the digits of the creation, and the last mark.
    by_id: BTreeMap<String, (String, Option<String>)>,
}

pub(super) fn judge(world: &Scene) -> Result<()> {
    let ledger = std::mem::take(&mut *world.ledger.lock());
    answers(world, &ledger);
    for domain in 0..ledger.domains.len() {
        let mut profiles = Profiles::default();
        for seen in ledger.of_domain(domain) {
            outcome(world, &ledger, seen, &mut profiles);
        }
        let count = world.store.rows("core_profiles", Some(ledger.domains[domain].id))?;
        world.require(Law::Durable, count == profiles.by_id.len() as u64, || {
            format!("{count} profiles are stored, {} were reported", profiles.by_id.len())
        });
        lists(world, &ledger, domain)?;
    }
    if world.once_in(CHECK_EVERY) {
        let faults = world.store.check().faults;
        world.require(Law::Totals, faults.is_empty(), || faults.join("; "));
    }
    expiry(world)
}

/// Every acknowledged task is there.
fn answers(world: &Scene, ledger: &Ledger) {
    for submission in &ledger.submissions {
        let Some(answer) = &submission.answer else { continue };
        let there = ledger.seen_of(&answer.location).is_some();
        world.require(Law::Durable, there, || {
            format!("{} was acknowledged and never committed", submission.key)
        });
    }
}

/// The records of one task.
fn outcome(world: &Scene, ledger: &Ledger, seen: &Seen, profiles: &mut Profiles) {
    let (task, of) = (&seen.task, &ledger.submissions[seen.submission]);
    let domain = ledger.domains[of.domain].id;
    let stored = world.store.task(domain, task.action.family(), &task.id);
    world.require(Law::Durable, stored.as_ref().is_ok_and(Option::is_some), || {
        format!("{} was committed and is gone", task.id)
    });
    let results = records(world, domain, &task.id, RecordKind::Results);
    let errors = records(world, domain, &task.id, RecordKind::Errors);
    let counts = task.counts;
    let sums = (results.len(), errors.len()) == (counts.succeeded as usize, counts.failed as usize);
    world.require(Law::Totals, sums, || {
        format!("{} has {} results, {} errors: {task:?}", task.id, results.len(), errors.len())
    });
    if task.parent_id.is_some() {
        // Its entries are those that failed before: a replay learns the new profiles from it.
        return retried(of.dry_run, &of.entries, &results, profiles);
    }
    let done = (counts.total - counts.unprocessed) as usize;
    let failed: BTreeSet<usize> = errors.iter().filter_map(index).collect();
    let mut of_results = results.iter();
    let mut planned = Dry { owned: profiles.owned.clone() };
    for (n, entry) in of.entries.iter().enumerate().take(done) {
        let succeeds = planned.succeeds(entry, profiles, of.dry_run);
        let agrees = failed.contains(&n) != succeeds;
        world.require(Law::Chunk, agrees, || {
            let errors: Vec<_> = errors.iter().map(|error| error.line.as_str()).collect();
            let dry = if of.dry_run { "the dry run " } else { "" };
            format!("entry {n} of {dry}{} ({entry:?}) succeeds: {succeeds}, {errors:?}", task.id)
        });
        if failed.contains(&n) {
            continue;
        }
        let Some(result) = of_results.next() else { break };
        let in_order = entry.is_get() || index(result) == Some(n);
        world.require(Law::Chunk, in_order, || {
            format!("the record of entry {n} of {} is {}", task.id, result.line)
        });
        profiles.take(world, entry, result, of.dry_run);
    }
}

fn index(record: &Record) -> Option<usize> {
    record.value["index"].as_u64().map(|n| n as usize)
}

/// Takes over the effects of a retry.
fn retried(dry_run: bool, entries: &[Planned], results: &[Record], profiles: &mut Profiles) {
    for result in results {
        let Some(entry) = index(result).and_then(|n| entries.get(n)) else { continue };
        profiles.effect(entry, result, dry_run);
    }
}

/// The owners that the entries of one task leave, also of a dry run.
struct Dry {
    owned: BTreeSet<usize>,
}

impl Dry {
    fn succeeds(&mut self, entry: &Planned, profiles: &Profiles, dry_run: bool) -> bool {
        match entry {
            Planned::Create { uid, .. } if dry_run => self.owned.insert(*uid),
            Planned::Create { uid, .. } => !profiles.owned.contains(uid),
            Planned::Update { id, .. } | Planned::Get { id } => profiles.by_id.contains_key(id),
            Planned::Import { .. } => true,
            Planned::Broken => false,
        }
    }
}

impl Planned {
    const fn is_get(&self) -> bool {
        matches!(self, Self::Get { .. })
    }
}

impl Profiles {
    /// Checks a result and takes over its effect.
    fn take(&mut self, world: &Scene, entry: &Planned, result: &Record, dry_run: bool) {
        if let Planned::Get { id } = entry {
            // A get may run before or after any writing task; digits never change.
            let digits = self.by_id.get(id).map(|(digits, _)| digits.as_str());
            let same = result.value["core-profile-id"] == id.as_str()
                && digits.is_some_and(|digits| result.line.contains(&format!("\"n\":{digits}}}")));
            world.require(Law::Digits, same, || format!("{digits:?} is {}", result.line));
        }
        self.effect(entry, result, dry_run);
    }

    fn effect(&mut self, entry: &Planned, result: &Record, dry_run: bool) {
        if dry_run {
            return;
        }
        match entry {
            Planned::Create { uid, digits } => {
                self.owned.insert(*uid);
                let id = result.value["core-profile-id"].as_str().unwrap_or_default().to_owned();
                self.by_id.insert(id, ((*digits).to_owned(), None));
            }
            Planned::Update { id, mark } => {
                if let Some(profile) = self.by_id.get_mut(id) {
                    profile.1 = Some(mark.clone());
                }
            }
            _ => {}
        }
    }
}

/// Lists of tasks by every family and state against a naive filter.
fn lists(world: &Scene, ledger: &Ledger, domain: usize) -> Result<()> {
    let id = ledger.domains[domain].id;
    for family in [Family::Identity, Family::Issues] {
        for statuses in [None, Some(vec![TaskStatus::Completed]), Some(vec![TaskStatus::Queued])] {
            let chosen = |seen: &&Seen| {
                seen.task.action.family() == family
                    && statuses.as_ref().is_none_or(|all| all.contains(&seen.task.status))
            };
            let mut naive: Vec<_> =
                ledger.of_domain(domain).filter(chosen).map(|seen| seen.task.id.clone()).collect();
            naive.reverse();
            let request = ListTasks {
                domain: id,
                family,
                filter: TaskFilter {
                    statuses: statuses.clone(),
                    actions: Some(Action::ALL.to_vec()),
                    ..TaskFilter::default()
                },
                paging: Paging { page: 1, page_size: 1000 },
            };
            let page = world.store.read_in(id, |tx| rules::page(&tx, &request))?;
            let listed: Vec<_> = page.tasks.into_iter().map(|task| task.id).collect();
            world.require(Law::Totals, page.total_hits == naive.len() as u64, || {
                format!("a list of {} tasks has the total {}", naive.len(), page.total_hits)
            });
            world.require(Law::Lists, listed == naive, || format!("{listed:?} and not {naive:?}"));
        }
    }
    Ok(())
}

/// After everything has expired, a purge leaves no payload, record, answer or upload.
fn expiry(world: &Scene) -> Result<()> {
    let late = UnixMillis(world.now().0 + STORED_MAX_MS);
    let mut steps = 0;
    while world.store.write(|tx| rules::purge_step(&tx, late))? {
        steps += 1;
        if steps > STEPS_MAX {
            break;
        }
    }
    for table in ["payload_blocks", "record_blocks", "uploads", "idempotency_keys"] {
        let left = world.store.rows(table, None)?;
        world.require(Law::Bounds, left == 0, || {
            format!("{left} rows of {table} are left after {steps} steps of a purge")
        });
    }
    Ok(())
}

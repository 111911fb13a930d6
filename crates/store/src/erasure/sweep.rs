//! Removes rows that are stored for a while and hold an erased person: answers to repeats of
//! requests, named views, payloads that still arrive, and the states of runs that have ended.

use std::collections::HashSet;

use caseload_model::erasure::{Person, Traces};
use caseload_model::ids::DomainName;
use caseload_model::task::Action;

use super::blocks::decoded;
use super::progress::Progress;
use crate::checksum::{IDEMPOTENCY_KEYS, PAYLOAD_BLOCKS};
use crate::dry_run;
use crate::idempotency::CommandStore;
use crate::tasks::{TaskStore, discard_step, stored_payload_block};
use crate::{StoreError, values};

/// Stored answers of one step.
const STEP_ANSWERS: u64 = 200;
/// Named views of one step.
const STEP_VIEWS: u64 = 500;
/// Blocks of uploads that are read at a time.
const BLOCKS_AT_ONCE: u64 = 8;
/// How much of a state one step removes.
const STEP_STATES: usize = 10;

/// Removes the next answers that are about the person's issues or hold the person.
pub(super) fn answers(
    store: &impl CommandStore,
    progress: &mut Progress,
    person: &Person,
) -> Result<(), StoreError> {
    let domain = store.domain();
    let name = "SELECT name FROM domains WHERE id = ?1";
    let name: DomainName = store
        .find(name, values![domain], |row| row.get(0))?
        .ok_or_else(StoreError::unknown_domain)?;
    let issues: HashSet<String> =
        person.issue_ids.iter().map(|id| format!("/v1/{name}/issues/{id}")).collect();
    let traces = Traces::of(person);
    let select = format!(
        "SELECT {} FROM idempotency_keys WHERE domain_id = ?1 AND key > ?2 ORDER BY key LIMIT ?3",
        IDEMPOTENCY_KEYS.select()
    );
    let (mut last, mut gone) = (None, Vec::new());
    store.each(&select, values![domain, progress.after_text, STEP_ANSWERS], &mut |row| {
        IDEMPOTENCY_KEYS.require(row)?;
        let (key, location): (String, String) = (row.get(1)?, row.get(3)?);
        if issues.contains(&location) || traces.are_in_answer(row.get(4)?) {
            gone.push(key.clone());
        }
        last = Some(key);
        Ok(())
    })?;
    let Some(last) = last else {
        progress.end_phase();
        return Ok(());
    };
    progress.after_text = last;
    if !gone.is_empty() {
        let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
        let delete = "DELETE FROM idempotency_keys WHERE domain_id = ?1 AND key = ANY (?2)";
        store.change(delete, values![domain, gone])?;
    }
    Ok(())
}

/// Removes the next named views that hold the person.
pub(super) fn views(
    store: &impl CommandStore,
    progress: &mut Progress,
    traces: &Traces<'_>,
) -> Result<(), StoreError> {
    let domain = store.domain();
    let select = "SELECT id, name, query FROM views WHERE domain_id = ?1 AND id > ?2
                  ORDER BY id LIMIT ?3";
    let (mut last, mut gone) = (None, Vec::new());
    store.each(select, values![domain, progress.after_text, STEP_VIEWS], &mut |row| {
        let [id, name, query]: [String; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
        if traces.are_in_view(&name, &query) {
            gone.push(id.clone());
        }
        last = Some(id);
        Ok(())
    })?;
    let Some(last) = last else {
        progress.end_phase();
        return Ok(());
    };
    progress.after_text = last;
    if !gone.is_empty() {
        let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
        let delete = "DELETE FROM views WHERE domain_id = ?1 AND id = ANY (?2)";
        store.change(delete, values![domain, gone])?;
    }
    Ok(())
}

/// Gives the next upload up if it holds the person: its sender learns that it is lost.
pub(super) fn uploads(
    store: &impl TaskStore,
    progress: &mut Progress,
    traces: &Traces<'_>,
) -> Result<(), StoreError> {
    let domain = store.domain();
    let next = "SELECT id FROM uploads WHERE domain_id = ?1 AND id > ?2 ORDER BY id LIMIT 1";
    let next = store.find(next, values![domain, progress.after_text], |row| row.get(0))?;
    let Some(id): Option<String> = next else {
        progress.end_phase();
        return Ok(());
    };
    let select = format!(
        "SELECT {} FROM payload_blocks WHERE domain_id = ?1 AND task_id = ?2 AND last_index >= ?3
         ORDER BY last_index LIMIT ?4",
        PAYLOAD_BLOCKS.select()
    );
    let (mut from, mut found) = (0, std::collections::BTreeSet::new());
    loop {
        let bound = values![domain, id, from, BLOCKS_AT_ONCE];
        let blocks = store.list(&select, bound, stored_payload_block)?;
        let Some(last) = blocks.last() else { break };
        from = u64::from(last.last_index) + 1;
        for block in &blocks {
            traces.find_entries(Action::UpsertCoreProfiles, &decoded(&block.bytes)?, &mut found);
        }
    }
    while !found.is_empty() && discard_step(store, &id)? {}
    progress.after_text = id;
    Ok(())
}

/// Removes some of the states of runs that have ended.
pub(super) fn states(
    store: &impl CommandStore,
    progress: &mut Progress,
    task_id: &str,
) -> Result<(), StoreError> {
    let ended = "SELECT id FROM dry_runs WHERE domain_id = ?1 AND ended_at IS NOT NULL
                 AND id <> ?2 ORDER BY id LIMIT 1";
    for _ in 0..STEP_STATES {
        let run =
            store.find(ended, values![store.domain(), task_id], |row| row.get::<String>(0))?;
        let Some(run) = run else {
            progress.end_phase();
            break;
        };
        dry_run::purge_step(store, &run)?;
    }
    Ok(())
}

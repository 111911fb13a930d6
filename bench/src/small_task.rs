//! The smallest task: a read of one profile, which need not exist. Measurements and simulations of
//! the queue use it, because nearly all of its cost is that of the queue itself. It has no key and
//! no limit of unfinished tasks.

use caseload_model::ids::DomainId;
use caseload_model::payload::{Block, Entry};
use caseload_model::task::{Action, TaskOrigin};
use caseload_model::time::UnixMillis;
use caseload_store::{CreateTask, StoreError, pack_block};

/// The command that accepts it.
pub fn small_task(domain: DomainId, id: String, now: UnixMillis) -> Result<CreateTask, StoreError> {
    let bytes = br#"{"core-profile-id":"1"}"#.to_vec();
    let entries =
        vec![Entry { index: 0, line: 1, range: 0..bytes.len(), oversize: None, of_row: false }];
    Ok(CreateTask {
        domain,
        key: None,
        request_id: None,
        id,
        action: Action::GetCoreProfiles,
        dry_run: false,
        upsert: false,
        total: 1,
        staged: 0,
        blocks: vec![pack_block(&Block { bytes, entries, ..Block::default() })?],
        now,
        expires_at: UnixMillis(now.0 + 86_400_000),
        unfinished_max: u32::MAX,
        parent_id: None,
        runs_parent: false,
        origin: TaskOrigin::default(),
        import_id: None,
        idempotency: None,
    })
}

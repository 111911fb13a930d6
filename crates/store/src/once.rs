//! A command of a caller: its effect, the change in the log and the answer to a repeat commit
//! together. The rules of idempotency keys are in [`crate::idempotency`].

use caseload_model::change::Batch;

use crate::changes::{Log, log};
use crate::idempotency::{CommandStore, first_answer, store_or_first};
use crate::{Idempotent, StoreError, StoredAnswer, WriteOrigin};

/// Runs a command that may be repeated, and stores its answer and its change with its effect.
pub(crate) fn once(
    store: &impl CommandStore,
    origin: &WriteOrigin,
    write: impl FnOnce(&mut Log) -> Result<StoredAnswer, StoreError>,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let by = store.require_caller(origin.key.as_deref(), origin.now)?;
    if let Some(key) = &origin.idempotency
        && let Some(first) = first_answer(store, key)?
    {
        return Ok(Idempotent::Replayed(first));
    }
    let mut done = Log::default();
    let answer = write(&mut done)?;
    if let Some(key) = &origin.idempotency
        && store_or_first(store, key, &answer)?.is_some()
    {
        // A repeat came first: this effect is undone, and the next try finds the first answer.
        return Err(StoreError::Contended);
    }
    let Log { at, effects } = done;
    let request_id = origin.request_id.clone();
    log(store, &Batch { request_id, ..Batch::new(at, by, effects) })?;
    Ok(Idempotent::Done(answer))
}

//! Tasks that are accepted and not visible yet. On a cluster, the place of a new task in the queue
//! and its row are on two nodes. If the node of the row stops in the middle of the commit, the row
//! appears only once the coordinator has found the node again. In the meantime, a caller that has
//! the task's id gets an error that passes: that the task does not exist would be untrue.

use caseload_model::ids::DomainId;
use caseload_model::task::Family;
use caseload_store::StoreError;

use crate::engine::{Engine, Nodes};

/// An error if a task that was not found has a place in the queue, unless it is one of the other
/// family. Its row may have appeared in the meantime: the caller may ask again then, too.
pub(crate) async fn refuse_pending(
    engine: &Engine,
    domain: DomainId,
    family: Family,
    id: &str,
) -> Result<(), StoreError> {
    if engine.nodes() == Nodes::One {
        return Ok(());
    }
    let command = (domain.0, id.as_bytes().to_vec());
    let is_pending = engine.read(None, command, move |client, (domain, id)| {
        Box::pin(async move {
            let place = "SELECT 1 FROM task_queue WHERE domain_id = $1 AND task_id = $2";
            if client.row_opt(place, &[domain, id]).await?.is_none() {
                return Ok(false);
            }
            let row = "SELECT family FROM tasks WHERE domain_id = $1 AND id = $2";
            let row = client.row_opt(row, &[domain, id]).await?;
            Ok(row.is_none_or(|row| row.get::<_, i16>(0) == family.code() as i16))
        })
    });
    if is_pending.await? {
        let text = "the node of the task has not finished its commit".to_owned();
        return Err(StoreError::Unreachable(text));
    }
    Ok(())
}

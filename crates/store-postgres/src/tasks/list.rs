//! Lists of tasks, newest first: a page and the exact number of all that match, in the snapshot
//! that the connection is in.

use caseload_model::task::{Action, TaskStatus};

use super::super::engine::Client;
use super::row::{self, COLUMNS, POSITION, code};
use caseload_store::{ListTasks, StoreError, TaskPage};

/// Of a domain's tasks those that the request asks for, whatever their page.
const CHOSEN: &str = "t.family = $2
                      AND ($3::smallint[] IS NULL OR t.status = ANY ($3))
                      AND ($4::smallint[] IS NULL OR t.action = ANY ($4))";

pub(crate) async fn list(client: &Client, request: &ListTasks) -> Result<TaskPage, StoreError> {
    let (domain, family) = (request.domain.0, code(request.family.code()));
    let statuses = codes(request.statuses.as_deref(), |status: TaskStatus| status.code());
    let actions = codes(request.actions.as_deref(), |action: Action| action.code());
    let count = format!("SELECT count(*) FROM tasks t WHERE t.domain_id = $1 AND {CHOSEN}");
    let counted = client.row(&count, &[&domain, &family, &statuses, &actions]).await?;
    let select = format!(
        "SELECT {COLUMNS}, {POSITION} FROM tasks t WHERE t.domain_id = $1 AND {CHOSEN}
         ORDER BY t.seq DESC LIMIT $5 OFFSET $6"
    );
    let (limit, offset) = (request.paging.page_size as i64, request.paging.offset() as i64);
    let rows =
        client.rows(&select, &[&domain, &family, &statuses, &actions, &limit, &offset]).await?;
    Ok(TaskPage {
        tasks: rows.iter().map(row::with_position).collect::<Result<_, _>>()?,
        total_hits: counted.get::<_, i64>(0).unsigned_abs(),
    })
}

/// The numbers that words are stored under.
fn codes<T: Copy>(words: Option<&[T]>, of: impl Fn(T) -> i64) -> Option<Vec<i16>> {
    words.map(|words| words.iter().map(|word| code(of(*word))).collect())
}

//! What a plan of imports needs to know of the domain, read on the writer's own connection: apps,
//! the clock's numbers, issues that entries name by id, and which milliseconds are taken. Most
//! imports bring free ids and rising times; for them next to nothing is read.

use std::collections::HashMap;

use caseload_model::ids::{DomainId, ISSUE_ID_COUNTED_MAX};
use caseload_model::issue::{App, NeedOccupied, OccupiedWindows, StoredIssue, Window};
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, params};

use super::page::{FRAGMENTS, FRAGMENTS_COUNT, body};
use crate::StoreError;

/// Windows beyond which one scan from the first to the last is made instead, where it is not much
/// longer than they are together.
const WINDOWS_APART_MAX: usize = 16;
const SCAN_STRETCH_MAX: i64 = 4;

/// What is read once per chunk and kept up to date by the plans.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) default_app: App,
    /// Oldest first.
    pub(super) apps: Vec<App>,
    pub(super) next_publish_number: u64,
    pub(super) last_issue_id: u64,
    pub(super) max_created_at: Option<UnixMillis>,
}

impl Known {
    pub(super) fn read(conn: &Connection, domain: DomainId) -> Result<Self, StoreError> {
        let mut statement = conn.prepare_cached(
            "SELECT a.id, a.publish_id, a.id = d.default_app_id FROM domains d
             JOIN apps a ON a.domain_id = d.id WHERE d.id = ?1 ORDER BY a.created_at, a.id",
        )?;
        let mut rows = statement.query([domain.0])?;
        let (mut apps, mut default_app) = (Vec::new(), None);
        while let Some(row) = rows.next()? {
            let app = App { app_id: row.get(0)?, publish_id: row.get(1)? };
            if row.get(2)? {
                default_app = Some(app.clone());
            }
            apps.push(app);
        }
        let (last_issue_id, last_app_number): (i64, i64) = conn
            .prepare_cached(
                "SELECT last_issue_id, last_app_number FROM domain_clocks WHERE domain_id = ?1",
            )?
            .query_row([domain.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let max_created_at: Option<i64> = conn
            .prepare_cached("SELECT max(created_at) FROM issues WHERE domain_id = ?1")?
            .query_row([domain.0], |row| row.get(0))?;
        Ok(Self {
            default_app: default_app
                .ok_or_else(|| StoreError::Corrupt("a domain without default app".to_owned()))?,
            apps,
            next_publish_number: last_app_number.unsigned_abs() + 1,
            last_issue_id: last_issue_id.unsigned_abs(),
            max_created_at: max_created_at.map(UnixMillis),
        })
    }
}

/// The stored issues among `ids`. No issue has an id beyond `last_id` that counts for the next.
pub(super) fn stored(
    conn: &Connection,
    domain: DomainId,
    ids: &[u64],
    last_id: u64,
) -> Result<HashMap<u64, StoredIssue>, StoreError> {
    let mut find =
        conn.prepare_cached("SELECT row FROM issues WHERE domain_id = ?1 AND id = ?2")?;
    let mut read = conn.prepare_cached(&format!(
        "SELECT {FRAGMENTS}, created_at, original_created_at
         FROM issues JOIN issue_bodies USING (row) WHERE row = ?1"
    ))?;
    let mut stored = HashMap::new();
    let may_exist = |id: &u64| *id <= last_id || *id > ISSUE_ID_COUNTED_MAX;
    for id in ids.iter().filter(|id| may_exist(id)) {
        let row: Option<i64> =
            find.query_row(params![domain.0, *id as i64], |row| row.get(0)).optional()?;
        let Some(row) = row else { continue };
        let issue = read.query_row([row], |row| {
            Ok(StoredIssue {
                head: row.get(0)?,
                body: body(row)?,
                created_at: UnixMillis(row.get(FRAGMENTS_COUNT)?),
                original_created_at: row
                    .get::<_, Option<i64>>(FRAGMENTS_COUNT + 1)?
                    .map(UnixMillis),
            })
        })?;
        stored.insert(*id, issue);
    }
    Ok(stored)
}

/// Adds what is asked for to what is known.
pub(super) fn answer(
    conn: &Connection,
    domain: DomainId,
    need: &NeedOccupied,
    occupied: &mut OccupiedWindows,
) -> Result<(), StoreError> {
    let mut select = conn.prepare_cached(
        "SELECT created_at FROM issues WHERE domain_id = ?1 AND created_at BETWEEN ?2 AND ?3",
    )?;
    let windows: Vec<Window> = need.windows().collect();
    for window in joined(windows) {
        let taken = select
            .query_map(params![domain.0, window.from.0, window.until.0], |row| row.get(0))?
            .map(|at| at.map(UnixMillis))
            .collect::<Result<Vec<_>, _>>()?;
        occupied.add_window(window, taken);
    }
    Ok(())
}

/// The windows, or one around them where that saves questions without reading much more.
fn joined(windows: Vec<Window>) -> Vec<Window> {
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return windows };
    let around = Window { from: first.from, until: last.until };
    let length = |window: &Window| window.until.0 - window.from.0 + 1;
    let together: i64 = windows.iter().map(length).sum();
    if windows.len() > WINDOWS_APART_MAX && length(&around) <= together * SCAN_STRETCH_MAX {
        return vec![around];
    }
    windows
}

//! Planning an import of issues. The planner gives the model the state of the domain and answers
//! its questions about occupied milliseconds from the backend's reads. Most imports bring free ids
//! and rising times, and ask nothing. The plan itself is the model's.

use std::collections::HashMap;

use caseload_model::ids::ISSUE_ID_COUNTED_MAX;
use caseload_model::issue::{
    App, ImportContext, ImportPlan, NewIssue, OccupiedInstants, StoredIssue, TimeWindow,
    plan_imports,
};
use caseload_model::record::PreparedEntry;
use caseload_model::time::UnixMillis;

use crate::StoreError;

/// Above this number of windows, the planner asks for one window around all of them, unless that
/// window is much longer than all of them together.
const WINDOWS_APART_MAX: usize = 16;
const SCAN_STRETCH_MAX: i64 = 4;

/// The state of the domain. It is read once per chunk and updated after each plan.
#[derive(Debug)]
pub struct ImportState {
    pub default_app: App,
    /// Oldest first.
    pub apps: Vec<App>,
    pub next_publish_number: u64,
    pub last_issue_id: u64,
    pub max_created_at: Option<UnixMillis>,
}

impl ImportState {
    /// From the domain's apps, oldest first, each with whether it is the default one, and from the
    /// numbers of its clock.
    pub fn new(
        apps: Vec<(App, bool)>,
        last_app_number: i64,
        last_issue_id: i64,
        max_created_at: Option<UnixMillis>,
    ) -> Result<Self, StoreError> {
        let default_app = apps.iter().find(|(_, is_default)| *is_default).map(|(app, _)| app);
        let default_app = default_app
            .ok_or_else(|| StoreError::Corrupt("a domain without default app".to_owned()))?
            .clone();
        Ok(Self {
            default_app,
            apps: apps.into_iter().map(|(app, _)| app).collect(),
            next_publish_number: last_app_number.unsigned_abs() + 1,
            last_issue_id: last_issue_id.unsigned_abs(),
            max_created_at,
        })
    }

    /// Those of `ids` that a stored issue may have. Ids above the last one are free, except for ids
    /// that do not count for the next one.
    pub fn maybe_taken<'i>(&self, ids: &'i [u64]) -> impl Iterator<Item = u64> + use<'i> {
        let last_id = self.last_issue_id;
        let may_exist = move |id: &u64| *id <= last_id || *id > ISSUE_ID_COUNTED_MAX;
        ids.iter().copied().filter(may_exist)
    }

    /// Adds the additions of a plan, once they are stored.
    pub fn add(&mut self, plan: &mut ImportPlan) {
        self.apps.append(&mut plan.apps);
        self.next_publish_number = plan.next_publish_number;
        self.last_issue_id = plan.last_issue_id;
        self.max_created_at = plan.max_created_at;
    }
}

/// The planner of one slice.
#[derive(Debug)]
pub struct ImportPlanner<'e> {
    context: ImportContext,
    payload: &'e [u8],
    entries: &'e [PreparedEntry<NewIssue>],
    dry_run: bool,
}

impl<'e> ImportPlanner<'e> {
    /// `stored` are the issues whose ids the entries name.
    pub fn new(
        known: ImportState,
        stored: HashMap<u64, StoredIssue>,
        payload: &'e [u8],
        entries: &'e [PreparedEntry<NewIssue>],
        dry_run: bool,
    ) -> Self {
        let context = ImportContext {
            stored,
            default_app: known.default_app,
            apps: known.apps,
            next_publish_number: known.next_publish_number,
            last_issue_id: known.last_issue_id,
            occupied: OccupiedInstants::new(known.max_created_at),
        };
        Self { context, payload, entries, dry_run }
    }

    /// The plan, or the windows of time that the model asks for.
    pub fn plan(&self) -> Result<ImportPlan, Vec<TimeWindow>> {
        plan_imports(&self.context, self.payload, self.entries, self.dry_run)
            .map_err(|need| joined(need.windows().collect()))
    }

    /// Adds the occupied instants of a window.
    pub fn note(&mut self, window: TimeWindow, taken: Vec<UnixMillis>) {
        self.context.occupied.add_window(window, taken);
    }

    /// Returns the state as it was before the plan.
    pub fn end(self) -> ImportState {
        ImportState {
            max_created_at: self.context.occupied.max_created_at(),
            default_app: self.context.default_app,
            apps: self.context.apps,
            next_publish_number: self.context.next_publish_number,
            last_issue_id: self.context.last_issue_id,
        }
    }
}

/// The windows, or one window around them if that saves questions without reading much more.
fn joined(windows: Vec<TimeWindow>) -> Vec<TimeWindow> {
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return windows };
    let around = TimeWindow { from: first.from, until: last.until };
    let length = |window: &TimeWindow| window.until.0 - window.from.0 + 1;
    let together: i64 = windows.iter().map(length).sum();
    if windows.len() > WINDOWS_APART_MAX && length(&around) <= together * SCAN_STRETCH_MAX {
        return vec![around];
    }
    windows
}

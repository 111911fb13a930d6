//! A reader of the log: it reads portions of changes, writes them in the form of the answer, and
//! continues at the position of the last one that it looked at. The memory of a portion is taken
//! before it is read. A portion ends before its page is full if it has become long.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::io;
use std::time::Duration;

use caseload_model::change::{Change, ChangeRequest, LogPlace};
use caseload_model::error_code::ErrorCode;
use caseload_model::time::UnixMillis;
use caseload_store::{ReadChanges, StoreError};

use super::log_end::LogEnd;
use super::record::{SHOWN, record};
use crate::http::auth::{Caller, require_working_key};
use crate::http::base_url::BaseUrl;
use crate::http::follower::Follower;
use crate::http::memory::{Memory, STREAM_WAIT};
use crate::http::problem::{Fault, Problem};
use crate::lists::deadline::in_time;
use crate::state::AppState;

/// A portion ends after this many bytes.
const PORTION_BYTES: usize = 2 << 20;
/// More than most changes have.
const CHANGE_BYTES: usize = 256;
/// The changes of a portion of lines: fewer reads, and mostly not more than its bytes have room
/// for.
const LINES_MAX: usize = 8000;

/// The form in which changes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// With commas between them.
    Commas,
    /// One per line.
    Lines,
    /// Each as an event, whose id is its position.
    Events,
}

/// Some changes as they are sent.
pub(super) struct Portion {
    pub(super) bytes: Vec<u8>,
    pub(super) count: u64,
    pub(super) memory: Memory,
    /// Whether the position of the reader moved.
    pub(super) moved: bool,
}

/// The position of a place that the parameter `named_by` has.
pub(crate) async fn position_of(
    state: &AppState,
    caller: &Caller,
    place: LogPlace,
    named_by: &str,
) -> Result<u64, Problem> {
    let (store, domain) = (&state.store, caller.domain_id);
    Ok(match place {
        LogPlace::Oldest => store.position_before(domain, UnixMillis(i64::MIN)).await?,
        LogPlace::Latest => store.last_position(domain).await?,
        LogPlace::Since(at) => store.position_before(domain, at).await?,
        LogPlace::After(position) => {
            let last = store.last_position(domain).await?;
            if position > last {
                return Err(beyond(named_by, position, last));
            }
            position
        }
    })
}

/// Reads the log of the caller's domain from a position on.
pub(super) struct LogReader {
    pub(super) state: AppState,
    pub(super) caller: Caller,
    pub(super) base: BaseUrl,
    pub(super) request: ChangeRequest,
    pub(super) form: Form,
    /// The position of the last change that was looked at.
    pub(super) after: u64,
}

impl LogReader {
    /// Moves the reader to the place of the request; `named_by` is the parameter with the position.
    pub(super) async fn begin(&mut self, named_by: &str) -> Result<(), Problem> {
        let place = self.request.from;
        self.after = position_of(&self.state, &self.caller, place, named_by).await?;
        Ok(())
    }

    /// The end of the log as far as this reader knows it.
    pub(super) const fn end(&self) -> LogEnd {
        LogEnd(self.after)
    }

    /// A caller that waits for changes after the reader's position.
    pub(super) fn follower(&self) -> Follower<LogEnd> {
        Follower::new(&self.state.followed_logs, &self.state, &self.caller, &self.end())
    }

    /// The next changes that match; memory is waited for so long.
    pub(super) async fn portion(&mut self, wait: Duration) -> Result<Portion, StoreError> {
        let (domain, time) = (self.caller.domain_id, self.state.config.query_timeout);
        let memory = self.state.memory.take_within(Some(domain), PORTION_BYTES, wait).await;
        let mut memory = memory.ok_or(StoreError::NoMemory)?;
        let read = self.state.store.read_changes(ReadChanges {
            domain,
            after: self.after,
            changes_max: match self.form {
                Form::Lines if !self.request.collapse => LINES_MAX,
                _ => usize::try_from(self.request.page_size).unwrap_or(1),
            },
            filter: self.request.filter.clone(),
        });
        let page = in_time(time, read).await?;
        let moved = page.next != self.after;
        let (bytes, count, cut) = self.written(page.changes).await?;
        self.after = cut.unwrap_or(page.next);
        memory.set(bytes.capacity());
        Ok(Portion { bytes, count, memory, moved })
    }

    /// The next portion of a body that has begun.
    pub(super) async fn next(&mut self) -> io::Result<Portion> {
        if *self.state.stopping.borrow() {
            return Err(io::Error::other("the server stops"));
        }
        if require_working_key(&self.state, &self.caller).await.is_err() {
            return Err(io::Error::other("the API key no longer works"));
        }
        self.portion(STREAM_WAIT).await.map_err(|error| {
            tracing::warn!(%error, "a stream of changes breaks off");
            io::Error::other("the log cannot be read further")
        })
    }

    /// The changes as they are sent, their number, and the position of the last one if the portion
    /// is cut after it.
    async fn written(
        &self,
        mut changes: Vec<Change>,
    ) -> Result<(Vec<u8>, u64, Option<u64>), StoreError> {
        if self.request.collapse {
            collapse(&mut changes);
        }
        let room = (changes.len() * CHANGE_BYTES).min(PORTION_BYTES);
        let (mut out, mut count) = (Vec::with_capacity(room), 0);
        let mut records = HashMap::new();
        let mut left = changes.len();
        for change in &changes {
            if self.form == Form::Commas && count > 0 {
                out.push(b',');
            }
            if self.form == Form::Events {
                out.extend_from_slice(format!("id: {}\ndata: ", change.position).as_bytes());
            }
            change.write_json(&mut out);
            let effect = &change.effect;
            if self.request.with_records && SHOWN.contains(&effect.resource) {
                let found = match records.entry((effect.resource, &effect.id)) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => {
                        new.insert(record(&self.state, &self.caller, &self.base, effect).await?)
                    }
                };
                // The brace at the end of the change.
                out.pop();
                out.extend_from_slice(b",\"record\":");
                out.extend_from_slice(found);
                out.push(b'}');
            }
            out.extend_from_slice(match self.form {
                Form::Commas => b"",
                Form::Lines => b"\n",
                Form::Events => b"\n\n",
            });
            (count, left) = (count + 1, left - 1);
            if out.len() >= PORTION_BYTES && left > 0 {
                return Ok((out, count, Some(change.position)));
            }
        }
        Ok((out, count, None))
    }
}

/// Leaves the last change of each record.
fn collapse(changes: &mut Vec<Change>) {
    let mut seen = HashSet::new();
    let last: Vec<bool> = changes
        .iter()
        .rev()
        .map(|change| seen.insert((change.effect.resource, change.effect.id.clone())))
        .collect();
    let mut last = last.into_iter().rev();
    changes.retain(|_| last.next() == Some(true));
}

/// The refusal of a position that the log has not reached.
fn beyond(named_by: &str, position: u64, last: u64) -> Problem {
    let detail = format!(
        "{position} is after the last change of the domain, {last}: the store was restored from an \
         older backup, or the cursor is one of another domain. Take the next-cursor of \
         cursor=latest, read all records again, and follow the log from that cursor"
    );
    Problem::faults(vec![Fault::parameter(named_by, ErrorCode::InvalidValue, detail)])
}

#[cfg(test)]
mod tests {
    use caseload_model::change::{Author, Batch, ChangeAction, Effect, Resource};

    use super::*;

    #[test]
    fn the_last_change_of_each_record_is_left() {
        let effect = |resource, id| Effect::new(resource, id, ChangeAction::Updated);
        let of = [
            (Resource::Issue, 1_u64),
            (Resource::Issue, 2),
            (Resource::Task, 1),
            (Resource::Issue, 1),
            (Resource::Issue, 1),
        ];
        let effects = of.map(|(resource, id)| effect(resource, id)).to_vec();
        let batch = Batch::new(UnixMillis(1), Author::Unknown, effects);
        let mut changes: Vec<Change> = batch.into_changes(7).collect();
        collapse(&mut changes);
        let positions: Vec<u64> = changes.iter().map(|change| change.position).collect();
        assert_eq!(positions, [8, 9, 11]);
    }
}

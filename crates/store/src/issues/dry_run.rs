//! Issues as the earlier entries of a dry run would have left them ([`crate::dry_run`]): the issues
//! by their ids, the milliseconds that they take, and the state that the issues of a domain share.

use caseload_model::issue::{
    App, ImportContext, IssueBody, StoredIssue, TakenTimestamps, TimeWindow,
};
use caseload_model::time::UnixMillis;

use crate::StoreError;
use crate::dry_run::{Change, DryRunState, Part};
use crate::idempotency::CommandStore;

/// An issue that an entry would have made, with the index of that entry.
pub(super) type PlannedIssue = (u32, StoredIssue);

impl DryRunState {
    /// Lays earlier changes over the state of the domain.
    pub(super) fn lay_over_domain(
        &mut self,
        store: &impl CommandStore,
        context: &mut ImportContext,
    ) -> Result<(), StoreError> {
        self.read(store, Part::Domain, [[]])?;
        let Some(Change::To(value)) = self.get(Part::Domain, &[]) else { return Ok(()) };
        let mut value = Reader(value);
        context.last_issue_id = context.last_issue_id.max(value.number()?);
        context.next_publish_number = context.next_publish_number.max(value.number()?);
        let newest = value.optional(|value| Ok(UnixMillis(value.number()?.cast_signed())))?;
        let stored = context.taken_timestamps.max_created_at();
        context.taken_timestamps = TakenTimestamps::new(newest.max(stored));
        while !value.0.is_empty() {
            let app = App { app_id: value.text()?, publish_id: value.text()? };
            if !context.apps.contains(&app) {
                context.apps.push(app);
            }
        }
        Ok(())
    }

    /// Gives the context the earlier issues with these ids. Free ids that one of them has are none.
    pub(super) fn lay_over_issues(
        &mut self,
        store: &impl CommandStore,
        ids: &[u64],
        context: &mut ImportContext,
    ) -> Result<(), StoreError> {
        let named = ids.iter().chain(&context.free_ids);
        self.read(store, Part::Issue, named.map(|id| id.to_be_bytes()))?;
        context.free_ids.retain(|id| self.get(Part::Issue, &id.to_be_bytes()).is_none());
        context.earlier.clear();
        for id in ids {
            if let Some(Change::To(value)) = self.get(Part::Issue, &id.to_be_bytes()) {
                context.earlier.insert(*id, planned_issue(value)?);
            }
        }
        Ok(())
    }

    /// Gives the context the instants in these windows that earlier issues take or gave up.
    pub(super) fn lay_over_instants(
        &mut self,
        store: &impl CommandStore,
        windows: &[TimeWindow],
        context: &mut ImportContext,
    ) -> Result<(), StoreError> {
        for TimeWindow { from, until } in windows {
            self.read_range(store, Part::Instant, &instant_key(*from), &instant_key(*until))?;
        }
        for (key, value) in self.all(Part::Instant) {
            let at = instant(key)?;
            let is_within = |window: &TimeWindow| window.from <= at && at <= window.until;
            match value {
                _ if !windows.iter().any(is_within) => {}
                Change::To(_) => context.taken_timestamps.add(at),
                Change::Gone => context.taken_timestamps.free(at),
            }
        }
        Ok(())
    }

    /// Notes the issues of a plan, the instants that it freed, and the state of the domain.
    pub(super) fn note_issues(
        &mut self,
        freed: &[UnixMillis],
        planned: Vec<(u64, PlannedIssue)>,
        (newest, context): (Option<UnixMillis>, &ImportContext),
    ) {
        for at in freed {
            self.put(Part::Instant, &instant_key(*at), None);
        }
        for (id, issue) in planned {
            self.put(Part::Instant, &instant_key(issue.1.created_at), Some(Vec::new()));
            self.put(Part::Issue, &id.to_be_bytes(), Some(written_issue(&issue)));
        }
        let mut state = Writer::default();
        state.number(context.last_issue_id);
        state.number(context.next_publish_number);
        state.optional(newest.as_ref(), |state, at| state.number(at.0.cast_unsigned()));
        for App { app_id, publish_id } in &context.apps {
            state.bytes(app_id.as_bytes());
            state.bytes(publish_id.as_bytes());
        }
        self.put(Part::Domain, &[], Some(state.0));
    }
}

/// Instants in the order of their keys.
fn instant_key(at: UnixMillis) -> [u8; 8] {
    (at.0.cast_unsigned() ^ 1 << 63).to_be_bytes()
}

fn instant(key: &[u8]) -> Result<UnixMillis, StoreError> {
    let key = key.try_into().map_err(|_| damaged())?;
    Ok(UnixMillis((u64::from_be_bytes(key) ^ 1 << 63).cast_signed()))
}

fn written_issue((index, issue): &PlannedIssue) -> Vec<u8> {
    let StoredIssue { head, body, created_at, original_created_at } = issue;
    let mut out = Writer::default();
    out.number((*index).into());
    out.number(created_at.0.cast_unsigned());
    out.optional(original_created_at.as_ref(), |out, at| out.number(at.0.cast_unsigned()));
    for required in [head, &body.messages, &body.meta, &body.custom_fields] {
        out.bytes(required);
    }
    for optional in [
        &body.feedback,
        &body.queue,
        &body.private_notes,
        &body.predict_labels,
        &body.sentiment_analysis,
        &body.smart_intents,
    ] {
        out.optional(optional.as_ref(), |out, text| out.bytes(text));
    }
    out.0
}

fn planned_issue(value: &[u8]) -> Result<PlannedIssue, StoreError> {
    let mut value = Reader(value);
    let index = u32::try_from(value.number()?).map_err(|_| damaged())?;
    let created_at = UnixMillis(value.number()?.cast_signed());
    let original_created_at =
        value.optional(|value| Ok(UnixMillis(value.number()?.cast_signed())))?;
    let head = value.bytes()?;
    let body = IssueBody {
        messages: value.bytes()?,
        meta: value.bytes()?,
        custom_fields: value.bytes()?,
        feedback: value.optional(Reader::bytes)?,
        queue: value.optional(Reader::bytes)?,
        private_notes: value.optional(Reader::bytes)?,
        predict_labels: value.optional(Reader::bytes)?,
        sentiment_analysis: value.optional(Reader::bytes)?,
        smart_intents: value.optional(Reader::bytes)?,
    };
    Ok((index, StoredIssue { head, body, created_at, original_created_at }))
}

fn damaged() -> StoreError {
    StoreError::Corrupt("a row of a dry run cannot be read".to_owned())
}

/// Writes numbers in 8 bytes, texts after their length, and optional values after a byte.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn optional<T>(&mut self, value: Option<&T>, write: impl FnOnce(&mut Self, &T)) {
        self.0.push(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Reads the values that a [`Writer`] wrote.
struct Reader<'v>(&'v [u8]);

impl<'v> Reader<'v> {
    fn take(&mut self, length: usize) -> Result<&'v [u8], StoreError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, StoreError> {
        Ok(u64::from_be_bytes(self.take(8)?.try_into().map_err(|_| damaged())?))
    }

    fn bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        let length = usize::try_from(self.number()?).map_err(|_| damaged())?;
        Ok(self.take(length)?.to_vec())
    }

    fn text(&mut self) -> Result<String, StoreError> {
        String::from_utf8(self.bytes()?).map_err(|_| damaged())
    }

    fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        if self.take(1)? == [1] { read(self).map(Some) } else { Ok(None) }
    }
}

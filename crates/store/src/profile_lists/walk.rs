//! Walks along a list of profiles in batches, which begin small and grow as long as they are short,
//! so that a page needs few statements and long profiles little memory.

use caseload_model::issue_query::{ListPosition, SortOrder};
use caseload_model::profile_query::{ProfileId, ProfilePosition, ProfileQuery};
use caseload_model::time::UnixMillis;

use super::rows::{Conditions, Found, ProfileSource, id_column, instants, read, table};
use crate::StoreError;
use crate::query::stored_sets::direction;
use crate::sql::{ToValue as _, Value};

/// Profiles of the first batch: the longest ones fill 8 MiB.
const BATCH_FIRST: u64 = 32;
/// How much larger a batch may be than the one before it.
const BATCH_GROWTH: u64 = 4;
/// A batch of more bytes is followed by a smaller one.
const BATCH_BYTES_LONG: usize = 2 << 20;

/// How many profiles are read at once.
pub(super) struct BatchSize(u64);

impl BatchSize {
    pub(super) const FIRST: Self = Self(BATCH_FIRST);

    pub(super) const fn get(&self) -> u64 {
        self.0
    }

    /// After a batch of profiles.
    pub(super) fn adapt<'f, S: ProfileSource>(
        &mut self,
        found: impl IntoIterator<Item = &'f Found>,
    ) {
        let bytes: usize = found.into_iter().map(Found::bytes).sum();
        self.0 = if bytes > BATCH_BYTES_LONG {
            (self.0 / BATCH_GROWTH).max(1)
        } else {
            (self.0 * BATCH_GROWTH).min(S::BATCH_MAX)
        };
    }
}

/// A walk along the app profiles that the columns select.
pub(super) struct Walk<'q, S> {
    source: &'q S,
    query: &'q ProfileQuery,
    app_ids: Option<Vec<&'q str>>,
    after: Option<ProfilePosition>,
    /// Profiles to be passed over first.
    offset: u64,
    batch: BatchSize,
    ended: bool,
}

impl<'q, S: ProfileSource> Walk<'q, S> {
    pub(super) fn new(
        source: &'q S,
        query: &'q ProfileQuery,
        after: Option<ProfilePosition>,
        offset: u64,
    ) -> Self {
        let app_ids = query.app_ids.as_ref().map(|ids| ids.iter().map(String::as_str).collect());
        Self { source, query, app_ids, after, offset, batch: BatchSize::FIRST, ended: false }
    }

    /// How many profiles the columns select, at any position.
    pub(super) fn count(&self) -> Result<u64, StoreError> {
        let conditions = self.conditions();
        let sql = format!(
            "SELECT count(*) FROM {} WHERE domain_id = ?1 AND {}",
            table(self.query.kind),
            conditions.joined()
        );
        let count = self.source.find(&sql, &conditions.values, |row| row.get(0))?;
        Ok(count.unwrap_or_default())
    }

    fn conditions(&self) -> Conditions<'_> {
        let domain = Value::Int(self.source.domain().0);
        Conditions::of(self.query, self.app_ids.as_deref(), domain)
    }

    /// The next profiles, at most `wanted`; none at the end.
    pub(super) fn next(&mut self, wanted: u64) -> Result<Vec<Found>, StoreError> {
        if self.ended || wanted == 0 {
            return Ok(Vec::new());
        }
        let limit = self.batch.get().min(wanted);
        let mut found = match &self.after {
            Some(after) => self.ties(after, limit)?,
            None => Vec::new(),
        };
        let further = limit - found.len() as u64;
        if further > 0 {
            found.extend(self.beyond(further)?);
            self.ended = (found.len() as u64) < limit;
        }
        self.offset = 0;
        if let Some(last) = found.last() {
            self.after = Some(last.position(self.query.sort.key));
        }
        self.batch.adapt::<S>(&found);
        Ok(found)
    }

    /// The profiles of the same instant that follow the position.
    fn ties(&self, after: &ProfilePosition, limit: u64) -> Result<Vec<Found>, StoreError> {
        let (query, mut conditions) = (self.query, self.conditions());
        let id = match &after.id {
            ProfileId::Core(id) => Value::Int(id.0.cast_signed()),
            ProfileId::App(pid) => pid.to_value(),
        };
        let [sorted, _] = instants(query.sort.key);
        let column = id_column(query.kind);
        conditions.add(&format!("{sorted} = "), Value::Int(after.at.0));
        conditions.add(&format!("{column} {} ", following(query.sort.order)), id);
        let order = format!("{column} {}", direction(query.sort.order));
        self.select(conditions, &order, limit, 0)
    }

    /// The profiles after the instant of the position.
    fn beyond(&self, limit: u64) -> Result<Vec<Found>, StoreError> {
        let (query, mut conditions) = (self.query, self.conditions());
        let [sorted, _] = instants(query.sort.key);
        if let Some(ListPosition { at: UnixMillis(at), .. }) = &self.after {
            let test = format!("{sorted} {} ", following(query.sort.order));
            conditions.add(&test, Value::Int(*at));
        }
        let direction = direction(query.sort.order);
        let order = format!("{sorted} {direction}, {} {direction}", id_column(query.kind));
        self.select(conditions, &order, limit, self.offset)
    }

    fn select(
        &self,
        mut conditions: Conditions<'_>,
        order: &str,
        limit: u64,
        offset: u64,
    ) -> Result<Vec<Found>, StoreError> {
        let joined = conditions.joined();
        conditions.values.extend([Value::Int(limit as i64), Value::Int(offset as i64)]);
        let places = conditions.values.len();
        let sql = format!(
            "{} WHERE domain_id = ?1 AND {joined} ORDER BY {order} LIMIT ?{} OFFSET ?{places}",
            table(self.query.kind),
            places - 1
        );
        read(self.source, self.query.kind, &sql, &conditions.values)
    }
}

const fn following(order: SortOrder) -> &'static str {
    match order {
        SortOrder::Ascending => ">",
        SortOrder::Descending => "<",
    }
}

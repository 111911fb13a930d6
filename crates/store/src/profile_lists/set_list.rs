//! Lists of core profiles through their sets. If sets decide all filters, only the profiles that
//! are shown are read, else each profile that the sets let through is judged.

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile_query::{ProfileId, ProfilePosition};

use super::judge::Judge;
use super::page::{Part, RenderedPart};
use super::rows::{Found, ProfileSource, by_ids};
use super::set_index::SetIndex;
use super::walk::BatchSize;
use crate::StoreError;
use crate::profile_sets::Moment;
use crate::throttle::Throttle;

/// Matches before a page that are passed over at once.
const SKIPPED: u64 = 4096;

/// A list to be read.
pub(super) struct SetList<'r, S> {
    pub(super) source: &'r S,
    pub(super) judge: Judge<'r>,
}

impl<S: ProfileSource> SetList<'_, S> {
    /// The total, if it is wanted, and the part after the position.
    pub(super) fn part(
        &self,
        part: Part,
        after: Option<&ProfilePosition>,
        count: bool,
        throttle: &mut Throttle,
    ) -> Result<(Option<u64>, RenderedPart), StoreError> {
        let query = self.judge.query;
        let mut index = SetIndex::new(self.source, query, throttle)?;
        let mut batch = BatchSize::FIRST;
        if query.reads_beyond_sets() {
            let mut walk = index.walk(after.filter(|_| !count));
            return self.judge.part(part, after, count, throttle, |throttle| {
                let found = self.read(&walk.next(&mut index, batch.get(), throttle)?)?;
                batch.adapt::<S>(&found);
                Ok(found)
            });
        }
        let total = if count { Some(index.count(throttle)?) } else { None };
        let mut left = total.filter(|_| after.is_none());
        let mut rendered = RenderedPart::new(Part { offset: 0, ..part });
        let mut walk = index.walk(after);
        let mut offset = part.offset;
        while offset > 0 && left.is_none_or(|left| left > offset) {
            let passed = walk.next(&mut index, offset.min(SKIPPED), throttle)?.len() as u64;
            if passed == 0 {
                break;
            }
            offset -= passed;
            left = left.map(|left| left.saturating_sub(passed));
        }
        if offset > 0 {
            return Ok((total, rendered));
        }
        while !rendered.is_full() && left != Some(0) {
            let wanted = batch.get().min(rendered.wanted()).min(left.unwrap_or(u64::MAX));
            let wanted = wanted.min(rendered.fitting());
            let moments = walk.next(&mut index, wanted, throttle)?;
            if moments.is_empty() {
                break;
            }
            left = left.map(|left| left.saturating_sub(moments.len() as u64));
            let found = self.read(&moments)?;
            batch.adapt::<S>(&found);
            (self.judge.take)(&mut rendered, &found.iter().collect::<Vec<_>>())?;
        }
        Ok((total, rendered))
    }

    /// The profiles, in the same order.
    fn read(&self, moments: &[Moment]) -> Result<Vec<Found>, StoreError> {
        let ids: Vec<u64> = moments.iter().map(|moment| moment.1.cast_unsigned()).collect();
        let mut found = by_ids(self.source, &ids)?;
        if found.len() < ids.len() {
            return Err(StoreError::Corrupt("a set has a profile that is not there".to_owned()));
        }
        // Rows usually come in the order of their ids, and so do most lists, or in the reverse one.
        let is_at = |one: &Found, id: &u64| one.id == ProfileId::Core(CoreProfileId(*id));
        if !found.iter().zip(&ids).all(|(one, id)| is_at(one, id)) {
            found.reverse();
        }
        if !found.iter().zip(&ids).all(|(one, id)| is_at(one, id)) {
            let mut places = HashMap::with_capacity(ids.len());
            places.extend(ids.iter().enumerate().map(|(n, id)| (*id, n)));
            found.sort_by_cached_key(|one| match &one.id {
                ProfileId::Core(id) => places.get(&id.0).copied(),
                ProfileId::App(_) => None,
            });
        }
        Ok(found)
    }
}

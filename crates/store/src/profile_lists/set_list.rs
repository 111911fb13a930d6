//! Lists of core profiles through their sets. If sets decide all filters, only the profiles that
//! are shown are read, else each profile that the sets let through is judged.

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile_query::{ProfileId, ProfilePosition, ProfileQuery, ProfileScan};

use super::page::{Part, RenderedPart};
use super::rows::{Found, ProfileSource, by_ids};
use super::set_index::SetIndex;
use super::walk::BatchSize;
use crate::StoreError;
use crate::profile_sets::Moment;
use crate::throttle::Throttle;

/// Matches before a page that are passed over at once.
const SKIPPED: u64 = 4096;

/// Renders matches.
pub(super) type Take<'t> = dyn Fn(&mut RenderedPart, &[&Found]) -> Result<(), StoreError> + 't;

/// A list to be read.
pub(super) struct SetList<'r, S> {
    pub(super) source: &'r S,
    pub(super) query: &'r ProfileQuery,
    pub(super) matches: &'r dyn Fn(&Found) -> bool,
    pub(super) take: &'r Take<'r>,
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
        let mut index = SetIndex::new(self.source, self.query, throttle)?;
        if self.query.reads_beyond_sets() {
            return self.judged(&mut index, part, after, count, throttle);
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
        let mut batch = BatchSize::FIRST;
        while !rendered.is_full() && left != Some(0) {
            let wanted = batch.get().min(rendered.wanted()).min(left.unwrap_or(u64::MAX));
            let wanted = wanted.min(rendered.fitting());
            let moments = walk.next(&mut index, wanted, throttle)?;
            if moments.is_empty() {
                break;
            }
            left = left.map(|left| left.saturating_sub(moments.len() as u64));
            let found = self.read(&moments)?;
            batch.adapt(&found);
            (self.take)(&mut rendered, &found.iter().collect::<Vec<_>>())?;
        }
        Ok((total, rendered))
    }

    /// With a total, all profiles are judged, from the beginning of the list.
    fn judged(
        &self,
        index: &mut SetIndex<'_, S>,
        part: Part,
        after: Option<&ProfilePosition>,
        count: bool,
        throttle: &mut Throttle,
    ) -> Result<(Option<u64>, RenderedPart), StoreError> {
        let mut walk = index.walk(after.filter(|_| !count));
        let (mut rendered, mut total) = (RenderedPart::new(part), 0);
        let (mut scan, mut batch) = (ProfileScan::of(self.query), BatchSize::FIRST);
        while count || !rendered.is_full() {
            let moments = walk.next(index, batch.get(), throttle)?;
            if moments.is_empty() {
                break;
            }
            let found = self.read(&moments)?;
            batch.adapt(&found);
            let mut matching = Vec::new();
            for one in &found {
                throttle.step()?;
                if !scan.may_match(one.fields()) || !(self.matches)(one) {
                    continue;
                }
                total += 1;
                if !rendered.is_full() && self.follows(one, after) {
                    matching.push(one);
                }
            }
            (self.take)(&mut rendered, &matching)?;
        }
        Ok((count.then_some(total), rendered))
    }

    fn follows(&self, found: &Found, after: Option<&ProfilePosition>) -> bool {
        let sort = self.query.sort;
        let position = || found.position(sort.key);
        after.is_none_or(|after| sort.compare_positions(&position(), after).is_gt())
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

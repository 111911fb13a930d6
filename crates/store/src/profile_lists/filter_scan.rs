//! Tests profiles one by one, if the index that a list walks does not decide all filters.

use caseload_model::profile_query::{ProfilePosition, ProfileQuery, ProfileScan};

use super::page::{Part, RenderedPart};
use super::rows::Found;
use crate::StoreError;
use crate::throttle::Throttle;

/// Renders matches.
pub(super) type Take<'t> = dyn Fn(&mut RenderedPart, &[&Found]) -> Result<(), StoreError> + 't;

/// The filters of a list.
pub(super) struct FilterScan<'r> {
    pub(super) query: &'r ProfileQuery,
    pub(super) matches: &'r dyn Fn(&Found) -> bool,
    pub(super) take: &'r Take<'r>,
}

impl FilterScan<'_> {
    /// The total, if it is wanted, and the part after the position. `next` reads profiles in the
    /// order of the list, and none at its end; with a total, from the beginning of the list.
    pub(super) fn part(
        &self,
        part: Part,
        after: Option<&ProfilePosition>,
        count: bool,
        throttle: &mut Throttle,
        mut next: impl FnMut(&mut Throttle) -> Result<Vec<Found>, StoreError>,
    ) -> Result<(Option<u64>, RenderedPart), StoreError> {
        let (mut rendered, mut total) = (RenderedPart::new(part), 0);
        let mut scan = ProfileScan::of(self.query);
        while count || !rendered.is_full() {
            let found = next(throttle)?;
            if found.is_empty() {
                break;
            }
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
}

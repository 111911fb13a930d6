//! Finds the core profiles of a list through their sets: the exact total, and the matches in the
//! order of the list. Sets decide all filters but identities, names and custom fields.

use caseload_model::issue_query::{SortKey, SortOrder, TimeRange};
use caseload_model::profile_query::ProfileId;
use caseload_model::profile_query::{
    ProfilePosition, ProfileQuery, ProfileSetKind, SetCondition, conditions,
};

use super::order::{OrderWalk, count, order_of};
use super::rows::ProfileSource;
use super::set_reader::{Members, fulfilling};
use crate::profile_sets::Moment;
use crate::throttle::Throttle;
use crate::{StoreError, values};

const SUM: &str = "SELECT coalesce(sum(n), 0) FROM profile_sets
     WHERE domain_id = ?1 AND kind = ?2 AND value = ANY (?3)";
/// Ids that are looked at at once.
const IDS_AT_ONCE: usize = 4096;
/// Moments of a walk that are looked at first; then twice as many, up to a whole row. A page is
/// often full after the first ones.
const MOMENTS_FIRST: usize = 256;

/// The sets of one query.
pub(super) struct SetIndex<'s, S> {
    source: &'s S,
    kind: ProfileSetKind,
    order: SortOrder,
    /// The range of the instants that the list is sorted by.
    range: TimeRange,
    conditions: Vec<SetCondition>,
    members: Vec<Members>,
}

impl<'s, S: ProfileSource> SetIndex<'s, S> {
    pub(super) fn new(
        source: &'s S,
        query: &ProfileQuery,
        throttle: &mut Throttle,
    ) -> Result<Self, StoreError> {
        let by_update = query.sort.key == SortKey::UpdateTime;
        let ranges = [(SortKey::CreationTime, query.created), (SortKey::UpdateTime, query.updated)];
        let [(_, range), (other, other_range)] =
            if by_update { [ranges[1], ranges[0]] } else { ranges };
        let conditions = conditions(query);
        let mut members: Vec<Members> = conditions.iter().cloned().map(Members::of).collect();
        if other_range != TimeRange::default() {
            let mut walk = OrderWalk::new(order_of(other), SortOrder::Ascending, other_range, None);
            let mut ids = Vec::new();
            while let Some(moments) = walk.next(source)? {
                throttle.step()?;
                ids.extend(moments.iter().map(|moment| moment.1));
            }
            ids.sort_unstable();
            members.push(Members::of_ids(ids));
        }
        let (kind, order) = (order_of(query.sort.key), query.sort.order);
        Ok(Self { source, kind, order, range, conditions, members })
    }

    /// How many profiles fulfil all conditions.
    pub(super) fn count(&mut self, throttle: &mut Throttle) -> Result<u64, StoreError> {
        let is_ranged = self.range != TimeRange::default();
        match &self.conditions[..] {
            [] if self.members.is_empty() => return count(self.source, self.kind, self.range),
            [one] if one.disjoint && self.members.len() == 1 && !is_ranged => {
                let sum = self.sum(one)?;
                if !one.negated {
                    return Ok(sum);
                }
                return Ok(count(self.source, self.kind, self.range)?.saturating_sub(sum));
            }
            _ => {}
        }
        let base = if is_ranged { None } else { self.smallest()? };
        let Some(base) = base else {
            let (mut walk, mut total) = (self.walk(None), 0);
            while let Some(moments) = walk.next(self, throttle)? {
                total += moments.len() as u64;
            }
            return Ok(total);
        };
        let ids = self.members[base].all(self.source)?;
        let mut total = 0;
        for ids in ids.chunks(IDS_AT_ONCE) {
            throttle.step()?;
            let others = self.members.iter_mut().enumerate();
            let others = others.filter(|(n, _)| *n != base).map(|(_, members)| members);
            let moments: Vec<Moment> = ids.iter().map(|id| (0, *id)).collect();
            total += fulfilling(self.source, others, &moments, span_of(&moments))?.len() as u64;
        }
        Ok(total)
    }

    /// The condition that fewest profiles fulfil.
    fn smallest(&self) -> Result<Option<usize>, StoreError> {
        if self.members.len() > self.conditions.len() {
            // The other range was read already.
            return Ok(Some(self.members.len() - 1));
        }
        let positive = self.conditions.iter().enumerate().filter(|(_, one)| !one.negated);
        let mut sums = Vec::new();
        for (n, condition) in positive {
            sums.push((self.sum(condition)?, n));
        }
        Ok(sums.into_iter().min().map(|(_, n)| n))
    }

    /// How many members the sets of a condition have together.
    fn sum(&self, condition: &SetCondition) -> Result<u64, StoreError> {
        let Some((kind, _)) = condition.any.first() else { return Ok(0) };
        let wanted: Vec<&[u8]> = condition.any.iter().map(|(_, value)| &value[..]).collect();
        let (domain, code) = (self.source.domain(), kind.code());
        let sum = self.source.find(SUM, values![domain, code, wanted], |row| row.get::<u64>(0))?;
        Ok(sum.unwrap_or_default())
    }

    /// A walk along the matches after the position.
    pub(super) fn walk(&self, after: Option<&ProfilePosition>) -> SetWalk {
        let after = after.and_then(|position| match &position.id {
            ProfileId::Core(id) => Some((position.at.0, id.0.cast_signed())),
            ProfileId::App(_) => None,
        });
        SetWalk {
            order: OrderWalk::new(self.kind, self.order, self.range, after),
            moments: Vec::new(),
            at: 0,
            span: span_of(&[]),
            size: MOMENTS_FIRST,
        }
    }
}

/// A walk along the matches in the order of the list.
pub(super) struct SetWalk {
    order: OrderWalk,
    /// A row of the order, how many of its moments were looked at, and the span of all their ids.
    moments: Vec<Moment>,
    at: usize,
    span: (i64, i64),
    size: usize,
}

impl SetWalk {
    /// Some further matches, perhaps none; `None` at the end.
    pub(super) fn next<S: ProfileSource>(
        &mut self,
        index: &mut SetIndex<'_, S>,
        throttle: &mut Throttle,
    ) -> Result<Option<Vec<Moment>>, StoreError> {
        throttle.step()?;
        if index.members.is_empty() {
            return self.order.next(index.source);
        }
        if self.at == self.moments.len() {
            let Some(moments) = self.order.next(index.source)? else { return Ok(None) };
            self.span = span_of(&moments);
            (self.moments, self.at) = (moments, 0);
        }
        let end = self.moments.len().min(self.at + self.size);
        let moments = &self.moments[self.at..end];
        self.at = end;
        self.size = (self.size * 2).min(IDS_AT_ONCE);
        fulfilling(index.source, index.members.iter_mut(), moments, self.span).map(Some)
    }
}

/// The lowest and the highest id.
fn span_of(moments: &[Moment]) -> (i64, i64) {
    let ids = || moments.iter().map(|moment| moment.1);
    (ids().min().unwrap_or_default(), ids().max().unwrap_or_default())
}

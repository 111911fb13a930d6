//! Finds the core profiles of a list through their sets: the exact total, and the matches in the
//! order of the list. Sets decide all filters but identities, names and custom fields.

use caseload_model::issue_query::{SortKey, SortOrder, TimeRange};
use caseload_model::profile_query::ProfileId;
use caseload_model::profile_query::{
    ProfilePosition, ProfileQuery, ProfileSetKind, SetCondition, conditions,
};

use super::id_words::IdWords;
use super::order::{OrderWalk, count, order_of};
use super::rows::ProfileSource;
use super::set_reader::{Members, fulfilling};
use crate::profile_sets::Moment;
use crate::throttle::Throttle;
use crate::{StoreError, values};

const SUM: &str = "SELECT coalesce(sum(n), 0) FROM profile_sets
     WHERE domain_id = ?1 AND kind = ?2 AND value = ANY (?3)";
/// Words of ids that are looked at at once.
const WORDS_AT_ONCE: usize = 4096;

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
            let mut words = Vec::new();
            while let Some(moments) = walk.next(source)? {
                throttle.step()?;
                words.append(&mut IdWords::of_moments(&moments).words);
            }
            members.push(Members::of_ids(IdWords::of(words)));
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
            while walk.next_row(self, throttle)? {
                total += walk.matches.as_ref().map_or(walk.moments.len() as u64, IdWords::count);
            }
            return Ok(total);
        };
        let ids = self.members[base].all(self.source)?;
        let mut total = 0;
        for words in ids.words.chunks(WORDS_AT_ONCE) {
            throttle.step()?;
            let others = self.members.iter_mut().enumerate();
            let others = others.filter(|(n, _)| *n != base).map(|(_, members)| members);
            let mut kept = IdWords::of(words.to_vec());
            fulfilling(self.source, others, &mut kept)?;
            total += kept.count();
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
            matches: None,
            at: 0,
        }
    }
}

/// A walk along the matches in the order of the list.
pub(super) struct SetWalk {
    order: OrderWalk,
    /// A row of the order, those of its ids that match, and how many of its moments were looked at.
    moments: Vec<Moment>,
    /// `None` if all match.
    matches: Option<IdWords>,
    at: usize,
}

impl SetWalk {
    /// The next matches: as many as are wanted, or all that are left.
    pub(super) fn next<S: ProfileSource>(
        &mut self,
        index: &mut SetIndex<'_, S>,
        wanted: u64,
        throttle: &mut Throttle,
    ) -> Result<Vec<Moment>, StoreError> {
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        while found.len() < wanted {
            if self.at == self.moments.len() && !self.next_row(index, throttle)? {
                break;
            }
            let left = &self.moments[self.at..];
            let Some(matches) = &mut self.matches else {
                let taken = left.len().min(wanted - found.len());
                found.extend_from_slice(&left[..taken]);
                self.at += taken;
                continue;
            };
            for moment in left {
                if found.len() == wanted {
                    break;
                }
                self.at += 1;
                if matches.contains(moment.1) {
                    found.push(*moment);
                }
            }
        }
        Ok(found)
    }

    /// Goes on to the next row of the order; false at the end.
    fn next_row<S: ProfileSource>(
        &mut self,
        index: &mut SetIndex<'_, S>,
        throttle: &mut Throttle,
    ) -> Result<bool, StoreError> {
        throttle.step()?;
        let Some(moments) = self.order.next(index.source)? else { return Ok(false) };
        (self.moments, self.at) = (moments, 0);
        if !index.members.is_empty() {
            let mut ids = IdWords::of_moments(&self.moments);
            fulfilling(index.source, index.members.iter_mut(), &mut ids)?;
            self.matches = Some(ids);
        }
        Ok(true)
    }
}

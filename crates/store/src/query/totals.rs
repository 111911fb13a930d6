//! Totals from counters: the counters of whole days and the matches at the ends of the span, in one
//! question if the counters' index decides these alone.

use super::counters::Counted;
use super::plan::{CounterTotal, PartialDays};
use super::source::{CountQuestion, Source};
use crate::StoreError;

impl CounterTotal {
    /// The question for the total; without the partial days if these are counted by sets.
    pub fn question(&self) -> CountQuestion<'_> {
        CountQuestion {
            whole: self.split.days.map(|days| self.counters.sum(days)),
            ends: match &self.partial_days {
                PartialDays::Index(ends) => ends.each_ref().map(Option::as_ref),
                PartialDays::Sets(_) => [None, None],
            },
            index: self.counters.index,
        }
    }

    /// The total, from the answer to [`Self::question`].
    pub const fn counted(&self, (whole, [before, after]): (u64, [u64; 2])) -> Counted {
        Counted { split: self.split, before, whole, after }
    }

    /// Asks for the total and its summands.
    pub fn count<S: Source>(&self, source: &S) -> Result<Counted, StoreError> {
        let mut counted = self.counted(source.count(&self.question())?);
        if let PartialDays::Sets(ends) = &self.partial_days {
            let counts = [&mut counted.before, &mut counted.after];
            for (count, end) in counts.into_iter().zip(&**ends) {
                if let Some(matches) = end {
                    *count = source.matches(matches)?.len();
                }
            }
        }
        Ok(counted)
    }
}

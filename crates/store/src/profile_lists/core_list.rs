//! Lists of core profiles through the sets of their terms. If terms decide all filters, only the
//! profiles that are shown are read, else each profile that the sets let through is judged.

use std::collections::HashMap;

use caseload_model::issue_query::{SortKey, SortOrder, TimeRange};
use caseload_model::profile_query::{ProfilePosition, ProfileQuery, ProfileScan};
use roaring::RoaringBitmap;

use super::core_rows::CoreRows;
use super::filter_scan::FilterScan;
use super::filters::filters;
use super::page::{Part, RenderedPart};
use super::rows::{Found, ProfileSource, by_rows};
use super::walk::BatchSize;
use crate::StoreError;
use crate::query;
use crate::query::order::{self, RowTest};
use crate::query::stored_sets::gone;
use crate::throttle::Throttle;

/// A list to be read.
pub(super) struct CoreList<'r, S> {
    pub(super) source: &'r S,
    pub(super) scan: FilterScan<'r>,
}

impl<S: ProfileSource> CoreList<'_, S> {
    /// The total, if it is wanted, and the part after the position.
    pub(super) fn part(
        &self,
        part: Part,
        after: Option<&ProfilePosition>,
        count: bool,
        throttle: &mut Throttle,
    ) -> Result<(Option<u64>, RenderedPart), StoreError> {
        let (wanted, rows) = (self.scan.query, CoreRows(self.source));
        let mut found = rows.of(&filters(wanted))?;
        let mut test = wanted.reads_beyond_terms().then(|| Test::of(self, throttle));
        if count && let Some(test) = test.take() {
            found = test.passing(&found)?;
        }
        let mut rendered = RenderedPart::new(Part { offset: 0, ..part });
        let part = query::Part {
            sort: wanted.sort,
            range: ahead(wanted, after),
            after: after.map(|after| rows.position(after, wanted.sort.order)).transpose()?,
            offset: part.offset,
            limit: rendered.wanted(),
        };
        let shown = order::rows(&rows, &found, part, test.as_mut())?;
        self.render(&shown, &mut rendered)?;
        Ok((count.then_some(found.len()), rendered))
    }

    fn render(&self, mut rows: &[u32], rendered: &mut RenderedPart) -> Result<(), StoreError> {
        let mut batch = BatchSize::FIRST;
        while !rows.is_empty() && !rendered.is_full() {
            let wanted = batch.get().min(rendered.fitting()).min(rows.len() as u64) as usize;
            let (shown, rest) = rows.split_at(wanted);
            rows = rest;
            let mut found = by_rows(self.source, shown)?;
            if found.len() < shown.len() {
                return Err(gone());
            }
            let places: HashMap<u32, usize> =
                shown.iter().enumerate().map(|(place, row)| (*row, place)).collect();
            found.sort_by_key(|(row, _)| places.get(row).copied());
            let found: Vec<_> = found.into_iter().map(|(_, found)| found).collect();
            batch.adapt::<S>(&found);
            (self.scan.take)(rendered, &found.iter().collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

/// The range of instants in which the list goes on after the position.
fn ahead(query: &ProfileQuery, after: Option<&ProfilePosition>) -> TimeRange {
    let mut range =
        if query.sort.key == SortKey::UpdateTime { query.updated } else { query.created };
    let at = after.map(|position| position.at);
    match query.sort.order {
        SortOrder::Ascending => range.since = range.since.max(at),
        SortOrder::Descending => range.until = [range.until, at].into_iter().flatten().min(),
    }
    range
}

/// Judges profiles by the filters that no term decides.
struct Test<'t, S> {
    source: &'t S,
    filters: &'t FilterScan<'t>,
    scan: ProfileScan,
    batch: BatchSize,
    throttle: &'t mut Throttle,
}

impl<'t, S: ProfileSource> Test<'t, S> {
    fn of(list: &'t CoreList<'_, S>, throttle: &'t mut Throttle) -> Self {
        let CoreList { source, scan: filters } = list;
        let (scan, batch) = (ProfileScan::of(filters.query), BatchSize::FIRST);
        Self { source, filters, scan, batch, throttle }
    }

    /// Those of the rows that pass.
    fn passing(mut self, rows: &RoaringBitmap) -> Result<RoaringBitmap, StoreError> {
        let rows: Vec<u32> = rows.iter().collect();
        let mut passing = RoaringBitmap::new();
        self.test(&rows, &mut |row, passes| {
            if passes {
                passing.insert(row);
            }
            true
        })?;
        Ok(passing)
    }
}

impl<S: ProfileSource> RowTest for Test<'_, S> {
    fn at_once(&self) -> usize {
        self.batch.get() as usize
    }

    fn test(
        &mut self,
        mut rows: &[u32],
        report: &mut dyn FnMut(u32, bool) -> bool,
    ) -> Result<(), StoreError> {
        while !rows.is_empty() {
            let (tested, rest) = rows.split_at(rows.len().min(self.batch.get() as usize));
            rows = rest;
            let found: HashMap<u32, Found> = by_rows(self.source, tested)?.into_iter().collect();
            for row in tested {
                self.throttle.step()?;
                let one = found.get(row).ok_or_else(gone)?;
                let passes = self.scan.may_match(one.fields()) && (self.filters.matches)(one);
                if !report(*row, passes) {
                    return Ok(());
                }
            }
            self.batch.adapt::<S>(found.values());
        }
        Ok(())
    }
}

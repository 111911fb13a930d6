//! Indexing: moves marked rows into segments. A step is planned on a snapshot and applied in one
//! transaction, only if no other server indexed the domain in between. Writes never wait for a
//! plan: a row that is written in between has a mark that the step does not know, and stays a
//! candidate. A new segment takes in smaller ones, so that there are few; the rows of a deleted
//! issue go when its segment is replaced.

use caseload_model::ids::DomainId;
use roaring::RoaringBitmap;

use super::grams::{BUCKETS, GramSet};
use super::issue_grams::{ALL_TEXTS, read_grams};
use super::postings::{SEGMENT_ROWS_MAX, encode};
use super::tables::{
    Segment, StoredMark, TextIndexStore, TextMark, marked_domains, marks, segments,
};
use crate::query::{Matches, Source};
use crate::sql::Sql;
use crate::{IndexTexts, StoreError, values};

/// Marks of a domain are indexed once their ranges together have so many rows. That is at least the
/// number of marked issues, which are read for each filter. An issue that is written again and
/// again has a mark for each write.
const MARKED_MIN: u64 = 1024;
/// A segment takes in others that are at most so many times as large as it is so far.
const TAKEN_IN: u64 = 2;

/// A step: marks and segments, and the segment that replaces them.
#[derive(Debug)]
pub struct IndexingStep {
    domain: DomainId,
    /// Marks that are indexed, and the rest of the last one.
    marks: Vec<i64>,
    rest: Option<TextMark>,
    /// Segments that are replaced, and the newest one that was there.
    replaced: Vec<i64>,
    newest: i64,
    segment: Option<NewSegment>,
}

#[derive(Debug)]
struct NewSegment {
    rows: Vec<u8>,
    lists: Vec<(u16, Vec<u8>)>,
}

/// The marks and segments of a domain.
pub(super) struct State {
    pub(super) marks: Vec<StoredMark>,
    /// Oldest first.
    pub(super) segments: Vec<Segment>,
    /// All issues of the domain.
    pub(super) there: RoaringBitmap,
    /// Those that are marked.
    pub(super) marked: RoaringBitmap,
    /// Those that are found by each of the segments.
    pub(super) live: Vec<RoaringBitmap>,
}

impl State {
    pub(super) fn read<S: Source>(
        sql: &impl Sql,
        source: &S,
        domain: DomainId,
    ) -> Result<Self, StoreError> {
        let (marks, segments) = (marks(sql, domain)?, segments(sql, domain)?);
        let there = source.matches(&Matches::every())?;
        let written = marks.iter().filter(|mark| !mark.mark.erased);
        let marked = written.fold(RoaringBitmap::new(), |all, mark| all | mark.rows()) & &there;
        let mut newer = marked.clone();
        let mut live: Vec<RoaringBitmap> = segments
            .iter()
            .rev()
            .map(|segment| {
                let live = (&segment.rows & &there) - &newer;
                newer |= &segment.rows;
                live
            })
            .collect();
        live.reverse();
        Ok(Self { marks, segments, there, marked, live })
    }

    /// Whether a segment still has something about one of these rows that it does not find.
    fn has_remains(&self, segment: usize, rows: &RoaringBitmap) -> bool {
        !((&self.segments[segment].rows & rows) - &self.live[segment]).is_empty()
    }
}

/// The next step, if one is due.
pub fn plan<'s, S: Source, Q: Sql>(
    sql: &'s Q,
    source: impl Fn(&'s Q, DomainId) -> S,
    how: IndexTexts,
) -> Result<Option<IndexingStep>, StoreError> {
    for (domain, [written, erased]) in marked_domains(sql)? {
        if how == IndexTexts::Due && written.max(erased) < MARKED_MIN {
            continue;
        }
        let source = source(sql, domain);
        let state = State::read(sql, &source, domain)?;
        if let Some(step) = Step::choose(&state, how) {
            return Ok(Some(step.indexing(&state, &source, domain)?));
        }
    }
    Ok(None)
}

/// The rows, marks and segments of a step.
#[derive(Debug, Default, PartialEq)]
struct Step {
    rows: RoaringBitmap,
    marks: Vec<i64>,
    rest: Option<TextMark>,
    /// Segments that are replaced, by their places.
    replaced: Vec<usize>,
}

impl Step {
    fn choose(state: &State, how: IndexTexts) -> Option<Self> {
        let mut step = Self::default();
        let (deleted, written): (Vec<_>, Vec<_>) =
            state.marks.iter().partition(|mark| mark.mark.erased);
        let is_due = |marks: &[&StoredMark]| {
            marks.iter().map(|mark| mark.length()).sum::<u64>() >= MARKED_MIN
        };
        let erased = deleted.iter().fold(RoaringBitmap::new(), |all, mark| all | mark.rows());
        let all = how == IndexTexts::Everything;
        if !state.marked.is_empty() && (all || is_due(&written)) {
            step.take_marked(state);
            step.take_in(state);
        } else if (how != IndexTexts::Due || is_due(&deleted))
            && let Some(dirty) =
                (0..state.segments.len()).find(|place| state.has_remains(*place, &erased))
        {
            step.rows.clone_from(&state.live[dirty]);
            step.replaced.push(dirty);
        }
        step.drop_done(state);
        (!step.marks.is_empty() || !step.replaced.is_empty()).then_some(step)
    }

    /// Takes marked rows, the oldest marks first.
    fn take_marked(&mut self, state: &State) {
        for stored in state.marks.iter().filter(|mark| !mark.mark.erased) {
            let StoredMark { seq, mark } = stored;
            let mut rows = (stored.rows() & &state.there) - &self.rows;
            let room = (SEGMENT_ROWS_MAX as u64).saturating_sub(self.rows.len());
            if room == 0 && !rows.is_empty() {
                break;
            }
            self.marks.push(*seq);
            // The first row that has no room.
            if let Some(next) = u32::try_from(room).ok().and_then(|room| rows.select(room)) {
                rows.remove_range(next..);
                self.rest = Some(TextMark { first: next, ..mark.clone() });
                self.rows |= rows;
                break;
            }
            self.rows |= rows;
        }
    }

    /// Takes in segments that are small, or that few of their rows are left of.
    fn take_in(&mut self, state: &State) {
        let mut places: Vec<usize> = (0..state.segments.len()).collect();
        places.sort_by_key(|place| state.live[*place].len());
        for place in places {
            let live = &state.live[place];
            if live.len() > self.rows.len() * TAKEN_IN
                || live.len() + self.rows.len() > SEGMENT_ROWS_MAX as u64
            {
                break;
            }
            self.rows |= live;
            self.replaced.push(place);
        }
    }

    /// Drops marks that nothing is left to do for.
    fn drop_done(&mut self, state: &State) {
        let kept: Vec<usize> =
            (0..state.segments.len()).filter(|place| !self.replaced.contains(place)).collect();
        for mark in &state.marks {
            let rows = mark.rows();
            let is_done = if mark.mark.erased {
                !kept.iter().any(|place| state.has_remains(*place, &rows))
            } else {
                rows.is_disjoint(&state.there)
            };
            if is_done && !self.marks.contains(&mark.seq) {
                self.marks.push(mark.seq);
            }
        }
    }

    /// Reads the texts of the rows.
    fn indexing<S: Source>(
        self,
        state: &State,
        source: &S,
        domain: DomainId,
    ) -> Result<IndexingStep, StoreError> {
        let segment = if self.rows.is_empty() { None } else { Some(build(source, &self.rows)?) };
        let number = |place: &usize| state.segments[*place].number;
        Ok(IndexingStep {
            domain,
            marks: self.marks,
            rest: self.rest,
            replaced: self.replaced.iter().map(number).collect(),
            newest: state.segments.last().map_or(0, |segment| segment.number),
            segment,
        })
    }
}

/// Builds a segment of these rows.
fn build<S: Source>(source: &S, rows: &RoaringBitmap) -> Result<NewSegment, StoreError> {
    let mut places: Vec<Vec<u16>> = vec![Vec::new(); BUCKETS];
    let (mut grams, mut place) = (GramSet::default(), 0);
    let numbers: Vec<u32> = rows.iter().collect();
    source.texts(ALL_TEXTS, &numbers, |_, texts| {
        read_grams(&texts, &mut grams);
        grams.iter().for_each(|bucket| places[usize::from(bucket)].push(place));
        place += 1;
        Ok(true)
    })?;
    let lists = places.iter().enumerate().filter(|(_, places)| !places.is_empty());
    let lists = lists.map(|(bucket, places)| (bucket as u16, encode(places))).collect();
    let mut rows = rows.clone();
    rows.optimize();
    let mut blob = Vec::with_capacity(rows.serialized_size());
    rows.serialize_into(&mut blob)
        .map_err(|e| StoreError::Unavailable(format!("a segment cannot be written: {e}")))?;
    Ok(NewSegment { rows: blob, lists })
}

/// Carries out a step. False if another server indexed the domain since it was planned: then
/// nothing is changed.
pub fn apply(store: &impl TextIndexStore, step: &IndexingStep) -> Result<bool, StoreError> {
    let IndexingStep { domain, marks, rest, replaced, newest, segment } = step;
    if !store.lock_text_index(*domain)? {
        return Ok(false);
    }
    let there = "SELECT count(*) FROM issue_text_marks WHERE domain_id = ?1 AND seq = ANY (?2)";
    let there: u64 =
        store.find(there, values![domain, marks], |row| row.get(0))?.unwrap_or_default();
    let found = "SELECT count(*), coalesce(max(segment), 0) FROM issue_text_segments
         WHERE domain_id = ?1 AND (segment = ANY (?2) OR segment >= ?3)";
    let found: Option<(u64, i64)> =
        store
            .find(found, values![domain, replaced, newest], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let known = replaced.len() as u64 + u64::from(*newest > 0 && !replaced.contains(newest));
    if there != marks.len() as u64 || found != Some((known, *newest)) {
        return Ok(false);
    }
    store.change(
        "DELETE FROM issue_text_marks WHERE domain_id = ?1 AND seq = ANY (?2)",
        values![domain, marks],
    )?;
    if let Some(rest) = rest {
        store.change(
            "INSERT INTO issue_text_marks (domain_id, first_row, last_row, erased)
             VALUES (?1, ?2, ?3, ?4)",
            values![domain, rest.first, rest.last, rest.erased],
        )?;
    }
    if !replaced.is_empty() {
        store.change(
            "DELETE FROM issue_text_grams WHERE domain_id = ?1 AND segment = ANY (?2)",
            values![domain, replaced],
        )?;
        store.change(
            "DELETE FROM issue_text_segments WHERE domain_id = ?1 AND segment = ANY (?2)",
            values![domain, replaced],
        )?;
    }
    if let Some(NewSegment { rows, lists }) = segment {
        let number = newest + 1;
        store.change(
            "INSERT INTO issue_text_segments (domain_id, segment, rows) VALUES (?1, ?2, ?3)",
            values![domain, number, rows],
        )?;
        store.insert_grams(*domain, number, lists)?;
    }
    Ok(true)
}

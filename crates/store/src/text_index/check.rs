//! The rule of the text index: each issue is marked, or has exactly the grams of its texts in the
//! newest segment that has its row. Segments are read one at a time.

use caseload_model::ids::DomainId;

use super::grams::GramSet;
use super::indexing::State;
use super::issue_grams::{ALL_TEXTS, read_grams};
use super::postings::decode;
use super::tables::all_grams;
use crate::StoreError;
use crate::check::Findings;
use crate::query::Source;
use crate::sql::Sql;
use crate::values;

/// Checks the index of a domain; the number of issues that are in segments.
pub fn check<S: Source>(
    sql: &impl Sql,
    source: &S,
    (domain, name): (DomainId, &str),
    findings: &mut Findings,
) -> Result<u64, StoreError> {
    let state = State::read(sql, source, domain)?;
    let mut indexed = 0;
    let mut missing = &state.there - &state.marked;
    for (segment, live) in state.segments.iter().zip(&state.live) {
        missing -= live;
        indexed += live.len();
        let size = segment.rows.len() as usize;
        let mut stored = vec![GramSet::default(); size];
        all_grams(sql, domain, segment.number, |bucket, blob| {
            decode(blob, size, |place| stored[usize::from(place)].insert(bucket))
        })?;
        let rows: Vec<u32> = live.iter().collect();
        let (mut grams, mut wrong) = (GramSet::default(), 0_u64);
        source.texts(ALL_TEXTS, &rows, |row, texts| {
            read_grams(&texts, &mut grams);
            let place = segment.rows.rank(row).saturating_sub(1) as usize;
            wrong += u64::from(stored[place] != grams);
            Ok(true)
        })?;
        if wrong > 0 {
            findings.fault(format!(
                "domain {name}: segment {} of the text index has other grams for {wrong} issues",
                segment.number
            ));
        }
    }
    if !missing.is_empty() {
        findings
            .fault(format!("domain {name}: {} issues are not in the text index", missing.len()));
    }
    let strays = "SELECT count(*) FROM issue_text_grams g WHERE g.domain_id = ?1 AND NOT EXISTS
         (SELECT 1 FROM issue_text_segments s WHERE s.domain_id = ?1 AND s.segment = g.segment)";
    let strays: Option<u64> = sql.find(strays, values![domain], |row| row.get(0))?;
    if strays.unwrap_or_default() > 0 {
        findings.fault(format!("domain {name}: lists of the text index belong to no segment"));
    }
    Ok(indexed)
}

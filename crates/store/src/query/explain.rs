//! A plan in words: where total and page of a list come from, and how many issues each step lets
//! through. The steps are those of the plan that the list would run; nothing is rendered and no
//! text is read. Filters are counted one by one, so an explanation may take longer than the list.

use caseload_model::issue::TermKind;

use super::find::SpanFilter;
use super::matches::Matches;
use super::order::Ordering;
use super::plan::{CounterTotal, Page, Plan, Planned, Request, Seek, SetPage, Total};
use super::set::Set;
use super::source::Source;
use super::words;
use crate::{ExplainedStep, ListIssues, StoreError};

/// Explains how a page is found, and measures each step.
pub fn explain<S: Source>(
    source: &S,
    request: &ListIssues,
) -> Result<Vec<ExplainedStep>, StoreError> {
    let mut steps = Vec::new();
    let mut plan = match Planned::of(Request::of_list(request), source.thresholds()) {
        Planned::Plan(plan) => plan,
        Planned::Refine(by_agents) => {
            let (mut assignees, mut agents) = (Vec::new(), 0_u64);
            source.agents(|id, email| {
                agents += 1;
                if by_agents.selects(email) {
                    assignees.push(id.to_owned());
                }
            })?;
            let selected = assignees.len();
            let how = format!("addresses of all {agents} agents; the filter selects {selected}");
            steps.push(step("agents", how));
            by_agents.refine(&assignees)
        }
    };
    if let (Some(Total::Counters(total)), Page::Refine(seek)) = (&plan.total, &plan.page) {
        let counted = total.count(source)?;
        if seek.offset < counted.total() {
            let by_day = match seek.question(total) {
                Some(sum) => source.count_by_day(&sum)?,
                None => std::collections::BTreeMap::new(),
            };
            steps.push(seek_step(seek));
            plan.page = seek.refine(total, &counted, by_day);
        }
    }
    let thresholds = source.thresholds();
    let size = |measured: Measured<'_>| -> Result<_, StoreError> {
        let size = match measured {
            Measured::Total(total) => total.count(source)?.total(),
            Measured::Matches(matches) => source.matches(matches)?.len(),
        };
        let (span_filter, ordering) =
            (SpanFilter::of(size, thresholds), Ordering::of(size, thresholds));
        Ok(Some(Size { issues: size, span_filter, ordering }))
    };
    steps.extend(plan_steps(&plan, size)?);
    Ok(steps)
}

/// A question for the size of a step.
pub(super) enum Measured<'m> {
    Total(&'m CounterTotal),
    Matches(&'m Matches),
}

/// The size of a set, and the ways that follow from it.
#[derive(Clone, Copy)]
pub(super) struct Size {
    issues: u64,
    span_filter: SpanFilter,
    ordering: Ordering,
}

/// The steps of a plan, with their sizes if `size` measures them.
pub(super) fn plan_steps<E>(
    plan: &Plan<'_>,
    size: impl Fn(Measured<'_>) -> Result<Option<Size>, E>,
) -> Result<Vec<ExplainedStep>, E> {
    let mut steps = Vec::new();
    let mut found = None;
    if let Page::Set(page) = &plan.page {
        found = matches_steps(&page.matches, &size, &mut steps)?;
    }
    let issues = found.map(|found| found.issues);
    match &plan.total {
        None => {}
        Some(Total::Nothing) => {
            let how = "nothing is read: no issue can pass all filters".to_owned();
            steps.push(ExplainedStep { step: "total", how, issues: Some(0) });
        }
        Some(Total::Counters(total)) => {
            let issues = size(Measured::Total(total))?.map(|size| size.issues);
            steps.push(ExplainedStep { step: "total", how: words::total(total), issues });
        }
        Some(Total::Matches(matches)) => {
            let how = "the size of a set of its own, of the whole list".to_owned();
            let issues = size(Measured::Matches(matches))?.map(|size| size.issues);
            steps.push(ExplainedStep { step: "total", how, issues });
        }
        Some(Total::OfPage) => {
            let texts = matches!(&plan.page, Page::Set(page) if page.matches.texts);
            let (how, issues) = if texts {
                ("the number of issues whose texts match", None)
            } else {
                ("the size of the set", issues)
            };
            steps.push(ExplainedStep { step: "total", how: how.to_owned(), issues });
        }
    }
    match &plan.page {
        Page::Nothing => {}
        Page::Scan(scan) => steps.push(step("page", words::scan(scan))),
        Page::Set(SetPage { part, .. }) => {
            let ordering = found.map(|found| found.ordering);
            steps.push(step("page", words::page(part, ordering)));
        }
        Page::Refine(seek) => steps.push(seek_step(seek)),
    }
    Ok(steps)
}

/// The filters and spans of a set, each by itself, then all together.
fn matches_steps<E>(
    matches: &Matches,
    size: impl Fn(Measured<'_>) -> Result<Option<Size>, E>,
    steps: &mut Vec<ExplainedStep>,
) -> Result<Option<Size>, E> {
    let alone = |set: &Set| {
        let mut sets = vec![set.clone()];
        if set.is_complement() || set.has_text() {
            sets.push(Set::term(TermKind::All, b""));
        }
        Matches { filters: Set::And(sets), spans: Vec::new(), texts: false }
    };
    let filters = match &matches.filters {
        Set::And(sets) => sets.as_slice(),
        set => std::slice::from_ref(set),
    };
    for set in filters {
        let issues = size(Measured::Matches(&alone(set)))?.map(|size| size.issues);
        steps.push(ExplainedStep { step: "filter", how: words::set(set), issues });
    }
    let mut so_far = Matches { spans: Vec::new(), texts: false, ..matches.clone() };
    for span in &matches.spans {
        let before = if so_far.filters.is_complement() && so_far.spans.is_empty() {
            None
        } else {
            size(Measured::Matches(&so_far))?
        };
        so_far.spans.push(*span);
        let span_filter = before.map(|before| before.span_filter);
        let issues = size(Measured::Matches(&so_far))?.map(|size| size.issues);
        steps.push(ExplainedStep { step: "span", how: words::span(span, span_filter), issues });
    }
    let found = size(Measured::Matches(&so_far))?;
    let issues = found.map(|found| found.issues);
    let how = "the issues that pass each of these".to_owned();
    steps.push(ExplainedStep { step: "set", how, issues });
    if matches.texts {
        let how = "the texts of the set are read, issue by issue".to_owned();
        steps.push(ExplainedStep { step: "texts", how, issues });
    }
    Ok(found)
}

fn seek_step(seek: &Seek<'_>) -> ExplainedStep {
    let issue = seek.offset + 1;
    step("seek", format!("the counters of each day, for the day that has issue {issue}"))
}

fn step(step: &'static str, how: String) -> ExplainedStep {
    ExplainedStep { step, how, issues: None }
}

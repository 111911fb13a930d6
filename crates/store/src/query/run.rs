//! Carries out plans. A page and its total come from one snapshot, so they agree; fragments are
//! read for the issues of the page alone.

use caseload_model::issue::ListVersion;
use caseload_model::issue_query::{IssueQuery, SortKey};

use super::order::NoTest;
use super::plan::{Page, Plan, Planned, Request, Scan, SetPage, Total};
use super::source::{RenderedPage, Rendering, Selection, Source};
use super::texts::{TestOf, TextTest};
use super::{find, order};
use crate::idempotency::CommandStore as _;
use crate::rowset::row_number;
use crate::sql::Sql as _;
use crate::throttle::Throttle;
use crate::{
    GetIssue, IssuePage, IssueStep, ListIssues, RenderedIssue, StepForm, StepIssues, StoreError,
    values,
};

/// One page with the exact total.
pub fn list<S: Source>(
    source: &S,
    request: &ListIssues,
    throttle: &mut Throttle,
) -> Result<IssuePage, StoreError> {
    let run = Run { source, query: &request.query, rendering: Rendering::of_list(request) };
    let (total, page) = run.request(Request::of_list(request), throttle)?;
    Ok(page_of(total.unwrap_or_default(), page.unwrap_or_default()))
}

/// A step, with the total of the whole list if that is wanted.
pub fn step<S: Source>(
    source: &S,
    request: &StepIssues,
    throttle: &mut Throttle,
) -> Result<IssueStep, StoreError> {
    let run = Run { source, query: &request.query, rendering: Rendering::of_step(request) };
    let (total_hits, page) = run.request(Request::of_step(request), throttle)?;
    match page {
        Some(page) => Ok(step_of(total_hits, page)),
        None => Ok(IssueStep { total_hits, ..IssueStep::default() }),
    }
}

/// One issue.
pub fn issue<S: Source>(
    source: &S,
    request: &GetIssue,
) -> Result<Option<RenderedIssue>, StoreError> {
    let Ok(id) = i64::try_from(request.id) else { return Ok(None) };
    let store = source.sets().store;
    let select = "SELECT row FROM issues WHERE domain_id = ?1 AND id = ?2";
    let row = store.find(select, values![store.domain(), id], |row| row_number(row.get(0)?))?;
    let Some(row) = row else { return Ok(None) };
    let rendering = Rendering {
        view: request.view,
        form: StepForm::Commas,
        issues_max: 1,
        bytes_max: usize::MAX,
        key: SortKey::CreationTime,
    };
    let RenderedPage { body, urls, version, .. } =
        source.render(Selection::Rows(&[row]), &rendering)?;
    Ok(Some(RenderedIssue { body, urls, version: version.finish() }))
}

/// The answer to a request for a page.
pub fn page_of(total_hits: u64, page: RenderedPage) -> IssuePage {
    IssuePage {
        total_hits,
        count: page.count as u32,
        more: page.count < page.found,
        body: page.body,
        urls: page.urls,
        last: page.last,
        version: if page.count == 0 { ListVersion::default() } else { page.version.finish() },
    }
}

/// The answer to a request for a step.
pub fn step_of(total_hits: Option<u64>, page: RenderedPage) -> IssueStep {
    IssueStep {
        total_hits,
        count: page.count as u32,
        more: page.count < page.found,
        last: page.last,
        body: page.body,
        urls: page.urls,
        version: page.version.finish(),
    }
}

/// One request on its way.
struct Run<'r, S> {
    source: &'r S,
    query: &'r IssueQuery,
    rendering: Rendering,
}

/// The total, if it is wanted, and the page; none if the query contradicts itself.
type Answer = (Option<u64>, Option<RenderedPage>);

impl<S: Source> Run<'_, S> {
    fn request(&self, request: Request<'_>, throttle: &mut Throttle) -> Result<Answer, StoreError> {
        let plan = match Planned::of(request, self.source.thresholds()) {
            Planned::Plan(plan) => plan,
            Planned::Refine(by_agents) => {
                let mut assignees = Vec::new();
                self.source.agents(|id, email| {
                    if by_agents.selects(email) {
                        assignees.push(id.to_owned());
                    }
                })?;
                by_agents.refine(&assignees)
            }
        };
        self.plan(plan, throttle)
    }

    fn plan(&self, plan: Plan<'_>, throttle: &mut Throttle) -> Result<Answer, StoreError> {
        let Plan { total, page } = plan;
        let (total, page) = match (total, page) {
            (Some(Total::Counters(total)), page) => {
                let counted = total.count(self.source)?;
                let page = match page {
                    Page::Refine(seek) if seek.offset < counted.total() => {
                        let by_day = match seek.question(&total) {
                            Some(sum) => self.source.count_by_day(&sum)?,
                            None => std::collections::BTreeMap::new(),
                        };
                        seek.refine(&total, &counted, by_day)
                    }
                    page => page,
                };
                (Some(counted.total()), page)
            }
            (Some(Total::Matches(matches)), page) => {
                let found = find::all(self.source, &matches, self.query, throttle)?;
                (Some(found.len()), page)
            }
            (Some(Total::OfPage), Page::Set(page)) => return self.counted_set(&page, throttle),
            (Some(Total::Nothing | Total::OfPage), page) => (Some(0), page),
            (None, page) => (None, page),
        };
        Ok((total, self.page(page, total, throttle)?))
    }

    /// A page of a set, and the size of that set.
    fn counted_set(&self, page: &SetPage, throttle: &mut Throttle) -> Result<Answer, StoreError> {
        let found = find::all(self.source, &page.matches, self.query, throttle)?;
        let mut part = page.part;
        part.limit = part.limit.min(found.len().saturating_sub(part.offset));
        let rows = order::rows::<_, NoTest>(self.source, &found, part, None)?;
        Ok((Some(found.len()), Some(self.rows(&rows)?)))
    }

    /// A page, of at most as many issues as the total leaves for it.
    fn page(
        &self,
        page: Page<'_>,
        total: Option<u64>,
        throttle: &mut Throttle,
    ) -> Result<Option<RenderedPage>, StoreError> {
        let room = |offset: u64| total.map_or(u64::MAX, |total| total.saturating_sub(offset));
        Ok(Some(match page {
            Page::Nothing => return Ok(None),
            Page::Scan(Scan { offset, .. }) if room(offset) == 0 => RenderedPage::default(),
            Page::Scan(scan) => {
                let limit = scan.limit.min(room(scan.offset));
                let scan = Scan { limit, ..scan };
                self.source.render(Selection::Scan(&scan), &self.rendering)?
            }
            Page::Set(SetPage { matches, part }) => {
                let found = self.source.matches(&matches)?;
                let source = self.source;
                let mut test = matches
                    .texts
                    .then(|| TestOf { source, texts: TextTest::new(self.query, throttle) });
                self.rows(&order::rows(source, &found, part, test.as_mut())?)?
            }
            // Its offset lies beyond the last match.
            Page::Refine(_) => RenderedPage::default(),
        }))
    }

    fn rows(&self, rows: &[u32]) -> Result<RenderedPage, StoreError> {
        if rows.is_empty() {
            return Ok(RenderedPage::default());
        }
        self.source.render(Selection::Rows(rows), &self.rendering)
    }
}

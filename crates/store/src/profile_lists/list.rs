//! Answers requests for lists of profiles and for single ones. A list whose query names profiles,
//! by ids or by identities of core profiles, reads these and sorts them. Any other list of core
//! profiles is found through the sets of their terms; one of app profiles walks along the index of
//! its order. If the columns decide alone, the database counts the total.

use std::collections::BTreeSet;

use caseload_model::ids::{CoreProfileId, DomainName};
use caseload_model::issue_query::SortKey;
use caseload_model::profile_query::{
    ProfileId, ProfileKind, ProfilePosition, ProfileQuery, ProfileView,
};

use super::core_list::CoreList;
use super::filter_scan::FilterScan;
use super::page::{Part, RenderedPart};
use super::people::{added, app_profiles};
use super::rows::{Found, ProfileSource, by_ids, by_pids};
use super::walk::Walk;
use crate::profiles::owners;
use crate::throttle::Throttle;
use crate::{
    GetProfile, ListProfiles, ProfilePage, ProfileStep, RenderedProfile, StepForm, StepProfiles,
    StoreError,
};

/// Profiles that one statement reads by their ids: the longest ones fill 16 MiB.
const NAMED_AT_ONCE: usize = 64;

/// Whether a list may have to test very many profiles one by one.
pub fn is_expensive(query: &ProfileQuery) -> bool {
    let is_judged = match query.kind {
        ProfileKind::Core => query.reads_beyond_terms(),
        ProfileKind::App => query.reads_fields(),
    };
    is_judged && !names_profiles(query)
}

const fn names_profiles(query: &ProfileQuery) -> bool {
    match query.kind {
        ProfileKind::Core => query.ids.is_some() || query.identities.is_some(),
        ProfileKind::App => query.pids.is_some() || query.identities.is_some(),
    }
}

/// One page with the exact total.
pub fn list<S: ProfileSource>(
    source: &S,
    request: &ListProfiles,
    throttle: &mut Throttle,
) -> Result<ProfilePage, StoreError> {
    let part = Part {
        form: StepForm::Commas,
        offset: request.paging.offset(),
        profiles_max: request.paging.page_size,
        bytes_max: request.bytes_max,
        key: request.query.sort.key,
        looks_ahead: false,
    };
    let matches = |found: &Found| request.query.matches(&found.searchable(&request.domain_name));
    let (domain, query) = (&request.domain_name, &request.query);
    let run = Run { source, domain, query, view: request.view, matches: &matches };
    let (total, part) = run.part(part, None, true, throttle)?;
    let version = part.version();
    let RenderedPart { body, count, last, more, .. } = part;
    let (total_hits, urls) = (total.unwrap_or_default(), Vec::new());
    Ok(ProfilePage { total_hits, count, body, urls, last, more, version })
}

/// A step, with the total of the whole list if that is wanted.
pub fn step<S: ProfileSource>(
    source: &S,
    request: &StepProfiles,
    throttle: &mut Throttle,
) -> Result<ProfileStep, StoreError> {
    let part = Part {
        form: request.form,
        offset: 0,
        profiles_max: request.profiles_max.max(1),
        bytes_max: request.bytes_max,
        key: request.query.sort.key,
        looks_ahead: true,
    };
    let matches = |found: &Found| request.query.matches(&found.searchable(&request.domain_name));
    let (domain, query) = (&request.domain_name, &request.query);
    let run = Run { source, domain, query, view: request.view, matches: &matches };
    let (total_hits, part) = run.part(part, request.after.clone(), request.count, throttle)?;
    let version = part.version();
    let RenderedPart { body, count, last, more, .. } = part;
    Ok(ProfileStep { count, body, urls: Vec::new(), last, more, total_hits, version })
}

/// One profile; `None` if there is none of that id.
pub fn get<S: ProfileSource>(
    source: &S,
    request: &GetProfile,
) -> Result<Option<RenderedProfile>, StoreError> {
    let found = match &request.id {
        ProfileId::Core(id) => by_ids(source, &[id.0])?,
        ProfileId::App(pid) => by_pids(source, &[pid.as_str()])?,
    };
    let Some(found) = found.first() else { return Ok(None) };
    let part = Part {
        form: StepForm::Commas,
        offset: 0,
        profiles_max: 1,
        bytes_max: usize::MAX,
        key: SortKey::CreationTime,
        looks_ahead: false,
    };
    let mut rendered = RenderedPart::new(part);
    rendered.take(found, &added(source, &request.domain_name, request.view, &[found])?);
    let version = rendered.version();
    Ok(Some(RenderedProfile { body: rendered.body, version }))
}

/// One request on its way.
struct Run<'r, S> {
    source: &'r S,
    domain: &'r DomainName,
    query: &'r ProfileQuery,
    view: ProfileView,
    matches: &'r dyn Fn(&Found) -> bool,
}

/// The total, if it is wanted, and the rendered part.
type Answer = (Option<u64>, RenderedPart);

impl<S: ProfileSource> Run<'_, S> {
    fn part(
        &self,
        part: Part,
        after: Option<ProfilePosition>,
        count: bool,
        throttle: &mut Throttle,
    ) -> Result<Answer, StoreError> {
        if self.query.contradicts_itself() {
            return Ok((count.then_some(0), RenderedPart::new(part)));
        }
        if names_profiles(self.query) {
            let (total, part) = self.of_named(part, after.as_ref(), throttle)?;
            return Ok((count.then_some(total), part));
        }
        let take = |rendered: &mut RenderedPart, found: &[&Found]| self.take(rendered, found);
        let scan = FilterScan { query: self.query, matches: self.matches, take: &take };
        if self.query.kind == ProfileKind::Core {
            let list = CoreList { source: self.source, scan };
            return list.part(part, after.as_ref(), count, throttle);
        }
        if !self.query.reads_fields() {
            return self.of_columns(part, after, count);
        }
        let begins = after.clone().filter(|_| !count);
        let mut walk = Walk::new(self.source, self.query, begins, 0);
        scan.part(part, after.as_ref(), count, throttle, |_| walk.next(u64::MAX))
    }

    /// The columns decide.
    fn of_columns(
        &self,
        part: Part,
        after: Option<ProfilePosition>,
        count: bool,
    ) -> Result<Answer, StoreError> {
        let mut walk = Walk::new(self.source, self.query, after, part.offset);
        let total = count.then(|| walk.count()).transpose()?;
        let mut rendered = RenderedPart::new(Part { offset: 0, ..part });
        while !rendered.is_full() {
            let found = walk.next(rendered.wanted())?;
            if found.is_empty() {
                break;
            }
            self.take(&mut rendered, &found.iter().collect::<Vec<_>>())?;
        }
        Ok((total, rendered))
    }

    /// The query names the profiles. They are judged first, by their short parts, and read again to
    /// be shown.
    fn of_named(
        &self,
        part: Part,
        after: Option<&ProfilePosition>,
        throttle: &mut Throttle,
    ) -> Result<(u64, RenderedPart), StoreError> {
        let mut positions = Vec::new();
        for ids in self.named()?.chunks(NAMED_AT_ONCE) {
            for found in self.read_named(ids)? {
                throttle.step()?;
                if (self.matches)(&found) {
                    positions.push(self.position(&found));
                }
            }
        }
        positions.sort_unstable_by(|a, b| self.query.sort.compare_positions(a, b));
        let total = positions.len() as u64;
        if let Some(after) = after {
            positions.retain(|one| self.query.sort.compare_positions(one, after).is_gt());
        }
        let offset = usize::try_from(part.offset).unwrap_or(usize::MAX).min(positions.len());
        let mut rendered = RenderedPart::new(Part { offset: 0, ..part });
        for shown in positions[offset..].chunks(NAMED_AT_ONCE) {
            if rendered.is_full() {
                break;
            }
            let ids: Vec<ProfileId> = shown.iter().map(|position| position.id.clone()).collect();
            let mut found = self.read_named(&ids)?;
            found.sort_unstable_by(|a, b| {
                self.query.sort.compare_positions(&self.position(a), &self.position(b))
            });
            self.take(&mut rendered, &found.iter().collect::<Vec<_>>())?;
        }
        Ok((total, rendered))
    }

    /// The ids that the query names.
    fn named(&self) -> Result<Vec<ProfileId>, StoreError> {
        let query = self.query;
        if query.kind == ProfileKind::App {
            let Some(pids) = &query.pids else { return self.of_identities() };
            return Ok(pids.iter().cloned().map(ProfileId::App).collect());
        }
        let core = |id: u64| ProfileId::Core(CoreProfileId(id));
        if let Some(ids) = &query.ids {
            return Ok(ids.iter().copied().map(core).collect());
        }
        let keys: Vec<_> = query.identities.iter().flatten().collect();
        let mut owners: Vec<_> =
            owners(self.source, &keys)?.into_values().map(ProfileId::Core).collect();
        owners.sort_unstable();
        owners.dedup();
        Ok(owners)
    }

    /// The app profiles that have one of the identities of the query.
    fn of_identities(&self) -> Result<Vec<ProfileId>, StoreError> {
        let keys: Vec<_> = self.query.identities.iter().flatten().collect();
        let found = app_profiles(self.source, self.domain, &keys)?;
        let pids: BTreeSet<String> = found.into_values().flatten().collect();
        Ok(pids.into_iter().map(ProfileId::App).collect())
    }

    fn read_named(&self, ids: &[ProfileId]) -> Result<Vec<Found>, StoreError> {
        let (mut core, mut app) = (Vec::new(), Vec::new());
        for id in ids {
            match id {
                ProfileId::Core(id) => core.push(id.0),
                ProfileId::App(pid) => app.push(pid.as_str()),
            }
        }
        if self.query.kind == ProfileKind::Core {
            by_ids(self.source, &core)
        } else {
            by_pids(self.source, &app)
        }
    }

    fn take(&self, rendered: &mut RenderedPart, matching: &[&Found]) -> Result<(), StoreError> {
        let added = added(self.source, self.domain, self.view, matching)?;
        rendered.reserve(matching);
        for found in matching {
            rendered.take(found, &added);
        }
        Ok(())
    }

    fn position(&self, found: &Found) -> ProfilePosition {
        found.position(self.query.sort.key)
    }
}

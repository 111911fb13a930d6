//! Reading profiles, for every backend. The rules are in [`crate::profile_lists`].

use super::Backend;
use crate::profile_lists::{self as rules, is_expensive};
use crate::query::TimedRows as _;
use crate::{
    AppProfilesOf, GetProfile, ListProfiles, ProfilePage, ProfileStep, Profiles, RenderedProfile,
    StepProfiles, StoreFuture,
};

impl<B: Backend> Profiles for B {
    fn list_profiles(&self, request: ListProfiles) -> StoreFuture<'_, ProfilePage> {
        let (domain, is_long) = (request.domain, is_expensive(&request.query));
        self.read_within(domain, request.budget.clone(), is_long, move |issues, throttle| {
            rules::list(issues.sets().store, &request, throttle)
        })
    }

    fn step_profiles(&self, request: StepProfiles) -> StoreFuture<'_, ProfileStep> {
        let (domain, is_long) = (request.domain, is_expensive(&request.query));
        self.read_within(domain, request.budget.clone(), is_long, move |issues, throttle| {
            rules::step(issues.sets().store, &request, throttle)
        })
    }

    fn app_profiles_of(&self, request: AppProfilesOf) -> StoreFuture<'_, Vec<String>> {
        let AppProfilesOf { domain, domain_name, core_profile, budget } = request;
        self.read_within(domain, budget, false, move |issues, _| {
            rules::app_profiles_of(issues.sets().store, &domain_name, core_profile)
        })
    }

    fn profile(&self, request: GetProfile) -> StoreFuture<'_, Option<RenderedProfile>> {
        let (domain, budget) = (request.domain, request.budget.clone());
        self.read_within(domain, budget, false, move |issues, _| {
            rules::get(issues.sets().store, &request)
        })
    }
}

//! Reading profiles and deleting single ones, for every backend. The rules are in
//! [`crate::profile_lists`] and [`crate::profiles`].

use super::Backend;
use crate::profile_lists::{self as rules, is_expensive};
use crate::profiles::delete_one;
use crate::query::TimedRows as _;
use crate::{
    AppProfilesOf, DeleteProfile, FindPerson, FoundPerson, GetProfile, Idempotent, ListProfiles,
    ProfilePage, ProfileStep, Profiles, RenderedProfile, StepProfiles, StoreFuture, StoredAnswer,
    erasure,
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

    fn find_person(&self, request: FindPerson) -> StoreFuture<'_, Option<FoundPerson>> {
        let (domain, count) = (request.domain, request.count);
        self.read_within(domain, request.budget.clone(), count, move |issues, _| {
            erasure::find_person(issues.sets().store, &request)
        })
    }

    fn delete_profile(&self, command: DeleteProfile) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        self.write_in(command.origin.domain, move |tx| delete_one(&tx, &command))
    }
}

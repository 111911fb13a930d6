//! The statements of lists of profiles ([`ProfileSource`]), and the capability of reading profiles.

use caseload_store::profile_lists::{self as rules, ProfileSource, is_expensive};
use caseload_store::{
    AppProfilesOf, GetProfile, ListProfiles, ProfilePage, ProfileStep, Profiles, RenderedProfile,
    StepProfiles, StoreFuture,
};

use crate::store::PostgresStore;
use crate::tx::DomainTx;

impl ProfileSource for DomainTx<'_> {
    const CORE_AMONG: &'static str = "core_profiles WHERE domain_id = ?1 AND id = ANY (?2)";
    const CORE_BETWEEN: &'static str =
        "core_profiles WHERE domain_id = ?1 AND row BETWEEN ?2 AND ?3";
    const APP_AMONG: &'static str = "app_profiles WHERE domain_id = ?1 AND pid = ANY (?2)";
    /// Most profiles of a batch, which is a round trip.
    const BATCH_MAX: u64 = 1024;
}

impl Profiles for PostgresStore {
    fn list_profiles(&self, request: ListProfiles) -> StoreFuture<'_, ProfilePage> {
        let (domain, is_long) = (request.domain, is_expensive(&request.query));
        Box::pin(self.engine.read_blocking(
            domain,
            request.budget.clone(),
            is_long,
            move |db, throttle| rules::list(&DomainTx { db, domain }, &request, throttle),
        ))
    }

    fn step_profiles(&self, request: StepProfiles) -> StoreFuture<'_, ProfileStep> {
        let (domain, is_long) = (request.domain, is_expensive(&request.query));
        Box::pin(self.engine.read_blocking(
            domain,
            request.budget.clone(),
            is_long,
            move |db, throttle| rules::step(&DomainTx { db, domain }, &request, throttle),
        ))
    }

    fn app_profiles_of(&self, request: AppProfilesOf) -> StoreFuture<'_, Vec<String>> {
        let AppProfilesOf { domain, domain_name, core_profile, budget } = request;
        Box::pin(self.engine.read_blocking(domain, budget, false, move |db, _| {
            rules::app_profiles_of(&DomainTx { db, domain }, &domain_name, core_profile)
        }))
    }

    fn profile(&self, request: GetProfile) -> StoreFuture<'_, Option<RenderedProfile>> {
        let domain = request.domain;
        Box::pin(self.engine.read_blocking(domain, request.budget.clone(), false, move |db, _| {
            rules::get(&DomainTx { db, domain }, &request)
        }))
    }
}

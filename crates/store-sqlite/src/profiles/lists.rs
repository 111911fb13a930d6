//! The statements of lists of profiles ([`ProfileSource`]), and the capability of reading profiles.

use caseload_store::profile_lists::{self as rules, ProfileSource, is_expensive};
use caseload_store::{
    AppProfilesOf, GetProfile, ListProfiles, ProfilePage, ProfileStep, Profiles, RenderedProfile,
    StepProfiles, StoreFuture,
};

use crate::tx::DomainTx;
use crate::{SqliteStore, boxed};

impl ProfileSource for DomainTx<'_> {
    const CORE_ID: &'static str = "coalesce(moved_id, seq)";
    const CORE_AMONG: &'static str = "(seq = ANY (?2) AND moved_id IS NULL OR moved_id = ANY (?2))";
}

impl Profiles for SqliteStore {
    fn list_profiles(&self, request: ListProfiles) -> StoreFuture<'_, ProfilePage> {
        let (domain, is_long) = (request.domain, is_expensive(&request.query));
        boxed(self.engine.read_throttled(
            domain,
            Some(request.budget),
            is_long,
            move |conn, throttle| Ok(rules::list(&DomainTx { conn, domain }, &request, throttle)?),
        ))
    }

    fn step_profiles(&self, request: StepProfiles) -> StoreFuture<'_, ProfileStep> {
        let (domain, is_long) = (request.domain, is_expensive(&request.query));
        boxed(self.engine.read_throttled(
            domain,
            Some(request.budget),
            is_long,
            move |conn, throttle| Ok(rules::step(&DomainTx { conn, domain }, &request, throttle)?),
        ))
    }

    fn app_profiles_of(&self, request: AppProfilesOf) -> StoreFuture<'_, Vec<String>> {
        let AppProfilesOf { domain, domain_name, core_profile, budget } = request;
        boxed(self.engine.read_in(domain, Some(budget), move |conn| {
            Ok(rules::app_profiles_of(&DomainTx { conn, domain }, &domain_name, core_profile)?)
        }))
    }

    fn profile(&self, request: GetProfile) -> StoreFuture<'_, Option<RenderedProfile>> {
        let (domain, budget) = (request.domain, Some(request.budget));
        boxed(self.engine.read_in(domain, budget, move |conn| {
            Ok(rules::get(&DomainTx { conn, domain }, &request)?)
        }))
    }
}

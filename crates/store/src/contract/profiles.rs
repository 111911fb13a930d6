//! Core and app profiles, one by one and in lists. The model defines the meaning of a filter. Tasks
//! write profiles; a call may delete one.

use caseload_model::erasure::{ErasureCounts, IssuesOfErased, Person, PersonTasks, Selector};
use caseload_model::ids::{CoreProfileId, DomainId, DomainName};
use caseload_model::issue::ListVersion;
use caseload_model::issue_query::Paging;
use caseload_model::profile_query::{ProfileId, ProfilePosition, ProfileQuery, ProfileView};

use super::{
    Idempotent, ListPage, ListStep, ReadBudget, StepForm, StoreFuture, StoredAnswer, WriteOrigin,
};

/// Reading profiles, and deleting single ones.
pub trait Profiles: Send + Sync + 'static {
    /// One page of profiles with the exact total, from one snapshot.
    /// [`StoreError::DeadlinePassed`](super::StoreError) if the budget is used up.
    fn list_profiles(&self, request: ListProfiles) -> StoreFuture<'_, ProfilePage>;
    /// The profiles that follow a position, from one snapshot.
    /// [`StoreError::DeadlinePassed`](super::StoreError) if the budget is used up.
    fn step_profiles(&self, request: StepProfiles) -> StoreFuture<'_, ProfileStep>;
    /// The pids of the app profiles that share an identity with a core profile, ascending; none if
    /// the domain has no such core profile.
    fn app_profiles_of(&self, request: AppProfilesOf) -> StoreFuture<'_, Vec<String>>;
    /// One profile, rendered; `None` if the domain has none of that id.
    fn profile(&self, request: GetProfile) -> StoreFuture<'_, Option<RenderedProfile>>;
    /// Finds the person whom an erasure would erase; `None` if the domain has no record of them.
    /// [`StoreError::Refused`](super::StoreError) if this leads to more than one person has.
    fn find_person(&self, request: FindPerson) -> StoreFuture<'_, Option<FoundPerson>>;
    /// Deletes a profile; the answer is empty. [`StoreError::NotFound`](super::StoreError) if the
    /// domain has none of that id.
    fn delete_profile(&self, command: DeleteProfile) -> StoreFuture<'_, Idempotent<StoredAnswer>>;
}

/// A page of profiles.
pub type ProfilePage = ListPage<ProfileId>;

/// Some profiles of a list.
pub type ProfileStep = ListStep<ProfileId>;

/// A request for one page.
#[derive(Debug, Clone)]
pub struct ListProfiles {
    pub domain: DomainId,
    pub domain_name: DomainName,
    pub query: ProfileQuery,
    pub view: ProfileView,
    pub paging: Paging,
    /// The most bytes of the page; its first profile is written in any case.
    pub bytes_max: usize,
    pub budget: ReadBudget,
}

/// A request for the profiles that follow a position.
#[derive(Debug, Clone)]
pub struct StepProfiles {
    pub domain: DomainId,
    pub domain_name: DomainName,
    pub query: ProfileQuery,
    pub view: ProfileView,
    /// Only the profiles after this position in the order of the query; `None` for all.
    pub after: Option<ProfilePosition>,
    /// The largest number of profiles, at least 1.
    pub profiles_max: u64,
    /// The most bytes of the step; its first profile is written in any case.
    pub bytes_max: usize,
    pub form: StepForm,
    /// Whether to count all profiles that match.
    pub count: bool,
    pub budget: ReadBudget,
}

/// A request for the app profiles of a person.
#[derive(Debug, Clone)]
pub struct AppProfilesOf {
    pub domain: DomainId,
    pub domain_name: DomainName,
    pub core_profile: CoreProfileId,
    pub budget: ReadBudget,
}

/// A request for one profile.
#[derive(Debug, Clone)]
pub struct GetProfile {
    pub domain: DomainId,
    pub domain_name: DomainName,
    pub id: ProfileId,
    pub view: ProfileView,
    pub budget: ReadBudget,
}

/// A request for the person whom an erasure would erase.
#[derive(Debug, Clone)]
pub struct FindPerson {
    pub domain: DomainId,
    pub selector: Selector,
    pub issues: IssuesOfErased,
    /// Whether to count the records, which reads the payloads and the records of all tasks.
    pub count: bool,
    /// In place of counting those of all tasks: the place after which the first task is read.
    pub tasks: Option<u64>,
    pub budget: ReadBudget,
}

/// A person, and how much of them would go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundPerson {
    pub person: Person,
    /// Zeros if nothing was counted.
    pub counts: ErasureCounts,
    /// The tasks that were asked for; the counts have the numbers of these alone.
    pub tasks: Option<PersonTasks>,
}

/// Deletes one profile. A core profile goes with its identities; issues and profiles of the other
/// kind stay.
#[derive(Debug, Clone)]
pub struct DeleteProfile {
    pub origin: WriteOrigin,
    pub id: ProfileId,
}

/// One profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedProfile {
    /// A JSON map.
    pub body: Vec<u8>,
    pub version: ListVersion,
}

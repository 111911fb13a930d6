//! The records of changes, for webhooks that want them: each as it is when its change is sent. It
//! has the full view. URLs of attachments are paths, because the server does not know
//! under which address the receiver calls it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use caseload_model::change::{RecordId, Resource};
use caseload_model::ids::{CoreProfileId, DomainId, DomainName};
use caseload_model::issue_query::IssueView;
use caseload_model::profile_query::{ProfileId, ProfileView};
use caseload_store::{GetIssue, GetProfile, Issues, Profiles, ReadBudget, StoreFuture};

/// How long reading one record may take.
const READ_BUDGET: ReadBudget = ReadBudget::of_time(Duration::from_secs(5));

/// Reads records.
pub trait Records: Send + Sync + 'static {
    /// A record as a JSON map; `None` if there is none any more. Only of resources that
    /// [`has_record`] names.
    fn record<'r>(
        &'r self,
        domain: (DomainId, &'r DomainName),
        resource: Resource,
        id: &'r RecordId,
    ) -> StoreFuture<'r, Option<Vec<u8>>>;
}

/// Whether changes of a resource may come with its record.
pub(crate) const fn has_record(resource: Resource) -> bool {
    matches!(resource, Resource::Issue | Resource::CoreProfile | Resource::AppProfile)
}

/// Reads records from a store.
pub struct StoreRecords {
    pub issues: Arc<dyn Issues>,
    pub profiles: Arc<dyn Profiles>,
}

impl fmt::Debug for StoreRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreRecords")
    }
}

impl Records for StoreRecords {
    fn record<'r>(
        &'r self,
        (domain, domain_name): (DomainId, &'r DomainName),
        resource: Resource,
        id: &'r RecordId,
    ) -> StoreFuture<'r, Option<Vec<u8>>> {
        let profile = move |id| GetProfile {
            domain,
            domain_name: domain_name.clone(),
            id,
            view: ProfileView { core_profile: true, app_profiles: true },
            budget: READ_BUDGET,
        };
        Box::pin(async move {
            let id = match (resource, id.number()) {
                (Resource::Issue, Some(id)) => {
                    let view = IssueView::FULL;
                    let read = GetIssue { domain, id, view, budget: READ_BUDGET };
                    return Ok(self.issues.issue(read).await?.map(|issue| issue.body));
                }
                (Resource::CoreProfile, Some(id)) => ProfileId::Core(CoreProfileId(id)),
                (Resource::AppProfile, _) => ProfileId::App(id.to_string()),
                _ => return Ok(None),
            };
            Ok(self.profiles.profile(profile(id)).await?.map(|profile| profile.body))
        })
    }
}

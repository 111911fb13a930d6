//! A request for the list of core profiles or of app profiles: query parameters read into types,
//! and the meaning of a query. A store finds the profiles that [`ProfileQuery::matches`] defines,
//! by any path. Paging, cursors, conditions and columns are those of the issue list. Wire grammar:
//! docs/api.md, "Finding profiles".

mod columns;
mod identity;
mod list;
mod matches;
mod position;
mod query;
mod scan;
mod terms;

pub use columns::{
    APP_PROFILE_COLUMNS_DEFAULT, CORE_PROFILE_COLUMNS_DEFAULT, profile_columns_pattern,
};
pub(crate) use identity::of_text as identity_of_text;
pub use list::{
    APP_PROFILE_PARAMETERS, CORE_PROFILE_PARAMETERS, SINGLE_PROFILE_PARAMETERS, parse_profile_list,
    parse_single_profile,
};
pub use matches::{AppPart, SearchableProfile, address_keys, pids_of_uid};
pub use position::{ProfileId, ProfileListRequest, ProfilePosition};
pub use query::{ProfileFieldFilter, ProfileFieldType, ProfileKind, ProfileQuery, ProfileView};
pub use scan::ProfileScan;
pub use terms::visit_profile_terms;

//! The id of a profile in a path. Only the store knows whether the profile exists.

use caseload_model::error_code::ErrorCode;
use caseload_model::ids::CoreProfileId;
use caseload_model::profile::CORE_PROFILE_ID_MAX;
use caseload_model::profile_query::ProfileKind;

use crate::http::problem::{Fault, Problem};

/// The id of a core profile; `None` for one that no profile can have.
pub(crate) fn core_profile_id(text: &str) -> Result<Option<CoreProfileId>, Fault> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        let detail = "the id of a core profile is digits alone, such as 188474421477632";
        return Err(Fault::parameter("core-profile-id", ErrorCode::InvalidValue, detail));
    }
    let id = text.parse().ok().filter(|id| *id <= CORE_PROFILE_ID_MAX);
    Ok(id.map(CoreProfileId))
}

/// The answer 404 for a profile that does not exist.
pub(crate) fn unknown_profile(kind: ProfileKind) -> Problem {
    let detail = match kind {
        ProfileKind::Core => "the domain has no core profile with that id",
        ProfileKind::App => "the domain has no app profile with that pid",
    };
    Problem::new(ErrorCode::NotFound, detail)
}

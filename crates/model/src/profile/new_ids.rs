//! The ids of profiles that a plan creates: consecutive ones, or, in a dry run, marks that no
//! profile can have. By its mark, a later entry of the dry run finds the profile that an earlier
//! one would have made. Invariant: a mark is never stored and never shown.

use super::field::CORE_PROFILE_ID_MAX;
use crate::ids::CoreProfileId;
use crate::payload::Entry;

/// The smallest mark.
const MARKS_FROM: u64 = CORE_PROFILE_ID_MAX + 1;

/// Gives ids to new profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewIds {
    /// Consecutive ones from this one on.
    From(u64),
    /// Marks of a dry run.
    DryRun,
}

impl NewIds {
    /// The id of the profile that an entry creates.
    pub(super) fn take(&mut self, entry: &Entry) -> CoreProfileId {
        match self {
            Self::From(next) => {
                *next += 1;
                CoreProfileId(*next - 1)
            }
            Self::DryRun => CoreProfileId(MARKS_FROM + u64::from(entry.index)),
        }
    }
}

/// The entry of a dry run that would create the profile with this id; `None` if the profile exists.
pub(super) fn entry_of_dry_run(id: CoreProfileId) -> Option<u64> {
    id.0.checked_sub(MARKS_FROM)
}

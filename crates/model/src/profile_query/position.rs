//! Positions in lists of profiles, and the lists that cursors belong to. A position names a profile
//! by its id in a list of core profiles, and by its pid in a list of app profiles.

use super::query::{ProfileKind, ProfileQuery, ProfileView};
use crate::ids::{CoreProfileId, DomainId};
use crate::issue_query::{
    CursorId, CursorScope, ListPosition, ListRequest, ListScope, cursor_paging,
};
use crate::profile::CORE_PROFILE_ID_MAX;

/// The id of a profile of either kind. Those of one kind compare as lists sort them: ids as
/// numbers, pids by their code points.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProfileId {
    Core(CoreProfileId),
    App(String),
}

/// A position in a list of profiles.
pub type ProfilePosition = ListPosition<ProfileId>;

/// A request for a list.
pub type ProfileListRequest = ListRequest<ProfileQuery, ProfileView, ProfileId>;

/// The first byte of an id in a cursor.
const CORE: u8 = b'c';
const APP: u8 = b'a';

impl CursorId for ProfileId {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Core(id) => {
                out.push(CORE);
                out.extend_from_slice(&id.0.to_be_bytes());
            }
            Self::App(pid) => {
                out.push(APP);
                out.extend_from_slice(pid.as_bytes());
            }
        }
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first()? {
            (&CORE, id) => {
                let id = u64::from_be_bytes(id.try_into().ok()?);
                (id <= CORE_PROFILE_ID_MAX).then_some(Self::Core(CoreProfileId(id)))
            }
            (&APP, pid) => Some(Self::App(str::from_utf8(pid).ok()?.to_owned())),
            _ => None,
        }
    }
}

impl ProfileId {
    /// The id of a profile of this kind as a caller writes it; `None` if no profile can have it.
    pub(super) fn parse(kind: ProfileKind, text: &str) -> Option<Self> {
        match kind {
            ProfileKind::Core => cursor_paging::number(text, CORE_PROFILE_ID_MAX)
                .map(|id| Self::Core(CoreProfileId(id))),
            ProfileKind::App => (!text.is_empty()).then(|| Self::App(text.to_owned())),
        }
    }
}

impl ProfileQuery {
    /// The list of the domain's profiles that the query describes.
    pub fn scope(&self, domain: DomainId) -> ListScope {
        ListScope::new(CursorScope::of_profiles(domain, self), self.sort)
    }
}

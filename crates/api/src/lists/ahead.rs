//! How far ahead of its reader a list is rendered, and how reading one may fail, for all forms of
//! the list.

use caseload_model::issue_query::ParameterFault;
use caseload_store::StoreError;

use crate::http::problem::Problem;

/// A list is rendered at most this far ahead of its reader.
pub(crate) const PAGE_BYTES_AHEAD: usize = 8 << 20;

/// Why a list cannot be read.
pub(crate) enum ListError {
    Store(StoreError),
    Parameter(ParameterFault),
    Refused(Problem),
}

impl From<StoreError> for ListError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

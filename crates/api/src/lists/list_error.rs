//! The ways in which reading a list may fail, for all forms of the list. Each resource decides
//! which answer a caller gets.

use caseload_model::issue_query::ParameterFault;
use caseload_store::StoreError;

/// Why a list cannot be read.
pub(crate) enum ListError {
    Store(StoreError),
    Parameter(ParameterFault),
}

impl From<StoreError> for ListError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

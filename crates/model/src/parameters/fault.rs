//! A fault of one query parameter or form field. A response lists all faults of a request, each
//! with the name as the caller spelled it.

use crate::error_code::ErrorCode;

/// One faulty parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterFault {
    /// The name as the caller spelled it.
    pub parameter: String,
    pub code: ErrorCode,
    /// The fault and its correction, as a sentence.
    pub detail: String,
}

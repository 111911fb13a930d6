//! Erasing a person: the forms that ask for it, the person that is found, and the receipt.
//! Issues are redacted in `issue::write`. A store finds the person's records, rewrites and deletes
//! them, and stores the receipt.

mod form;
mod person;
mod receipt;
mod redactions;

pub use form::{ERASURE_FIELDS, ErasureRequest, IssuesOfErased, Selector, read_erasure};
pub use person::Person;
pub use receipt::{ErasureCounts, ErasureReceipt};
pub use redactions::{
    REDACTION_FIELDS, REDACTIONS_MAX, Redaction, RequestedRedaction, read_redactions,
};

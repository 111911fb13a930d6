//! Erasing a person: the forms that ask for it, the person that is found, and the stored entries
//! and records of tasks that hold them. Issues are redacted in `issue::write`. A store finds the
//! person's records, rewrites and deletes them, and stores the receipt.

mod blocks;
mod entry;
mod form;
mod person;
mod person_tasks;
mod places;
mod receipt;
mod records;
mod redaction_answer;
mod redactions;
mod texts;
mod traces;

pub use blocks::erase_entries;
pub use entry::{Erasure, prepare_erasures};
pub use form::{ERASURE_FIELDS, ErasureRequest, IssuesOfErased, Selector, read_erasure};
pub use person::{Person, REDACTED};
pub use person_tasks::{PersonEntry, PersonTask, PersonTasks};
pub use receipt::{ErasureCounts, ErasureReceipt};
pub use records::ErasedRecords;
pub use redaction_answer::{
    DONE, NotRedactionId, REDACTION_STATUSES, RedactionId, RedactionOutcome, redaction_status,
    redactions_answer,
};
pub use redactions::{
    REDACTION_FIELDS, REDACTIONS_MAX, Redaction, RequestedRedaction, read_redactions,
};
pub use traces::Traces;

//! The meaning of Caseload's data: ids, profiles, identities, issues, filters, payload entries and
//! error codes. Everything here is pure. It parses, validates, merges and plans, but it does no
//! I/O, reads no clock and draws no random numbers; callers pass those in. Storage, HTTP and
//! scheduling live in the crates above.

pub mod change;
pub mod country;
pub mod decimal;
pub mod dialects;
pub mod encoded_word;
pub mod entry;
pub mod entry_times;
pub mod erasure;
pub mod error_code;
pub mod fold;
pub mod ids;
pub mod import;
pub mod issue;
pub mod issue_query;
pub mod json;
pub mod key;
pub mod language;
pub mod named_view;
pub mod notes;
pub mod parameters;
pub mod payload;
pub mod profile;
pub mod profile_query;
pub mod record;
pub mod row;
pub mod sketch;
pub mod spelling;
pub mod tags;
pub mod task;
pub mod task_query;
pub mod time;
pub mod webhook;

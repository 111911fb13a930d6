//! How programs call Caseload: a typed client of the bulk-action API and the issue API. It sends
//! requests, retries the reads that may be retried, and turns answers into plain types; it knows
//! nothing of files, terminals or the server's inside. Issues are handed on as the very bytes that
//! came, so that what is exported here can be imported again without a change. The API key never
//! shows in `Debug` output or in errors.

mod body;
mod bulk;
mod cursor;
mod error;
mod http;
mod issues;
mod stream;
mod task;

pub use body::{Body, Lines};
pub use bulk::{Bulk, Payload, RecordList, SubmitOptions};
pub use cursor::{Cursor, CursorStuck, Walk};
pub use error::{ClientError, Problem, ProblemFault};
pub use http::Client;
pub use issues::{INCLUDES_ALL, IssuePage, IssueParams};
pub use stream::IssueStream;
pub use task::{Task, TaskCounts, TaskPage};

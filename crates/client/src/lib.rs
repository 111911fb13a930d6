//! A typed client of the bulk action API and the issue API. It sends requests, repeats the reads
//! that may be repeated, and turns answers into plain types. It does not know about files,
//! terminals or the server's code. Issues are handed on as the bytes that the server sent, so that
//! an export can be imported again unchanged. Invariant: neither `Debug` output nor an error shows
//! the API key.

mod body;
mod bulk;
mod changes;
mod cursor;
mod erasures;
mod error;
mod error_summary;
mod http;
mod imports;
mod issues;
mod params;
mod profiles;
mod ready;
mod stream;
mod task;
mod walk;
mod webhooks;

pub use body::{Body, Lines};
pub use bulk::{BulkActions, Payload, RecordList, SubmitOptions};
pub use changes::{ChangePage, HistoryPage};
pub use cursor::{Cursor, CursorStuck};
pub use erasures::PersonPart;
pub use error::{ClientError, Problem, ProblemFault};
pub use error_summary::{ErrorExample, ErrorGroup, ErrorSummary};
pub use http::{Client, client_builder};
pub use imports::{FileSource, ImportForm, Upload};
pub use issues::{IssueCounts, IssueGroup, IssuePage};
pub use params::{INCLUDES_ALL, Params};
pub use profiles::{ProfileKind, ProfilePage, ProfileWalk};
pub use ready::{READY_SECONDS_MAX, ready};
pub use stream::IssueStream;
pub use task::{Doubles, Task, TaskCounts, TaskPage};
pub use walk::IssueWalk;

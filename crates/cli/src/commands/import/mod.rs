//! Imports of files for `profiles import`, `issues import` and `bulk submit`: the server reads the
//! file, and the program sends it, follows the import and shows how it ended. Invariant: a command
//! that ends early says whether the server has the file, and how to follow the import.

mod failures;
mod options;
mod report;
mod upload;

use caseload_client::{Client, Task};
use caseload_model::task::Action;
pub(crate) use options::{OutputArgs, TableArgs};
use report::{Outputs, report};
pub(crate) use upload::FileUpload;

use super::follow::wait_with_progress;
use crate::failure::{Done, Failure};
use crate::printer::Printer;

/// Sends a file, follows its import and reports its end.
pub(crate) async fn import(
    (client, action): (&Client, Action),
    upload: &FileUpload,
    outputs: &OutputArgs,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    let outputs = Outputs::create(outputs, upload.file())?;
    let source = upload.open().await?;
    let task = upload.send(client, source).await?;
    let ended = follow((client, action), &task, outputs, printer).await;
    ended.map_err(|failure| upload.stopped(failure))
}

async fn follow(
    (client, action): (&Client, Action),
    task: &Task,
    outputs: Outputs<'_>,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    let imports = client.imports(action.family());
    let what = if task.dry_run { "trying entries" } else { "importing entries" };
    let task = wait_with_progress(imports, task, what).await?;
    report((imports, action), &task, outputs, printer).await
}

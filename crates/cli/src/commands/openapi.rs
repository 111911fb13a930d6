//! `caseload openapi`: prints the `OpenAPI` description of the API, the same text as `openapi.json`
//! at the root of the repository. It needs neither a store nor a server.

use crate::failure::{Done, Failure};
use crate::printer::Printer;

pub(crate) fn run(printer: &mut Printer) -> Result<Done, Failure> {
    printer.data(caseload_api::openapi_text().as_bytes())?;
    printer.flush()?;
    Ok(Done::Good)
}

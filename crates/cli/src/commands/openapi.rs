//! `caseload openapi`: prints the description of the API, the very text that is committed as
//! `openapi.json` at the root of the repository. No store and no server is needed.

use crate::failure::{Done, Failure};
use crate::printer::Printer;

pub(crate) fn run(printer: &mut Printer) -> Result<Done, Failure> {
    printer.data(caseload_api::openapi_text().as_bytes())?;
    printer.flush()?;
    Ok(Done::Good)
}

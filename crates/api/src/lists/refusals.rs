//! Refusals that all lists of records share. They are about the form of the answer; the model
//! refuses wrong filters.

use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::ParameterFault;
use caseload_model::spelling::same_name;

use crate::http::format::{Chosen, Format};
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;

/// The refusal of a request with a wrong format, wrong parameters, or both.
pub(crate) fn refused_by(
    format: Option<Fault>,
    parameters: Option<Vec<ParameterFault>>,
) -> Problem {
    let parameters = parameters.unwrap_or_default().into_iter().map(Fault::from);
    Problem::faults(parameters.chain(format).collect())
}

/// Whether the answer is a stream. A page that is asked for as one is refused, and so are columns
/// without a table.
pub(crate) fn is_stream(
    chosen: &Chosen,
    query: &QueryPairs,
    explicit_paging: bool,
    has_columns: bool,
) -> Result<bool, Problem> {
    let is_stream = chosen.format != Format::Json;
    if chosen.explicit && is_stream && explicit_paging {
        return Err(paged_stream(query));
    }
    let is_stream = is_stream && !explicit_paging;
    if has_columns && !(is_stream && chosen.format == Format::Csv) {
        return Err(columns_of_no_table());
    }
    Ok(is_stream)
}

/// The refusal of a page that is asked for as a stream.
fn paged_stream(query: &QueryPairs) -> Problem {
    let mut sent = query.0.iter().map(|(name, _)| name.as_str());
    let spelled = sent.find(|name| same_name("page", name)).unwrap_or("page");
    let detail = "a stream has no pages: leave page out to read everything (page-size may stay), \
                  or send format=json for one page";
    Problem::faults(vec![Fault::parameter(spelled, ErrorCode::ConflictingParameter, detail)])
}

/// The refusal of columns for an answer that is not a table.
fn columns_of_no_table() -> Problem {
    let detail = "columns are those of a table: send format=csv, too, and no page; or leave \
                  columns out";
    Problem::faults(vec![Fault::parameter("columns", ErrorCode::ConflictingParameter, detail)])
}

//! Refusals that all lists of records share. They are about the form of the answer; the model
//! refuses wrong filters.

use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::{ListRequest, ParameterFault};
use caseload_model::spelling::same_name;
use http::HeaderMap;

use crate::http::format::{Chosen, Format};
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;

/// The format and the request of a list, and whether the answer is a stream.
type Accepted<Query, View, Id> = (Chosen, ListRequest<Query, View, Id>, bool);

/// Accepts a request for a list. Refused are a wrong format, wrong parameters, a page that is asked
/// for as a stream, and columns without a table.
pub(crate) fn accepted<Query, View, Id>(
    query: &QueryPairs,
    headers: &HeaderMap,
    request: Result<ListRequest<Query, View, Id>, Vec<ParameterFault>>,
) -> Result<Accepted<Query, View, Id>, Problem> {
    let chosen = Format::chosen(query, headers);
    let (chosen, request) = match (chosen, request) {
        (Ok(chosen), Ok(request)) => (chosen, request),
        (chosen, request) => {
            let parameters = request.err().unwrap_or_default().into_iter().map(Fault::from);
            return Err(Problem::faults(
                parameters.chain(chosen.err().unwrap_or_default()).collect(),
            ));
        }
    };
    let is_stream = chosen.format != Format::Json;
    if chosen.explicit && is_stream && request.explicit_paging {
        return Err(paged_stream(query));
    }
    let is_stream = is_stream && !request.explicit_paging;
    if request.columns.is_some() && !(is_stream && chosen.format == Format::Csv) {
        return Err(columns_of_no_table());
    }
    Ok((chosen, request, is_stream))
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

//! The parameters of the history of one record, which is read by cursor, newest first.

use crate::parameters::{PAGE_SIZE_DEFAULT, ParameterFault, Parameters, page_size};

/// The parameters of a history.
pub const HISTORY_PARAMETERS: [&str; 2] = ["cursor", "page-size"];

/// Which part of a history is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryRequest {
    /// 1 to [`PAGE_SIZE_MAX`](crate::parameters::PAGE_SIZE_MAX).
    pub page_size: u64,
    /// The position before which the page begins; `None` for the newest changes.
    pub before: Option<u64>,
}

/// Reads the parameters: decoded, otherwise as the caller sent them.
pub fn parse_history(pairs: &[(String, String)]) -> Result<HistoryRequest, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &HISTORY_PARAMETERS);
    let size = page_size(&mut parameters, "changes");
    let begins = parameters.get("cursor").is_none_or(|(_, value)| ["", "*"].contains(&value));
    let before = if begins { None } else { parameters.number("cursor") };
    let request = HistoryRequest { page_size: size.unwrap_or(PAGE_SIZE_DEFAULT), before };
    if parameters.faults.is_empty() { Ok(request) } else { Err(parameters.faults) }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    fn parse(query: &[(&str, &str)]) -> Result<HistoryRequest, Vec<ParameterFault>> {
        let pairs: Vec<_> =
            query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        parse_history(&pairs)
    }

    #[test]
    fn a_history_begins_at_its_newest_change_or_at_a_cursor() {
        let newest = HistoryRequest { page_size: 100, before: None };
        for query in [&[][..], &[("cursor", "")], &[("cursor", "*")]] {
            assert_eq!(parse(query).unwrap(), newest);
        }
        let request = parse(&[("cursor", "17"), ("page_size", "1000")]).unwrap();
        assert_eq!(request, HistoryRequest { page_size: 1000, before: Some(17) });
    }

    #[test]
    fn all_faults_are_found_at_once() {
        let faults = parse(&[("cursor", "x"), ("page-size", "1001"), ("page", "2")]).unwrap_err();
        let mut found: Vec<String> = faults.into_iter().map(|fault| fault.parameter).collect();
        found.sort_unstable();
        assert_eq!(found, ["cursor", "page", "page-size"]);
    }
}

//! `GET /v1/{domain}/agents`: the agents of a domain, a small list that the server reads whole and
//! filters. Unknown query parameters are ignored, because clients of the API family send more than
//! any server knows. Known parameters are read strictly.

pub(crate) mod openapi;

use axum::extract::State;
use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_model::fold::fold;
use caseload_model::issue_query::PAGE_SIZE_MAX;
use caseload_model::spelling::folded_address;
use caseload_model::spelling::{same_name, unbracketed};
use caseload_store::Agent;
use http::HeaderMap;
use serde_json::{Value, json};

use crate::http::auth::Caller;
use crate::http::format::{Format, SHORT_LIST_BYTES};
use crate::http::link::total_pages;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// The role that every agent has.
const ROLE: &str = "agent";
/// The query parameters of the list.
pub(crate) const PARAMETERS: [&str; 7] =
    ["page", "page-size", "emails", "roles", "format", "bom", "spreadsheet"];
/// The columns of the list as a table: those members that have values.
const COLUMNS: [&str; 4] = ["id", "name", "email", "role"];
/// The default page size.
const PAGE_SIZE: u64 = 100;

/// `GET /v1/{domain}/agents`
pub(crate) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let mut faults = Vec::new();
    let [page, page_size, emails, roles, ..] = PARAMETERS;
    let chosen = Format::chosen(&query, &headers).map_err(|wrong| faults.extend(wrong));
    let page = number(&query, page, 1, u64::from(u32::MAX), &mut faults);
    let page_size = number(&query, page_size, PAGE_SIZE, PAGE_SIZE_MAX, &mut faults);
    let emails = texts(&query, emails, &mut faults);
    let roles = texts(&query, roles, &mut faults);
    let Ok(chosen) = chosen else { return Err(Problem::faults(faults)) };
    Problem::check(faults)?;
    let memory = state.memory.take(Some(caller.domain_id), SHORT_LIST_BYTES).await?;
    let agents = state.store.agents(caller.domain_id).await?;
    let folded: Option<Vec<String>> =
        emails.map(|emails| emails.iter().map(|email| folded_address(email)).collect());
    let matches = |agent: &&Agent| {
        folded.as_ref().is_none_or(|emails| emails.contains(&fold(&agent.email)))
            && roles.as_ref().is_none_or(|roles| roles.iter().any(|role| fold(role) == ROLE))
    };
    let found: Vec<&Agent> = agents.iter().filter(matches).collect();
    let skipped = usize::try_from((page - 1).saturating_mul(page_size)).unwrap_or(usize::MAX);
    let shown = found.iter().skip(skipped).take(page_size as usize);
    let profiles: Vec<Value> = shown.map(|agent| view(agent)).collect();
    let total = found.len() as u64;
    let page = json!({
        "page": page,
        "page-size": page_size,
        "profiles": profiles,
        "total-profiles": total,
        "total-pages": total_pages(page_size, total),
    });
    Ok(chosen.answer(memory, &profiles, &COLUMNS, &page))
}

pub(crate) fn view(agent: &Agent) -> Value {
    json!({
        "id": agent.id,
        "name": agent.name,
        "email": agent.email,
        "role": ROLE,
        "team_name": "",
        "avatar": null,
        "availability": null,
        "groups": [],
    })
}

/// The values of a parameter, with the name as the caller spelled it.
fn given<'q>(query: &'q QueryPairs, name: &str) -> impl Iterator<Item = (&'q str, &'q str)> {
    let name = name.to_owned();
    let own = query.0.iter().filter(move |(given, _)| same_name(&name, given));
    own.map(|(given, value)| (given.as_str(), value.as_str()))
}

/// A whole number from 1 to `max`.
fn number(query: &QueryPairs, name: &str, default: u64, max: u64, faults: &mut Vec<Fault>) -> u64 {
    let mut found = None;
    for (spelled, value) in given(query, name) {
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let number = value.parse().ok().filter(|number| digits && (1..=max).contains(number));
        match (number, found) {
            (None, _) => {
                let detail = format!("{spelled} is a whole number from 1 to {max}");
                faults.push(Fault::parameter(spelled, ErrorCode::OutOfRange, detail));
            }
            (Some(number), Some(other)) if number != other => {
                let detail = format!("{spelled} is given twice with different values");
                faults.push(Fault::parameter(spelled, ErrorCode::ConflictingParameter, detail));
            }
            (number, _) => found = number,
        }
    }
    found.unwrap_or(default)
}

/// A list: a JSON array, words separated by commas, the parameter several times, or `name[]`.
fn texts(query: &QueryPairs, name: &str, faults: &mut Vec<Fault>) -> Option<Vec<String>> {
    let mut found = None;
    let all = query.0.iter().map(|(spelled, value)| (unbracketed(spelled), spelled, value));
    for ((_, is_member), spelled, value) in all.filter(|((base, _), ..)| same_name(name, base)) {
        let list: &mut Vec<String> = found.get_or_insert_default();
        if is_member && value.is_empty() {
            continue;
        }
        if is_member || !value.trim_start().starts_with('[') {
            list.extend(value.split(',').map(|word| word.trim().to_owned()));
            continue;
        }
        if let Ok(words) = serde_json::from_str::<Vec<String>>(value) {
            list.extend(words);
        } else {
            let detail = format!("{spelled} is not a JSON array of strings such as [\"a\",\"b\"]");
            faults.push(Fault::parameter(spelled, ErrorCode::InvalidValue, detail));
        }
    }
    found
}

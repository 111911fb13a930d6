//! Reads query parameters into a [`ProfileListRequest`]. All faults of a request are found at once,
//! and each names the right form.

use super::identity;
use super::position::{ProfileId, ProfileListRequest};
use super::query::{ProfileFieldFilter, ProfileFieldType, ProfileKind, ProfileQuery, ProfileView};
use crate::country::{alpha_2, nearest_country};
use crate::fold::fold_text;
use crate::issue_query::{
    ALL_KEYS, Compared, ConditionRules, DROPDOWN, NUMBER, SortKey, TEXT, TimeRange, TypeTests,
    cursor_paging, parse_groups, sort,
};
use crate::language::{self, nearest_language};
use crate::parameters::{Bound, ListForm, ParameterFault, Parameters, paging};
use crate::profile::CORE_PROFILE_ID_MAX;

/// The parameters of both lists. `format` is a matter of HTTP, which reads its value.
const SHARED: [&str; 25] = [
    "created-since",
    "created-until",
    "updated-since",
    "updated-until",
    "identity",
    "country",
    "language",
    "user-vip-segment",
    "user-persona",
    "user-support-status",
    "custom-fields",
    "name",
    "includes",
    "sort-by",
    "sort-order",
    "page",
    "page-size",
    "cursor",
    "after",
    "count",
    "format",
    "bom",
    "spreadsheet",
    "trailer",
    "columns",
];
/// The parameters of a list of core profiles.
pub const CORE_PROFILE_PARAMETERS: [&str; 27] = with_shared(["ids", "tags"]);
/// The parameters of a list of app profiles.
pub const APP_PROFILE_PARAMETERS: [&str; 27] = with_shared(["pids", "app-ids"]);
/// The parameters of a single profile.
pub const SINGLE_PROFILE_PARAMETERS: [&str; 1] = ["includes"];

/// The shared parameters and two more.
const fn with_shared(own: [&'static str; 2]) -> [&'static str; 27] {
    let mut all = [own[0]; 27];
    all[1] = own[1];
    let mut n = 0;
    while n < SHARED.len() {
        all[n + 2] = SHARED[n];
        n += 1;
    }
    all
}

const SORT_KEYS: [SortKey; 2] = [SortKey::CreationTime, SortKey::UpdateTime];
/// How to read beyond the last numbered page.
const DEEPER: &str = "To read further, send cursor instead of page: * to begin, then the \
    next-cursor of the previous answer, until it is null (the header Link has it as rel=next)";
const IDS_EXPECTED: &str = "a list of core profile ids, digits such as 188474421477632";
const TAGS: ConditionRules =
    ConditionRules { form: ListForm::Texts, keys: ALL_KEYS, compared: Compared::Exactly };
const FIELDS_EXAMPLE: &str = "a map such as {\"number\":{\"and\":{\"seats\":{\"is\":5}}}}";

/// Reads the parameters of a list: decoded, otherwise as the caller sent them.
pub fn parse_profile_list(
    kind: ProfileKind,
    pairs: &[(String, String)],
) -> Result<ProfileListRequest, Vec<ParameterFault>> {
    let (known, records) = match kind {
        ProfileKind::Core => (&CORE_PROFILE_PARAMETERS[..], "core profiles"),
        ProfileKind::App => (&APP_PROFILE_PARAMETERS[..], "app profiles"),
    };
    let mut parameters = Parameters::new(pairs, known);
    let request = ProfileListRequest {
        query: query(kind, &mut parameters),
        view: view(kind, &mut parameters),
        paging: paging(&mut parameters, records, DEEPER),
        explicit_paging: parameters.get("page").is_some(),
        cursor: cursor_paging::read_with(&mut parameters, |id| ProfileId::parse(kind, id)),
        without_trailer: parameters.boolean("trailer") == Some(false),
        columns: super::columns::of(kind).read(&mut parameters),
    };
    if parameters.faults.is_empty() { Ok(request) } else { Err(parameters.faults) }
}

/// Reads the parameters of a single profile.
pub fn parse_single_profile(
    kind: ProfileKind,
    pairs: &[(String, String)],
) -> Result<ProfileView, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &SINGLE_PROFILE_PARAMETERS);
    let view = view(kind, &mut parameters);
    if parameters.faults.is_empty() { Ok(view) } else { Err(parameters.faults) }
}

fn query(kind: ProfileKind, parameters: &mut Parameters<'_>) -> ProfileQuery {
    let updated = range(parameters, "updated-since", "updated-until");
    ProfileQuery {
        kind,
        created: range(parameters, "created-since", "created-until"),
        updated,
        identities: identity::read(parameters),
        ids: parameters.ids("ids", IDS_EXPECTED, |id| *id <= CORE_PROFILE_ID_MAX),
        pids: parameters.texts("pids"),
        app_ids: parameters.texts("app-ids"),
        tags: TAGS.read(parameters, "tags"),
        countries: countries(parameters),
        languages: languages(parameters),
        vip_segments: parameters.texts("user-vip-segment"),
        personas: parameters.texts("user-persona"),
        support_statuses: parameters.texts("user-support-status"),
        custom_fields: parameters.filter("custom-fields", custom_fields).unwrap_or_default(),
        name: name(parameters),
        sort: sort(parameters, &SORT_KEYS, &updated),
    }
}

/// A span of time by its two parameters.
fn range(parameters: &mut Parameters<'_>, since: &str, until: &str) -> TimeRange {
    let (since, until) =
        (parameters.bound(since, Bound::Since), parameters.bound(until, Bound::Until));
    TimeRange { since, until }
}

fn ascending<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values.dedup();
    values
}

fn countries(parameters: &mut Parameters<'_>) -> Option<Vec<String>> {
    let expected = "a list of countries, by code or by name, such as [\"DE\",\"France\"]";
    let countries = parameters.list_or_why("country", expected, |item| {
        let text = item.as_str().ok_or(None)?;
        let code = alpha_2(text).map(str::to_owned);
        code.ok_or_else(|| {
            let several = text.contains(',') && text.split(',').all(|part| alpha_2(part).is_some());
            let hint = "; for several countries, send a JSON array or the parameter several times";
            let fault = unknown(text, "country", nearest_country(text));
            Some(if several { fault + hint } else { fault })
        })
    })?;
    Some(ascending(countries))
}

fn languages(parameters: &mut Parameters<'_>) -> Option<Vec<String>> {
    let expected = "a list of languages, by code, tag or English name, such as de,pt-BR";
    let languages = parameters.list_or_why("language", expected, |item| {
        let text = item.as_str().ok_or(None)?;
        let code = language::read(text).map(|read| read.code.to_owned());
        code.ok_or_else(|| Some(unknown(text, "language", nearest_language(text))))
    })?;
    Some(ascending(languages))
}

/// A sentence about a text that no table has.
fn unknown(text: &str, kind: &str, near: Option<&str>) -> String {
    let shown: String = text.chars().take(100).collect();
    let hint = near.map_or_else(String::new, |near| format!("; the nearest one is {near:?}"));
    format!("{shown:?} is not a {kind}{hint}")
}

fn custom_fields(value: &str) -> Result<Vec<ProfileFieldFilter>, Vec<String>> {
    let types = [
        TypeTests {
            name: ProfileFieldType::Text.as_str(),
            field_type: ProfileFieldType::Text,
            operators: &[TEXT, DROPDOWN],
            example: "a map such as {\"is_one_of\":[\"gold\",\"silver\"]}",
        },
        TypeTests {
            name: ProfileFieldType::Number.as_str(),
            field_type: ProfileFieldType::Number,
            operators: &[NUMBER],
            example: "a map such as {\"is_greater_than\":5}",
        },
    ];
    parse_groups(value, FIELDS_EXAMPLE, &types)
}

fn name(parameters: &mut Parameters<'_>) -> Option<String> {
    let (spelled, text) = parameters.get("name")?;
    if text.is_empty() {
        let detail = "name is empty; leave it out to list everything";
        parameters.fault(spelled, crate::error_code::ErrorCode::InvalidValue, detail);
    }
    Some(fold_text(text))
}

fn view(kind: ProfileKind, parameters: &mut Parameters<'_>) -> ProfileView {
    let word = match kind {
        ProfileKind::Core => "app_profiles",
        ProfileKind::App => "core_profile",
    };
    let words = parameters.words("includes", &[(word, ())]);
    ProfileView::adding(kind, words.is_some_and(|words| !words.is_empty()))
}

//! The filter `identity`: identities as `TYPE:VALUE`, or as the maps that profiles have. Metadata
//! of a map does not count.

use crate::ids::IdentityKey;
use crate::json::Json;
use crate::parameters::Parameters;
use crate::profile::{IdentityType, read_identity};
use crate::spelling::trimmed;

const EXPECTED: &str = "a list of identities, each TYPE:VALUE such as email:ada@example.org, or \
    as JSON [{\"email\":\"ada@example.org\"}]";

/// The identities, ascending and without repeats.
pub(super) fn read(parameters: &mut Parameters<'_>) -> Option<Vec<IdentityKey>> {
    let mut keys = parameters.list_or_why("identity", EXPECTED, |item| match item {
        Json::Object(members) => read_identity(members).map_err(Some),
        Json::String(text) => of_text(text).map_err(Some),
        _ => Err(None),
    })?;
    keys.sort_unstable();
    keys.dedup();
    Some(keys)
}

/// Reads `TYPE:VALUE`. `Err` is a sentence about the fault.
pub(crate) fn of_text(text: &str) -> Result<IdentityKey, String> {
    let shown: String = text.chars().take(100).collect();
    let known =
        || IdentityType::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
    let Some((kind, value)) = text.split_once(':') else {
        return Err(format!(
            "{shown:?} has no identity type; send TYPE:VALUE such as email:ada@example.org. The \
             types are {}",
            known()
        ));
    };
    match IdentityType::parse(trimmed(kind)) {
        None => {
            let kind: String = kind.chars().take(100).collect();
            Err(format!("{kind:?} is not an identity type; the types are {}", known()))
        }
        Some(kind) => IdentityKey::of_text(kind, value),
    }
}

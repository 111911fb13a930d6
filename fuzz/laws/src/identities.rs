//! The identities of a core profile. They are accepted exactly if a plain list of rules calls them
//! good, with any content of the maps, and their keys are those of the values in their order.

use std::collections::HashSet;

use caseload_model::json::{self, Json};
use caseload_model::profile::{
    IdentityKey, IdentityType, Placeholders, prepare_core_patches, prepare_creates,
};
use caseload_model::task::Action;

use crate::entries::{block_of, check};

/// The bytes are the value of `identities`.
pub(crate) fn holds(data: &[u8]) {
    let entry = [b"{\"core-profile-id\":\"7\",\"identities\":", data, b"}"].concat();
    let Some(block) = block_of(&entry) else { return };
    let patches =
        prepare_core_patches(Action::UpdateCoreProfiles, &block, &Placeholders::default());
    check(&block, &patches);
    let bare = [b"{\"identities\":", data, b"}"].concat();
    let Some(block) = block_of(&bare) else { return };
    let creates = prepare_creates(&block, &Placeholders::default());
    check(&block, &creates);
    let Ok(json) = json::parse(&bare) else { return };
    let (Json::Object(members), Some(value)) = (&json, json.get("identities")) else { return };
    if members.len() != 1 {
        return;
    }
    if let Some(expected) = are_good(value) {
        assert_eq!(creates[0].item.is_ok(), expected, "{:?}", creates[0].item);
        // In an update `null` does not mean absent: it would remove the last identity.
        assert_eq!(patches[0].item.is_ok(), expected, "{:?}", patches[0].item);
    }
    if let (Ok(create), Ok(patch)) = (&creates[0].item, &patches[0].item) {
        assert_eq!(Some(&create.identities), patch.identities.as_ref());
        let Json::Array(items) = value else { panic!("good identities are an array") };
        assert_eq!(create.identities.len(), items.len(), "one key an identity");
        for (key, item) in create.identities.iter().zip(items) {
            assert_eq!(IdentityKey::from_bytes(key.as_bytes()).as_ref(), Some(key));
            let of_item = single(item).map(|(kind, value)| IdentityKey::new(kind, value));
            assert_eq!(of_item.as_ref(), Some(key));
        }
    }
}

/// Whether these are good identities; `None` if plain rules cannot decide.
pub(crate) fn are_good(value: &Json<'_>) -> Option<bool> {
    let Json::Array(items) = value else { return Some(false) };
    let mut seen = HashSet::new();
    let mut good = (1..=100).contains(&items.len());
    for item in items {
        let Some((kind, value)) = single(item) else { return Some(false) };
        if kind == IdentityType::PhoneNumber {
            // Numbers are compared without separators, and some are those of a spreadsheet.
            return None;
        }
        let is_email = kind == IdentityType::Email;
        if is_email && !value.is_ascii() {
            // Without case means more than these rules know.
            return None;
        }
        let folded = if is_email { value.to_ascii_lowercase() } else { value.to_owned() };
        good &= seen.insert((kind.as_str(), folded)) && has_good_metadata(item);
    }
    Some(good)
}

/// Type and value of a map with exactly one identity of good length.
fn single<'j>(item: &'j Json<'_>) -> Option<(IdentityType, &'j str)> {
    let Json::Object(members) = item else { return None };
    let mut found =
        members.iter().filter_map(|(name, value)| Some((IdentityType::parse(name)?, value)));
    let (kind, value) = found.next()?;
    let longest = if kind == IdentityType::Uid { 750 } else { 300 };
    let value = kind.cleaned(value.as_str()?);
    let is_good = found.next().is_none() && value.chars().count() <= longest && !value.is_empty();
    is_good.then_some((kind, value))
}

fn has_good_metadata(item: &Json<'_>) -> bool {
    let Json::Object(members) = item else { return false };
    let metadata: Vec<_> =
        members.iter().filter(|(name, _)| IdentityType::parse(name).is_none()).collect();
    metadata.len() <= 100
        && metadata.iter().all(|(key, value)| key.chars().count() <= 255 && is_text(value, 100_000))
}

/// Whether the value is a string of at most `chars_max` code points.
pub(crate) fn is_text(value: &Json<'_>, chars_max: usize) -> bool {
    value.as_str().is_some_and(|text| text.chars().count() <= chars_max)
}

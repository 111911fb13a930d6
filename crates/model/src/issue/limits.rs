//! How many of each part one issue may have. Imports and single writes hold the same limits, so an
//! exported issue can be imported. They bound the work of every later write, list and check of the
//! issue. Issues that were stored before a limit existed stay readable, and an edit of one may
//! leave it as it is or make it smaller.

use crate::json::Json;

/// Most tags of an issue.
pub const TAGS_MAX: usize = 1000;
/// Most keys of an issue's `meta`, those of all levels together.
pub const META_KEYS_MAX: usize = 1000;
/// Most custom fields of an issue.
pub const CUSTOM_FIELDS_MAX: usize = 1000;
/// Most messages of an issue.
pub const MESSAGES_MAX: usize = 10_000;
/// Most attachments of a message.
pub const ATTACHMENTS_MAX: usize = 100;

/// A part of an issue of which there may be only so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuePart {
    Tags,
    MetaKeys,
    CustomFields,
    Messages,
    Attachments,
}

impl IssuePart {
    /// The most that an issue may have; of attachments, a message.
    pub const fn limit(self) -> usize {
        match self {
            Self::Tags => TAGS_MAX,
            Self::MetaKeys => META_KEYS_MAX,
            Self::CustomFields => CUSTOM_FIELDS_MAX,
            Self::Messages => MESSAGES_MAX,
            Self::Attachments => ATTACHMENTS_MAX,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Tags => "tags",
            Self::MetaKeys => "keys of meta, counted over all levels,",
            Self::CustomFields => "custom fields",
            Self::Messages => "messages",
            Self::Attachments => "attachments",
        }
    }

    /// The sentence of a fault, if `count` is over the limit.
    pub fn too_many(self, count: usize) -> Option<String> {
        let (name, limit) = (self.name(), self.limit());
        let whole = if self == Self::Attachments { "a message" } else { "an issue" };
        (count > limit)
            .then(|| format!("{count} {name} are too many: {whole} may have at most {limit}"))
    }
}

/// The keys of a value, those of all levels together. A key whose value is null counts only if
/// `with_nulls`: in a patch, null removes a key.
pub(super) fn count_keys(json: &Json<'_>, with_nulls: bool) -> usize {
    match json {
        Json::Array(items) => items.iter().map(|item| count_keys(item, with_nulls)).sum(),
        Json::Object(members) => {
            let counted = members.iter().filter(|(_, value)| with_nulls || *value != Json::Null);
            counted.map(|(_, value)| 1 + count_keys(value, with_nulls)).sum()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn keys_are_counted_over_all_levels() {
        let text = br#"{"a":{"b":"1","c":null},"d":[{"e":"2"},"x"],"f":null}"#;
        let json = parse(text).expect("a map");
        assert_eq!((count_keys(&json, true), count_keys(&json, false)), (6, 4));
    }

    #[test]
    fn a_count_over_the_limit_names_it() {
        assert_eq!(IssuePart::Tags.too_many(TAGS_MAX), None);
        let detail = IssuePart::Attachments.too_many(101).expect("too many");
        assert_eq!(detail, "101 attachments are too many: a message may have at most 100");
    }
}

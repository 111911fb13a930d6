//! Conditions on values of which an issue has none, one or several: tags, languages, assignees,
//! addresses and texts. The submodules read conditions from JSON and match them against texts.

mod parse;
mod rules;
mod text_matcher;

pub(crate) use rules::ALL_KEYS;
pub use rules::{Compared, ConditionKey, ConditionRules};
pub use text_matcher::TextMatcher;

/// A condition on an issue's values of one kind. All four parts must hold; the default holds for
/// every issue. Lists are ascending and without repeats; addresses and texts in them are folded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condition {
    /// The issue has all of these.
    pub and: Vec<String>,
    /// The issue has at least one of these; if the list is empty, no issue matches.
    pub or: Option<Vec<String>>,
    /// The issue has none of these, which also holds if it has no value at all.
    pub nor: Vec<String>,
    /// Whether the issue has a value at all.
    pub exists: Option<bool>,
}

impl Condition {
    /// Whether it holds for every issue.
    pub fn is_unbounded(&self) -> bool {
        self.and.is_empty() && self.or.is_none() && self.nor.is_empty() && self.exists.is_none()
    }

    /// Whether the condition holds for an issue: `exists` says whether the issue has a value, `has`
    /// whether it has the given one.
    pub fn holds(&self, exists: bool, mut has: impl FnMut(&str) -> bool) -> bool {
        self.exists.is_none_or(|wanted| wanted == exists)
            && self.and.iter().all(|value| has(value))
            && self.or.as_ref().is_none_or(|any| any.iter().any(|value| has(value)))
            && !self.nor.iter().any(|value| has(value))
    }
}

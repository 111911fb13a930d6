//! The rules of a parameter whose value is a condition object. `parse` reads values by them.

use crate::parameters::ListForm;

/// A key of a condition object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionKey {
    And,
    Or,
    Nor,
    Exists,
}

impl ConditionKey {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Nor => "nor",
            Self::Exists => "exists",
        }
    }
}

pub(crate) const ALL_KEYS: &[ConditionKey] =
    &[ConditionKey::And, ConditionKey::Or, ConditionKey::Nor, ConditionKey::Exists];

/// How a value of a condition is compared with those of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    Exactly,
    /// Without case and blanks around it.
    Address,
    /// As a part of a text, without case.
    AsTexts,
}

/// The condition objects that a parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionRules {
    /// Of a bare list.
    pub form: ListForm,
    /// The keys that the object may have.
    pub keys: &'static [ConditionKey],
    pub compared: Compared,
}

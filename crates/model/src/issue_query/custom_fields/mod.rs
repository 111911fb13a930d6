//! Conditions on custom fields. A field is found by its key and its type together: a `dropdown`
//! named `plan` is unrelated to a `singleline` named `plan`. The submodules read the filter from
//! JSON and match it against stored values.

mod matcher;
mod parse;

pub use matcher::FieldMatcher;
pub(crate) use matcher::holds_for;
pub use parse::FieldGroups;
pub(super) use parse::parse_custom_fields;
pub(crate) use parse::{DROPDOWN, NUMBER, TEXT, TypeTests, parse_groups};

use crate::decimal::Decimal;
use crate::issue::FieldType;

/// The conditions on all fields of one type; both groups must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFilter {
    pub field_type: FieldType,
    /// Every test of every key holds.
    pub and: Vec<FieldTests>,
    /// At least one test of one key holds; if the list is empty, no issue matches.
    pub or: Option<Vec<FieldTests>>,
}

/// The tests of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldTests {
    pub key: String,
    /// At least one.
    pub tests: Vec<FieldTest>,
}

/// How a number or a date compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Is,
    IsNot,
    /// `is_greater_than`, `is_after`.
    Greater,
    /// `is_smaller_than`, `is_before`.
    Smaller,
}

/// One test of a field's value. `IsSet(false)`, `DoesNotContain`, `NoneOf` and `Compare(IsNot, _)`
/// hold for an absent field; the others do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldTest {
    /// `is_set`, for every type except a checkbox.
    IsSet(bool),
    /// The value of a checkbox.
    Checked(bool),
    /// `contains`: at least one of these, folded, is part of the text.
    Contains(Vec<String>),
    /// `does_not_contain`: none of these, folded, is part of the text.
    DoesNotContain(Vec<String>),
    /// Of a number or a date in Unix milliseconds.
    Compare(Comparison, Decimal),
    /// `is` and `is_one_of` of a dropdown: one of these, exactly.
    OneOf(Vec<String>),
    /// `is_not` and `is_none_of` of a dropdown: none of these.
    NoneOf(Vec<String>),
}

impl FieldTest {
    /// Whether the test holds if no field has that key and type, or if the field has no value.
    pub const fn holds_when_absent(&self) -> bool {
        match self {
            Self::IsSet(set) => !*set,
            Self::DoesNotContain(_) | Self::NoneOf(_) | Self::Compare(Comparison::IsNot, _) => true,
            Self::Checked(_) | Self::Contains(_) | Self::OneOf(_) | Self::Compare(..) => false,
        }
    }
}

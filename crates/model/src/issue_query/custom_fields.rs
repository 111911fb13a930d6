//! Conditions on custom fields. A field is found by its key and its type together: a `dropdown`
//! named `plan` says nothing about a `singleline` named `plan`. How the filter is read from JSON
//! and how stored values compare stands in the modules beside this one.

use super::Decimal;
use crate::task::words;

words! {
    /// The type of a custom field. A stored field of any other type is found by no filter.
    FieldType {
        Checkbox = 1 "checkbox",
        Singleline = 2 "singleline",
        Multiline = 3 "multiline",
        Number = 4 "number",
        Date = 5 "date",
        Dropdown = 6 "dropdown",
    }
}

/// The conditions on all fields of one type; both groups hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFilter {
    pub field_type: FieldType,
    /// Every test of every key holds.
    pub and: Vec<FieldTests>,
    /// At least one test of one key holds: where there is none, no issue matches.
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

/// One test of a field's value. `IsSet(false)`, `DoesNotContain`, `NoneOf` and
/// `Compare(IsNot, _)` hold for a field that is absent, the others do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldTest {
    /// `is_set`, any type but a checkbox.
    IsSet(bool),
    /// The value of a checkbox.
    Checked(bool),
    /// `contains`: any of these, folded, is part of the text.
    Contains(Vec<String>),
    /// `does_not_contain`: none of these, folded, is.
    DoesNotContain(Vec<String>),
    /// Of a number or a date in Unix milliseconds.
    Compare(Comparison, Decimal),
    /// `is` and `is_one_of` of a dropdown: one of these, exactly.
    OneOf(Vec<String>),
    /// `is_not` and `is_none_of` of a dropdown: none of these.
    NoneOf(Vec<String>),
}

impl FieldTest {
    /// Whether it holds where there is no field of that key and type, or one without a value.
    pub const fn holds_when_absent(&self) -> bool {
        match self {
            Self::IsSet(set) => !*set,
            Self::DoesNotContain(_) | Self::NoneOf(_) | Self::Compare(Comparison::IsNot, _) => true,
            Self::Checked(_) | Self::Contains(_) | Self::OneOf(_) | Self::Compare(..) => false,
        }
    }
}

//! placeholder
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueQuery {}
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueView {}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    pub page: u32,
    pub page_size: u32,
}

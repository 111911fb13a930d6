//! placeholder
#[derive(Debug, Clone)]
pub struct NewIssue {
    pub id: Option<u64>,
}

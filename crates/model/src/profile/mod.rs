//! placeholder
use crate::ids::CoreProfileId;
#[derive(Debug, Clone)]
pub struct NewCoreProfile {
    pub fields: Vec<u8>,
}
#[derive(Debug, Clone)]
pub struct CorePatch {
    pub id: CoreProfileId,
}
#[derive(Debug, Clone)]
pub struct AppPatch {
    pub pid: String,
}

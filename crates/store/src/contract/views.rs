//! Named views of the console's lists. A view belongs to its domain or to one key; no other key
//! sees it. Every command names the key of its caller, whose access the caller judges. Views are
//! settings that change no record, so the log of changes does not have them.

use caseload_model::ids::DomainId;
use caseload_model::named_view::{NewView, ViewEdit, ViewList, ViewScope};
use caseload_model::time::UnixMillis;

use super::StoreFuture;

/// Named views. Each command is [`StoreError::KeyEnded`](super::StoreError) if the key of its
/// caller was revoked or has expired.
pub trait Views: Send + Sync + 'static {
    /// Makes a view. [`StoreError::Refused`](super::StoreError) with all faults if a view of the
    /// same list and scope has its name, or if the domain or the key has as many as it may. Those
    /// of keys that have expired go.
    fn create_view(&self, command: CreateView) -> StoreFuture<'_, NamedView>;
    /// The views of the domain and those of the key, by name.
    fn views(&self, domain: DomainId, key_id: &str) -> StoreFuture<'_, Vec<NamedView>>;
    /// One of these views; `None` if they have none of that id.
    fn view(&self, domain: DomainId, key_id: &str, id: &str) -> StoreFuture<'_, Option<NamedView>>;
    /// Changes a view. [`StoreError::NotFound`](super::StoreError) if the key sees none of that id,
    /// `Refused` if another view has the name.
    fn edit_view(&self, of: OfView, edit: ViewEdit) -> StoreFuture<'_, NamedView>;
    /// Removes a view. [`StoreError::NotFound`](super::StoreError) as above.
    fn delete_view(&self, of: OfView) -> StoreFuture<'_, ()>;
}

/// A view as a store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedView {
    pub id: String,
    pub name: String,
    pub list: ViewList,
    pub query: String,
    pub scope: ViewScope,
    pub created_at: UnixMillis,
    pub updated_at: UnixMillis,
}

/// Makes a view.
#[derive(Debug, Clone)]
pub struct CreateView {
    pub of: OfView,
    pub view: NewView,
}

/// The view of a command, and the key of its caller.
#[derive(Debug, Clone)]
pub struct OfView {
    pub domain: DomainId,
    pub key_id: String,
    pub id: String,
    pub now: UnixMillis,
}

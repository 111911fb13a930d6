//! What every backend needs to be opened, and why the text of a location is refused.

/// Which program opens a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// The one server of an embedded store; a second one is refused.
    Server,
    /// A command that runs alongside a server.
    Admin,
}

/// A text that names no store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown:?} names no store: {reason}")]
pub struct InvalidLocation {
    /// The text without what may be a password.
    pub shown: String,
    pub reason: String,
}

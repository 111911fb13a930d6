//! The types that opening a store needs in every backend: the mode, and the error for a text that
//! is not a location. The backends parse and open the locations.

/// The kind of program that opens a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// A server. An embedded store refuses a second one.
    Server,
    /// A command that runs alongside a server.
    Admin,
}

/// The text is not the location of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown:?} names no store: {reason}")]
pub struct InvalidLocation {
    /// The text, without anything that may be a password.
    pub shown: String,
    pub reason: String,
}

//! The types that opening a store needs in every backend: the mode, and the error for a text that
//! is not a location. The backends parse and open the locations.

/// The kind of program that opens a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// A server. It makes the store if there is none. An embedded store refuses a second one.
    Server,
    /// A server whose store ends with it: nothing waits for the disk, and a crash loses all of it.
    Ephemeral,
    /// A command that runs alongside a server, on a store that exists.
    Admin,
    /// A command that runs alongside a server and makes the store if there is none.
    Create,
}

impl OpenMode {
    /// Whether opening makes a store where there is none.
    pub const fn makes_store(self) -> bool {
        matches!(self, Self::Server | Self::Ephemeral | Self::Create)
    }

    /// Whether a server opens it.
    pub const fn is_server(self) -> bool {
        matches!(self, Self::Server | Self::Ephemeral)
    }
}

/// The text is not the location of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown:?} names no store: {reason}")]
pub struct InvalidLocation {
    /// The text, without anything that may be a password.
    pub shown: String,
    pub reason: String,
}

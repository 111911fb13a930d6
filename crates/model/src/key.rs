//! The access levels of API keys. The text of a key is never stored, only its SHA-256.

/// The access of a key. `Write` includes `Read`, `Admin` includes `Write`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    Read,
    Write,
    /// Keys, apps, agents, queues and settings of the domain, too.
    Admin,
}

impl Access {
    /// The word in commands and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "read" => Some(Self::Read),
            "write" => Some(Self::Write),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }
}

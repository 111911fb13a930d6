//! Why the server refuses a request that is right in itself: the limit that it met. The metrics
//! count them by this word.

use caseload_model::error_code::ErrorCode;

/// The limit that a refused request met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Requests of a key, or wrong sign-ins of an address.
    Rate,
    Quota,
    /// Unfinished tasks of a domain.
    Queue,
    Memory,
    Connections,
    /// The time of a read.
    Deadline,
    /// The store does not answer, or the server stops.
    Unavailable,
}

impl Refusal {
    pub(crate) const ALL: [Self; 7] = [
        Self::Rate,
        Self::Quota,
        Self::Queue,
        Self::Memory,
        Self::Connections,
        Self::Deadline,
        Self::Unavailable,
    ];

    /// The refusal that an error code means by itself.
    pub(crate) const fn of(code: ErrorCode) -> Option<Self> {
        Some(match code {
            ErrorCode::RateLimited => Self::Rate,
            ErrorCode::QuotaExceeded => Self::Quota,
            ErrorCode::QueueFull => Self::Queue,
            ErrorCode::QueryTooExpensive => Self::Deadline,
            ErrorCode::Unavailable => Self::Unavailable,
            _ => return None,
        })
    }

    /// The word for the metrics.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Quota => "quota",
            Self::Queue => "queue",
            Self::Memory => "memory",
            Self::Connections => "connections",
            Self::Deadline => "deadline",
            Self::Unavailable => "unavailable",
        }
    }
}

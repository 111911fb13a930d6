//! Requests that a caller may repeat: the first answer is kept under the caller's key in the very
//! transaction of the effect, so that there is never one without the other. Any command that makes
//! something may carry an [`IdempotencyKey`]; what came of it is a [`Once`].

use caseload_model::time::UnixMillis;

/// The caller's key for a request, unique in its domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub text: String,
    /// SHA-256 of everything that the request asks for.
    pub content: [u8; 32],
    /// When the key may be forgotten.
    pub expires_at: UnixMillis,
}

/// What the first request was answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// The path of what was made.
    pub location: String,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

/// What came of a command that may be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Once<T> {
    /// It took effect.
    Done(T),
    /// It did before, under the same key and with the same content; nothing changed now.
    Repeated(KeptAnswer),
}

impl<T> Once<T> {
    /// What was done now; `None` for a repeat.
    pub fn done(self) -> Option<T> {
        match self {
            Self::Done(made) => Some(made),
            Self::Repeated(_) => None,
        }
    }
}

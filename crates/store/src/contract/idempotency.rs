//! Requests that a caller may repeat. The store writes the first answer under the caller's key in
//! the transaction of its effect, so neither exists without the other. A command that makes or
//! changes a record may carry an [`IdempotencyKey`]; its outcome is then an [`Idempotent`].

use std::fmt;
use std::sync::Arc;

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

/// The answer to the first request with a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The path of the record that the request made or changed; empty if it deleted one.
    pub location: String,
    /// The body of the answer, byte for byte.
    pub body: Vec<u8>,
}

/// Renders the answer to a request that made a `T`. The store calls it, because the time of the
/// record is known only in its transaction.
pub struct AnswerOf<T>(Arc<dyn Fn(&T) -> StoredAnswer + Send + Sync>);

impl<T> AnswerOf<T> {
    pub fn new(render: impl Fn(&T) -> StoredAnswer + Send + Sync + 'static) -> Self {
        Self(Arc::new(render))
    }

    pub fn of(&self, made: &T) -> StoredAnswer {
        (self.0)(made)
    }
}

impl<T> Clone for AnswerOf<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> From<StoredAnswer> for AnswerOf<T> {
    /// The same answer for everything.
    fn from(answer: StoredAnswer) -> Self {
        Self::new(move |_| answer.clone())
    }
}

impl<T> fmt::Debug for AnswerOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerOf")
    }
}

/// The outcome of a command that a caller may repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Idempotent<T> {
    /// The command took effect.
    Done(T),
    /// An earlier command with the same key and content took effect; this one changed nothing.
    Replayed(StoredAnswer),
}

impl<T> Idempotent<T> {
    /// The value of a command that took effect; `None` for a replay.
    pub fn done(self) -> Option<T> {
        match self {
            Self::Done(value) => Some(value),
            Self::Replayed(_) => None,
        }
    }
}

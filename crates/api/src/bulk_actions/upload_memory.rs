//! The bytes of compressed blocks that all uploads of the server hold in memory together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A sum over all uploads.
#[derive(Debug, Default)]
pub(crate) struct UploadMemory(AtomicUsize);

impl UploadMemory {
    /// Adds the bytes of one upload; the new sum.
    pub(super) fn add(&self, bytes: usize) -> usize {
        self.0.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

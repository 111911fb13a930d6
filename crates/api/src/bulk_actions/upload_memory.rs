//! How many bytes of compressed blocks all uploads of the server buffer in memory together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The sum over all uploads.
#[derive(Debug, Default)]
pub(crate) struct UploadMemory(AtomicUsize);

impl UploadMemory {
    /// Adds bytes of one upload, and returns the new sum.
    pub(super) fn add(&self, bytes: usize) -> usize {
        self.0.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

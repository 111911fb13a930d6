//! The sizes of the measurements of bulk actions: entries, clients and repeats. A table states
//! them, and tables of different sizes do not compare.

/// Entries of one task: the most that a request may have.
pub(super) const ENTRIES: usize = 10_000;
/// Creations in a new store before the size of its file is read.
pub(super) const DISK_CREATIONS: usize = 80_000;
/// Gets of a round by the same clients, one after the other. They change nothing, so a round can
/// have more of them than the first one after a server start.
pub(super) const GETS: usize = 5;
/// The number of domains, and the largest number of clients.
pub(super) const CLIENTS: usize = 4;

//! Black-box tests that a kill neither loses nor repeats an entry. They kill the built binary with
//! signal 9 during tasks of every writing action, at several moments from before the claim to after
//! the last chunk, and start it again. Each entry must be applied once, the counts must add up at
//! every read, and the store must be consistent.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(clippy::print_stderr, reason = "a failed test's output includes the server's log")]
#![expect(dead_code, reason = "the other tests use the rest of the shared code")]

#[path = "../common/mod.rs"]
mod common;

mod creates;
mod deletions;
mod life;
mod writes;

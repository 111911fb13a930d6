//! The program as its users meet it: the built binary, its outputs and its exit statuses. One test
//! binary, one module for each family of commands; whole runs are kept as pictures in `snapshots/`.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(clippy::print_stderr, reason = "what a server logs belongs to a failed test's output")]

#[path = "../common/mod.rs"]
mod common;

mod admin;
mod backup;
mod bulk;
mod copy;
mod database;
mod demo;
mod encryption;
mod failover;
mod help;
mod issues;
mod openapi;
mod replicas;
mod serve;

//! The program as users run it: the built binary, its output and its exit status. There is a module
//! for each family of commands; `snapshots/` has the transcripts of whole runs.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(clippy::print_stderr, reason = "a failed test's output includes the server's log")]

#[path = "../common/mod.rs"]
mod common;

mod admin;
mod backup;
mod bulk;
mod changes;
mod config;
mod copy;
mod database;
mod demo;
mod distribute;
mod encryption;
mod environment;
mod examples;
mod exit_status;
mod failover;
mod health;
mod help;
mod issues;
mod key_rotation;
mod logs;
mod manual;
mod no_store;
mod openapi;
mod output_file;
mod person;
mod profiles;
mod repeats;
mod replicas;
mod serve;
mod sizes;
mod status;
mod supervisor;
mod test_server;
mod tls;
mod upgrade;

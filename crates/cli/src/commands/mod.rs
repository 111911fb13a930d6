//! One file per family of commands. A command takes its arguments and the printer, does one thing,
//! and returns its outcome.

pub(crate) mod admin;
pub(crate) mod backup;
pub(crate) mod bulk;
pub(crate) mod changes;
pub(crate) mod check;
pub(crate) mod config;
pub(crate) mod console;
pub(crate) mod copy;
pub(crate) mod demo;
pub(crate) mod distribute;
pub(crate) mod domain;
pub(crate) mod erase;
pub(crate) mod fault_groups;
pub(crate) mod follow;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod issues;
pub(crate) mod key;
pub(crate) mod manual;
pub(crate) mod openapi;
pub(crate) mod output;
pub(crate) mod person;
pub(crate) mod profiles;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod status;
pub(crate) mod upgrade;
pub(crate) mod webhook;
pub(crate) mod wire;

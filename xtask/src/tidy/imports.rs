//! Who may import whom: the table of the architecture page as code.
//! Dependencies are judged as cargo itself reads the manifests (those of tests are free), paths
//! by looking for them in the product's code. To change a rule, change the page with it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::finding::Finding;
use crate::source::{Kind, Source};

const SQL: &[&str] = &["rusqlite", "libsqlite3", "tokio-postgres", "deadpool", "sqlx"];
const SQLITE: &[&str] = &["rusqlite", "libsqlite3", "sqlx"];
const POSTGRES: &[&str] = &["tokio-postgres", "deadpool", "sqlx"];
const HTTP_SERVER: &[&str] = &["axum", "hyper", "tower", "utoipa"];
const HTTP_CLIENT: &[&str] = &["reqwest"];
const ASYNC: &[&str] = &["tokio", "futures"];
/// Without its feature `std`, jiff knows time zones but has no clock.
const CLOCK_AND_CHANCE: &[&str] = &["getrandom", "rand", "uuid", "chrono", "time"];
const PROGRAM: &[&str] = &["clap", "indicatif", "tracing-subscriber", "anyhow"];

/// The imports of one crate that are forbidden, and the reason.
struct Rule {
    /// Folder name below `crates/`.
    folder: &'static str,
    /// The crates of this workspace that it may use.
    own: &'static [&'static str],
    /// Other crates it may not use; a name includes its family (`axum-extra` too for `axum`).
    never: &'static [&'static [&'static str]],
    /// Paths that its code may not name.
    paths: &'static [&'static str],
    reason: &'static str,
}

const RULES: [Rule; 11] = [
    Rule {
        folder: "model",
        own: &[],
        never: &[SQL, HTTP_SERVER, HTTP_CLIENT, ASYNC, CLOCK_AND_CHANCE, PROGRAM, &["tracing"]],
        paths: &[
            "SystemTime::now",
            "Instant::now",
            "Timestamp::now",
            "Zoned::now",
            "std::env",
            "std::fs",
            "std::net",
        ],
        reason: "the model is pure: no I/O, no clock, no randomness; its callers pass them in",
    },
    Rule {
        folder: "files",
        own: &[],
        never: &[SQL, HTTP_SERVER, HTTP_CLIENT, ASYNC, CLOCK_AND_CHANCE, PROGRAM, &["tracing"]],
        paths: &["std::env", "std::fs", "std::net"],
        reason: "the reader of files is pure: bytes in pieces come in, rows go out",
    },
    Rule {
        folder: "store",
        own: &["caseload-model"],
        never: &[SQL, HTTP_SERVER, HTTP_CLIENT, PROGRAM],
        paths: &["std::env"],
        reason: "the contract and the shared rules do not know SQL, nor the crates above them",
    },
    Rule {
        folder: "store-sqlite",
        own: &["caseload-model", "caseload-store"],
        never: &[POSTGRES, HTTP_SERVER, HTTP_CLIENT, PROGRAM],
        paths: &["std::env"],
        reason: "a backend knows its own SQL, and neither the other backend nor the crates above",
    },
    Rule {
        folder: "store-postgres",
        own: &["caseload-model", "caseload-store"],
        never: &[SQLITE, HTTP_SERVER, HTTP_CLIENT, PROGRAM],
        paths: &["std::env"],
        reason: "a backend knows its own SQL, and neither the other backend nor the crates above",
    },
    Rule {
        folder: "location",
        own: &["caseload-store", "caseload-store-sqlite", "caseload-store-postgres"],
        never: &[SQL, HTTP_SERVER, HTTP_CLIENT, PROGRAM],
        paths: &["std::env"],
        reason: "a location chooses the backend and opens it; SQL stays in the backends",
    },
    Rule {
        folder: "bulk",
        own: &["caseload-model", "caseload-store"],
        never: &[SQL, HTTP_SERVER, HTTP_CLIENT, PROGRAM],
        paths: &["std::env"],
        reason: "bulk runs tasks through the store's contract and knows no SQL and no HTTP",
    },
    Rule {
        folder: "webhooks",
        own: &["caseload-model", "caseload-store"],
        never: &[SQL, HTTP_SERVER, PROGRAM],
        paths: &["std::env"],
        reason: "webhooks are delivered through the store's contract, without SQL and routes",
    },
    Rule {
        folder: "api",
        own: &["caseload-model", "caseload-store", "caseload-files"],
        never: &[SQL, HTTP_CLIENT, PROGRAM],
        paths: &["std::env"],
        reason: "the api is HTTP only; its settings come from the program",
    },
    Rule {
        folder: "client",
        own: &["caseload-model"],
        never: &[SQL, HTTP_SERVER, PROGRAM],
        paths: &["std::env"],
        reason: "a client knows a server by its HTTP alone",
    },
    Rule {
        folder: "cli",
        own: &[
            "caseload-model",
            "caseload-store",
            "caseload-location",
            "caseload-bulk",
            "caseload-api",
            "caseload-webhooks",
            "caseload-client",
        ],
        never: &[SQL],
        paths: &[],
        reason: "the program wires the others together; SQL stays in the backends",
    },
];

/// Judges the dependencies of every crate.
pub(super) fn crates(root: &Path) -> Result<Vec<Finding>> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cannot start `cargo metadata`")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`cargo metadata` failed: {complaint}");
    let metadata =
        serde_json::from_slice(&output.stdout).context("`cargo metadata` did not print JSON")?;
    Ok(judge(&metadata))
}

/// Judges what `cargo metadata` says.
pub(super) fn judge(metadata: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let manifest = package["manifest_path"].as_str().unwrap_or_default().replace('\\', "/");
        let mut parts = manifest.rsplit('/').skip(1);
        let (Some(folder), Some("crates")) = (parts.next(), parts.next()) else { continue };
        let path = format!("crates/{folder}/Cargo.toml");
        let finding = |message| Finding { path: path.clone(), line: 0, message };
        let Some(rule) = RULES.iter().find(|rule| rule.folder == folder) else {
            let message = "a crate that the architecture does not name: add it to the page, and \
                           its rule to `xtask/src/tidy/imports.rs`";
            findings.push(finding(message.to_owned()));
            continue;
        };
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        for dependency in dependencies.filter(|dependency| dependency["kind"] != "dev") {
            let name = dependency["name"].as_str().unwrap_or_default();
            if rule.forbids(name) {
                let reason = rule.reason;
                findings.push(finding(format!("`{folder}` may not depend on `{name}`: {reason}")));
            }
        }
    }
    findings
}

impl Rule {
    fn forbids(&self, name: &str) -> bool {
        if name == "caseload" || name.starts_with("caseload-") {
            return !self.own.contains(&name);
        }
        let is_of = |family: &&str| {
            name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        self.never.iter().copied().flatten().any(is_of)
    }
}

/// Judges the paths that the product's code names. A build script is not part of the product.
pub(super) fn paths(source: &Source) -> Vec<Finding> {
    if source.path.ends_with("/build.rs") {
        return Vec::new();
    }
    let rule = RULES.iter().find(|rule| rule.folder == source.crate_folder());
    let (Some(rule), Kind::Product) = (rule, source.kind) else { return Vec::new() };
    let mut findings = Vec::new();
    for (index, line) in source.scrubbed.code.lines().enumerate() {
        if source.is_test_line(index) {
            continue;
        }
        for path in rule.paths.iter().filter(|path| names(line, path)) {
            let message = format!("`{}` may not use `{path}`: {}", rule.folder, rule.reason);
            findings.push(Finding::new(source, index + 1, message));
        }
    }
    findings
}

/// Whether a line names `path`, also inside a group such as `use std::{env, fmt};`.
fn names(line: &str, path: &str) -> bool {
    if line.contains(path) {
        return true;
    }
    let Some(module) = path.strip_prefix("std::") else { return false };
    let Some((_, group)) = line.split_once("use std::{") else { return false };
    group.split([',', '{', '}', ';']).any(|word| word.trim().split("::").next() == Some(module))
}

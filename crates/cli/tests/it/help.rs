//! Snapshots of all help texts: they are the reference that users have at hand.

use crate::common::{Workdir, plain, transcript_of};

pub(crate) const COMMANDS: [&str; 68] = [
    "",
    "demo",
    "serve",
    "config",
    "domain",
    "domain create",
    "domain list",
    "domain edit",
    "domain delete",
    "key",
    "key create",
    "key list",
    "key rotate",
    "key revoke",
    "app",
    "app create",
    "app list",
    "agent",
    "agent create",
    "agent list",
    "console",
    "health",
    "status",
    "upgrade",
    "backup",
    "check",
    "copy",
    "distribute",
    "openapi",
    "completions",
    "man",
    "bulk",
    "bulk submit",
    "bulk follow",
    "bulk rejects",
    "bulk status",
    "bulk results",
    "bulk errors",
    "bulk payload",
    "bulk run",
    "bulk cancel",
    "bulk retry",
    "bulk list",
    "profiles",
    "profiles import",
    "profiles export",
    "profiles find",
    "issues",
    "issues list",
    "issues search",
    "issues count",
    "issues get",
    "issues import",
    "issues export",
    "changes",
    "webhook",
    "webhook create",
    "webhook list",
    "webhook get",
    "webhook edit",
    "webhook rotate-secret",
    "webhook test",
    "webhook replay",
    "webhook deliveries",
    "webhook delete",
    "erase",
    "person",
    "person export",
];

#[test]
fn every_command_explains_itself() {
    let _guard = plain();
    let workdir = Workdir::new();
    for command in COMMANDS {
        let mut args: Vec<&str> = command.split_whitespace().collect();
        args.push("--help");
        let output = workdir.run(&args);
        assert!(output.status.success(), "{}", transcript_of(&output));
        let name = if command.is_empty() { "caseload" } else { command };
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}: a long line");
        insta::assert_snapshot!(format!("help-{}", name.replace(' ', "-")), text);
    }
}

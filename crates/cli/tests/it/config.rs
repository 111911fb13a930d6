//! `--config FILE` and `caseload config`: which value wins, one file for all commands, all faults
//! of a file, secrets, and a printed file that means the same.

use std::fs::{Permissions, set_permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use crate::common::{Server, Workdir, transcript_of};

/// The program with a file, which only its owner can read.
fn with_file(workdir: &Workdir, content: &str, args: &[&str]) -> std::process::Command {
    workdir.write("caseload.toml", content);
    set_permissions(workdir.path("caseload.toml"), Permissions::from_mode(0o600)).unwrap();
    workdir.caseload(&[args, &["--config", "caseload.toml"]].concat())
}

/// The lines that set something.
fn settings_of(printed: &str) -> Vec<&str> {
    let lines = printed.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split("  # ").next().unwrap()).collect()
}

fn stdout_of(command: &mut std::process::Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", transcript_of(&output));
    assert!(output.stderr.is_empty(), "{}", transcript_of(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_flag_wins_over_its_variable_and_the_variable_over_the_file() {
    let workdir = Workdir::new();
    let file = "rate-limit = 3";
    let line = |args: &[&str], env: Option<&str>, file: &str| {
        let mut command = with_file(&workdir, file, &[&["config"], args].concat());
        command.envs(env.map(|value| ("CASELOAD_RATE_LIMIT", value)));
        let printed = stdout_of(&mut command);
        printed.lines().find(|line| line.contains("rate-limit = ")).unwrap().to_owned()
    };
    assert_eq!(line(&["--rate-limit", "1"], Some("2"), file), "rate-limit = 1  # from the flag");
    assert_eq!(line(&[], Some("2"), file), "rate-limit = 2  # from the environment");
    assert_eq!(line(&[], None, file), "rate-limit = 3  # from caseload.toml");
    assert_eq!(line(&[], None, ""), "#rate-limit = 1500");
}

#[test]
fn one_file_serves_the_server_its_administration_and_its_clients() {
    let workdir = Workdir::new();
    let base = "domain = 'acme'\nlisten = '127.0.0.1:0'\nlog = 'info'\nkeep-results = 7\n";
    let file = if workdir.caseload(&[]).get_envs().any(|(name, _)| name == "CASELOAD_STORE") {
        base.to_owned()
    } else {
        format!("store = 'sqlite:other/place.db'\n{base}")
    };
    let created = with_file(&workdir, &file, &["domain", "create", "acme"]).output().unwrap();
    assert!(created.status.success(), "{}", transcript_of(&created));
    let made = with_file(&workdir, &file, &["key", "create"]).output().unwrap();
    let key = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let server = Server::spawn(&workdir, key.clone(), with_file(&workdir, &file, &["serve"]));
    let file = format!("{file}api-key = '{key}'\nurl = '{}'\n", server.url);
    let listed = with_file(&workdir, &file, &["issues", "list"]).output().unwrap();
    assert!(listed.status.success(), "{}", transcript_of(&listed));
    // By the variable, too.
    let mut count = workdir.caseload(&["issues", "count", "--by", "state"]);
    let counted = count.env("CASELOAD_CONFIG", "caseload.toml").output().unwrap();
    assert!(counted.status.success(), "{}", transcript_of(&counted));
}

#[test]
fn a_server_reads_a_file_that_can_be_read_once() {
    let workdir = Workdir::new();
    let mut serve = workdir.caseload(&["serve", "--config", "/dev/stdin"]);
    let mut child = serve.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"listen = 'nowhere.invalid:1'\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = transcript_of(&output);
    assert!(!output.status.success() && said.contains("nowhere.invalid"), "{said}");
}

#[test]
fn all_faults_of_a_file_are_reported_at_once() {
    let workdir = Workdir::new();
    let file = "listn = 'x'\n\
                listen = 'localhost'\n\
                query-timeout = 0\n\
                rate-limit = '15'\n\
                insecure-http = 'yes'\n\
                log-format = 'xml'\n\
                trusted-proxy = ['10.0.0.0/8', 7]\n\
                store = 'postgres://me:hunter2@host'\n\
                api-key = 5\n\
                since = 1\n\
                config = 'other.toml'\n\
                memory-budget = '1MiB'\n\
                body-limit = -1\n\
                tls-cert = ''\n\
                log = 'caseload=loud'\n\
                [server]\nlisten = 'x'\n";
    let output = with_file(&workdir, file, &["serve"]).output().unwrap();
    let said = transcript_of(&output);
    assert!(said.starts_with("exit 2\n--- stderr\nerror: "), "{said}");
    for (line, fault) in [
        (1, "column 1: listn: no command has this setting; did you mean listen?"),
        (2, "column 10: listen = \"localhost\": write HOST:PORT, for example 127.0.0.1:8080"),
        (3, "column 17: query-timeout = 0: 0 is not in 1..=3600"),
        (4, "column 14: rate-limit = '15': write the number without quotes"),
        (5, "column 17: insecure-http = 'yes': write true or false"),
        (6, "column 14: log-format = \"xml\": write one of text, json"),
        (7, "column 17: trusted-proxy = ['10.0.0.0/8', 7]: write texts in quotes"),
        (8, "column 9: store = \"postgres://me:***@host\": "),
        (9, "column 11: api-key = ***: write a text in quotes"),
        (10, "column 1: since: --since is a flag of single commands"),
        (11, "column 1: config: a configuration file cannot name another one"),
        (12, "column 17: memory-budget = 1MiB: write a number of bytes, or one such as"),
        (13, "column 14: body-limit = -1: "),
        (14, "column 12: tls-cert = \"\": it must not be empty"),
        (15, "column 7: log = \"caseload=loud\": "),
        (16, "column 2: server: no command has this setting"),
    ] {
        assert!(said.contains(&format!("caseload.toml, line {line}, {fault}")), "{fault}: {said}");
    }
    assert_eq!(said.matches("caseload.toml, line").count(), 16, "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn a_file_that_cannot_be_read_is_a_mistake() {
    let workdir = Workdir::new();
    std::fs::create_dir(workdir.path("folder")).unwrap();
    workdir.write("bytes.toml", b"log = 'warn'\nurl = '\xff'\n");
    workdir.write("form.toml", "log = 'warn'\nlisten = 127.0.0.1:80\n");
    workdir.write("twice.toml", "log = 'warn'\nlog = 'info'\n");
    workdir.write("long.toml", " ".repeat((1 << 20) + 1));
    for (file, reason) in [
        ("none.toml", "cannot read the configuration file none.toml: no such file or directory"),
        ("folder", "cannot read the configuration file folder: is a directory"),
        ("bytes.toml", "bytes.toml, line 2, column 8: a byte that is not UTF-8"),
        ("form.toml", "form.toml, line 2, column "),
        ("twice.toml", "twice.toml, line 2, column 1: duplicate key"),
        ("long.toml", "long.toml is longer than a configuration file: 1 MiB"),
    ] {
        for command in ["serve", "check", "openapi"] {
            let output = workdir.run(&[command, "--config", file]);
            let said = transcript_of(&output);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(reason), "{said}");
        }
        // Help does not need the file.
        workdir.good(&["serve", "--config", file, "--help"]);
    }
}

#[test]
fn a_printed_file_has_every_setting_and_means_the_same() {
    let workdir = Workdir::new();
    let file = "listen = '127.0.0.1:81'\n\
                store = 'postgres://me@host:77/data?sslmode=require'\n\
                tls-cert = \"a \\\"b\\\" \\\\ é\\n.pem\"\n\
                trusted-proxy = ['10.0.0.0/8', '::1']\n\
                insecure-http = true\n\
                memory-budget = 0x2000_0000\n\
                log = 'warn,caseload=info'\n";
    let args = ["config", "--idle-timeout", "+7", "--trusted-proxy", "::2,::3"];
    let mut first = with_file(&workdir, file, &args);
    let first = first.env("CASELOAD_MEMORY_BUDGET", "64MiB").env("CASELOAD_DOMAIN", "acme");
    let first = stdout_of(first.env_remove("CASELOAD_STORE").env_remove("CASELOAD_LEASE"));
    let expected = [
        "listen = \"127.0.0.1:81\"",
        "store = \"postgres://me@host:77/data?sslmode=require\"",
        "tls-cert = \"a \\\"b\\\" \\\\ é\\n.pem\"",
        "insecure-http = true",
        "trusted-proxy = [\"::2\", \"::3\"]",
        "idle-timeout = 7",
        "memory-budget = \"64MiB\"",
        "domain = \"acme\"",
        "log = \"warn,caseload=info\"",
    ];
    let mut settings = settings_of(&first);
    settings.sort_unstable();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(settings, expected);
    let again = |printed: &str| {
        let mut command = with_file(&workdir, printed, &["config"]);
        stdout_of(command.env_remove("CASELOAD_STORE").env_remove("CASELOAD_LEASE"))
    };
    let second = again(&first);
    assert_eq!(settings_of(&second), settings_of(&first));
    assert_eq!(again(&second), second);
    assert!(second.lines().all(|line| line.chars().count() <= 100), "{second}");
    // Each default is accepted, too.
    let default = |line: &str| line.starts_with('#') && !line.starts_with("# ");
    let defaults = workdir.caseload(&["config"]).env_remove("CASELOAD_STORE").output().unwrap();
    let defaults = String::from_utf8(defaults.stdout).unwrap();
    let all = defaults.lines().filter(|line| default(line) && !line.ends_with("# not set"));
    let all: Vec<&str> = all.map(|line| &line[1..]).collect();
    assert!(all.len() > 15, "{defaults}");
    assert_eq!(settings_of(&again(&all.join("\n"))), all);
}

#[test]
fn no_output_has_a_secret_of_a_file() {
    let workdir = Workdir::new();
    let file = "store = 'postgres://me:hunter2@127.0.0.1:1/data'\n\
                to = 'postgres://127.0.0.1:1/d?user=me&password=hunter2'\n\
                api-key = 'hunter2'\n\
                domain = 'acme'\n\
                url = 'http://127.0.0.1:1'\n\
                from = 'sqlite:none.db'\n";
    let mut all = String::new();
    for args in [
        &["config"][..],
        &["serve", "--help"],
        &["serve", "--store-wait", "0"],
        &["serve", "--lease", "1"],
        &["check"],
        &["copy"],
        &["issues", "get", "1"],
        &["issues", "get", "--help"],
        &["issues", "get", "--nonsense"],
    ] {
        let mut command = with_file(&workdir, file, args);
        command.env_remove("CASELOAD_STORE").env("CASELOAD_LOG", "debug");
        all += &transcript_of(&command.output().unwrap());
    }
    assert!(!all.contains("hunter2"), "{all}");
    assert!(
        all.contains("#api-key = \"***\"  # from caseload.toml; the secret is not shown"),
        "{all}"
    );
    assert!(all.contains("#store = \"postgres://me:***@127.0.0.1:1/data\"  # from"), "{all}");
    assert!(!all.contains("warning: every user"), "{all}");
    for (content, is_warned) in [(file, true), ("domain = 'acme'", false)] {
        let mut command = with_file(&workdir, content, &["config"]);
        set_permissions(workdir.path("caseload.toml"), Permissions::from_mode(0o644)).unwrap();
        let said = transcript_of(&command.output().unwrap());
        assert_eq!(said.contains("chmod o-r caseload.toml"), is_warned, "{said}");
    }
}

#[test]
fn the_two_files_of_tls_may_come_from_different_places() {
    let workdir = Workdir::new();
    let run = |file: &str, args: &[&str], env: Option<&str>| {
        let mut command = with_file(&workdir, file, &[&["serve"], args].concat());
        let output = command.envs(env.map(|key| ("CASELOAD_TLS_KEY", key))).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", transcript_of(&output));
        transcript_of(&output)
    };
    let together = "cannot read none.pem";
    assert!(run("tls-cert = 'none.pem'", &["--tls-key", "k.pem"], None).contains(together));
    assert!(run("tls-cert = 'none.pem'", &[], Some("k.pem")).contains(together));
    assert!(run("", &["--tls-cert", "none.pem"], Some("k.pem")).contains(together));
    assert!(run("tls-key = 'k.pem'", &[], None).contains("--tls-key needs --tls-cert"));
}

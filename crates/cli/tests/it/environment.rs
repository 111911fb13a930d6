//! Variables of the environment that libraries would read change nothing, and a misspelt one of
//! the program gets a warning.

use std::process::Output;

use crate::common::{Server, Workdir, transcript_of};

/// Values that would break the program, or change its output, if a library read them.
const HOSTILE: [(&str, &str); 28] = [
    ("CI", "1"),
    ("CLICOLOR", "1"),
    ("CLICOLOR_FORCE", "1"),
    ("GLIBC_TUNABLES", "glibc.malloc.perturb=7"),
    ("HOSTALIASES", "/nowhere"),
    ("LOCALDOMAIN", "invalid"),
    ("MALLOC_ARENA_MAX", "1"),
    ("MALLOC_MMAP_THRESHOLD_", "1"),
    ("MALLOC_PERTURB_", "7"),
    ("MIMALLOC_PURGE_DELAY", "100000"),
    ("MIMALLOC_SHOW_STATS", "1"),
    ("PGDATABASE", "nowhere"),
    ("PGHOST", "nowhere.invalid"),
    ("PGOPTIONS", "--nonsense"),
    ("PGPORT", "1"),
    ("PGSSLMODE", "verify-full"),
    ("PGUSER", "nobody"),
    ("REQUEST_METHOD", "GET"),
    ("RES_OPTIONS", "timeout:1"),
    ("RUST_LOG", "trace"),
    ("RUST_MIN_STACK", "99999999999999"),
    ("SQLITE_TMPDIR", "/nowhere"),
    ("SSL_CERT_DIR", "/nowhere"),
    ("TMPDIR", "/nowhere"),
    ("TOKIO_WORKER_THREADS", "0"),
    ("TZ", "Pacific/Apia"),
    ("LISTEN", "nowhere.invalid:1"),
    ("STORE", "sqlite:nowhere.db"),
];

#[test]
fn variables_of_libraries_change_no_command() {
    let workdir = Workdir::new();
    let both = |args: &[&str]| -> [Output; 2] {
        [false, true].map(|is_hostile| {
            let hostile = HOSTILE.iter().copied().filter(|_| is_hostile);
            workdir.caseload(args).envs(hostile).output().unwrap()
        })
    };
    workdir.good(&["domain", "create", "acme"]);
    for args in [
        &["--help"][..],
        &["serve", "--help"],
        &["domain", "list"],
        &["serve", "--lease", "0"],
        &[
            "issues",
            "get",
            "1",
            "--domain",
            "acme",
            "--api-key",
            "k",
            "--url",
            "http://127.0.0.1:1",
        ],
        &["config"],
    ] {
        let [calm, hostile] = both(args);
        assert_eq!(transcript_of(&hostile), transcript_of(&calm), "{args:?}");
    }
}

#[test]
fn a_server_has_the_settings_of_its_allocators_and_no_variable_of_a_library() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let key = workdir.good(&["key", "create", "--domain", "acme"]).trim().to_owned();
    let mut serve = workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]);
    serve.envs(HOSTILE);
    let server = Server::spawn(&workdir, key, serve);
    let call = server.small_call();
    assert!(call.status.success(), "{}", transcript_of(&call));
    let pid = server.child.as_ref().unwrap().id();
    let environment = std::fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    // The first is read by test servers, the others by none.
    let remains = ["TMPDIR", "LISTEN", "STORE", "RUST_LOG", "TZ"];
    let mut library: Vec<&str> = environment
        .split('\0')
        .filter(|variable| {
            let name = variable.split('=').next().unwrap_or_default();
            let is_removed = !remains.contains(&name) && !name.starts_with("PG");
            is_removed && (HOSTILE.iter().any(|(hostile, _)| *hostile == name))
        })
        .collect();
    library.sort_unstable();
    assert_eq!(library, ["MALLOC_MMAP_THRESHOLD_=1048576", "MIMALLOC_PURGE_DELAY=0"]);
}

#[test]
fn a_misspelt_variable_gets_a_warning() {
    let workdir = Workdir::new();
    for (args, code) in [(&["config"][..], 0), (&["serve", "--listen", "nowhere.invalid:1"], 3)] {
        let mut command = workdir.caseload(args);
        command.env("CASELOAD_LISTN", "x").env("CASELOAD_QQQ", "x").env("CASELOAD_URL", "http://x");
        let output = command.output().unwrap();
        let said = transcript_of(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        let mut warnings: Vec<&str> =
            stderr.lines().filter(|line| line.starts_with("warning: no flag")).collect();
        warnings.sort_unstable();
        assert_eq!(
            warnings,
            [
                "warning: no flag has the environment variable CASELOAD_LISTN; did you mean \
                 CASELOAD_LISTEN?",
                "warning: no flag has the environment variable CASELOAD_QQQ",
            ]
        );
    }
}

//! `--store postgres://…`: errors for databases that cannot be used, passwords that no output may
//! show, and waiting at start for a database that is not up yet.

use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use caseload_teststore::{Cluster, Database, query};

use crate::common::{Server, Workdir, transcript_of};

/// A password that no output may show.
const SECRET: &str = "hunter2";

/// Runs `domain create` on a store that refuses it; returns the message, which has no password.
fn refused(workdir: &Workdir, store: &str) -> String {
    let output = run(workdir, store, &["domain", "create", "acme"]);
    assert_eq!(output.status.code(), Some(3), "{}", transcript_of(&output));
    String::from_utf8(output.stderr).unwrap()
}

fn run(workdir: &Workdir, store: &str, args: &[&str]) -> Output {
    let output = workdir.caseload(args).env("CASELOAD_STORE", store).output().unwrap();
    let all = transcript_of(&output);
    assert!(!all.contains(SECRET) && !all.contains(&password(store)), "{all}");
    output
}

/// The password in an address.
fn password(url: &str) -> String {
    let user = url.split_once("://").unwrap().1.split('@').next().unwrap();
    user.split_once(':').map_or("no password".to_owned(), |(_, password)| password.to_owned())
}

/// An address with another password, or without one.
fn with_password(url: &str, other: Option<&str>) -> String {
    let other = other.map_or(String::new(), |other| format!(":{other}"));
    url.replacen(&format!(":{}@", password(url)), &format!("{other}@"), 1)
}

/// An address with another database.
fn with_database(url: &str, name: &str) -> String {
    format!("{}/{name}", url.rsplit_once('/').unwrap().0)
}

#[test]
fn a_database_that_does_not_exist_gets_an_error_with_a_hint() {
    let workdir = Workdir::new();
    let database = Database::empty();
    let url = database.url();
    for (store, reason, hint) in [
        (with_password(url, Some(SECRET)), "password authentication failed", "PGPASSWORD"),
        (with_password(url, None), "asks for a password", "PGPASSWORD"),
        (with_database(url, "nowhere"), "\"nowhere\" does not exist", "createdb nowhere"),
        (format!("{url}?sslmode=verify-full&sslrootcert=/none"), "/none", "error"),
        (format!("postgres://u:{SECRET}@127.0.0.1:1/d"), "refused", "error"),
        (format!("postgres://u:{SECRET}@no.such.host.invalid/d"), "lookup", "error"),
    ] {
        let said = refused(&workdir, &store);
        assert!(said.contains(reason) && said.contains(hint), "{said}");
    }
    assert_eq!(query(url, "SELECT 1 WHERE to_regclass('domains') IS NOT NULL"), [""; 0]);
    // A command that makes no store has none there.
    let output = run(&workdir, &with_database(url, "nowhere"), &["domain", "list"]);
    let said = transcript_of(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("there is no store at ") && said.contains("\"nowhere\" does not"),
        "{said}"
    );
}

#[test]
fn a_database_of_another_program_is_left_unchanged() {
    let workdir = Workdir::new();
    let database = Database::empty();
    query(database.url(), "CREATE TABLE invoices (id BIGINT)");
    let said = refused(&workdir, database.url());
    assert!(said.contains("public.invoices") && said.contains("of its own"), "{said}");
    let tables = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    assert_eq!(query(database.url(), tables), ["invoices"]);
    let output = run(&workdir, database.url(), &["domain", "list"]);
    let said = transcript_of(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no store at ") && said.contains("public.invoices"), "{said}");
    assert_eq!(query(database.url(), tables), ["invoices"]);
}

#[test]
fn a_user_without_the_right_to_create_tables_is_refused_with_a_reason() {
    let workdir = Workdir::new();
    let database = Database::empty();
    let role = format!("{}_reader", database.name());
    query(
        database.url(),
        &format!(
            "CREATE ROLE {role} LOGIN PASSWORD '{SECRET}'; \
             REVOKE CREATE ON SCHEMA public FROM public"
        ),
    );
    let (_, host) = database.url().split_once('@').unwrap();
    let said = refused(&workdir, &format!("postgres://{role}:{SECRET}@{host}"));
    query(database.url(), &format!("DROP ROLE {role}"));
    assert!(said.contains("may not create tables") && said.contains("GRANT"), "{said}");
}

#[test]
fn a_read_only_database_is_refused_with_a_reason() {
    let workdir = Workdir::new();
    let database = Database::from_template();
    let name = database.name();
    query(database.url(), &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    let said = refused(&workdir, database.url());
    assert!(said.contains("read-only standby"), "{said}");
}

#[test]
fn a_password_may_come_from_the_environment_or_from_a_file() {
    let workdir = Workdir::new();
    let database = Database::empty();
    let bare = with_password(database.url(), None);
    let secret = password(database.url());
    let mut command = workdir.caseload(&["domain", "create", "acme", "--store", &bare]);
    assert!(command.env("PGPASSWORD", &secret).output().unwrap().status.success());

    workdir.write("pass", format!("*:*:{}:*:{secret}\n", database.name()));
    let store = format!("{bare}?passfile=pass");
    assert!(refused(&workdir, &store).contains("chmod 600"));
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(workdir.path("pass"), private).unwrap();
    let output = run(&workdir, &store, &["domain", "list"]);
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("acme\t"));
}

#[test]
fn a_start_and_a_check_warn_of_pages_without_checksums_until_they_are_turned_on() {
    let warning = "the PostgreSQL server has no data checksums, so damage to its pages and \
                   indexes may stay unnoticed; to turn them on, stop it and run \
                   `pg_checksums --enable`";
    let workdir = Workdir::new();
    let mut database = Cluster::start();
    let store = Cluster::url_with(&[&database], "");
    let created = run(&workdir, &store, &["domain", "create", "acme"]);
    assert!(created.status.success(), "{}", transcript_of(&created));
    for on in [false, true] {
        database.set_data_checksums(on);
        let checked = run(&workdir, &store, &["check"]);
        assert!(checked.status.success(), "{}", transcript_of(&checked));
        let said = String::from_utf8(checked.stderr).unwrap();
        let expected = if on { String::new() } else { format!("{warning}\n") };
        assert_eq!(said, expected + "the store is sound\n");
        let mut serve = workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]);
        serve.env("CASELOAD_STORE", &store);
        let server = Server::spawn(&workdir, String::new(), serve);
        let log = server.log();
        let warned = log.lines().filter(|line| line.contains(" WARN ")).collect::<Vec<_>>();
        assert_eq!(warned.len(), usize::from(!on), "{log}");
        assert!(warned.iter().all(|line| line.ends_with(warning)), "{log}");
        assert!(server.terminate().0.success());
    }
}

#[test]
fn a_mistake_in_an_address_and_help_show_no_password() {
    let workdir = Workdir::new();
    for store in [
        format!("postgres://u:{SECRET}@h/d?sslmode=full&colour=red"),
        format!("postgress://u:{SECRET}@h/d"),
        format!("postgres://u:{SECRET}@h:x/d"),
    ] {
        for args in [&["domain", "list", "--store", &store][..], &["serve", "--help"]] {
            let output = workdir.caseload(args).env("CASELOAD_STORE", &store).output().unwrap();
            let all = transcript_of(&output);
            assert!(!all.contains(SECRET), "{all}");
            assert!(output.status.success() || all.contains("postgres://"), "{all}");
        }
        assert_eq!(workdir.run(&["domain", "list", "--store", &store]).status.code(), Some(2));
    }
}

#[test]
fn a_server_waits_for_its_database_and_gives_up_in_time() {
    let workdir = Workdir::new();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("postgres://u:{SECRET}@{}/d", nobody.local_addr().unwrap());
    drop(nobody);
    let mut command = workdir.caseload(&["serve", "--listen", "127.0.0.1:0", "--store-wait", "1"]);
    let output = command.env("CASELOAD_STORE", store).output().unwrap();
    let said = transcript_of(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("does not answer yet") && said.contains("--store-wait"), "{said}");
    assert!(!said.contains(SECRET), "{said}");
}

#[test]
fn servers_that_start_at_once_on_an_empty_database_all_serve() {
    let database = Database::empty();
    let workdir = Workdir::new();
    let starting: Vec<_> = (0..4)
        .map(|_| {
            let mut command = workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]);
            command.env("CASELOAD_STORE", database.url());
            command
        })
        .collect();
    let servers: Vec<_> = std::thread::scope(|threads| {
        let starts: Vec<_> = starting
            .into_iter()
            .map(|command| threads.spawn(|| Server::spawn(&workdir, String::new(), command)))
            .collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    for server in servers {
        assert_eq!(server.terminate().0.code(), Some(0));
    }
}

//! Addresses: accepted ones, refused ones with their reasons, and that no text shows a password.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::os::unix::fs::PermissionsExt;

use super::*;

fn parsed(text: &str) -> PostgresAddress {
    PostgresAddress::parse(text).unwrap()
}

#[test]
fn addresses_have_the_format_of_libpq() {
    let address = parsed("postgres://ada:s%40crt@db.example:6432/support?application_name=desk");
    let config = &address.config;
    assert_eq!(config.get_user(), Some("ada"));
    assert_eq!(config.get_password(), Some(&b"s@crt"[..]));
    assert_eq!(config.get_dbname(), Some("support"));
    assert_eq!(config.get_ports(), [6432]);
    assert_eq!(config.get_application_name(), Some("desk"));
    assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    assert_eq!(config.get_connect_timeout(), Some(&CONNECT_TIMEOUT));

    let two = parsed("postgresql://ada@one,two:5433/support?connect_timeout=1");
    assert_eq!((two.config.get_hosts().len(), two.config.get_ports()), (2, &[5432, 5433][..]));
    assert_eq!(two.config.get_connect_timeout(), Some(&Duration::from_secs(1)));
    let socket = parsed("postgres:///support?host=%2Fvar%2Frun%2Fpostgresql&user=ada");
    assert_eq!(socket.to_string(), "postgres:///support");
    parsed("postgres://ada:what?@h/d?sslmode=require");
}

#[test]
fn each_sslmode_selects_its_verification() {
    for (word, verify, mode) in [
        ("disable", Verify::Disable, SslMode::Disable),
        ("prefer", Verify::Prefer, SslMode::Prefer),
        ("require", Verify::Require, SslMode::Require),
        ("verify-ca", Verify::Chain, SslMode::Require),
        ("verify-full", Verify::Full, SslMode::Require),
    ] {
        let address = parsed(&format!("postgres://h/d?sslmode={word}"));
        assert_eq!((address.tls.verify, address.config.get_ssl_mode()), (verify, mode), "{word}");
    }
    assert_eq!(parsed("postgres://h/d").tls.verify, Verify::Prefer);
}

#[test]
fn all_faults_of_an_address_are_reported_without_its_password() {
    for (text, reasons) in [
        ("postgres://h", &["has no database"][..]),
        ("postgres:///d", &["has no host"]),
        ("postgres:h/d", &["two slashes"]),
        ("postgres://u:sec@ret@h/d", &["%40"]),
        ("postgres://u:secret@h:port/d", &["port"]),
        ("postgres://u:secret", &["port"]),
        (
            "postgres://u:secret@h/d?sslmode=full&sslkey=k&colour=red&bare&connect_timeout=soon",
            &["verify-full", "sslcert and sslkey", "colour", "bare", "connect_timeout"],
        ),
        ("postgres://u:secret@h/d?target_session_attrs=any", &["read-write"]),
    ] {
        let fault = PostgresAddress::parse(text).unwrap_err().to_string();
        for reason in reasons {
            assert!(fault.contains(reason), "{text}: {fault}");
        }
        assert!(!fault.contains("sec"), "{fault}");
    }
}

#[test]
fn a_shown_address_has_no_password() {
    for (text, expected) in [
        ("postgres://u:secret@h:5432/d?sslmode=require", "postgres://u:***@h:5432/d"),
        ("postgres://u@h/d", "postgres://u@h/d"),
        ("postgres://h/d?password=secret", "postgres://h/d"),
        ("postgres://u:sec@ret@h/d", "postgres://u:***@h/d"),
        ("postgres://u:sec/ret@h/d", "postgres://u:***@h/d"),
        ("postgres://u:secret", "postgres://u:***"),
        ("postgres://[::1]:5432/d", "postgres://[::1]:5432/d"),
        ("postgres://[fe80::1]/d", "postgres://[fe80::1]/d"),
        ("postgres://a,b:5433/d", "postgres://a,b:5433/d"),
        ("postgress://u:secret@h/d", "postgress://u:***@h/d"),
        ("sqlite:some/where.db", "sqlite:some/where.db"),
    ] {
        assert_eq!(shown(text), expected);
    }
    let address = parsed("postgres://u:secret@h/d?password=secret");
    for text in [format!("{address}"), format!("{address:?}"), format!("{address:#?}")] {
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn the_password_of_an_address_comes_before_any_other() {
    let password = |address: PostgresAddress| address.config.get_password().unwrap().to_vec();
    assert_eq!(password(parsed("postgres://u:mine@h/d").or_password("other")), b"mine");
    assert_eq!(password(parsed("postgres://u@h/d").or_password("other")), b"other");
}

#[test]
fn the_first_matching_line_of_a_passfile_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pass");
    let lines =
        "# comment\nh:5433:d:u:port\nh:5432:other:u:database\nh:*:d:*:a\\:b\\\\c\n*:*:*:*:z";
    std::fs::write(&file, lines).unwrap();
    let of = |text: &str| {
        let address = parsed(&format!("{text}?passfile={}", file.display()));
        address.connector().map(|made| made.hosts[0].get_password().map(<[u8]>::to_vec))
    };
    let refused = of("postgres://u@h/d").unwrap_err().to_string();
    assert!(refused.contains("can be read by others"), "{refused}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(of("postgres://u@h/d").unwrap().unwrap(), b"a:b\\c");
    assert_eq!(of("postgres://u@h:5433/d").unwrap().unwrap(), b"port");
    assert_eq!(of("postgres://u@h/other").unwrap().unwrap(), b"database");
    assert_eq!(of("postgres://u@x/d").unwrap().unwrap(), b"z");
    assert_eq!(of("postgres://u:mine@h/d").unwrap().unwrap(), b"mine");
    std::fs::remove_file(&file).unwrap();
    assert!(of("postgres://u@h/d").unwrap_err().to_string().contains("cannot read passfile"));
}

#[test]
fn unusable_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let of = |parameters: &str| {
        let address = parsed(&format!("postgres://u@h/d?{parameters}"));
        address.connector().map(|_| ()).unwrap_err().to_string()
    };
    let nowhere = "/nowhere/root.pem";
    assert!(of(&format!("sslmode=verify-full&sslrootcert={nowhere}")).contains(nowhere));
    let none = of(&format!("sslmode=require&sslrootcert={}", empty.display()));
    assert!(none.contains("contains no certificate"), "{none}");
    let key = of(&format!("sslcert={0}&sslkey={0}", empty.display()));
    assert!(key.contains("empty.pem"), "{key}");
}

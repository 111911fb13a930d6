//! Encrypted connections to PostgreSQL, with a certificate authority of the test's own. Each
//! `sslmode` is tried with a server without encryption and with servers whose certificate is valid,
//! has another name, or has expired; every refusal has its error text. The tests run whole
//! commands.

use caseload_teststore::Cluster;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use crate::common::{Workdir, transcript_of};

/// A host name of the server's address.
const NAME: &str = "db.example";
const NUMBER: &str = "127.0.0.1";

type Authority = CertifiedIssuer<'static, KeyPair>;

/// The certificate authority.
fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate and its key.
struct Signed {
    certificate: String,
    key: String,
}

fn signed(
    authority: &Authority,
    name: &str,
    usage: ExtendedKeyUsagePurpose,
    last_year: i32,
) -> Signed {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.extended_key_usages = vec![usage];
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(last_year, 1, 1);
    let certificate = params.signed_by(&key, authority).unwrap();
    Signed { certificate: certificate.pem(), key: key.serialize_pem() }
}

/// A case: the store, and `None` if the connection succeeds or a part of the error text.
type Case<'c> = (&'c str, Option<&'c str>);

/// A server with a store that is reached without encryption.
fn cluster_with_store(workdir: &Workdir) -> Cluster {
    let cluster = Cluster::start();
    let mut make = workdir.caseload(&["domain", "create", "acme"]);
    let made = make.env("CASELOAD_STORE", Cluster::url_with(&[&cluster], "")).output().unwrap();
    assert!(made.status.success(), "{}", transcript_of(&made));
    cluster
}

/// Runs a command on the store for each case.
fn assert_cases(workdir: &Workdir, cluster: &Cluster, what: &str, cases: &[Case<'_>]) {
    for (parameters, expected) in cases {
        let store = Cluster::url_with(&[cluster], &format!("?{parameters}"));
        let output =
            workdir.caseload(&["domain", "list"]).env("CASELOAD_STORE", &store).output().unwrap();
        let said = format!("{what}, {parameters}: {}", transcript_of(&output));
        match expected {
            None => assert!(output.status.success(), "{said}"),
            Some(text) => {
                assert_eq!(output.status.code(), Some(3), "{said}");
                assert!(said.contains(text), "{text:?} is missing: {said}");
                let password = store.split(['@', ':']).nth(2).unwrap();
                assert!(!said.contains(password), "{said}");
            }
        }
    }
}

const UNKNOWN: Option<&str> =
    Some("no encrypted connection: invalid peer certificate: UnknownIssuer");
const OTHER_NAME: Option<&str> = Some("certificate not valid for name");
const EXPIRED: Option<&str> = Some("certificate expired");

#[test]
fn each_sslmode_accepts_and_refuses_the_connections_that_it_should() {
    let workdir = Workdir::new();
    let cluster = cluster_with_store(&workdir);
    let (ours, theirs) = (authority("ours"), authority("theirs"));
    workdir.write("ours.pem", ours.pem());
    workdir.write("theirs.pem", theirs.pem());
    let server =
        |name, last_year| signed(&ours, name, ExtendedKeyUsagePurpose::ServerAuth, last_year);

    let without = Some("server does not support TLS");
    assert_cases(
        &workdir,
        &cluster,
        "without encryption",
        &[
            ("", None),
            ("sslmode=disable", None),
            ("sslmode=prefer", None),
            ("sslmode=require", without),
            ("sslmode=verify-ca&sslrootcert=ours.pem", without),
            ("sslmode=verify-full&sslrootcert=ours.pem", without),
        ],
    );

    // The server accepts encrypted connections only, which shows which clients encrypt.
    cluster.admit("hostnossl caseload all all reject");
    let right = server(NUMBER, 2100);
    cluster.encrypt(&right.certificate, &right.key, &ours.pem());
    assert_cases(
        &workdir,
        &cluster,
        "a right certificate",
        &[
            ("", None),
            ("sslmode=disable", Some("no encryption")),
            ("sslmode=prefer", None),
            ("sslmode=prefer&sslrootcert=theirs.pem", None),
            ("sslmode=require", None),
            ("sslmode=require&sslrootcert=ours.pem", None),
            ("sslmode=require&sslrootcert=theirs.pem", UNKNOWN),
            ("sslmode=verify-ca&sslrootcert=ours.pem", None),
            ("sslmode=verify-ca&sslrootcert=theirs.pem", UNKNOWN),
            ("sslmode=verify-full&sslrootcert=ours.pem", None),
            ("sslmode=verify-full&sslrootcert=theirs.pem", UNKNOWN),
            ("sslmode=verify-full&sslrootcert=nowhere.pem", Some("nowhere.pem")),
        ],
    );

    let named = server(NAME, 2100);
    cluster.encrypt(&named.certificate, &named.key, &ours.pem());
    assert_cases(
        &workdir,
        &cluster,
        "a certificate for another name",
        &[
            ("sslmode=prefer", None),
            ("sslmode=require", None),
            ("sslmode=verify-ca&sslrootcert=ours.pem", None),
            ("sslmode=verify-ca&sslrootcert=theirs.pem", UNKNOWN),
            ("sslmode=verify-full&sslrootcert=ours.pem", OTHER_NAME),
        ],
    );
    assert_by_name(&workdir, &cluster);

    let old = server(NUMBER, 2021);
    cluster.encrypt(&old.certificate, &old.key, &ours.pem());
    assert_cases(
        &workdir,
        &cluster,
        "a certificate whose time is over",
        &[
            ("sslmode=prefer", None),
            ("sslmode=require", None),
            ("sslmode=require&sslrootcert=ours.pem", EXPIRED),
            ("sslmode=verify-ca&sslrootcert=ours.pem", EXPIRED),
            ("sslmode=verify-full&sslrootcert=ours.pem", EXPIRED),
        ],
    );
}

/// The certificate must have the host name of the address, whichever host it resolves to.
fn assert_by_name(workdir: &Workdir, cluster: &Cluster) {
    for (name, expected) in [(NAME, None), ("other.example", OTHER_NAME)] {
        let store = Cluster::url_with(
            &[cluster],
            &format!("?hostaddr={NUMBER}&sslmode=verify-full&sslrootcert=ours.pem"),
        );
        let store = store.replacen(&format!("@{NUMBER}"), &format!("@{name}"), 1);
        let output =
            workdir.caseload(&["domain", "list"]).env("CASELOAD_STORE", &store).output().unwrap();
        let said = transcript_of(&output);
        assert_eq!(output.status.success(), expected.is_none(), "{name}: {said}");
        assert!(said.contains(expected.unwrap_or_default()), "{name}: {said}");
    }
}

#[test]
fn a_database_that_asks_for_a_certificate_takes_the_right_one_only() {
    let workdir = Workdir::new();
    let cluster = cluster_with_store(&workdir);
    let (ours, theirs) = (authority("ours"), authority("theirs"));
    workdir.write("ours.pem", ours.pem());
    let server = signed(&ours, NUMBER, ExtendedKeyUsagePurpose::ServerAuth, 2100);
    cluster.encrypt(&server.certificate, &server.key, &ours.pem());
    cluster.admit("hostssl caseload all all scram-sha-256 clientcert=verify-ca");
    for (file, authority) in [("right", &ours), ("wrong", &theirs)] {
        let client = signed(authority, "postgres", ExtendedKeyUsagePurpose::ClientAuth, 2100);
        workdir.write(&format!("{file}.crt"), client.certificate);
        workdir.write(&format!("{file}.key"), client.key);
    }
    let given = |file: &str| {
        format!("sslmode=verify-full&sslrootcert=ours.pem&sslcert={file}.crt&sslkey={file}.key")
    };
    assert_cases(
        &workdir,
        &cluster,
        "a server that asks for a certificate",
        &[
            (&given("right"), None),
            (&given("wrong"), Some("UnknownCA")),
            ("sslmode=verify-full&sslrootcert=ours.pem", Some("valid client certificate")),
        ],
    );
}

//! `caseload serve` over TLS, and client commands that trust a private authority.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::common::{Server, Workdir, transcript_of};

/// Writes an authority to `ca.pem`, and a certificate of the loopback address that it signed, with
/// its key and the key of another one.
pub(crate) fn write_files(workdir: &Workdir) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = own.signed_by(&key, &authority).unwrap();
    workdir.write("ca.pem", authority.pem());
    workdir.write("cert.pem", certificate.pem());
    workdir.write("key.pem", key.serialize_pem());
    workdir.write("other.pem", KeyPair::generate().unwrap().serialize_pem());
}

#[test]
fn a_client_trusts_a_private_authority_alone() {
    let workdir = Workdir::new();
    let key = workdir.serve().key.clone();
    write_files(&workdir);
    set_permissions(workdir.path("key.pem"), Permissions::from_mode(0o640)).unwrap();
    let flags = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let serve = workdir.caseload(&[&["serve", "--listen", "127.0.0.1:0"], &flags[..]].concat());
    let server = Server::spawn(&workdir, key, serve);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    let list = ["issues", "list"];
    let trusting = ["issues", "list", "--tls-ca", "ca.pem"];
    server.good(&trusting);
    let output = server.caseload(&list).env("CASELOAD_TLS_CA", "ca.pem").output().unwrap();
    assert!(output.status.success(), "{}", transcript_of(&output));
    for (args, status, reason) in [
        (&list[..], 3, "cannot reach https://"),
        (&["issues", "list", "--tls-ca", "none.pem"], 2, "none.pem"),
        (&["issues", "list", "--tls-ca", "key.pem"], 2, "-----BEGIN CERTIFICATE-----"),
    ] {
        let output = server.run(args);
        let said = transcript_of(&output);
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.contains(reason), "{said}");
    }
    assert!(!server.log().contains("private key"), "{}", server.log());
    let (status, _) = server.terminate();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn an_unusable_certificate_ends_the_start_and_a_readable_key_is_said() {
    let workdir = Workdir::new();
    let key = workdir.serve().key.clone();
    write_files(&workdir);
    let serve = |certificate: &str, key: &str| {
        let flags = ["--tls-cert", certificate, "--tls-key", key];
        workdir.caseload(&[&["serve", "--listen", "127.0.0.1:0"], &flags[..]].concat())
    };
    for (certificate, key, reason) in [
        ("cert.pem", "other.pem", "does not belong to the first certificate in cert.pem"),
        ("none.pem", "key.pem", "cannot read none.pem"),
        ("key.pem", "key.pem", "key.pem has no certificate"),
        ("cert.pem", "ca.pem", "ca.pem has no private key"),
    ] {
        let output = serve(certificate, key).output().unwrap();
        let said = transcript_of(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
    }
    for (given, missing) in [("--tls-cert", "--tls-key"), ("--tls-key", "--tls-cert")] {
        let output = workdir.caseload(&["serve", given, "cert.pem"]).output().unwrap();
        let said = transcript_of(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(missing), "{said}");
    }
    set_permissions(workdir.path("key.pem"), Permissions::from_mode(0o644)).unwrap();
    let server = Server::spawn(&workdir, key, serve("cert.pem", "key.pem"));
    assert!(server.log().contains("chmod o-r key.pem"), "{}", server.log());
}

//! Tables of the rules of webhooks, and the laws of addresses. The signatures were computed by
//! other programs.

#![expect(clippy::unwrap_used, reason = "tests")]

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::error_code::ErrorCode;
use crate::time::UnixMillis;

#[test]
fn only_addresses_of_the_public_internet_are_public() {
    for public in [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.1",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2000::1",
        "2606:4700:4700::1111",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2003::1",
        "3fff:1000::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
        // A server at 8.8.8.8 and a client at 1.1.1.1.
        "2001:0:808:808:0:ffff:fefe:fefe",
    ] {
        assert!(is_public(public.parse().unwrap()), "{public}");
    }
    for other in [
        "0.0.0.0",
        "0.1.2.3",
        "10.255.255.255",
        "100.64.0.0",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::8.8.8.8",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::8.8.8.8",
        "100::1",
        "2001:2::1",
        "2001:10::1",
        "2001:1ff::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "2002:a00:1::1",
        // A server at 127.0.0.1; a client at 10.0.0.1.
        "2001:0:7f00:1:0:ffff:fefe:fefe",
        "2001:0:808:808:0:ffff:f5ff:fffe",
        "3fff::1",
        "4000::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!is_public(other.parse().unwrap()), "{other}");
    }
}

/// The judgement of the standard library, as far as it has one that is stable.
fn is_known_private(address: Ipv4Addr) -> bool {
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || address.is_unspecified()
}

proptest! {
    #[test]
    fn no_address_that_the_standard_library_calls_private_is_public(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        prop_assert!(!(is_public(address.into()) && is_known_private(address)));
    }

    #[test]
    fn an_address_inside_another_is_judged_as_alone(bits: u32, rest: u64) {
        let address = Ipv4Addr::from_bits(bits);
        let [high, low] = [(bits >> 16) as u16, bits as u16];
        let [a, b, c, d] = [0, 16, 32, 48].map(|shift| (rest >> shift) as u16);
        for outer in [
            address.to_ipv6_mapped(),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, a, b, c, d, 1),
            Ipv6Addr::new(0x2001, 0, 0x808, 0x808, a, b, !high, !low),
            Ipv6Addr::new(0x2001, 0, high, low, a, b, 0xfefe, 0xfefe),
        ] {
            prop_assert_eq!(is_public(IpAddr::V6(outer)), is_public(address.into()), "{}", outer);
        }
    }

    #[test]
    fn outside_of_the_public_part_of_ipv6_only_mapped_addresses_are_public(bits: u128) {
        let address = Ipv6Addr::from_bits(bits);
        let first = address.segments()[0];
        let outside = first >> 13 != 1 && first != 0 && first != 0x64;
        prop_assert!(!(outside && is_public(address.into())));
    }

    #[test]
    fn reading_a_url_never_fails_otherwise_than_with_a_fault(text in "\\PC{0,40}|https?://[\\[\\]0-9a-fx.:@/#]{0,30}") {
        match WebhookUrl::parse(&text, AddressRule::Public) {
            Ok(url) => {
                if let HostKind::Address(address) = url.host() {
                    prop_assert!(is_public(*address), "{}", url.as_str());
                }
            }
            Err(faults) => prop_assert!(!faults.is_empty()),
        }
    }
}

#[test]
fn urls_obey_the_rules_and_every_broken_rule_is_reported() {
    let faults = |text: &str, rule| WebhookUrl::parse(text, rule).err().unwrap_or_default();
    for good in [
        "https://example.com/hook",
        "http://example.com:8080/a?b=c",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]:8443/x",
        "https://bücher.example/",
    ] {
        assert_eq!(faults(good, AddressRule::Public), [""; 0], "{good}");
    }
    for (bad, words) in [
        ("", &["not a URL"][..]),
        ("example.com/hook", &["not a URL"]),
        ("ftp://example.com/", &["neither https nor http"]),
        ("https://user:secret@example.com/", &["a password"]),
        ("https://user@example.com/#a", &["user name", "a fragment"]),
        ("https://example.com:0/", &["port 0"]),
        ("https:///", &["not a URL"]),
        ("mailto:a@example.com", &["neither https nor http", "no host"]),
        ("https://exa\tmple.com/", &["blanks"]),
        (" https://example.com/", &["blanks"]),
        ("http://u@127.0.0.1/#x", &["user name", "a fragment", "127.0.0.1 is not on the public"]),
    ] {
        let found = faults(bad, AddressRule::Public);
        assert_eq!(found.len(), words.len(), "{bad}: {found:?}");
        for (fault, word) in found.iter().zip(words) {
            assert!(fault.contains(word), "{bad}: {fault}");
        }
    }
    let long = format!("https://example.com/{}", "a".repeat(URL_BYTES_MAX));
    assert!(faults(&long, AddressRule::All)[0].contains("at most 2048"));
}

#[test]
fn a_url_that_names_an_address_that_is_not_public_needs_the_operators_consent() {
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://0x7f.0.0.1/",
        "http://2130706433/",
        "http://017700000001/",
        "http://0/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://169.254.169.254/latest/meta-data",
        "http://localhost:8080/",
        "http://LOCALHOST./",
        "http://a.localhost/",
        "http://１２７.0.0.1/",
    ] {
        let found = WebhookUrl::parse(url, AddressRule::Public).err().unwrap_or_default();
        assert!(
            found.len() == 1 && found[0].contains("--webhook-allow-private"),
            "{url}: {found:?}"
        );
        assert!(WebhookUrl::parse(url, AddressRule::All).is_ok(), "{url}");
    }
}

fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn a_request_is_read_into_settings_and_an_edit_changes_only_its_fields() {
    let sent = pairs(&[
        ("url", "https://example.com/"),
        ("resources", "task,issue,task"),
        ("actions", "[\"completed\"]"),
        ("include_record", "true"),
    ]);
    let made = WebhookRequest::create(&sent, AddressRule::Public).unwrap();
    let expected = WebhookSettings {
        url: "https://example.com/".to_owned(),
        resources: vec![Resource::Issue, Resource::Task],
        actions: vec![ChangeAction::Completed],
        include_record: true,
        paused: false,
    };
    assert_eq!(made, expected);
    let edit = pairs(&[("actions", ""), ("resources", "[]"), ("paused", "1")]);
    let edit = WebhookRequest::edit(&edit, AddressRule::Public).unwrap();
    let empty = WebhookSettings { actions: Vec::new(), resources: Vec::new(), ..expected };
    let edited = WebhookSettings { paused: true, ..empty };
    assert_eq!(edit.apply(made), edited);
}

#[test]
fn all_faults_of_a_request_come_at_once() {
    let sent = pairs(&[
        ("url", "ftp://10.0.0.1/"),
        ("resources", "issue,ticket"),
        ("actions", "made"),
        ("include-record", "perhaps"),
        ("secret", "x"),
    ]);
    let faults = WebhookRequest::create(&sent, AddressRule::Public).unwrap_err();
    let found: Vec<_> = faults.iter().map(|fault| (&*fault.parameter, fault.code)).collect();
    let invalid = ErrorCode::InvalidValue;
    let expected = [
        ("secret", ErrorCode::UnknownParameter),
        ("url", invalid),
        ("resources", invalid),
        ("actions", invalid),
        ("include-record", invalid),
    ];
    assert_eq!(found.iter().filter(|fault| fault.0 != "url").count(), 4, "{faults:?}");
    for fault in expected {
        assert!(found.contains(&fault), "{fault:?} in {faults:?}");
    }
    let missing = WebhookRequest::create(&[], AddressRule::Public).unwrap_err();
    assert_eq!(missing[0].code, ErrorCode::MissingField);
}

/// Computed by the modules `hmac` and `standardwebhooks` (1.1.0) of Python, with the same result.
#[test]
fn signatures_are_those_of_the_specification() {
    let secrets = Secrets::new(Secret::new((0..32).collect()));
    let text = secrets.current.to_text();
    assert_eq!(text, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    let id = "msg_0123456789abcdef0123456789abcdef";
    let body = "{\"changes\":[{\"position\":\"7\",\"at\":1700000000000,\"resource\":\"issue\",\
                \"id\":\"42\",\"action\":\"updated\",\"fields\":[\"tïtle\"]}]}";
    let sign = |secrets: &Secrets, now| secrets.signatures(id, UnixMillis(now), body.as_bytes());
    let now = 1_700_000_000_999;
    let first = "v1,PnO76Z3R3+LZK108Ud3urqXX1j0hIPnsb+iPQjltHQM=";
    assert_eq!(sign(&secrets, now), first);

    let new = Secret::new((100..124).collect());
    let rotated = secrets.rotated(new, UnixMillis(now - ROTATION_OVERLAP_MS + 1));
    let second = "v1,dHIfq3GVoZMW24jhQKjY7cEiZJ6IaCSh0/WdsITbCVk=";
    assert_eq!(sign(&rotated, now), format!("{second} {first}"));
    let over =
        Secrets { previous: rotated.previous.map(|(old, _)| (old, UnixMillis(now))), ..rotated };
    assert_eq!(sign(&over, now), second, "the old secret has ended");
}

#[test]
fn a_secret_survives_its_text_and_is_not_in_debug_output() {
    for bytes in [24, 32] {
        let secret = Secret::new(vec![7; bytes]);
        assert_eq!(Secret::parse(&secret.to_text()), Ok(secret.clone()));
        assert_eq!(
            format!("{:?}", Secrets::new(secret)),
            "Secrets { current: Secret, previous: None }"
        );
    }
    for bad in ["", "whsec_", "whsec_AAAA", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "whsec_*"] {
        assert_eq!(Secret::parse(bad), Err(UnreadableSecret), "{bad}");
    }
}

#[test]
fn the_same_changes_have_the_same_message_id_and_others_another() {
    let id = message_id("hook-1", [1, 2]);
    assert_eq!(id, message_id("hook-1", [1, 2]));
    assert_eq!(id.len(), "msg_".len() + 32);
    for (hook, positions) in [("hook-2", &[1, 2][..]), ("hook-1", &[12]), ("hook-1", &[1, 2, 3])] {
        assert_ne!(id, message_id(hook, positions.iter().copied()), "{hook} {positions:?}");
    }
}

#[test]
fn failed_attempts_follow_the_schedule_and_then_pause() {
    let failed = AttemptEnd::NoAnswer { reason: "connection refused".to_owned() };
    let at = |failed_before| next_step(&failed, failed_before, UnixMillis(1000));
    let minutes = [5, 30, 120, 300, 600, 840, 1200, 1440];
    assert_eq!(at(0), NextStep::RetryAt(UnixMillis(6000)));
    for (failures, minutes) in (1..).zip(minutes) {
        assert_eq!(at(failures), NextStep::RetryAt(UnixMillis(1000 + minutes * 60_000)));
    }
    for failures in [9, u32::MAX] {
        let NextStep::Pause(reason) = at(failures) else { panic!("not paused") };
        assert!(
            reason.contains("10 attempts") && reason.contains("connection refused"),
            "{reason}"
        );
    }
}

#[test]
fn a_status_decides_about_the_next_step() {
    let step = |status| {
        let end = AttemptEnd::Answered { status, answer: String::new() };
        next_step(&end, 0, UnixMillis(0))
    };
    for status in [200, 201, 204, 299] {
        assert_eq!(step(status), NextStep::Advance, "{status}");
    }
    for status in [100, 199, 300, 302, 400, 404, 409, 411, 500, 503] {
        assert_eq!(step(status), NextStep::RetryAt(UnixMillis(5000)), "{status}");
    }
    assert!(matches!(step(410), NextStep::Pause(reason) if reason.contains("410")));
}

//! Tests of the base URL: by the host of a request, by the words of trusted proxies, and by the
//! operator's setting.

use std::net::IpAddr;

use axum::extract::Request;
use http::request::Parts;

use super::base::BaseUrl;
use super::own::OwnUrls;
use super::proxies::TrustedProxies;
use super::public::PublicUrl;
use crate::ApiConfig;
use crate::peer::PeerAddress;

const PROXY: &str = "10.0.0.7";

fn trusting(proxies: &[&str]) -> ApiConfig {
    let mut trusted_proxies = TrustedProxies::default();
    trusted_proxies.extend(proxies.iter().map(|proxy| proxy.parse().expect("a proxy")));
    ApiConfig { trusted_proxies, ..ApiConfig::default() }
}

fn parts(target: &str, peer: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (mut parts, ()) = request.body(()).expect("a request").into_parts();
    let peer: IpAddr = peer.parse().expect("an address");
    parts.extensions.insert(PeerAddress::new(peer));
    parts
}

fn base(config: &ApiConfig, peer: &str, headers: &[(&str, &str)]) -> String {
    BaseUrl::of(&parts("/", peer, headers), config).as_str().to_owned()
}

#[test]
fn a_usable_host_begins_links_and_any_other_leaves_them_paths() {
    for (host, url) in [
        ("desk.example", "http://desk.example"),
        ("Desk.Example:8080", "http://desk.example:8080"),
        ("127.0.0.1:1", "http://127.0.0.1:1"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("my_host", "http://my_host"),
        ("", ""),
        ("a,b", ""),
        ("a(b)", ""),
        ("%61", ""),
        ("a:99999", ""),
        ("[v1.x]", ""),
        ("a\"b", ""),
        ("a/b", ""),
        ("user@desk.example", ""),
        ("desk.example<script>", ""),
    ] {
        let config = ApiConfig::default();
        assert_eq!(base(&config, PROXY, &[("host", host)]), url, "{host}");
    }
    let config = ApiConfig::default();
    assert_eq!(base(&config, PROXY, &[]), "");
    assert_eq!(base(&config, PROXY, &[("host", "a"), ("host", "b")]), "");
    let absolute = parts("http://target.example:81/x", PROXY, &[("host", "other.example")]);
    assert_eq!(BaseUrl::of(&absolute, &config).as_str(), "http://target.example:81");
}

#[test]
fn the_words_of_proxies_count_only_if_they_are_trusted() {
    let forwarded = [
        ("host", "inner:8080"),
        ("forwarded", "for=1.2.3.4;host=\"desk.example:8443\";proto=https"),
    ];
    let x_forwarded = [
        ("host", "inner:8080"),
        ("x-forwarded-host", "desk.example"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-port", "8443"),
    ];
    for headers in [&forwarded[..], &x_forwarded] {
        for (proxies, url) in [
            (&[][..], "http://inner:8080"),
            (&["10.0.0.8"], "http://inner:8080"),
            (&["10.0.0.7"], "https://desk.example:8443"),
            (&["192.0.2.1", "10.0.0.0/8"], "https://desk.example:8443"),
            (&["::ffff:10.0.0.7"], "https://desk.example:8443"),
        ] {
            assert_eq!(base(&trusting(proxies), PROXY, headers), url, "{proxies:?}");
        }
        let mapped = base(&trusting(&["10.0.0.7"]), "::ffff:10.0.0.7", headers);
        assert_eq!(mapped, "https://desk.example:8443");
    }
}

#[test]
fn parts_of_the_callers_address_may_come_from_different_headers() {
    for (headers, url) in [
        (&[("x-forwarded-proto", "https")][..], "https://inner"),
        (&[("x-forwarded-proto", "HTTPS"), ("x-forwarded-port", "443")], "https://inner"),
        (&[("x-forwarded-proto", "http"), ("x-forwarded-port", "80")], "http://inner"),
        (&[("x-forwarded-proto", "https"), ("x-forwarded-port", "444")], "https://inner:444"),
        (&[("x-forwarded-host", "a.example:9"), ("x-forwarded-port", "8")], "http://a.example:9"),
        (
            &[("x-forwarded-host", "a.example"), ("x-forwarded-prefix", "/desk/")],
            "http://a.example/desk",
        ),
        (&[("x-forwarded-prefix", "//evil.example")], "http://inner"),
        (&[("x-forwarded-prefix", "/a\"b")], "http://inner"),
        (&[("forwarded", "proto=https")], "https://inner"),
        (&[("forwarded", "host=a.example"), ("x-forwarded-host", "b.example")], "http://a.example"),
        (
            &[("forwarded", "for=_hidden;by=x"), ("x-forwarded-host", "b.example")],
            "http://b.example",
        ),
        (&[("x-forwarded-host", "not a host")], ""),
        (&[("x-forwarded-host", "")], "http://inner"),
    ] {
        let headers = [&[("host", "inner")], headers].concat();
        assert_eq!(base(&trusting(&[PROXY]), PROXY, &headers), url, "{headers:?}");
    }
}

#[test]
fn a_chain_of_proxies_is_followed_as_far_as_it_is_trusted() {
    let chain = "for=6.6.6.6;host=evil.example, for=1.2.3.4;host=desk.example, \
                 for=\"[fd00::1]:4711\";host=middle";
    let x_chain = [
        ("x-forwarded-for", "6.6.6.6, 1.2.3.4, fd00::1"),
        ("x-forwarded-host", "evil.example, desk.example, middle"),
    ];
    for (proxies, url) in [
        (&[PROXY][..], "http://middle"),
        (&[PROXY, "fd00::/8"], "http://desk.example"),
        (&[PROXY, "fd00::/8", "1.2.3.4"], "http://evil.example"),
    ] {
        let config = trusting(proxies);
        assert_eq!(base(&config, PROXY, &[("forwarded", chain)]), url, "{proxies:?}");
        assert_eq!(base(&config, PROXY, &x_chain), url, "{proxies:?}");
    }
    // A proxy that sets the host, instead of appending to it.
    let set = [("x-forwarded-for", "1.2.3.4, fd00::1"), ("x-forwarded-host", "desk.example")];
    assert_eq!(base(&trusting(&[PROXY, "fd00::1"]), PROXY, &set), "http://desk.example");
}

fn public(text: &str) -> Result<String, String> {
    let url = text.parse::<PublicUrl>().map_err(|error| error.to_string())?;
    Ok(url.text().to_string())
}

#[test]
fn a_public_url_has_a_scheme_a_host_and_perhaps_a_path() {
    for (text, url) in [
        ("https://desk.example", "https://desk.example"),
        ("https://desk.example/", "https://desk.example"),
        ("HTTPS://Desk.Example:443/a/b/", "https://desk.example/a/b"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:8080/x y", "http://[::1]:8080/x%20y"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
    ] {
        assert_eq!(public(text).as_deref(), Ok(url));
    }
    for (text, reason) in [
        ("desk.example", "cannot be read"),
        ("ftp://desk.example", "another scheme"),
        ("https://key@desk.example", "a user name"),
        ("https://desk.example/?a", "a query"),
        ("https://desk.example/#a", "a query or a fragment"),
        ("https://", "cannot be read"),
        ("https://desk.example/it's", "percent-encoding"),
    ] {
        assert!(public(text).is_err_and(|error| error.contains(reason)), "{text}");
    }
}

#[test]
fn a_public_url_wins_over_every_header() {
    let mut config = trusting(&[PROXY]);
    config.public_url = Some("https://desk.example/x/".parse().expect("a URL"));
    for headers in [&[][..], &[("host", "b")], &[("host", "\""), ("x-forwarded-host", "c")]] {
        assert_eq!(base(&config, PROXY, headers), "https://desk.example/x");
    }
    let own = OwnUrls::of(&parts("/", PROXY, &[("host", "b:1")]), &config);
    assert_eq!(own.0, ["http://b:1", "https://desk.example/x"]);
}

#[test]
fn every_name_of_the_loopback_address_is_this_servers_own() {
    let config = ApiConfig::default();
    let own = |host| OwnUrls::of(&parts("/", PROXY, &[("host", host)]), &config);
    let all = ["http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost:8080"];
    for host in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST:8080"] {
        assert_eq!(own(host).0, all, "{host}");
    }
    assert_eq!(own("desk.example").0, ["http://desk.example"]);
    assert!(own("not a host").0.is_empty());
    let found = own("localhost:8080").occurring_in(br#"{"url":"http:\/\/127.0.0.1:8080\/v1"}"#);
    assert_eq!(found, ["http://127.0.0.1:8080"]);
    assert!(own("desk.example").occurring_in(b"desk").is_empty());
}

#[test]
fn the_base_url_is_inserted_at_every_position() {
    let base = BaseUrl::of(&parts("/", PROXY, &[("host", "h")]), &ApiConfig::default());
    assert_eq!(base.inserted(b"a/b/c".to_vec(), &[1, 3]), b"ahttp://h/bhttp://h/c");
    assert_eq!(base.inserted(b"a".to_vec(), &[]), b"a");
    assert_eq!(BaseUrl::default().inserted(b"a/".to_vec(), &[1]), b"a/");
}

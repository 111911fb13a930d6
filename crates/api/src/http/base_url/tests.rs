//! Tests of the base URL: by the host of a request, by the words of trusted proxies, and by the
//! operator's setting.

use std::net::IpAddr;

use axum::extract::Request;
use http::request::Parts;

use super::{BaseUrl, OwnUrls, PublicUrl, TrustedProxies};
use crate::config::ApiConfig;
use crate::http::peer::PeerAddress;

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

fn base_at(target: &str, config: &ApiConfig, headers: &[(&str, &str)]) -> String {
    let parts = parts(target, PROXY, headers);
    BaseUrl::of(&parts.uri, &parts.headers, &parts.extensions, config).to_string()
}

fn base(config: &ApiConfig, headers: &[(&str, &str)]) -> String {
    base_at("/", config, headers)
}

fn own(config: &ApiConfig, host: &str) -> OwnUrls {
    let parts = parts("/", PROXY, &[("host", host)]);
    OwnUrls::of(&parts.uri, &parts.headers, &parts.extensions, config)
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
        assert_eq!(base(&config, &[("host", host)]), url, "{host}");
    }
    let config = ApiConfig::default();
    assert_eq!(base(&config, &[]), "");
    for (target, url) in [
        ("http://target.example:81/x", "http://target.example:81"),
        ("http://user@target.example/x", ""),
    ] {
        assert_eq!(base_at(target, &config, &[("host", "other.example")]), url);
    }
}

#[test]
fn the_words_of_the_nearest_proxy_count_if_it_is_trusted() {
    for (headers, url) in [
        (&[][..], "http://inner:8080"),
        (
            &[("forwarded", "for=1.2.3.4;host=\"desk.example:8443\";proto=https")],
            "https://desk.example:8443",
        ),
        (
            &[("forwarded", "host=evil.example, for=1.2.3.4; Host=desk.example")],
            "http://desk.example",
        ),
        (&[("forwarded", "host=\"evil, for=1.2.3.4;host=desk.example")], "http://desk.example"),
        (&[("forwarded", "proto=https")], "https://inner:8080"),
        (&[("forwarded", "host=a.example"), ("x-forwarded-host", "b.example")], "http://a.example"),
        (
            &[("forwarded", "for=_hidden;by=x"), ("x-forwarded-host", "b.example")],
            "http://b.example",
        ),
        (
            &[("x-forwarded-host", "Desk.example"), ("x-forwarded-proto", "HTTPS")],
            "https://desk.example",
        ),
        (&[("x-forwarded-host", "evil.example, desk.example")], "http://desk.example"),
        (
            &[("x-forwarded-host", "evil.example"), ("x-forwarded-host", "desk.example")],
            "http://desk.example",
        ),
        (&[("x-forwarded-proto", "https")], "https://inner:8080"),
        (&[("x-forwarded-host", "")], "http://inner:8080"),
        (&[("x-forwarded-host", "not a host")], ""),
        (&[("x-forwarded-host", "desk.example<script>")], ""),
        (&[("forwarded", "host=\"a/b\"")], ""),
    ] {
        let headers = [&[("host", "inner:8080")], headers].concat();
        for proxies in [&[PROXY][..], &["192.0.2.1", "10.0.0.0/8"], &["::ffff:10.0.0.7"]] {
            assert_eq!(base(&trusting(proxies), &headers), url, "{headers:?}");
        }
        for proxies in [&[][..], &["10.0.0.8"]] {
            assert_eq!(base(&trusting(proxies), &headers), "http://inner:8080", "{headers:?}");
        }
    }
}

#[test]
fn the_client_is_the_nearest_address_that_is_not_a_trusted_proxy() {
    for (listed, client) in [
        ("", PROXY),
        ("6.6.6.6, 1.2.3.4", "1.2.3.4"),
        ("6.6.6.6, 1.2.3.4:80, [fd00::1]:4711, fd00::2", "1.2.3.4"),
        ("6.6.6.6, unknown, fd00::1", "fd00::1"),
    ] {
        let parts = parts("/", PROXY, &[("x-forwarded-for", listed)]);
        let found = |proxies: &[&str]| {
            let peer = PROXY.parse().expect("an address");
            trusting(proxies).trusted_proxies.client(&parts.headers, peer).to_string()
        };
        assert_eq!(found(&[PROXY, "fd00::/8"]), client, "{listed}");
        assert_eq!(found(&["fd00::/8"]), PROXY, "{listed}");
    }
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
        assert_eq!(base(&config, headers), "https://desk.example/x");
    }
    let authorities: Vec<String> = own(&config, "b:1").authorities().map(str::to_owned).collect();
    assert_eq!(authorities, ["b:1", "desk.example"]);
    let found = own(&config, "b:1").occurring_in(b"https://desk.example/x/v1");
    assert_eq!(found, ["https://desk.example/x"]);
}

#[test]
fn an_own_url_occurs_however_its_slashes_are_written() {
    let config = ApiConfig::default();
    let found = own(&config, "h:8080").occurring_in(br#"{"url":"http:\/\/h:8080\/v1"}"#);
    assert_eq!(found, ["http://h:8080"]);
    assert!(own(&config, "desk.example").occurring_in(b"desk").is_empty());
    assert!(own(&config, "not a host").occurring_in(b"not a host").is_empty());
}

#[test]
fn the_base_url_is_inserted_at_every_position() {
    let base = BaseUrl("http://h".into());
    assert_eq!(base.inserted(b"a/b/c".to_vec(), &[1, 3]), b"ahttp://h/bhttp://h/c");
    assert_eq!(base.inserted(b"a".to_vec(), &[]), b"a");
    assert_eq!(BaseUrl::default().inserted(b"a/".to_vec(), &[1]), b"a/");
}

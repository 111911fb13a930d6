//! Addresses that a server must not call, in a URL or as those of a name. The judgement
//! is repeated at each connection.

use std::collections::VecDeque;
use std::future::ready;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use caseload_model::change::Resource;
use caseload_model::webhook::{AddressRule, AttemptEnd, WebhookSettings};
use parking_lot::Mutex;
use reqwest::dns::Resolve as _;

use super::World;
use super::receiver::Receiver;
use crate::lookup::{Addresses, GuardedResolver, Lookup};
use crate::{SystemLookup, WebhookConfig};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(8, 8, 8, 8));

/// Gives these answers, one after another; the last one is repeated.
#[derive(Debug)]
struct Answers(Mutex<VecDeque<Vec<IpAddr>>>);

impl Answers {
    fn new(answers: impl IntoIterator<Item = Vec<IpAddr>>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(answers.into_iter().collect())))
    }
}

impl Lookup for Answers {
    fn addresses(&self, _: &str) -> Addresses {
        let mut answers = self.0.lock();
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(ready(Ok(next.unwrap_or_default())))
    }
}

/// The reason for which a receiver was not called, if it was not.
async fn refusal(config: WebhookConfig, url: &str, receiver: &Receiver) -> Option<String> {
    let world = World::new();
    world.store.add("hook", url, WebhookSettings::default());
    world.store.log(Resource::Issue, 1);
    let runner = world.run(config);
    let attempts = world.attempts("hook", 1).await;
    runner.stop().await;
    match &attempts[0].end {
        AttemptEnd::Answered { .. } => None,
        AttemptEnd::NoAnswer { reason } => {
            assert!(receiver.requests().is_empty(), "called in spite of {reason}");
            Some(reason.clone())
        }
    }
}

fn public_only(answers: impl IntoIterator<Item = Vec<IpAddr>>) -> WebhookConfig {
    let (addresses, lookup) = (AddressRule::Public, Answers::new(answers));
    WebhookConfig { addresses, lookup, ..World::config("a") }
}

#[tokio::test]
async fn a_name_with_one_address_that_is_not_public_is_not_called() {
    let receiver = Receiver::start([]).await;
    let url = format!("http://receiver.example:{}/", receiver.port);
    for addresses in [
        vec![LOOPBACK],
        vec![PUBLIC, LOOPBACK],
        vec![Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(), PUBLIC],
        vec![Ipv6Addr::LOCALHOST.into()],
    ] {
        let shown = format!("{addresses:?}");
        let reason = refusal(public_only([addresses]), &url, &receiver).await.expect(&shown);
        assert!(reason.contains("not on the public internet"), "{shown}: {reason}");
        assert!(!reason.contains("127.0.0.1"), "the network is not for callers: {reason}");
    }
    // The same name, if the operator allows it.
    let config = WebhookConfig { addresses: AddressRule::All, ..public_only([vec![LOOPBACK]]) };
    assert_eq!(refusal(config, &url, &receiver).await, None);
}

#[tokio::test]
async fn an_address_in_the_url_is_judged_at_sending_too() {
    let receiver = Receiver::start([]).await;
    for host in ["127.0.0.1", "0x7f.1", "[::ffff:127.0.0.1]", "localhost"] {
        let url = format!("http://{host}:{}/", receiver.port);
        let config = WebhookConfig { lookup: Arc::new(SystemLookup), ..public_only([]) };
        let reason = refusal(config, &url, &receiver).await.expect(host);
        assert!(reason.contains("--webhook-allow-private"), "{host}: {reason}");
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_judged_at_each_connection() {
    let lookup = Answers::new([vec![PUBLIC], vec![LOOPBACK]]);
    let resolver = GuardedResolver { lookup, rule: AddressRule::Public };
    let resolve = || resolver.resolve("rebinding.example".parse().unwrap());
    let found: Vec<IpAddr> = resolve().await.unwrap().map(|address| address.ip()).collect();
    assert_eq!(found, [PUBLIC], "the connection goes to the address that was judged");
    assert!(resolve().await.is_err());
}

#[tokio::test]
async fn a_name_without_an_address_is_the_reason() {
    let receiver = Receiver::start([]).await;
    let config = WebhookConfig { lookup: Arc::new(SystemLookup), ..public_only([]) };
    let reason = refusal(config, "http://no-such-name.invalid/", &receiver).await.unwrap();
    assert!(reason.contains("cannot be resolved"), "{reason}");
}

//! Sends one delivery and waits for its answer. One deadline covers finding the name, connecting,
//! sending, and the status. The status decides; of the body only the beginning is read,
//! and only for a moment, so that an endless answer costs nothing.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use caseload_model::time::UnixMillis;
use caseload_model::webhook::{
    ANSWER_BYTES_MAX, AddressRule, AttemptEnd, Secrets, WebhookUrl, webhook_timestamp,
};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response, redirect};
use tokio::time::{Instant, timeout, timeout_at};

use crate::config::WebhookConfig;
use crate::lookup::{GuardedResolver, NotResolved};

/// How long to wait for the body of an answer once its status is known.
const BODY_WAIT_MAX: Duration = Duration::from_secs(2);
/// How long a connection remains for the next delivery to the same host.
const POOL_IDLE_MAX: Duration = Duration::from_secs(30);

/// Sends deliveries. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    resolver: GuardedResolver,
    /// Made for the first delivery, or at the start.
    http: Arc<OnceLock<Client>>,
    rule: AddressRule,
    answer_within: Duration,
}

/// A delivery to send.
#[derive(Debug)]
pub(crate) struct Delivery<'d> {
    pub(crate) url: &'d str,
    pub(crate) message_id: &'d str,
    pub(crate) secrets: &'d Secrets,
    pub(crate) now: UnixMillis,
    pub(crate) body: Vec<u8>,
}

impl Sender {
    pub(crate) fn new(config: &WebhookConfig) -> reqwest::Result<Self> {
        let resolver = GuardedResolver { lookup: config.lookup.clone(), rule: config.addresses };
        let (rule, answer_within) = (config.addresses, config.answer_within);
        let sender = Self { resolver, http: Arc::default(), rule, answer_within };
        if !config.begins_late {
            sender.client()?;
        }
        Ok(sender)
    }

    /// The client, which reads the trusted certificates of the system when it is made.
    fn client(&self) -> reqwest::Result<Client> {
        if let Some(client) = self.http.get() {
            return Ok(client.clone());
        }
        // Fails if the process has chosen already, and leaves that choice as it is.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(self.resolver.clone()))
            .pool_max_idle_per_host(1)
            .pool_idle_timeout(POOL_IDLE_MAX)
            .user_agent(concat!("caseload/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(self.http.get_or_init(|| client).clone())
    }

    /// Sends a delivery; returns how it ended, within the deadline and the wait for a body.
    pub(crate) async fn send(&self, delivery: Delivery<'_>) -> AttemptEnd {
        let Delivery { url, message_id, secrets, now, body } = delivery;
        // Again, because the operator may have changed the rule since the URL was accepted.
        let url = match WebhookUrl::parse(url, self.rule) {
            Ok(url) => url,
            Err(faults) => return no_answer(faults.join("; ")),
        };
        let deadline = Instant::now() + self.answer_within;
        let client = match self.client() {
            Ok(client) => client,
            Err(error) => return no_answer(reason(&error)),
        };
        let request = client
            .post(url.as_str())
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", message_id)
            .header("webhook-timestamp", webhook_timestamp(now))
            .header("webhook-signature", secrets.signatures(message_id, now, &body))
            .body(body);
        match timeout_at(deadline, request.send()).await {
            Ok(Ok(response)) => {
                let status = response.status().as_u16();
                AttemptEnd::Answered { status, answer: beginning(response).await }
            }
            Ok(Err(error)) => no_answer(reason(&error)),
            Err(_) => no_answer(format!(
                "the receiver did not answer within {} s",
                self.answer_within.as_secs_f32()
            )),
        }
    }

    /// The longest time that [`Sender::send`] takes.
    pub(crate) const fn time_max(&self) -> Duration {
        self.answer_within.saturating_add(BODY_WAIT_MAX)
    }
}

fn no_answer(reason: String) -> AttemptEnd {
    AttemptEnd::NoAnswer { reason }
}

/// The beginning of an answer, as far as it comes soon.
async fn beginning(mut response: Response) -> String {
    let mut read = Vec::new();
    let more = async {
        while read.len() < ANSWER_BYTES_MAX {
            let Ok(Some(piece)) = response.chunk().await else { break };
            let room = ANSWER_BYTES_MAX - read.len();
            read.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    };
    // What came before the time was over counts.
    let _ = timeout(BODY_WAIT_MAX, more).await;
    String::from_utf8_lossy(&read).into_owned()
}

/// Why there was no answer, as far as the receiver's owner can do something about it.
fn reason(error: &reqwest::Error) -> String {
    let mut root: &dyn Error = error;
    while let Some(source) = root.source() {
        root = source;
    }
    if root.is::<NotResolved>() {
        return format!("the receiver cannot be called: {root}");
    }
    let what = if error.is_connect() { "cannot be reached" } else { "gave no answer" };
    format!("the receiver {what}: {root}")
}

//! One server, one domain, one key: this module builds and sends requests. It repeats a read that
//! the server puts off (429, or 503 with `Retry-After`) a few times, after the wait that the server
//! asks for. It never repeats a call that writes. The key travels as the user name of Basic
//! authentication with an empty password, as the specification of the issue API requires.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use caseload_model::ids::DomainName;
use reqwest::header::RETRY_AFTER;
use reqwest::{Method, RequestBuilder, Response, StatusCode, redirect};
use url::{Host, Url};

use crate::body::Body;
use crate::error::{ClientError, error_of_answer, transport_error};

/// How long connecting may take.
const CONNECT_SECONDS: u64 = 10;
/// A call without a received byte for this long fails.
const SILENCE_SECONDS: u64 = 300;
/// How often a read is sent at most.
const TRIES_MAX: u32 = 6;
/// The longest wait between two tries.
const RETRY_WAIT_SECONDS_MAX: u64 = 60;

/// Calls one domain of one server with one API key. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    /// The server's address, without a trailing slash.
    base: String,
    domain: DomainName,
    api_key: String,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.base)
            .field("domain", &self.domain.as_str())
            .field("api_key", &"(secret)")
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the server at `url`. It sends nothing yet.
    pub fn new(url: &str, domain: &str, api_key: &str) -> Result<Self, ClientError> {
        let address = parse_url(url)?;
        let domain = DomainName::parse(domain)?;
        let sendable = |c: char| !c.is_control() && c != ':';
        if api_key.is_empty() || !api_key.chars().all(sendable) {
            return Err(ClientError::InvalidKey);
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("caseload-client/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(CONNECT_SECONDS))
            .read_timeout(Duration::from_secs(SILENCE_SECONDS))
            .redirect(redirect::Policy::none());
        if is_loopback(&address) {
            builder = builder.no_proxy();
        }
        if address.scheme() == "http" {
            // Plain HTTP needs no certificates, and a machine may have none.
            builder = builder.tls_certs_only([]);
        }
        let base = address.as_str().trim_end_matches('/').to_owned();
        let http = builder.build().map_err(|error| transport_error(&base, &error))?;
        Ok(Self { http, base, domain, api_key: api_key.to_owned() })
    }

    /// The server's address.
    pub fn url(&self) -> &str {
        &self.base
    }

    pub fn domain(&self) -> &DomainName {
        &self.domain
    }

    /// The URL of `rest` below `/{version}/{domain}/`.
    pub(crate) fn path(&self, version: &str, rest: &str) -> String {
        format!("{}/{version}/{}/{rest}", self.base, self.domain)
    }

    pub(crate) fn request(&self, method: Method, url: &str) -> RequestBuilder {
        self.http.request(method, url).basic_auth(&self.api_key, Some(""))
    }

    /// Sends a read, and again if the server puts it off. Returns the body as it arrives.
    pub(crate) async fn read(
        &self,
        url: &str,
        accept: &str,
        query: &[(&str, &str)],
    ) -> Result<Body, ClientError> {
        let mut tries = 1;
        loop {
            let mut request = self.request(Method::GET, url).header("accept", accept);
            if !query.is_empty() {
                request = request.query(query);
            }
            let sent = request.send().await;
            let response = sent.map_err(|error| transport_error(&self.base, &error))?;
            if response.status().is_success() {
                return Ok(Body::new(self.base.clone(), response));
            }
            match retry_wait(&response) {
                Some(wait) if tries < TRIES_MAX => tokio::time::sleep(wait).await,
                _ => return Err(self.refusal(response).await),
            }
            tries += 1;
        }
    }

    /// Sends a read and collects its body.
    pub(crate) async fn read_all(
        &self,
        url: &str,
        query: &[(&str, &str)],
    ) -> Result<Bytes, ClientError> {
        let mut body = self.read(url, "application/json", query).await?;
        let mut all = Vec::new();
        while let Some(chunk) = body.chunk().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all.into())
    }

    /// Sends a request that writes, once, and collects the body of the answer.
    pub(crate) async fn write(&self, request: RequestBuilder) -> Result<Bytes, ClientError> {
        let sent = request.send().await;
        let response = sent.map_err(|error| transport_error(&self.base, &error))?;
        if response.status().is_success() {
            return response.bytes().await.map_err(|error| transport_error(&self.base, &error));
        }
        Err(self.refusal(response).await)
    }

    pub(crate) fn unexpected(&self, reason: impl fmt::Display) -> ClientError {
        ClientError::Unexpected { url: self.base.clone(), reason: reason.to_string() }
    }

    async fn refusal(&self, response: Response) -> ClientError {
        let status = response.status();
        if status.is_redirection() {
            let target = response.headers().get("location").and_then(|to| to.to_str().ok());
            let target = target.unwrap_or("another address");
            return self.unexpected(format!("{} leads to {target}", status.as_u16()));
        }
        let body = response.bytes().await.unwrap_or_default();
        error_of_answer(&self.base, status.as_u16(), &body)
    }
}

/// How long to wait before sending the same read again; `None` if the answer will not change.
fn retry_wait(response: &Response) -> Option<Duration> {
    let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let wanted = header.and_then(|value| value.trim().parse::<u64>().ok());
    let seconds = match response.status() {
        StatusCode::TOO_MANY_REQUESTS => wanted.unwrap_or(1),
        StatusCode::SERVICE_UNAVAILABLE => wanted?,
        _ => return None,
    };
    (seconds <= RETRY_WAIT_SECONDS_MAX).then(|| Duration::from_secs(seconds.max(1)))
}

fn parse_url(text: &str) -> Result<Url, ClientError> {
    let invalid =
        |reason: &str| ClientError::InvalidUrl { url: text.to_owned(), reason: reason.to_owned() };
    let url = Url::parse(text).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => invalid("it begins with http:// or https://"),
        _ => invalid(&error.to_string()),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("it begins with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // The error leaves the address out, because the address holds a secret.
        return Err(ClientError::InvalidUrl {
            url: format!("{}://…", url.scheme()),
            reason: "a name and a password do not belong here; the API key has its own place"
                .into(),
        });
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid("it has neither a query nor a fragment"));
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_before_anything_is_sent() {
        for (url, reason) in [
            ("localhost:8080", "begins with http:// or https://"),
            ("127.0.0.1:8080", "begins with http:// or https://"),
            ("ftp://host", "begins with http:// or https://"),
            ("http://host/?a=b", "neither a query nor a fragment"),
            ("http://key:@host", "the API key has its own place"),
        ] {
            let error = Client::new(url, "acme", "key").unwrap_err().to_string();
            assert!(error.contains(reason), "{url}: {error}");
        }
    }

    #[test]
    fn a_slash_at_the_end_of_the_address_and_a_path_before_it_are_fine() {
        for (url, base) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            ("https://example.org/support/", "https://example.org/support"),
        ] {
            assert_eq!(parse_url(url).unwrap().as_str().trim_end_matches('/'), base);
        }
        let client = Client::new("http://127.0.0.1:1/x/", "acme", "key").unwrap();
        assert_eq!(client.path("v1", "issues"), "http://127.0.0.1:1/x/v1/acme/issues");
    }

    #[test]
    fn the_key_shows_in_no_debug_output_and_in_no_error() {
        let client = Client::new("http://127.0.0.1:1", "acme", "topsecret").unwrap();
        assert!(!format!("{client:?}").contains("topsecret"));
        for key in ["", "topsecret\n", "topsecret:"] {
            let error = Client::new("http://127.0.0.1:1", "acme", key).unwrap_err();
            assert!(!format!("{error:?} {error}").contains("topsecret"));
        }
        let error = Client::new("http://topsecret@host", "acme", "k").unwrap_err();
        assert!(!format!("{error:?} {error}").contains("topsecret"));
    }
}

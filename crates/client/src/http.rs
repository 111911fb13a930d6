//! One server, one domain, one key: this module builds and sends requests. It repeats a read that
//! the server puts off (429, or 503 with `Retry-After`) a few times, after the wait that the server
//! asks for. Of the calls that write it repeats only those with an idempotency key. The listener of
//! the client learns of each wait. The key travels as the user name of Basic
//! authentication with an empty password, as the specification of the issue API requires.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use caseload_model::ids::DomainName;
use reqwest::header::RETRY_AFTER;
use reqwest::{Certificate, Method, RequestBuilder, Response, StatusCode, redirect};
use url::{Host, Url};

use crate::body::Body;
use crate::error::{ClientError, error_of_answer, transport_error};

/// How long connecting may take.
const CONNECT_SECONDS: u64 = 10;
/// A call without a received byte for this long fails, and an upload without a sent one.
pub(crate) const SILENCE_MAX: Duration = Duration::from_mins(5);
/// How often a read is sent at most.
const TRIES_MAX: u32 = 6;
/// The longest wait between two tries.
const RETRY_WAIT_SECONDS_MAX: u64 = 60;
/// The same for a write that the server puts off because of a limit on requests or tasks.
const LIMIT_WAIT_SECONDS_MAX: u64 = 3600;

/// The header of an answer that an earlier request with the same idempotency key had.
const REPLAYED: &str = "idempotent-replayed";

/// Called before each wait, with the refusal and the time to wait.
type WaitListener = dyn Fn(&ClientError, Duration) + Send + Sync;

/// Calls one domain of one server with one API key. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    /// For files: an answer comes only when the whole file has arrived.
    uploads: reqwest::Client,
    /// The server's address, without a trailing slash.
    base: String,
    domain: DomainName,
    api_key: String,
    waits: Option<Arc<WaitListener>>,
}

/// The answer to a call that writes.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) body: Bytes,
    /// An earlier request with the same idempotency key had this answer.
    pub(crate) replayed: bool,
    /// The answer is something that exists already.
    pub(crate) is_existing: bool,
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

/// A builder of HTTP clients, for programs that send requests of their own, too. Only this crate
/// chooses who computes TLS for them.
pub fn client_builder() -> reqwest::ClientBuilder {
    // Fails if the process has chosen already, and leaves that choice as it is.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
}

impl Client {
    /// A client of the server at `url`. It sends nothing yet.
    pub fn new(url: &str, domain: &str, api_key: &str) -> Result<Self, ClientError> {
        Self::build(url, domain, api_key, None)
    }

    /// The same, of a server whose certificate one of these authorities has signed, in PEM format.
    /// It trusts no other.
    pub fn trusting(
        url: &str,
        domain: &str,
        api_key: &str,
        authorities: &[u8],
    ) -> Result<Self, ClientError> {
        Self::build(url, domain, api_key, Some(&certificates(authorities)?))
    }

    fn build(
        url: &str,
        domain: &str,
        api_key: &str,
        authorities: Option<&[Certificate]>,
    ) -> Result<Self, ClientError> {
        let address = parse_url(url)?;
        let domain = DomainName::parse(domain)?;
        let sendable = |c: char| !c.is_control() && c != ':';
        if api_key.is_empty() || !api_key.chars().all(sendable) {
            return Err(ClientError::InvalidKey);
        }
        let base = address.as_str().trim_end_matches('/').to_owned();
        let build = |builder: reqwest::ClientBuilder| {
            builder.build().map_err(|error| transport_error(&base, &error))
        };
        let http = build(builder_for(&address, authorities).read_timeout(SILENCE_MAX))?;
        let uploads = build(builder_for(&address, authorities))?;
        Ok(Self { http, uploads, base, domain, api_key: api_key.to_owned(), waits: None })
    }

    /// Sets a listener that learns of each wait between two tries of a request: why the server put
    /// it off, and how long the client waits.
    #[must_use]
    pub fn on_wait(
        mut self,
        listener: impl Fn(&ClientError, Duration) + Send + Sync + 'static,
    ) -> Self {
        self.waits = Some(Arc::new(listener));
        self
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

    /// A request whose body may take any time.
    pub(crate) fn upload(&self, url: &str) -> RequestBuilder {
        self.uploads.post(url).basic_auth(&self.api_key, Some(""))
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
            let request = self.request(Method::GET, &with_query(url, query));
            let sent = request.header("accept", accept).send().await;
            let response = sent.map_err(|error| transport_error(&self.base, &error))?;
            if response.status().is_success() {
                return Ok(Body::new(self.base.clone(), response));
            }
            let refused = self.refused(response).await;
            match refused.wait_of_read(tries) {
                Some(wait) => self.wait(&refused.error, wait).await,
                None => return Err(refused.error),
            }
            tries += 1;
        }
    }

    pub(crate) async fn wait(&self, refusal: &ClientError, wait: Duration) {
        if let Some(listener) = &self.waits {
            listener(refusal, wait);
        }
        tokio::time::sleep(wait).await;
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
    pub(crate) async fn write(&self, request: RequestBuilder) -> Result<Written, ClientError> {
        self.written(request).await?.map_err(|refused| refused.error)
    }

    /// Sends a request with an idempotency key, and again if the server puts it off. `request`
    /// makes each try.
    pub(crate) async fn write_again(
        &self,
        request: impl Fn() -> Result<RequestBuilder, ClientError>,
    ) -> Result<Written, ClientError> {
        let mut tries = 1;
        loop {
            let refused = match self.written(request()?).await? {
                Ok(written) => return Ok(written),
                Err(refused) => refused,
            };
            match refused.wait_of_write(tries) {
                Some(wait) => self.wait(&refused.error, wait).await,
                None => return Err(refused.error),
            }
            tries += 1;
        }
    }

    pub(crate) async fn written(
        &self,
        request: RequestBuilder,
    ) -> Result<Result<Written, Refused>, ClientError> {
        let sent = request.send().await;
        let response = sent.map_err(|error| transport_error(&self.base, &error))?;
        if !response.status().is_success() {
            return Ok(Err(self.refused(response).await));
        }
        let replayed = response.headers().get(REPLAYED).is_some_and(|value| value == "true");
        let is_existing = response.status() == StatusCode::OK;
        let body = response.bytes().await;
        let body = body.map_err(|error| transport_error(&self.base, &error))?;
        Ok(Ok(Written { body, replayed, is_existing }))
    }

    pub(crate) fn unexpected(&self, reason: impl fmt::Display) -> ClientError {
        let (url, reason) = (self.base.clone(), reason.to_string());
        ClientError::Unexpected { url, status: None, reason }
    }

    async fn refused(&self, response: Response) -> Refused {
        let status = response.status();
        let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = header.and_then(|value| value.trim().parse().ok());
        let error = if status.is_redirection() {
            let target = response.headers().get("location").and_then(|to| to.to_str().ok());
            let target = target.unwrap_or("another address");
            self.unexpected(format!("{} leads to {target}", status.as_u16()))
        } else {
            let body = response.bytes().await.unwrap_or_default();
            error_of_answer(&self.base, status.as_u16(), &body)
        };
        Refused { status, retry_after, error }
    }
}

/// An unsuccessful answer.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    /// The header `Retry-After`, in seconds.
    retry_after: Option<u64>,
    pub(crate) error: ClientError,
}

impl Refused {
    /// How long to wait before sending the same read again; `None` if the answer will not change,
    /// or after too many tries.
    fn wait_of_read(&self, tries: u32) -> Option<Duration> {
        let seconds = match self.status {
            StatusCode::TOO_MANY_REQUESTS => self.retry_after.unwrap_or(1),
            StatusCode::SERVICE_UNAVAILABLE => self.retry_after?,
            _ => return None,
        };
        let may = tries < TRIES_MAX && seconds <= RETRY_WAIT_SECONDS_MAX;
        may.then(|| Duration::from_secs(seconds.max(1)))
    }

    /// The same for a write with an idempotency key. A limit on requests or tasks, and a first
    /// request that is still being answered, end some time, so the number of tries has no limit.
    pub(crate) fn wait_of_write(&self, tries: u32) -> Option<Duration> {
        let passes = match self.status {
            StatusCode::TOO_MANY_REQUESTS => true,
            StatusCode::CONFLICT => self.error.code() == Some("idempotency_in_progress"),
            _ => return self.wait_of_read(tries),
        };
        let seconds = self.retry_after.unwrap_or(1);
        let may = passes && seconds <= LIMIT_WAIT_SECONDS_MAX;
        may.then(|| Duration::from_secs(seconds.max(1)))
    }
}

/// The certificates of authorities in PEM format.
pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<Certificate>, ClientError> {
    let found = Certificate::from_pem_bundle(pem).unwrap_or_default();
    if found.is_empty() { Err(ClientError::InvalidAuthorities) } else { Ok(found) }
}

pub(crate) fn builder_for(
    address: &Url,
    authorities: Option<&[Certificate]>,
) -> reqwest::ClientBuilder {
    let mut builder = client_builder()
        .user_agent(concat!("caseload-client/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(CONNECT_SECONDS))
        .http1_only()
        .redirect(redirect::Policy::none());
    if is_loopback(address) {
        builder = builder.no_proxy();
    }
    if address.scheme() == "http" {
        // Plain HTTP needs no certificates, and a machine may have none.
        builder = builder.tls_certs_only([]);
    } else if let Some(authorities) = authorities {
        builder = builder.tls_certs_only(authorities.iter().cloned());
    }
    builder
}

pub(crate) fn parse_url(text: &str) -> Result<Url, ClientError> {
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

/// The address with these parameters. A blank is `%20`, because the API reads a plus in an identity
/// as that of a phone number.
fn with_query(url: &str, query: &[(&str, &str)]) -> String {
    match Url::parse_with_params(url, query) {
        Ok(mut whole) if !query.is_empty() => {
            let text = whole.query().map(|text| text.replace('+', "%20"));
            whole.set_query(text.as_deref());
            whole.into()
        }
        // If the address is not a URL, the error comes when the request is sent.
        _ => url.to_owned(),
    }
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

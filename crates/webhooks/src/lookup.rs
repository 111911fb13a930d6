//! The addresses of a receiver's name. They are judged here, at each new connection, and the
//! connection goes to the judged addresses: the owner of a name may change its addresses between
//! any earlier look and the connection. A name with one address that is not allowed is refused.

use std::fmt::{self, Debug};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use caseload_model::webhook::AddressRule;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The addresses of a name, some time later.
pub type Addresses = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Finds the addresses of names.
pub trait Lookup: Debug + Send + Sync + 'static {
    fn addresses(&self, name: &str) -> Addresses;
}

/// Asks the system.
#[derive(Debug, Clone, Copy)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn addresses(&self, name: &str) -> Addresses {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Finds addresses for the HTTP client, and only allowed ones.
#[derive(Debug, Clone)]
pub(crate) struct GuardedResolver {
    pub(crate) lookup: Arc<dyn Lookup>,
    pub(crate) rule: AddressRule,
}

/// Why a name has no address to connect to. It names no address: callers see the text, and
/// the names of an internal network are not for them.
#[derive(Debug)]
pub(crate) enum NotResolved {
    NotPublic,
    Unknown(io::Error),
}

impl fmt::Display for NotResolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPublic => f.write_str(
                "its name resolves to an address that is not on the public internet; the server \
                 calls none unless it runs with --webhook-allow-private",
            ),
            Self::Unknown(error) => write!(f, "its name cannot be resolved: {error}"),
        }
    }
}

impl std::error::Error for NotResolved {}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (rule, name) = (self.rule, name.as_str().to_owned());
        let found = self.lookup.addresses(&name);
        Box::pin(async move {
            let found = found.await.map_err(NotResolved::Unknown)?;
            if let Some(refused) = found.iter().find(|address| !rule.allows(**address)) {
                tracing::info!(name, %refused, "the address of a webhook's receiver is refused");
                return Err(NotResolved::NotPublic.into());
            }
            // The client puts the port of the URL in place of 0.
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            let addresses: Addrs = Box::new(addresses);
            Ok(addresses)
        })
    }
}

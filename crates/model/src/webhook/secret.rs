//! The secret of a webhook and the signatures by which a receiver recognises the server, as the
//! specification Standard Webhooks defines them. After a rotation the new and the old secret sign
//! for a day, so that the receiver may change its copy at any time of it. A second rotation within
//! the day ends the oldest secret. Invariant: `Debug` output shows no secret.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::time::{DAY_MS, UnixMillis};

/// The bytes of a new secret.
pub const SECRET_BYTES: usize = 32;
/// The bytes of a secret that is read.
const SECRET_BYTES_READ: std::ops::RangeInclusive<usize> = 24..=SECRET_BYTES;
/// How long the secret before the last rotation signs, too.
pub const ROTATION_OVERLAP_MS: i64 = DAY_MS;

const PREFIX: &str = "whsec_";

/// A key that signs deliveries.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

/// A text that is not a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a secret is whsec_ and the base64 of 24 to 32 bytes")]
pub struct UnreadableSecret;

impl Secret {
    /// A new secret, of random bytes.
    pub const fn new(random: Vec<u8>) -> Self {
        Self(random)
    }

    /// Reads the text that callers see.
    pub fn parse(text: &str) -> Result<Self, UnreadableSecret> {
        let bytes = text.strip_prefix(PREFIX).and_then(|encoded| STANDARD.decode(encoded).ok());
        let bytes = bytes.filter(|bytes| SECRET_BYTES_READ.contains(&bytes.len()));
        bytes.map(Self).ok_or(UnreadableSecret)
    }

    /// The text that the caller sees once.
    pub fn to_text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    /// The bytes that a store has.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// `v1,` and the base64 of the HMAC of id, time and body.
    fn signature(&self, id: &str, at_seconds: i64, body: &[u8]) -> String {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(format!("{id}.{at_seconds}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The secrets that sign the deliveries of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secrets {
    pub current: Secret,
    /// The one before the last rotation, and when it ends.
    pub previous: Option<(Secret, UnixMillis)>,
}

impl Secrets {
    pub const fn new(current: Secret) -> Self {
        Self { current, previous: None }
    }

    /// The secrets after a rotation.
    #[must_use]
    pub fn rotated(self, new: Secret, now: UnixMillis) -> Self {
        let until = UnixMillis(now.0.saturating_add(ROTATION_OVERLAP_MS));
        Self { current: new, previous: Some((self.current, until)) }
    }

    /// The header `webhook-signature`: one signature for each secret that signs at `now`.
    pub fn signatures(&self, id: &str, now: UnixMillis, body: &[u8]) -> String {
        let at_seconds = webhook_timestamp(now);
        let mut header = self.current.signature(id, at_seconds, body);
        if let Some((previous, until)) = &self.previous
            && now < *until
        {
            header.push(' ');
            header.push_str(&previous.signature(id, at_seconds, body));
        }
        header
    }
}

/// The header `webhook-timestamp`: seconds.
pub const fn webhook_timestamp(at: UnixMillis) -> i64 {
    at.0.div_euclid(1000)
}

/// The header `webhook-id` of a delivery of these changes. The same changes always have the same
/// id, so that a receiver may drop a repetition; other changes have another one, so that it drops
/// nothing else.
pub fn message_id(webhook_id: &str, positions: impl IntoIterator<Item = u64>) -> String {
    use std::fmt::Write as _;
    let mut hash = Sha256::new_with_prefix(webhook_id.as_bytes());
    for position in positions {
        hash.update(b"\0");
        hash.update(position.to_string());
    }
    let mut id = "msg_".to_owned();
    for byte in &hash.finalize()[..16] {
        let _ = write!(id, "{byte:02x}");
    }
    id
}

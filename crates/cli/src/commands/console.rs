//! `caseload console`: a link that signs a browser in to the console of a running server. It works
//! once and for a minute, so that it may be seen on a screen or in a log. Each link has a key of
//! its own, which ends with the session, and with which the session can be revoked.

use caseload_location::StoreLocation;
use caseload_model::key::Access;
use caseload_model::time::UnixMillis;
use caseload_store::{CreateSession, Domain, SessionKind, Store};
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::key::make_key;
use super::session::{domain_named, origin, with_store};
use crate::args::DomainArgs;
use crate::clock::now;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, note};
use crate::secret::{hash_of_key, random_bytes};

/// How long a link works.
const LINK_SECONDS: i64 = 60;
/// How long the key of a link works: as long as a session.
const KEY_HOURS: i64 = 8;

#[derive(Debug, Args)]
pub(crate) struct ConsoleArgs {
    #[command(flatten)]
    domain: DomainArgs,
    /// Address under which your browser reaches the server
    #[arg(long, env = "CASELOAD_URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// Access of the session: write includes read, admin includes write
    #[arg(long, default_value = "admin",
          value_parser = PossibleValuesParser::new(["read", "write", "admin"]))]
    access: String,
}

pub(crate) fn run(args: &ConsoleArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let access = Access::parse(&args.access).unwrap_or(Access::Read);
    let link = with_store(&args.domain.store.store, async |store| {
        let domain = domain_named(store.as_ref(), &args.domain.domain).await?;
        link(store.as_ref(), &domain, access, &args.url, "console").await
    })?;
    note(format_args!(
        "this link works once, for {LINK_SECONDS} s, and signs in for {KEY_HOURS} h"
    ));
    printer.line(link)?;
    Ok(Done::Good)
}

/// Makes a link to the console of the server at `url`, for the command with this name.
pub(crate) async fn link(
    store: &dyn Store,
    domain: &Domain,
    access: Access,
    url: &str,
    command: &str,
) -> Result<String, Failure> {
    let span = KEY_HOURS * 3_600_000;
    let (key_id, _) =
        make_key(store, domain, access, "console", Some(span), origin(command)).await?;
    let (code, now) = (hex::encode(random_bytes::<32>()?), now());
    let command = CreateSession {
        domain: domain.id,
        hash: hash_of_key(&code),
        key_id,
        kind: SessionKind::Code,
        now,
        expires_at: UnixMillis(now.0 + LINK_SECONDS * 1000),
    };
    store.create_session(command).await?;
    Ok(format!("{}/console/#code={code}", url.trim_end_matches('/')))
}

/// The command that prints a link to the console of the server at `url`. A password in the location
/// of the store is not part of it.
pub(crate) fn next_link(domain: &str, url: &str, store: &StoreLocation) -> String {
    let store = for_shell(store.to_string());
    format!("caseload console --domain {domain} --url {url} --store {store}")
}

/// A text as one word of a POSIX shell.
fn for_shell(text: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/:._-@,+%=".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_word_of_a_shell() {
        for (text, word) in [
            ("sqlite:caseload-data/demo.db", "sqlite:caseload-data/demo.db"),
            ("sqlite:my data.db", "'sqlite:my data.db'"),
            ("sqlite:it's$HOME", "'sqlite:it'\\''s$HOME'"),
        ] {
            assert_eq!(for_shell(text.to_owned()), word);
        }
    }
}

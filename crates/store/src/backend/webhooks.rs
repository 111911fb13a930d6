//! Webhooks, for every backend. The rules are in [`crate::webhooks`].

use std::collections::BTreeMap;

use caseload_model::ids::DomainId;
use caseload_model::webhook::{Attempt, Secret};

use super::Backend;
use crate::webhooks::{self as rules, DueWebhook};
use crate::{
    Admin as _, ClaimWebhooks, ClaimedWebhook, CreateWebhook, EditWebhook, OfWebhook,
    RecordAttempt, SkipChanges, StoreError, StoreFuture, Webhook, Webhooks,
};

impl<B: Backend> Webhooks for B {
    fn create_webhook(&self, command: CreateWebhook) -> StoreFuture<'_, Webhook> {
        self.write_in(command.domain, move |tx| rules::create_webhook(&tx, &command))
    }

    fn webhooks(&self, domain: DomainId) -> StoreFuture<'_, Vec<Webhook>> {
        self.read_in(domain, |tx| rules::webhooks(&tx))
    }

    fn webhook(&self, domain: DomainId, id: &str) -> StoreFuture<'_, Option<Webhook>> {
        let id = id.to_owned();
        self.read_in(domain, move |tx| rules::webhook(&tx, &id))
    }

    fn edit_webhook(&self, command: EditWebhook) -> StoreFuture<'_, Webhook> {
        self.write_in(command.webhook.domain, move |tx| rules::edit_webhook(&tx, &command))
    }

    fn delete_webhook(&self, command: OfWebhook) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| rules::delete_webhook(&tx, &command))
    }

    fn rotate_secret(&self, command: OfWebhook, new: Secret) -> StoreFuture<'_, Webhook> {
        self.write_in(command.domain, move |tx| rules::rotate_secret(&tx, &command, &new))
    }

    fn replay_webhook(&self, command: OfWebhook, cursor: u64) -> StoreFuture<'_, Webhook> {
        self.write_in(command.domain, move |tx| rules::replay_webhook(&tx, &command, cursor))
    }

    fn test_webhook(&self, command: OfWebhook) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| rules::test_webhook(&tx, &command))
    }

    fn deliveries(&self, domain: DomainId, id: &str) -> StoreFuture<'_, Vec<Attempt>> {
        let id = id.to_owned();
        self.read_in(domain, move |tx| rules::deliveries(&tx, &id))
    }

    fn claim_webhooks(&self, command: ClaimWebhooks) -> StoreFuture<'_, Vec<ClaimedWebhook>> {
        Box::pin(async move {
            let due = match self.ask(rules::due(&command)).await {
                Err(StoreError::NodeAway { .. }) => due_apart(self, &command).await?,
                found => found?,
            };
            let mut by_domain: BTreeMap<DomainId, Vec<String>> = BTreeMap::new();
            for DueWebhook { domain, id } in due {
                by_domain.entry(domain).or_default().push(id);
            }
            let (mut claimed, mut fault) = (Vec::new(), None);
            for (domain, ids) in by_domain {
                let command = command.clone();
                let claim = self.write_in(domain, move |tx| rules::claim(&tx, &ids, &command));
                match claim.await {
                    Ok(more) => claimed.extend(more),
                    Err(error) => fault = Some(error),
                }
            }
            match fault {
                Some(error) if claimed.is_empty() => Err(error),
                _ => Ok(claimed),
            }
        })
    }

    fn record_attempt(&self, command: RecordAttempt) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| rules::record_attempt(&tx, &command))
    }

    fn skip_changes(&self, skips: Vec<SkipChanges>) -> StoreFuture<'_, ()> {
        self.write(move |tx| skips.iter().try_for_each(|one| rules::skip(tx, one)))
    }

    fn release_webhook(&self, domain: DomainId, id: &str, server: &str) -> StoreFuture<'_, ()> {
        let (id, server) = (id.to_owned(), server.to_owned());
        self.write_in(domain, move |tx| rules::release(&tx, &id, &server))
    }
}

/// The webhooks that are due of the domains whose nodes answer.
async fn due_apart<B: Backend>(
    store: &B,
    command: &ClaimWebhooks,
) -> Result<Vec<DueWebhook>, StoreError> {
    let mut due = Vec::new();
    for domain in store.domains().await? {
        match store.ask(rules::due_in(domain.id, command)).await {
            Ok(found) => due.extend(found),
            Err(StoreError::NodeAway { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    due.truncate(command.webhooks_max);
    Ok(due)
}

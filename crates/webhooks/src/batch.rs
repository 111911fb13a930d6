//! The next delivery of a webhook: the changes after its cursor that match, as one body. Changes
//! that do not match cost a read and no write. Invariant: a batch has the changes of the log in
//! order and leaves out none that matches.

use std::time::Duration;

use caseload_model::change::{Change, ChangeFilter};
use caseload_model::webhook::{DELIVERY_CHANGES_MAX, WebhookSettings};
use caseload_store::{Changes, ClaimedWebhook, ReadChanges, StoreError};
use tokio::time::Instant;

use crate::records::{Records, has_record};

/// The bytes after which a body takes no further change.
const BODY_BYTES_MAX: usize = 256 << 10;
/// How long to read on without a match before the cursor is stored.
const SEARCH_TIME_MAX: Duration = Duration::from_secs(5);

/// The end of a search for changes that match.
#[derive(Debug)]
pub(crate) enum Found {
    Batch(Batch),
    /// Nothing matches up to this position.
    Nothing {
        cursor: u64,
    },
}

/// Changes to deliver.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) body: Vec<u8>,
    pub(crate) positions: Vec<u64>,
    /// The last of them.
    pub(crate) last: u64,
    /// The cursor after the delivery.
    pub(crate) cursor: u64,
}

/// Searches the log after `cursor`, up to the last change of a batch that failed.
pub(crate) async fn next_batch(
    log: &dyn Changes,
    records: &dyn Records,
    claimed: &ClaimedWebhook,
    mut cursor: u64,
    until: Option<u64>,
) -> Result<Found, StoreError> {
    let deadline = Instant::now() + SEARCH_TIME_MAX;
    loop {
        let request = ReadChanges {
            domain: claimed.domain,
            after: cursor,
            changes_max: DELIVERY_CHANGES_MAX,
            filter: filter(&claimed.webhook.settings),
        };
        let page = log.read_changes(request).await?;
        if !page.changes.is_empty() {
            let batch = render(records, claimed, page.changes, until, page.next).await?;
            return Ok(Found::Batch(batch));
        }
        let is_end = page.next == cursor;
        cursor = page.next;
        if is_end || Instant::now() >= deadline {
            return Ok(Found::Nothing { cursor });
        }
    }
}

fn filter(settings: &WebhookSettings) -> ChangeFilter {
    let WebhookSettings { resources, actions, .. } = settings;
    ChangeFilter {
        resources: (!resources.is_empty()).then(|| resources.clone()),
        actions: (!actions.is_empty()).then(|| actions.clone()),
        ..ChangeFilter::default()
    }
}

async fn render(
    records: &dyn Records,
    claimed: &ClaimedWebhook,
    changes: Vec<Change>,
    until: Option<u64>,
    next: u64,
) -> Result<Batch, StoreError> {
    let mut batch =
        Batch { body: b"{\"changes\":[".to_vec(), positions: Vec::new(), last: next, cursor: next };
    for change in changes {
        let is_beyond = until.is_some_and(|until| change.position > until);
        if !batch.positions.is_empty() {
            if is_beyond || batch.body.len() >= BODY_BYTES_MAX {
                batch.cursor = batch.last;
                break;
            }
            batch.body.push(b',');
        }
        change.write_json(&mut batch.body);
        let resource = change.effect.resource;
        if claimed.webhook.settings.include_record && has_record(resource) {
            let domain = (claimed.domain, &claimed.domain_name);
            let record = records.record(domain, resource, &change.effect.id).await?;
            // Before the brace that ends the change.
            batch.body.pop();
            batch.body.extend_from_slice(b",\"record\":");
            batch.body.extend_from_slice(record.as_deref().unwrap_or(b"null"));
            batch.body.push(b'}');
        }
        batch.positions.push(change.position);
        batch.last = change.position;
    }
    batch.body.extend_from_slice(b"]}");
    Ok(batch)
}

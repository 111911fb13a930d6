//! Finds issues by the ids of their messages. No index has these ids, because no list asks for
//! them: the messages of all issues are read, those of the latest updates first. Such a read is
//! throttled. Invariant: an id that several issues have is found in all of them, unless this server
//! made it.

use std::collections::{BTreeMap, BTreeSet};

use caseload_model::ids::DomainName;
use caseload_model::issue_query::{SortKey, SortOrder, TimeRange};
use caseload_model::json::{elements_at, members_at, write_string};

use crate::idempotency::CommandStore as _;
use crate::query::{Source, TextFragments};
use crate::sql::Sql as _;
use crate::throttle::Throttle;
use crate::{StoreError, values};

/// The issues that have messages with these ids.
pub(crate) fn find_messages<S: Source>(
    source: &S,
    ids: &[String],
    throttle: &mut Throttle,
) -> Result<BTreeMap<String, BTreeSet<u64>>, StoreError> {
    let store = source.sets().store;
    let name = "SELECT name FROM domains WHERE id = ?1";
    let name: Option<DomainName> = store.find(name, values![store.domain()], |row| row.get(0))?;
    let own = format!("{}_message_", name.ok_or_else(StoreError::unknown_domain)?);
    let mut left: BTreeMap<Vec<u8>, &String> = ids.iter().map(|id| (as_json(id), id)).collect();
    let mut issues = Vec::new();
    let (key, order) = (SortKey::UpdateTime, SortOrder::Descending);
    source.walk_span(key, order, TimeRange::default(), |issue| {
        issues.push((issue.row, issue.id));
        Ok(true)
    })?;
    let mut found: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    let fragments = TextFragments { messages: true, ..TextFragments::default() };
    for issues in issues.chunks(S::TEXTS_PER_QUESTION) {
        let rows: Vec<u32> = issues.iter().map(|(row, _)| *row).collect();
        // In the order given.
        let mut ids_of_rows = issues.iter();
        source.texts(fragments, &rows, |row, texts| {
            throttle.step()?;
            let Some((_, issue)) = ids_of_rows.find(|(known, _)| *known == row) else {
                return Ok(true);
            };
            for id in to_ids(texts.messages.unwrap_or_default()) {
                let Some(known) = left.get(id).copied() else { continue };
                found.entry(known.clone()).or_default().insert(*issue);
                if known.starts_with(&own) {
                    left.remove(id);
                }
            }
            Ok(!left.is_empty())
        })?;
        if left.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// The ids of messages, as they are written.
fn to_ids(messages: &[u8]) -> impl Iterator<Item = &[u8]> {
    elements_at(messages, 0).filter_map(|message| {
        let id = members_at(messages, message.start).find(|(key, _)| *key == b"id");
        id.map(|(_, id)| &messages[id])
    })
}

fn as_json(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_string(text, &mut out);
    out
}

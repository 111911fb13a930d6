//! The index of the log: which batches have changes of a record. A batch of few records of a kind
//! has a row for each of them. A batch of more, a chunk of a task, has one row with the span of
//! their ids, so that an import stores next to nothing; the history of a record passes over the
//! spans without it and looks into the others. Invariant: the rows of a batch follow from its
//! effects, so that they can be found again when it is dropped.

use std::collections::BTreeSet;

use caseload_model::change::{Effect, Resource};
use caseload_model::ids::DomainId;

use crate::sql::Value;

/// The kinds of records whose history can be read. Their ids are numbers.
pub(super) const INDEXED: [Resource; 2] = [Resource::Issue, Resource::CoreProfile];
/// The most records of a kind that a batch has a row each for.
const SINGLE_RECORDS_MAX: usize = 32;
/// The id in the row of a span.
pub(crate) const SPAN: i64 = -1;

/// Adds the row of a record, or of a span, for the batch that was just added to the domain `?1`:
/// kind, id, lowest and highest id.
pub const ADD_RECORD: &str = "INSERT INTO change_records
     (domain_id, resource, id, last_position, lowest, highest)
     SELECT c.domain_id, ?2, ?3, c.last_position, ?4, ?5 FROM domain_clocks c
     WHERE c.domain_id = ?1";

/// A row of the index, without its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexRow {
    pub(super) resource: Resource,
    pub(super) id: i64,
    /// Of a span: the lowest and the highest id.
    span: Option<(i64, i64)>,
}

impl IndexRow {
    /// The values of [`ADD_RECORD`].
    pub fn values(&self, domain: DomainId) -> [Value<'static>; 5] {
        let bound = |number: Option<i64>| number.map_or(Value::Null, Value::Int);
        [
            Value::Int(domain.0),
            Value::Int(self.resource.code().cast_signed()),
            Value::Int(self.id),
            bound(self.span.map(|(lowest, _)| lowest)),
            bound(self.span.map(|(_, highest)| highest)),
        ]
    }
}

/// The rows of a batch with these effects.
pub(crate) fn index_rows(effects: &[Effect]) -> Vec<IndexRow> {
    let mut rows = Vec::new();
    for resource in INDEXED {
        let of_kind = effects.iter().filter(|effect| effect.resource == resource);
        // No stored record has a greater id.
        let ids = of_kind.filter_map(|effect| i64::try_from(effect.id.number()?).ok());
        let mut single = BTreeSet::new();
        let mut span: Option<(i64, i64)> = None;
        for id in ids {
            let (lowest, highest) = span.unwrap_or((id, id));
            span = Some((lowest.min(id), highest.max(id)));
            if single.len() <= SINGLE_RECORDS_MAX {
                single.insert(id);
            }
        }
        if single.len() <= SINGLE_RECORDS_MAX {
            rows.extend(single.into_iter().map(|id| IndexRow { resource, id, span: None }));
        } else {
            rows.push(IndexRow { resource, id: SPAN, span });
        }
    }
    rows
}

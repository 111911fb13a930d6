//! The columns of an issue: read from a row that holds them and the fragments beside, and added to
//! the tables, a few at a time or very many.

use caseload_model::ids::DomainId;
use caseload_model::issue::write::IssueRecord;
use caseload_model::issue::{IssueBody, IssueColumns};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::super::engine::Client;
use super::super::rows::text;
use super::page::{FRAGMENTS_COUNT, body, fragments};
use crate::StoreError;
use crate::issues::StoredColumns;

/// The columns that [`columns`] reads, from the first behind the fragments.
pub(in crate::postgres) const COLUMNS: &str = "i.id, i.created_at, i.updated_at, i.changed_at, \
     i.state, i.redacted, i.rating, i.original_created_at, i.app_id, i.platform_type, i.queue_id, \
     i.hs_user_id, i.assignee_id, i.language, i.issue_mode, i.author_email";
/// Where what is selected behind them begins.
pub(in crate::postgres) const BEHIND: usize = FRAGMENTS_COUNT + 16;

/// The columns, from a row that begins with fragments and columns.
pub(in crate::postgres) fn columns(row: &Row) -> Result<IssueColumns, StoreError> {
    let at = |place: usize| FRAGMENTS_COUNT + place;
    let optional = |place: usize| -> Result<Option<String>, StoreError> {
        let there = row.get::<_, Option<&[u8]>>(at(place)).is_some();
        if there { text(row, at(place)).map(Some) } else { Ok(None) }
    };
    let stored = StoredColumns {
        id: row.get(at(0)),
        created_at: row.get(at(1)),
        updated_at: row.get(at(2)),
        changed_at: row.get(at(3)),
        state: row.get::<_, i16>(at(4)).into(),
        redacted: row.get(at(5)),
        rating: row.get::<_, Option<i16>>(at(6)).map(|rating| rating as u8),
        original_created_at: row.get(at(7)),
        app_id: text(row, at(8))?,
        platform_type: optional(9)?,
        queue_id: optional(10)?,
        hs_user_id: text(row, at(11))?,
        assignee_id: optional(12)?,
        language: optional(13)?,
        issue_mode: optional(14)?,
        author_email: text(row, at(15))?,
    };
    stored.columns(&fragments(row))
}

/// The whole issue, from such a row.
pub(super) fn record(row: &Row) -> Result<IssueRecord, StoreError> {
    Ok(IssueRecord { columns: columns(row)?, head: row.get(0), body: body(row) })
}

/// An issue on its way into the tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewRow<'i> {
    pub(super) row: u32,
    pub(super) columns: &'i IssueColumns,
    pub(super) head: &'i [u8],
    pub(super) body: &'i IssueBody,
}

/// Numbers and texts as the database takes them.
struct Bound<'i> {
    row: i64,
    id: i64,
    times: [i64; 3],
    state: i16,
    rating: Option<i16>,
    original: Option<i64>,
    texts: [&'i [u8]; 3],
    optional: [Option<&'i [u8]>; 5],
    redacted: bool,
}

impl<'i> Bound<'i> {
    fn new(issue: &NewRow<'i>) -> Self {
        let (columns, facts) = (issue.columns, &issue.columns.facts);
        let bytes = |text: &'i Option<String>| text.as_deref().map(str::as_bytes);
        Self {
            row: issue.row.into(),
            id: columns.id as i64,
            times: [columns.created_at.0, facts.updated_at.0, facts.changed_at.0],
            state: facts.state.code() as i16,
            rating: facts.rating.map(i16::from),
            original: columns.original_created_at.map(|at| at.0),
            texts: [
                columns.app_id.as_bytes(),
                facts.hs_user_id.as_bytes(),
                facts.author_email.as_bytes(),
            ],
            optional: [
                bytes(&facts.platform_type),
                facts.queue.as_ref().map(|queue| queue.id.as_bytes()),
                bytes(&facts.assignee_id),
                bytes(&facts.language),
                bytes(&facts.issue_mode),
            ],
            redacted: facts.redacted,
        }
    }
}

const ISSUES: &str = "issues (domain_id, row, id, created_at, updated_at, changed_at, state, \
     redacted, rating, original_created_at, app_id, platform_type, queue_id, hs_user_id, \
     assignee_id, language, issue_mode, author_email)";
const ISSUE_TYPES: [Type; 18] = [
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT2,
    Type::BOOL,
    Type::INT2,
    Type::INT8,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
];
const BODIES: &str = "issue_bodies (domain_id, row, head, messages, meta, custom_fields, \
     feedback, queue, private_notes, predict_labels, sentiment_analysis, smart_intents)";
const BODY_TYPES: [Type; 12] = [
    Type::INT8,
    Type::INT8,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
    Type::BYTEA,
];

/// Adds issues, with their fragments.
pub(super) async fn add(
    client: &Client,
    domain: DomainId,
    issues: &[NewRow<'_>],
) -> Result<(), StoreError> {
    let bound: Vec<Bound<'_>> = issues.iter().map(Bound::new).collect();
    let columns = bound.iter().map(|b| -> [&(dyn ToSql + Sync); 18] {
        let [created_at, updated_at, changed_at] = &b.times;
        let [app_id, hs_user_id, author_email] = &b.texts;
        let [platform_type, queue_id, assignee_id, language, issue_mode] = &b.optional;
        [
            &domain.0,
            &b.row,
            &b.id,
            created_at,
            updated_at,
            changed_at,
            &b.state,
            &b.redacted,
            &b.rating,
            &b.original,
            app_id,
            platform_type,
            queue_id,
            hs_user_id,
            assignee_id,
            language,
            issue_mode,
            author_email,
        ]
    });
    let columns: Vec<_> = columns.collect();
    client.copy(ISSUES, ISSUE_TYPES, &columns).await?;
    let bodies = issues.iter().zip(&bound).map(|(issue, b)| -> [&(dyn ToSql + Sync); 12] {
        let body = issue.body;
        [
            &domain.0,
            &b.row,
            &issue.head,
            &body.messages,
            &body.meta,
            &body.custom_fields,
            &body.feedback,
            &body.queue,
            &body.private_notes,
            &body.predict_labels,
            &body.sentiment_analysis,
            &body.smart_intents,
        ]
    });
    let bodies: Vec<_> = bodies.collect();
    client.copy(BODIES, BODY_TYPES, &bodies).await?;
    Ok(())
}

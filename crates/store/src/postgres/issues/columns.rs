//! The columns of an issue: read from a row that holds them and the fragments beside, and added to
//! the tables, one or very many.

use caseload_model::ids::DomainId;
use caseload_model::issue::write::IssueRecord;
use caseload_model::issue::{IssueBody, IssueColumns};
use tokio::try_join;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use super::super::engine::{Client, Column};
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

/// The columns of both tables, in the order in which they are bound behind the domain: that of
/// [`NewRows`]. Arrays that are read side by side in a list are not put aside first, as those of a
/// `FROM` are.
const ADD_COLUMNS: &str = "INSERT INTO issues (domain_id, row, id, created_at, updated_at,
     changed_at, state, redacted, rating, original_created_at, app_id, platform_type, queue_id,
     hs_user_id, assignee_id, language, issue_mode, author_email)
     SELECT $1, unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::bigint[]),
     unnest($5::bigint[]), unnest($6::bigint[]), unnest($7::smallint[]), unnest($8::boolean[]),
     unnest($9::smallint[]), unnest($10::bigint[]), unnest($11::bytea[]), unnest($12::bytea[]),
     unnest($13::bytea[]), unnest($14::bytea[]), unnest($15::bytea[]), unnest($16::bytea[]),
     unnest($17::bytea[]), unnest($18::bytea[])";
const ADD_FRAGMENTS: &str = "INSERT INTO issue_bodies (domain_id, row, head, messages, meta,
     custom_fields, feedback, queue, private_notes, predict_labels, sentiment_analysis,
     smart_intents)
     SELECT $1, unnest($2::bigint[]), unnest($3::bytea[]), unnest($4::bytea[]), unnest($5::bytea[]),
     unnest($6::bytea[]), unnest($7::bytea[]), unnest($8::bytea[]), unnest($9::bytea[]),
     unnest($10::bytea[]), unnest($11::bytea[]), unnest($12::bytea[])";

/// Issues on their way into the two tables.
#[derive(Debug, Default)]
pub(super) struct NewRows {
    columns: [Column; 17],
    fragments: [Column; 11],
}

impl NewRows {
    pub(super) fn add(&mut self, issue: &NewRow<'_>) {
        let NewRow { row, columns, head, body } = issue;
        let facts = &columns.facts;
        let [
            rows,
            ids,
            created_at,
            updated_at,
            changed_at,
            states,
            redacted,
            ratings,
            original_created_at,
            app_ids,
            platform_types,
            queue_ids,
            user_ids,
            assignee_ids,
            languages,
            modes,
            emails,
        ] = &mut self.columns;
        rows.add(i64::from(*row));
        ids.add(columns.id as i64);
        created_at.add(columns.created_at.0);
        updated_at.add(facts.updated_at.0);
        changed_at.add(facts.changed_at.0);
        states.add(facts.state.code() as i16);
        redacted.add(facts.redacted);
        ratings.add(facts.rating.map(i16::from));
        original_created_at.add(columns.original_created_at.map(|at| at.0));
        app_ids.add(columns.app_id.as_str());
        platform_types.add(facts.platform_type.as_deref());
        queue_ids.add(facts.queue.as_ref().map(|queue| queue.id.as_str()));
        user_ids.add(facts.hs_user_id.as_str());
        assignee_ids.add(facts.assignee_id.as_deref());
        languages.add(facts.language.as_deref());
        modes.add(facts.issue_mode.as_deref());
        emails.add(facts.author_email.as_str());
        let [rows, heads, messages, metas, custom_fields, optional @ ..] = &mut self.fragments;
        rows.add(i64::from(*row));
        heads.add(*head);
        messages.add(&body.messages[..]);
        metas.add(&body.meta[..]);
        custom_fields.add(&body.custom_fields[..]);
        let fragments = [
            &body.feedback,
            &body.queue,
            &body.private_notes,
            &body.predict_labels,
            &body.sentiment_analysis,
            &body.smart_intents,
        ];
        for (column, fragment) in optional.iter_mut().zip(fragments) {
            column.add(fragment.as_deref());
        }
    }
}

/// The statements that add to the two tables.
#[derive(Debug, Clone)]
pub(super) struct Adding([Statement; 2]);

impl Adding {
    pub(super) async fn prepare(client: &Client) -> Result<Self, StoreError> {
        Ok(Self([client.prepare(ADD_COLUMNS).await?, client.prepare(ADD_FRAGMENTS).await?]))
    }

    /// Adds issues, with their fragments. Both statements are sent when this is first polled.
    pub(super) async fn add(
        self,
        client: &Client,
        domain: DomainId,
        rows: NewRows,
    ) -> Result<(), StoreError> {
        let Self([columns, fragments]) = &self;
        let mut of_columns: Vec<&(dyn ToSql + Sync)> = vec![&domain.0];
        of_columns.extend(rows.columns.iter().map(|column| column as &(dyn ToSql + Sync)));
        let mut of_fragments: Vec<&(dyn ToSql + Sync)> = vec![&domain.0];
        of_fragments.extend(rows.fragments.iter().map(|column| column as &(dyn ToSql + Sync)));
        try_join!(
            client.prepared_execute(columns, &of_columns),
            client.prepared_execute(fragments, &of_fragments),
        )?;
        Ok(())
    }
}

//! An issue's columns: read from a row, and written to the tables, for one issue or very many.

use caseload_model::ids::DomainId;
use caseload_model::issue::write::IssueRecord;
use caseload_model::issue::{IssueBody, IssueColumns, IssueFragments};
use tokio::try_join;
use tokio_postgres::{Row, Statement};

use crate::engine::{BoundRow, Client, CopyRows, Values};
use crate::tx::ReadRow;
use caseload_store::StoreError;
use caseload_store::checksum;
use caseload_store::issues::{columns, record_fragments};

/// The whole issue, from a row that begins with its fragments and columns.
pub(super) fn record(row: &Row) -> Result<IssueRecord, StoreError> {
    let (head, body) = record_fragments(&ReadRow(row))?;
    Ok(IssueRecord { columns: columns(&ReadRow(row))?, head, body })
}

/// An issue to be written.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewRow<'i> {
    pub(super) row: u32,
    pub(super) columns: &'i IssueColumns,
    pub(super) head: &'i [u8],
    pub(super) body: &'i IssueBody,
}

/// The columns of both tables, in the order in which [`NewRow`] writes them.
const COLUMNS_OF_ROW: &str = "issues (domain_id, row, id, created_at, updated_at, changed_at, \
     state, redacted, rating, original_created_at, app_id, platform_type, queue_id, hs_user_id, \
     assignee_id, language, issue_mode, author_email)";
const FRAGMENTS_OF_ROW: &str = "issue_bodies (domain_id, row, head, messages, meta, custom_fields, \
     feedback, queue, private_notes, predict_labels, sentiment_analysis, smart_intents, checksums)";

impl NewRow<'_> {
    fn write_columns(&self, domain: DomainId, out: &mut impl Values) {
        let Self { row, columns, .. } = self;
        let facts = &columns.facts;
        out.add(domain.0)
            .add(i64::from(*row))
            .add(columns.id as i64)
            .add(columns.created_at.0)
            .add(facts.updated_at.0)
            .add(facts.changed_at.0)
            .add(facts.state.code() as i16)
            .add(facts.redacted)
            .add(facts.rating.map(i16::from))
            .add(columns.original_created_at.map(|at| at.0))
            .add(columns.app_id.as_str())
            .add(facts.platform_type.as_deref())
            .add(facts.queue.as_ref().map(|queue| queue.id.as_str()))
            .add(facts.hs_user_id.as_str())
            .add(facts.assignee_id.as_deref())
            .add(facts.language.as_deref())
            .add(facts.issue_mode.as_deref())
            .add(facts.author_email.as_str());
    }

    fn write_fragments(&self, domain: DomainId, out: &mut impl Values) {
        let Self { row, head, body, .. } = self;
        out.add(domain.0)
            .add(i64::from(*row))
            .add(*head)
            .add(&body.messages[..])
            .add(&body.meta[..])
            .add(&body.custom_fields[..])
            .add(body.feedback.as_deref())
            .add(body.queue.as_deref())
            .add(body.private_notes.as_deref())
            .add(body.predict_labels.as_deref())
            .add(body.sentiment_analysis.as_deref())
            .add(body.smart_intents.as_deref())
            .add(&checksum::of_fragments(&IssueFragments::new(head, body))[..]);
    }

    /// Inserts the issue.
    pub(super) async fn insert(&self, client: &Client, domain: DomainId) -> Result<(), StoreError> {
        let (mut columns, mut fragments) = (BoundRow::default(), BoundRow::default());
        self.write_columns(domain, &mut columns);
        self.write_fragments(domain, &mut fragments);
        let add_columns = client.prepare(&columns.insert(COLUMNS_OF_ROW)).await?;
        let add_fragments = client.prepare(&fragments.insert(FRAGMENTS_OF_ROW)).await?;
        let (columns, fragments) = (columns.parameters(), fragments.parameters());
        try_join!(
            client.prepared_execute(&add_columns, &columns),
            client.prepared_execute(&add_fragments, &fragments),
        )?;
        Ok(())
    }
}

/// Very many issues to be written to the two tables.
#[derive(Debug)]
pub(super) struct NewRows {
    columns: CopyRows,
    fragments: CopyRows,
}

impl NewRows {
    /// With room for this many bytes and one more issue.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        let columns = CopyRows::with_capacity(bytes / 8);
        Self { columns, fragments: CopyRows::with_capacity(bytes + bytes / 8) }
    }

    pub(super) fn add(&mut self, domain: DomainId, issue: &NewRow<'_>) {
        issue.write_columns(domain, self.columns.row(18));
        issue.write_fragments(domain, self.fragments.row(13));
    }

    /// Bytes of all rows.
    pub(super) fn len(&self) -> usize {
        self.columns.len() + self.fragments.len()
    }
}

/// The statements that copy into the two tables.
#[derive(Debug, Clone)]
pub(super) struct CopyStatements {
    columns: Statement,
    fragments: Statement,
}

impl CopyStatements {
    pub(super) async fn prepare(client: &Client) -> Result<Self, StoreError> {
        Ok(Self {
            columns: client.prepare_copy(COLUMNS_OF_ROW).await?,
            fragments: client.prepare_copy(FRAGMENTS_OF_ROW).await?,
        })
    }

    /// Writes issues and their fragments while the caller continues.
    pub(super) fn add(
        self,
        client: &Client,
        rows: NewRows,
    ) -> impl Future<Output = Result<(), StoreError>> + use<> {
        client.copy_in_background([(self.fragments, rows.fragments), (self.columns, rows.columns)])
    }
}

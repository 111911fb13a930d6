//! The rows of profiles, in one shape for both kinds. Each row is compared with its checksum as it
//! is read.

use caseload_model::ids::{CoreProfileId, DomainId, DomainName};
use caseload_model::issue_query::SortKey;
use caseload_model::profile::{StoredAppProfile, render_app, render_core};
use caseload_model::profile_query::{
    AppPart, ProfileId, ProfileKind, ProfilePosition, ProfileQuery, SearchableProfile,
};
use caseload_model::time::UnixMillis;

use crate::checksum::require_core_profile;
use crate::profiles::{app_profile_columns, stored_app_profile};
use crate::query::SetStore;
use crate::sql::{Row, Value};
use crate::{StoreError, values};

/// Profiles from which on a range of rows is read and not each row.
const RANGE_MIN: usize = 8;

/// The statements that differ between databases.
pub trait ProfileSource: SetStore {
    /// Selects the core profiles of the domain `?1` that have one of the ids `?2`: the tables and
    /// the condition, as the three others are.
    const CORE_AMONG: &'static str;
    /// Selects those in the rows from `?2` to `?3`.
    const CORE_BETWEEN: &'static str;
    /// Selects its app profiles that have one of the pids `?2`.
    const APP_AMONG: &'static str;
    /// Most profiles of a batch.
    const BATCH_MAX: u64;
}

/// A stored profile.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) id: ProfileId,
    pub(super) created_at: UnixMillis,
    pub(super) updated_at: UnixMillis,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    Core(Vec<u8>),
    App(StoredAppProfile),
}

impl Found {
    /// Each column is read once: a list may have very many profiles.
    fn core(domain: DomainId, row: &dyn Row) -> Result<Self, StoreError> {
        let (id, created_at, updated_at) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let fields: Vec<u8> = row.get(3)?;
        require_core_profile((domain, id), updated_at, &fields, row.get(4)?)?;
        let id = ProfileId::Core(CoreProfileId(id.cast_unsigned()));
        Ok(Self { id, created_at, updated_at, body: Body::Core(fields) })
    }

    fn app(row: &dyn Row) -> Result<Self, StoreError> {
        let (pid, profile) = stored_app_profile(row)?;
        Ok(Self {
            id: ProfileId::App(pid),
            created_at: profile.created_at,
            updated_at: profile.updated_at,
            body: Body::App(profile),
        })
    }

    /// The profile as a query looks at it.
    pub(super) fn searchable<'f>(&'f self, domain: &'f DomainName) -> SearchableProfile<'f> {
        let (fields, app) = match &self.body {
            Body::Core(fields) => (fields, None),
            Body::App(profile) => {
                let StoredAppProfile { app_id, name, emails, fields, .. } = profile;
                (fields, Some(AppPart { app_id, name, emails, domain }))
            }
        };
        let Self { id, created_at, updated_at, .. } = self;
        SearchableProfile { id, created_at: *created_at, updated_at: *updated_at, fields, app }
    }

    /// The fields text.
    pub(super) fn fields(&self) -> &[u8] {
        match &self.body {
            Body::Core(fields) => fields,
            Body::App(profile) => &profile.fields,
        }
    }

    /// Its position in lists sorted by `key`.
    pub(super) fn position(&self, key: SortKey) -> ProfilePosition {
        let at = match key {
            SortKey::UpdateTime => self.updated_at,
            SortKey::CreationTime | SortKey::StateChangeTime => self.created_at,
        };
        ProfilePosition { at, id: self.id.clone() }
    }

    /// About as many bytes as it takes in memory.
    pub(super) const fn bytes(&self) -> usize {
        match &self.body {
            Body::Core(fields) => fields.len(),
            Body::App(profile) => profile.fields.len() + profile.name.len() + profile.emails.len(),
        }
    }

    /// Appends the profile as the get action shows it.
    pub(super) fn render(&self, out: &mut Vec<u8>) {
        match (&self.id, &self.body) {
            (ProfileId::Core(id), Body::Core(fields)) => {
                render_core(*id, self.created_at, fields, self.updated_at, out);
            }
            (ProfileId::App(pid), Body::App(profile)) => render_app(pid, profile, out),
            _ => unreachable!("a row has the id and the body of one kind"),
        }
    }
}

/// The column of the instant that a list is sorted by, and that of the other instant.
pub(super) const fn instants(key: SortKey) -> [&'static str; 2] {
    match key {
        SortKey::UpdateTime => ["updated_at", "created_at"],
        SortKey::CreationTime | SortKey::StateChangeTime => ["created_at", "updated_at"],
    }
}

pub(super) const fn table(kind: ProfileKind) -> &'static str {
    match kind {
        ProfileKind::Core => "core_profiles",
        ProfileKind::App => "app_profiles",
    }
}

/// The column of the id.
pub(super) const fn id_column(kind: ProfileKind) -> &'static str {
    match kind {
        ProfileKind::Core => "id",
        ProfileKind::App => "pid",
    }
}

/// The columns of a core profile.
const CORE_COLUMNS: &str = "id, created_at, updated_at, fields, checksum";

/// The profiles that the end of a statement selects after `FROM`, in its order. It includes the
/// domain, which is `?1`.
pub(super) fn read<S: ProfileSource>(
    source: &S,
    kind: ProfileKind,
    selected: &str,
    values: &[Value<'_>],
) -> Result<Vec<Found>, StoreError> {
    let columns = match kind {
        ProfileKind::Core => CORE_COLUMNS.to_owned(),
        ProfileKind::App => app_profile_columns(),
    };
    let sql = format!("SELECT {columns} FROM {selected}");
    let domain = source.domain();
    source.list(&sql, values, |row| match kind {
        ProfileKind::Core => Found::core(domain, row),
        ProfileKind::App => Found::app(row),
    })
}

pub(super) fn by_ids<S: ProfileSource>(source: &S, ids: &[u64]) -> Result<Vec<Found>, StoreError> {
    let ids: Vec<i64> = ids.iter().filter_map(|id| i64::try_from(*id).ok()).collect();
    read(source, ProfileKind::Core, S::CORE_AMONG, values![source.domain(), ids])
}

/// The core profiles in these rows, in any order.
pub(super) fn by_rows<S: ProfileSource>(
    source: &S,
    rows: &[u32],
) -> Result<Vec<(u32, Found)>, StoreError> {
    let mut sorted: Vec<i64> = rows.iter().map(|row| i64::from(*row)).collect();
    sorted.sort_unstable();
    let domain = source.domain();
    let mut found = Vec::with_capacity(rows.len());
    let sql = |selected| format!("SELECT {CORE_COLUMNS}, row FROM {selected}");
    let mut take = |row: &dyn Row| {
        let number: u32 = row.get(5)?;
        if sorted.binary_search(&number.into()).is_ok() {
            found.push((number, Found::core(domain, row)?));
        }
        Ok(())
    };
    if let Some((first, last)) = range_of(&sorted) {
        source.each(&sql(S::CORE_BETWEEN), values![domain, first, last], &mut take)?;
    } else {
        source.each(&sql(S::CORE_ROWS), values![domain, &sorted[..]], &mut take)?;
    }
    Ok(found)
}

/// The first and the last of sorted rows, if nearly all rows between them are among them: a range
/// is read faster than as many single rows.
fn range_of(rows: &[i64]) -> Option<(i64, i64)> {
    let (first, last) = (*rows.first()?, *rows.last()?);
    let span = last.checked_sub(first)?.unsigned_abs();
    let is_dense = rows.len() >= RANGE_MIN && span < rows.len() as u64 + rows.len() as u64 / 8;
    is_dense.then_some((first, last))
}

pub(super) fn by_pids<S: ProfileSource>(
    source: &S,
    pids: &[&str],
) -> Result<Vec<Found>, StoreError> {
    read(source, ProfileKind::App, S::APP_AMONG, values![source.domain(), pids])
}

/// The conditions of a query that columns decide, except for ids.
#[derive(Debug, Default)]
pub(super) struct Conditions<'q> {
    pub(super) sql: Vec<String>,
    pub(super) values: Vec<Value<'q>>,
}

impl<'q> Conditions<'q> {
    /// `app_ids` are those of the query. A column with `+` before it is not looked up in an index,
    /// so that the index of the order is used.
    pub(super) fn of(
        query: &ProfileQuery,
        app_ids: Option<&'q [&'q str]>,
        domain: Value<'q>,
    ) -> Self {
        let mut conditions = Self { sql: Vec::new(), values: vec![domain] };
        let [sorted, other] = instants(query.sort.key);
        let ranges = match query.sort.key {
            SortKey::UpdateTime => [(sorted, "", query.updated), (other, "+", query.created)],
            _ => [(sorted, "", query.created), (other, "+", query.updated)],
        };
        for (column, plus, range) in ranges {
            for (bound, test) in [(range.since, ">="), (range.until, "<=")] {
                if let Some(at) = bound {
                    conditions.add(&format!("{plus}{column} {test} "), Value::Int(at.0));
                }
            }
        }
        if let Some(ids) = app_ids {
            let place = conditions.values.len() + 1;
            conditions.values.push(Value::Texts(ids));
            conditions.sql.push(format!("app_id = ANY (?{place})"));
        }
        conditions
    }

    /// Adds a test, whose value comes last.
    pub(super) fn add(&mut self, test: &str, value: Value<'q>) {
        self.values.push(value);
        self.sql.push(format!("{test}?{}", self.values.len()));
    }

    pub(super) fn joined(&self) -> String {
        if self.sql.is_empty() { "1 = 1".to_owned() } else { self.sql.join(" AND ") }
    }
}

//! The domains whose records a check reads: one at a time, or all at once.

use std::collections::BTreeMap;

use caseload_model::ids::DomainId;

use super::CheckedStore;
use crate::StoreError;
use crate::sql::{Row, Value};

/// The ids and names of all domains. A domain without a name is being removed.
#[derive(Debug)]
pub(super) struct Domains(BTreeMap<i64, String>);

impl Domains {
    pub(super) fn read(store: &impl CheckedStore) -> Result<Self, StoreError> {
        let all = store.list("SELECT id, name FROM domains ORDER BY id", &[], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        Ok(Self(all.into_iter().collect()))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (DomainId, &str)> {
        self.0.iter().map(|(id, name)| (DomainId(*id), name.as_str()))
    }

    pub(super) fn name(&self, id: i64) -> Option<&str> {
        self.0.get(&id).map(String::as_str)
    }

    /// The name of the domain whose id is in a column.
    pub(super) fn name_in(&self, row: &dyn Row, column: usize) -> Result<Option<&str>, StoreError> {
        Ok(self.name(row.get(column)?))
    }

    /// The reads that together read all domains.
    pub(super) fn scopes<'s, S: CheckedStore>(&self, store: &'s S) -> Vec<Scope<'s, S>> {
        if S::BY_DOMAIN {
            self.0.keys().map(|domain| Scope::with(store, *domain)).collect()
        } else {
            vec![Scope { store, domain: None }]
        }
    }
}

/// One domain, or all.
#[derive(Debug)]
pub(super) struct Scope<'s, S> {
    pub(super) store: &'s S,
    pub(super) domain: Option<i64>,
}

impl<'s, S: CheckedStore> Scope<'s, S> {
    /// The reads that read this domain, and perhaps others.
    pub(super) fn with(store: &'s S, domain: i64) -> Self {
        Self { store, domain: S::BY_DOMAIN.then_some(domain) }
    }

    /// The domain, in a statement that reads the table `alias`.
    pub(super) fn domain_of(&self, alias: &str) -> String {
        match self.domain {
            Some(_) => "?1".to_owned(),
            None => format!("{alias}.domain_id"),
        }
    }

    /// The place of a value that is added to the domain.
    pub(super) const fn place_behind(&self) -> &'static str {
        if self.domain.is_some() { "?2" } else { "?1" }
    }

    /// Has `read` read each row.
    pub(super) fn each(
        &self,
        sql: &str,
        mut read: impl FnMut(&dyn Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let domain = self.domain.map(Value::Int);
        self.store.each(sql, domain.as_slice(), &mut read)
    }

    /// All rows of a statement with one more value.
    pub(super) fn list_with<T>(
        &self,
        sql: &str,
        value: i64,
        read: impl FnMut(&dyn Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let values: Vec<Value<'_>> =
            self.domain.into_iter().chain([value]).map(Value::Int).collect();
        self.store.list(sql, &values, read)
    }

    /// Reports what a statement counts, which selects ids of domains and numbers, with the names of
    /// the domains.
    pub(super) fn counts(
        &self,
        domains: &Domains,
        sql: &str,
        mut report: impl FnMut(&str, i64),
    ) -> Result<(), StoreError> {
        self.each(sql, |row| {
            if let Some(name) = domains.name_in(row, 0)? {
                report(name, row.get(1)?);
            }
            Ok(())
        })
    }
}

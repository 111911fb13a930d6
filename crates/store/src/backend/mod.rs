//! The capabilities whose rules all stores share, implemented once for every [`Backend`]:
//! [`Admin`](crate::Admin), [`Submit`](crate::Submit), [`Issues`](crate::Issues),
//! [`Profiles`](crate::Profiles), [`Changes`](crate::Changes), [`Webhooks`](crate::Webhooks),
//! [`Views`](crate::Views) and [`Payloads`](crate::Payloads). A backend says how it runs
//! reads and writes, and adds its own steps before or after some of them. It implements
//! [`Work`](crate::Work) and [`Upkeep`](crate::Upkeep) itself.

mod admin;
mod changes;
mod imports;
mod issues;
mod profiles;
mod submit;
mod views;
mod webhooks;

use std::fmt::Debug;

use caseload_model::ids::DomainId;
use caseload_model::task::{Family, Task};
use tokio::sync::watch;

use crate::issues::IssueStore;
use crate::profile_lists::ProfileSource;
use crate::profiles::ProfileStore;
use crate::query::{RenderedPage, Rendering, Request, Source, TimedRows as _};
use crate::sql::{Query, Sql};
use crate::tasks::TaskStore;
use crate::throttle::Throttle;
use crate::{CreateTask, Idempotent, ReadBudget, StoreError, StoreFuture};

/// A database with its engine. Each read is one snapshot, each write is one durable transaction.
pub trait Backend: Debug + Send + Sync + 'static {
    /// All domains, in a transaction.
    type Tx<'t>: Sql;
    /// One domain, in a transaction.
    type DomainTx<'t>: TaskStore + IssueStore + ProfileStore + ProfileSource + Copy;
    /// The issues of one domain, in a snapshot.
    type Issues<'t>: Source<Store = Self::DomainTx<'t>>;

    /// The limits of a read whose caller sets none.
    const READ_BUDGET: ReadBudget;

    /// Runs a read.
    fn read<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Self::Tx<'_>) -> Result<T, StoreError> + Send + 'static;

    /// Runs a read of one domain, which takes turns with the others.
    fn read_in<T, F>(&self, domain: DomainId, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(Self::DomainTx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.read_within(domain, Self::READ_BUDGET, false, |issues, _| work(*issues.sets().store))
    }

    /// [`Backend::read_in`] within `budget`. A long read leaves room for others.
    fn read_within<T, F>(
        &self,
        domain: DomainId,
        budget: ReadBudget,
        is_long: bool,
        work: F,
    ) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Self::Issues<'_>, &mut Throttle) -> Result<T, StoreError> + Send + 'static;

    /// Runs a write. If it conflicts with another one, it may run again.
    fn write<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Fn(&Self::Tx<'_>) -> Result<T, StoreError> + Send + Sync + 'static;

    /// [`Backend::write`] in one domain.
    fn write_in<T, F>(&self, domain: DomainId, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Fn(Self::DomainTx<'_>) -> Result<T, StoreError> + Send + Sync + 'static;

    /// [`Backend::write_in`] for a write of up to megabytes, which lets small ones pass.
    fn write_long_in<T, F>(&self, domain: DomainId, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Fn(Self::DomainTx<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        self.write_in(domain, work)
    }

    /// The answer to a query.
    fn ask<T: Send + 'static>(&self, query: Query<T>) -> StoreFuture<'_, Vec<T>>;

    /// The answer to a query that has one row at most.
    fn find<T: Send + 'static>(&self, query: Query<T>) -> StoreFuture<'_, Option<T>> {
        let rows = self.ask(query);
        Box::pin(async move { Ok(rows.await?.pop()) })
    }

    /// Accepts a task and lets servers know.
    fn accept_task(&self, command: CreateTask) -> StoreFuture<'_, Idempotent<Task>>;
    /// Lets servers know that tasks may be runnable.
    fn wake(&self);
    /// Counts a task that may have completed by the last commit.
    fn note(&self, task: &Task);
    /// As [`Changes::appended`](crate::Changes::commits).
    fn heard_commits(&self) -> watch::Receiver<u64>;
    /// An error if a task that was not found is accepted and not visible yet.
    fn refuse_pending(&self, domain: DomainId, family: Family, id: String) -> StoreFuture<'_, ()> {
        let _ = (domain, family, id);
        Box::pin(async { Ok(()) })
    }

    /// Removes a domain with everything in it.
    fn remove_domain(&self, domain: DomainId) -> StoreFuture<'_, ()>;

    /// Total and page of a list that is answered without [`Backend::read_within`].
    fn list_at_once(
        &self,
        domain: DomainId,
        budget: ReadBudget,
        request: Request<'_>,
        rendering: Rendering,
    ) -> impl Future<Output = Result<Option<(Option<u64>, RenderedPage)>, StoreError>> + Send {
        let _ = (domain, budget, request, rendering);
        async { Ok(None) }
    }
    /// Issues of a domain were written.
    fn issues_written(&self, domain: DomainId) {
        let _ = domain;
    }
}

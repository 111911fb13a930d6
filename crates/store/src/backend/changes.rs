//! Reading the log of changes, for every backend. The rules are in [`crate::changes`].

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use tokio::sync::watch;

use super::Backend;
use crate::{
    ChangePage, Changes, HistoryPage, ReadChanges, ReadHistory, StoreFuture, changes as rules,
};

impl<B: Backend> Changes for B {
    fn read_changes(&self, request: ReadChanges) -> StoreFuture<'_, ChangePage> {
        self.read_in(request.domain, move |tx| rules::read_changes(&tx, &request))
    }

    fn history(&self, request: ReadHistory) -> StoreFuture<'_, HistoryPage> {
        self.read_in(request.domain, move |tx| rules::history(&tx, &request))
    }

    fn last_position(&self, domain: DomainId) -> StoreFuture<'_, u64> {
        self.read_in(domain, |tx| rules::last_position(&tx))
    }

    fn position_before(&self, domain: DomainId, at: UnixMillis) -> StoreFuture<'_, u64> {
        self.read_in(domain, move |tx| rules::position_before(&tx, at))
    }

    fn appended(&self) -> watch::Receiver<u64> {
        self.heard_commits()
    }
}

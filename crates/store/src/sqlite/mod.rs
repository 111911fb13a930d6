//! placeholder
use crate::{OpenMode, Store, StoreError};
#[derive(Debug)]
pub struct SqliteStore;
impl SqliteStore {
    pub fn open(_p: &std::path::Path, _m: OpenMode) -> Result<Self, StoreError> {
        Err(StoreError::Closed)
    }
}
macro_rules! stub { ($($n:ident($($a:ident: $t:ty),*) -> $r:ty;)*) => { $(fn $n(&self $(, $a: $t)*) -> crate::StoreFuture<'_, $r> { $(let _ = $a;)* unimplemented!() })* } }
use crate::*;
use caseload_model::{ids::*, task::*, time::*};
impl Store for SqliteStore {
    stub! {
        ready() -> (); create_domain(c: CreateDomain) -> Domain; domains() -> Vec<Domain>; domain(n: &DomainName) -> Option<Domain>;
        delete_domain(d: DomainId) -> (); create_key(c: CreateKey) -> (); keys(d: DomainId) -> Vec<Key>;
        revoke_key(d: DomainId, i: &str, a: UnixMillis) -> bool; key_by_hash(h: [u8;32]) -> Option<KeyGrant>; touch_key(d: DomainId, i: &str, a: UnixMillis) -> ();
        create_app(c: CreateApp) -> App; apps(d: DomainId) -> Vec<App>; create_agent(c: CreateAgent) -> Agent; agents(d: DomainId) -> Vec<Agent>;
        create_task(c: CreateTask) -> Task; task(d: DomainId, f: Family, i: &str) -> Option<Task>; claim_tasks(c: ClaimTasks) -> Vec<ClaimedTask>;
        renew_leases(c: RenewLeases) -> (); release_leases(s: &str) -> (); payload_block(d: DomainId, t: &str, f: u32) -> Option<Vec<u8>>;
        apply_chunk(c: ApplyChunk) -> ChunkApplied; fail_attempt(c: FailAttempt) -> Task;
        record_block(d: DomainId, t: &str, k: RecordKind, f: u32) -> Option<RecordBlock>;
        list_issues(r: ListIssues) -> IssuePage; issue(r: GetIssue) -> Option<Vec<u8>>; check() -> CheckReport; close() -> ();
    }
    fn task_bell(&self) -> tokio::sync::watch::Receiver<u64> {
        unimplemented!()
    }
}

//! The parts that the single writes of all resources share: the origin of a command, and a call
//! that deletes one record. Such a call has no fields, and its body is not read. Invariant: a
//! handler receives the origin of a deletion only if its request has no fault.

use caseload_model::key::Access;
use caseload_store::WriteOrigin;
use http::HeaderMap;

use super::auth::Caller;
use super::current_request::current_request_id;
use super::idempotency::{self, InProgressMark};
use super::problem::{Fault, Problem};
use super::query::QueryPairs;
use super::random::random_u64;
use crate::state::AppState;

/// The common part of a command. An idempotency key comes with the hash of the request's content.
pub(crate) fn origin(
    state: &AppState,
    caller: &Caller,
    key: Option<(String, [u8; 32])>,
) -> Result<WriteOrigin, Problem> {
    let now = state.clock.now();
    Ok(WriteOrigin {
        domain: caller.domain_id,
        domain_name: caller.domain_name.clone(),
        key: Some(caller.key_id.clone()),
        now,
        random: random_u64()?,
        request_id: current_request_id(),
        idempotency: key.map(|(text, content)| idempotency::stored_key(text, content, now, now)),
    })
}

/// A request that deletes one record, and that was read without a fault.
pub(crate) struct Deletion<I> {
    /// The id in the path; `None` for one that no record can have.
    pub(crate) id: Option<I>,
    pub(crate) origin: WriteOrigin,
    /// The mark on the idempotency key, to be dropped once the call is answered.
    pub(crate) held: Option<InProgressMark>,
}

impl<I: ToString> Deletion<I> {
    /// Reads a request with this `name`, such as "deleting an issue". Refuses a read key.
    pub(crate) async fn read(
        (state, caller): (&AppState, &Caller),
        name: &'static str,
        id: Result<Option<I>, Fault>,
        (headers, query): (&HeaderMap, &QueryPairs),
    ) -> Result<Self, Problem> {
        caller.require(Access::Write, name)?;
        let mut faults = query.unknown(&[]);
        let id = id.map_err(|fault| faults.push(fault)).ok().flatten();
        let key = idempotency::key(headers, &mut faults);
        Problem::check(faults)?;
        let held = idempotency::begin(state, caller, key.as_deref()).await?;
        let of_id = id.as_ref().map(ToString::to_string).unwrap_or_default();
        let content = idempotency::content_hash(&[name.as_bytes(), of_id.as_bytes()]);
        let origin = origin(state, caller, key.map(|key| (key, content)))?;
        Ok(Self { id, origin, held })
    }
}

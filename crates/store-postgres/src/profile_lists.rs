//! The statements of lists of profiles ([`ProfileSource`]). The rules of the store say when each of
//! them is asked.

use caseload_store::profile_lists::ProfileSource;

use crate::tx::DomainTx;

impl ProfileSource for DomainTx<'_> {
    const CORE_AMONG: &'static str = "core_profiles WHERE domain_id = ?1 AND id = ANY (?2)";
    const CORE_BETWEEN: &'static str =
        "core_profiles WHERE domain_id = ?1 AND row BETWEEN ?2 AND ?3";
    const APP_AMONG: &'static str = "app_profiles WHERE domain_id = ?1 AND pid = ANY (?2)";
    /// Most profiles of a batch, which is a round trip.
    const BATCH_MAX: u64 = 1024;
}

//! Entries of `import_issues` and `delete_issues`. Each is accepted or refused with faults that
//! point into it. The same entry becomes the same issue each time, apart from its bytes, and an
//! imported issue comes back from an export as itself.

use std::collections::HashMap;

use caseload_model::issue::{plan_issue_deletes, prepare_imports, prepare_issue_deletes};
use caseload_model::task::Family;

use crate::entries::{blocks_of, check, recorded};
use crate::imported::{self, domain, plan};

pub(crate) fn holds(data: &[u8]) {
    for block in blocks_of(data, Family::Issues) {
        let all = prepare_imports(&domain(), &block);
        check(&block, &all);
        let plan = plan(&[], &block, &all);
        recorded(&plan.records, all.len());
        let again = prepare_imports(&domain(), &block);
        assert_eq!(format!("{again:?}"), format!("{all:?}"), "an entry is read the same each time");
        imported::check(&imported::records(&block));
        let deletions = prepare_issue_deletes(&block);
        check(&block, &deletions);
        let known = deletions.iter().filter_map(|one| one.item.as_ref().ok());
        let stored: HashMap<u64, u32> = known.map(|id| (*id, 1)).collect();
        let plan = plan_issue_deletes(&block.bytes, &deletions, &stored);
        recorded(&plan.records, deletions.len());
        assert_eq!(plan.deleted.len(), stored.len(), "each issue is deleted once");
    }
}

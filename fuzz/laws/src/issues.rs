//! Entries of `import_issues`. Each is accepted or refused with faults that point into it. The same
//! entry becomes the same issue each time, apart from its bytes, and an imported issue comes back
//! from an export as itself.

use caseload_model::issue::prepare_imports;
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
    }
}

//! Entries of `import_issues`. Each is accepted or refused with faults that point into it, and the
//! same entry comes to the same issue each time, its bytes aside.

use caseload_model::ids::DomainName;
use caseload_model::issue::prepare_imports;
use caseload_model::record::ChunkRecords;
use caseload_model::task::{Action, Family};

use crate::entries::{blocks_of, check, recorded};

pub(crate) fn holds(data: &[u8]) {
    let domain = DomainName::parse("acme").expect("a domain name");
    for block in blocks_of(data, Family::Issues) {
        let all = prepare_imports(&domain, &block);
        check(&block, &all);
        let mut records = ChunkRecords::default();
        for prepared in &all {
            match &prepared.item {
                Ok(_) => records.outcome(&prepared.entry, "created", |_| {}),
                Err(rejected) => {
                    let action = Action::ImportIssues;
                    records.rejected(action, &block.bytes, &prepared.entry, rejected);
                }
            }
        }
        recorded(&records, all.len());
        let again = prepare_imports(&domain, &block);
        assert_eq!(format!("{again:?}"), format!("{all:?}"), "an entry is read the same each time");
    }
}

//! Rules between tables: every domain has its first records, and every record belongs to a domain,
//! a task or an attachment that exists.

use super::Findings;

/// A domain has a clock, a default app, and a desk with a name.
pub fn domain(
    findings: &mut Findings,
    name: &str,
    [has_clock, has_default_app, has_desk_name]: [bool; 3],
) {
    for (exists, what) in
        [(has_clock, "clock"), (has_default_app, "default app"), (has_desk_name, "desk name")]
    {
        if !exists {
            findings.fault(format!("domain {name} has no {what}"));
        }
    }
}

/// No record of `table` lacks its domain.
pub fn without_domain(findings: &mut Findings, table: &str, count: i64) {
    if count > 0 {
        findings.fault(format!("{count} records of {table} belong to no domain"));
    }
}

/// No block of `table` lacks its task.
pub fn without_task(findings: &mut Findings, table: &str, count: i64) {
    if count > 0 {
        findings.fault(format!("{count} blocks of {table} belong to no task"));
    }
}

/// No upload has the id of an accepted task.
pub fn accepted_uploads(findings: &mut Findings, count: i64) {
    if count > 0 {
        findings.fault(format!("{count} uploads are accepted tasks at the same time"));
    }
}

/// An attachment belongs to an issue that exists, and its pieces are complete: they add up to its
/// size and are numbered from 0 without a gap.
pub fn attachment(
    findings: &mut Findings,
    domain: &str,
    id: &str,
    [has_issue, has_size, has_no_gap]: [bool; 3],
) {
    for (holds, rule) in [
        (has_issue, "its issue is not there"),
        (has_size, "its bytes are not its size"),
        (has_no_gap, "it has a gap"),
    ] {
        if !holds {
            findings.fault(format!("domain {domain}, attachment {id}: {rule}"));
        }
    }
}

//! Brief attacks of one hostile tenant, case by case and on each store. They need the `caseload`
//! program next to this one. Answers and memory decide, not times; a long run by hand judges those.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::process::Command;

fn held(store: &str, case: &str) {
    let case = case.replace('_', "-");
    let attack = Command::new(env!("CARGO_BIN_EXE_torture"))
        .args(["hostile", "brief", store, &case])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&attack.stdout);
    let fault = String::from_utf8_lossy(&attack.stderr);
    assert!(attack.status.success() && said.contains("every attack was held"), "{said}{fault}");
}

/// Makes a test of each case on a store.
macro_rules! attacks {
    ($store:ident: $($case:ident),+ $(,)?) => {
        mod $store {
            $(#[test]
            fn $case() {
                super::held(stringify!($store), stringify!($case));
            })+
        }
    };
}

attacks!(sqlite:
    tags_import,
    tags_edit,
    meta_keys,
    custom_fields,
    messages,
    edit_times_issues,
    parameters,
    faults,
    last_id,
    cancel,
    packed_forms,
    part_headers,
    gzip_members,
    never_read,
    many_addresses,
    slow_head,
    revoked_upload,
    revoked_form,
    strangers_are_logged,
    cross_site,
    two_hosts,
    double_slash,
    transfer_codings,
    script_urls,
    caches,
    metrics,
    quota_bytes,
    quota_tasks,
    quota_rate,
    unread_pages,
    unread_streams,
    unread_results,
    half_bodies,
    forty,
    hard_link,
    symbolic_link,
    modes,
    foreign_file,
    deleted_domain,
    bit_flips,
);

// The memory cases run on PostgreSQL only by hand: there, a build with debugging code has more
// memory than the budget of a brief run allows.
attacks!(postgres:
    tags_import,
    tags_edit,
    meta_keys,
    custom_fields,
    messages,
    edit_times_issues,
    parameters,
    faults,
    last_id,
    cancel,
    packed_forms,
    part_headers,
    gzip_members,
    never_read,
    many_addresses,
    slow_head,
    revoked_upload,
    revoked_form,
    strangers_are_logged,
    cross_site,
    two_hosts,
    double_slash,
    transfer_codings,
    script_urls,
    caches,
    metrics,
    quota_bytes,
    quota_tasks,
    quota_rate,
);

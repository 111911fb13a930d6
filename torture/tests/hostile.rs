//! Brief attacks of one hostile tenant, case by case. They need the `caseload` program next to this
//! one. Answers and memory decide, not times; a long run by hand (`torture hostile long`) judges
//! those and has further cases.
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
    half_bodies,
    forty,
    hard_link,
    symbolic_link,
    other_path_command,
    killed_backup,
    modes,
    foreign_file,
    quota_log,
    wide_edits,
);

// Those in which the database has a part. A build with debugging code has more memory than the
// budget of a brief attack allows, so attacks on memory run there by hand.
attacks!(postgres:
    tags_edit,
    meta_keys,
    edit_times_issues,
    last_id,
    revoked_upload,
    quota_bytes,
    wide_edits,
);

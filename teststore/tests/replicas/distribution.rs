//! The tables can be distributed by domain over the nodes of a database: every index begins with
//! the id of a domain, no foreign key connects two tables, and every statement binds each of its
//! tables to one domain. The schema is read from the catalogue of a database. The statements are
//! read from the sources and from the wire.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use tokio::task::JoinSet;

use caseload_location::{LAYOUT, Placement};

use super::Database;
use super::cutter::Cutter;
use super::database::opened;
use super::sql_lint::unbound_tables;
use crate::suite::support::FEW_ROUNDS;

/// The table in which the migrations are recorded. Only a start writes it.
const MIGRATIONS: &str = "caseload_migrations";

/// The tables that are on the coordinator.
fn undistributed() -> Vec<&'static str> {
    let placed = LAYOUT.iter().filter(|(_, placement)| *placement == Placement::Coordinator);
    placed.map(|(table, _)| *table).chain([MIGRATIONS]).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_index_begins_with_the_domain_and_no_table_references_another() {
    let database = Database::new();
    let store = database.server();
    store.ready().await.unwrap();
    let client = database.client().await;
    let keys = "SELECT c.relname::text, i.indexrelid::regclass::text,
                (SELECT a.attname::text FROM pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attnum = i.indkey[0])
                FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid
                WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'";
    let mut looked_at = 0;
    for row in client.query(keys, &[]).await.unwrap() {
        let (table, index, first): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        if !undistributed().contains(&table.as_str()) {
            looked_at += 1;
            assert_eq!(first, "domain_id", "the first column of {index}");
        }
    }
    assert!(looked_at > 10, "{looked_at} keys");
    let without = "SELECT c.relname::text FROM pg_class c
                   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
                   AND NOT EXISTS (SELECT 1 FROM pg_index i
                                   WHERE i.indrelid = c.oid AND i.indisprimary)";
    assert!(client.query(without, &[]).await.unwrap().is_empty(), "a table without a key");
    let references = "SELECT count(*) FROM pg_constraint
         WHERE contype = 'f' AND connamespace = 'public'::regnamespace";
    let references: i64 = client.query_one(references, &[]).await.unwrap().get(0);
    assert_eq!(references, 0, "references from table to table");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_layout_names_every_table() {
    let database = Database::new();
    let store = database.server();
    store.ready().await.unwrap();
    let tables = "SELECT c.relname::text FROM pg_class c
                  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
                  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid
                      AND d.deptype = 'e')";
    let tables = database.client().await.query(tables, &[]).await.unwrap();
    let tables: BTreeSet<String> = tables.iter().map(|row| row.get(0)).collect();
    let named = LAYOUT.iter().map(|(table, _)| (*table).to_owned());
    assert_eq!(tables, named.chain([MIGRATIONS.to_owned()]).collect());
}

/// Only one file decides how statements are planned.
#[test]
fn one_file_sets_the_mode_of_plans() {
    let mut sources = backend_sources();
    sources.retain(|(_, source)| source.contains("plan_cache_mode"));
    let files: Vec<_> = sources.iter().map(|(file, _)| file.as_str()).collect();
    assert_eq!(files, ["nodes.rs"]);
}

/// The string literals of a source file that are statements about a table, or pieces of one.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (n, literal) in source.split('"').enumerate() {
        // Every second piece is a literal: no statement contains an escaped quote.
        let words: Vec<_> = literal.split_whitespace().collect();
        let of_table = ["FROM", "INTO", "UPDATE", "JOIN"].iter().any(|word| words.contains(word));
        let is_whole = words.first().is_some_and(|word| BEGINNINGS.contains(word));
        if n % 2 == 1
            && of_table
            && (is_whole || literal.contains('{'))
            && words.iter().any(|word| BEGINNINGS.contains(word))
        {
            found.push(words.join(" "));
        }
    }
    found
}

const BEGINNINGS: [&str; 6] = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "COPY"];

/// The statements that visit every node: `check` counts rows without a domain, the work in the
/// background looks for domains that have some for it, a server asks whether all nodes answer, a
/// start compares the queue with the tasks, and webhooks that are due are searched and counted. A
/// server that is the only one ends all leases of webhooks.
const ON_EVERY_NODE: [&str; 8] = [
    "SELECT count(*) FROM {table} WHERE domain_id NOT IN \
     (SELECT id FROM domains UNION ALL SELECT removed_id FROM domain_removals)",
    "SELECT domain_id FROM issue_set_deltas GROUP BY domain_id \
     UNION SELECT domain_id FROM issue_count_deltas GROUP BY domain_id",
    "SELECT domain_id, \
     CAST(sum(CASE WHEN erased THEN 0 ELSE last_row - first_row + 1 END) AS BIGINT), \
     CAST(sum(CASE WHEN erased THEN last_row - first_row + 1 ELSE 0 END) AS BIGINT) \
     FROM issue_text_marks GROUP BY domain_id ORDER BY domain_id",
    "SELECT count(*) FROM domain_clocks",
    "SELECT domain_id, id, seq, writes, coalesce(next_try_at, 0) FROM tasks WHERE status < 4",
    "SELECT w.domain_id, w.id FROM webhooks w \
     JOIN domain_clocks c ON c.domain_id = w.domain_id WHERE",
    "SELECT count(CASE WHEN NOT w.paused AND w.position < c.last_position THEN 1 END), \
     count(CASE WHEN w.paused THEN 1 END) FROM webhooks w",
    "UPDATE webhooks SET lease_server = NULL, lease_until = 0, lease_epoch = lease_epoch + 1 \
     WHERE lease_server IS NOT NULL",
];

/// The sources of the backend and of the shared rules, each with the name of its file.
fn backend_sources() -> Vec<(String, String)> {
    let sources = ["../crates/store/src", "../crates/store-postgres/src"];
    let mut open = sources.map(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).to_vec();
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                // A copy of a store reads and writes whole tables, a distribution moves them.
                if !path.ends_with("copy") && !path.ends_with("distribution") {
                    open.push(path);
                }
                continue;
            }
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            found.push((file, std::fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

/// Every literal of these sources, with the name of its file.
fn backend_literals() -> Vec<(String, String)> {
    let of = |(file, source): (String, String)| {
        // The shared statements have the places of values as SQLite writes them.
        let found = literals(&source.replace('?', "$"));
        found.into_iter().map(move |literal| (file.clone(), literal))
    };
    let found: Vec<_> = backend_sources().into_iter().flat_map(of).collect();
    assert!(found.len() > 60, "{} literals", found.len());
    found
}

/// Whether a statement may have been formatted from a literal: it contains the literal's fixed
/// pieces in order.
fn is_from(text: &str, literal: &str) -> bool {
    let pieces =
        literal.split('{').enumerate().map(|(n, piece)| match (n, piece.split_once('}')) {
            (0, _) | (_, None) => piece,
            (_, Some((_, fixed))) => fixed,
        });
    let mut left = text;
    for piece in pieces {
        let Some(at) = left.find(piece.trim()) else { return false };
        left = &left[at + piece.trim().len()..];
    }
    true
}

/// The statements that tests of the suite send. The tests run in parallel and with few rounds, each
/// on a database of its own, and the wire between the store and the database records them.
macro_rules! statements_of {
    ($($module:ident: $($behaviour:ident),+;)+) => {{
        let mut running = JoinSet::new();
        $($(running.spawn(async {
            let database = Database::new();
            let cutter = Cutter::new(&database.url()).await;
            let test = crate::suite::$module::$behaviour(opened(cutter.url()));
            FEW_ROUNDS.scope((), test).await;
            cutter.texts()
        });)+)+
        running.join_all().await.into_iter().flatten().collect::<BTreeSet<String>>()
    }};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_statement_binds_each_of_its_tables_to_a_domain() {
    let texts = statements_of!(
        tasks: metrics_count_the_tasks_that_wait_and_those_that_run,
            in_a_queue_longer_than_a_claim_reads_every_domain_has_its_turn;
        domains: deleting_a_domain_removes_all_its_data_and_no_other_data,
            an_agent_id_that_exists_is_refused, records_of_an_unknown_domain_are_refused,
            apps_get_increasing_publish_ids, a_key_grants_access_until_it_expires_or_is_revoked;
        limits: a_write_of_a_key_that_was_revoked_changes_nothing,
            limits_are_stored_with_their_domain,
            a_domain_may_have_as_many_unfinished_tasks_as_its_quota;
        uploads: discarding_removes_an_upload_that_no_task_accepted,
            an_abandoned_upload_is_purged_block_by_block,
            an_upload_of_several_tasks_lives_while_it_continues;
        imports: random_filters_list_the_imports_that_a_naive_reading_finds,
            cancelling_an_import_ends_its_unfinished_tasks;
        import_repeats: a_dry_import_has_one_run_that_it_names,
            a_file_sent_again_is_a_repeat_until_its_import_expires;
        idempotency: keys_are_removed_when_they_expire_or_their_domain_is_deleted;
        task_ends: a_retry_has_the_failed_and_unprocessed_entries_at_their_indexes,
            a_cancelled_task_ends_even_if_its_attempt_fails_or_its_lease_expires,
            tasks_are_listed_newest_first_and_filtered_by_status_and_action,
            expired_payloads_and_records_are_purged_in_steps_but_not_their_task;
        profiles: updates_move_identities_between_profiles, created_profiles_can_be_read,
            a_dry_run_plans_each_entry_on_top_of_the_earlier_ones,
            a_missing_profile_fails_its_entry;
        issues: a_single_issue_has_the_fields_that_the_view_selects,
            an_import_creates_the_apps_agents_and_app_profiles_it_names,
            importing_a_known_id_is_unchanged_or_a_conflict,
            deep_pages_equal_those_of_a_naive_store;
        profile_lists: random_filters_find_the_same_profiles_as_a_naive_reading,
            all_steps_together_are_the_whole_list_of_profiles,
            profiles_that_share_an_identity_lead_to_each_other;
        filters: random_filters_find_the_same_issues_as_a_naive_store;
        steps: all_steps_together_are_the_whole_sorted_list;
        issue_writes: random_writes_are_indexed_and_counted, unclaimed_attachments_are_purged,
            a_repeated_write_gets_the_first_answer_and_writes_nothing,
            attachments_belong_to_their_message;
        ended_keys: a_command_of_a_key_that_ended_is_refused;
        deaths: a_task_waits_longer_after_each_death_of_a_server_and_no_other_task_waits;
        texts: random_writes_are_found_before_and_after_the_index_takes_them_in;
        filled: a_store_with_rows_in_every_table_passes_the_check;
        logged: old_changes_are_dropped_and_a_late_reader_gets_an_error;
        webhooks: a_webhook_is_created_edited_and_deleted,
            of_two_servers_one_has_a_webhook_at_a_time;
        views: a_view_is_seen_by_its_key_or_by_its_domain,
            the_views_of_a_key_end_with_it_or_go_to_the_key_that_replaces_it,
            an_erasure_removes_the_views_that_name_the_person;
        erasures: an_erased_person_leaves_nothing_and_the_others_stay;
        redactions: each_part_is_redacted_and_found_in_the_log;
    );
    let unbound = |from: &str, text: &str| -> String {
        let found = unbound_tables(text, &undistributed());
        if found.is_empty() { String::new() } else { format!("{found:?}: {from}: {text}\n") }
    };
    let on_every_node = |text: &str| ON_EVERY_NODE.iter().any(|known| is_from(text, known));
    // Only migrations alter tables, and the parser does not know how a column is stored.
    let sent = texts.iter().filter(|text| !on_every_node(text) && !text.starts_with("ALTER TABLE"));
    let mut wrong: String = sent.map(|text| unbound("sent", text)).collect();
    for (file, literal) in backend_literals() {
        // A formatted statement is checked in the form in which it was sent.
        if on_every_node(&literal) {
            continue;
        }
        if !literal.contains('{') {
            wrong += &unbound(&file, &literal);
        } else if !texts.iter().any(|text| is_from(text, &literal)) {
            writeln!(wrong, "never sent: {file}: {literal}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{} statements were sent. Faults:\n{wrong}", texts.len());
    assert!(texts.len() > 250, "{} statements", texts.len());
}

//! That the tables can be distributed by the domain: every key of a table begins with the domain's
//! id, no reference leaves it, and every statement says whose records it is about.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use tokio::task::JoinSet;

use super::Database;
use super::cutter::Cutter;
use super::database::opened;
use super::predicates::faults;

/// Tables that every server of a distributed database would have whole, or that it would keep in
/// one place: domains and the keys that lead to them, the queue with its leases, and how far the
/// copy is that fills the store.
const SMALL: [&str; 6] = [
    "domains",
    "domain_removals",
    "keys",
    "task_queue",
    "copy_progress",
    "refinery_schema_history",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_key_begins_with_the_domain_and_none_leads_elsewhere() {
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
        if !SMALL.contains(&table.as_str()) {
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
    let references = "SELECT count(*) FROM pg_constraint WHERE contype = 'f'";
    let references: i64 = client.query_one(references, &[]).await.unwrap().get(0);
    assert_eq!(references, 0, "references from table to table");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_that_distributes_the_tables_names_all_of_them() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/distribute.sql");
    let file = std::fs::read_to_string(file).unwrap();
    let database = Database::new();
    let store = database.server();
    store.ready().await.unwrap();
    let tables = "SELECT c.relname::text FROM pg_class c
                  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'";
    let mut distributed = 0;
    for row in database.client().await.query(tables, &[]).await.unwrap() {
        let table: String = row.get(0);
        let by_domain = file.contains(&format!("create_distributed_table('{table}', 'domain_id'"));
        assert_ne!(by_domain, SMALL.contains(&table.as_str()), "{table}");
        distributed += usize::from(by_domain);
    }
    assert_eq!(distributed, file.matches("create_distributed_table(").count());
}

/// The literals of a source file that are statements about a table, or pieces of one.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (n, literal) in source.split('"').enumerate() {
        // Every second piece is inside of quotes: none of these files has an escaped one.
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

/// What `check` looks for: rows of a table that belong to no domain, on every node there is.
const OF_NO_DOMAIN: &str = "SELECT count(*) FROM {table} WHERE domain_id NOT IN (SELECT id \
                            FROM domains UNION ALL SELECT removed_id FROM domain_removals)";

/// Every literal of the backend with the file that it is in.
fn of_the_backend() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/postgres");
    let (mut open, mut found) = (vec![folder], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                // A copy reads and writes whole tables.
                if !path.ends_with("copy") {
                    open.push(path);
                }
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            found.extend(literals(&source).into_iter().map(|literal| (file.clone(), literal)));
        }
    }
    assert!(found.len() > 60, "{} literals", found.len());
    found
}

/// Whether a text may have been put together from a literal: its fixed pieces are there in order.
fn is_of(text: &str, literal: &str) -> bool {
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

/// Runs behaviours of the suite side by side, each on a database of its own behind a wire; the
/// statements that went through.
macro_rules! texts_of {
    ($($room:ident: $($behaviour:ident),+;)+) => {{
        let mut running = JoinSet::new();
        $($(running.spawn(async {
            let database = Database::new();
            let cutter = Cutter::new(&database.url()).await;
            crate::suite::$room::$behaviour(opened(cutter.url())).await;
            cutter.texts()
        });)+)+
        running.join_all().await.into_iter().flatten().collect::<BTreeSet<String>>()
    }};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_statement_binds_each_table_that_it_names_to_a_domain() {
    let texts = texts_of!(
        domains: a_deleted_domain_leaves_nothing_and_others_alone, agents_are_kept_once,
            what_belongs_to_a_domain_needs_the_domain;
        uploads: what_is_staged_and_not_accepted_goes_when_it_is_discarded,
            an_upload_that_nobody_continues_is_removed_in_steps;
        repeats: expired_keys_are_removed_and_a_domain_takes_its_keys_along;
        ends: what_failed_or_was_left_is_retried_in_its_places,
            a_cancelled_task_ends_even_if_its_server_fails_or_is_gone,
            tasks_are_listed_newest_first_by_state_and_action,
            what_has_expired_is_removed_in_steps_and_the_task_stays;
        profiles: updates_move_identities_between_profiles, created_profiles_are_read_back,
            a_dry_run_sees_what_its_earlier_entries_would_leave,
            missing_profiles_are_errors_of_their_entries;
        issues: an_issue_is_read_by_its_id_as_the_view_wants_it, an_import_makes_whom_it_names,
            a_taken_id_is_unchanged_or_a_conflict, deep_pages_are_those_of_a_naive_list;
        filters: any_filters_find_what_a_naive_store_finds;
        steps: a_walk_by_steps_is_the_whole_sorted_list;
        writing: whatever_is_written_is_found_and_counted, what_no_message_claims_is_removed,
            a_repeat_gets_the_first_answer_and_writes_nothing,
            attachments_are_kept_with_their_message;
        whole: a_store_with_something_in_every_table_is_sound;
    );
    let unbound = |from: &str, text: &str| -> String {
        let found = faults(text, &SMALL);
        if found.is_empty() { String::new() } else { format!("{found:?}: {from}: {text}\n") }
    };
    let sent = texts.iter().filter(|text| !is_of(text, OF_NO_DOMAIN));
    let mut wrong: String = sent.map(|text| unbound("sent", text)).collect();
    for (file, literal) in of_the_backend() {
        // What is put together from pieces is looked at as it was sent.
        if !literal.contains('{') {
            wrong += &unbound(&file, &literal);
        } else if !texts.iter().any(|text| is_of(text, &literal)) {
            writeln!(wrong, "never sent: {file}: {literal}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "beside {} statements that were sent:\n{wrong}", texts.len());
    assert!(texts.len() > 250, "{} statements", texts.len());
}

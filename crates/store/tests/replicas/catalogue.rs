//! That the tables can be distributed by the domain: every key of a table begins with the domain's
//! id, no reference leaves it, and every statement says whose records it is about.

use std::path::Path;

use super::Database;

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

/// The literals of a source file that are statements about a table.
fn statements(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (n, literal) in source.split('"').enumerate() {
        // Every second piece is inside of quotes: none of these files has an escaped one.
        let words: Vec<_> = literal.split_whitespace().collect();
        let of_table = ["FROM", "INTO", "UPDATE", "JOIN"].iter().any(|word| words.contains(word));
        let begins = words
            .first()
            .is_some_and(|word| ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(word));
        if n % 2 == 1 && of_table && begins {
            found.push(words.join(" "));
        }
    }
    found
}

#[test]
fn every_statement_says_whose_records_it_is_about() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/postgres");
    let (mut open, mut looked_at) = (vec![folder], 0);
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
            for statement in statements(&source) {
                looked_at += 1;
                // What is put together from pieces has the domain in one of them.
                let text = if statement.contains('{') { &source } else { &statement };
                let named = text.contains("domain_id");
                assert!(named || small_only(&statement), "{}: {statement}", path.display());
            }
        }
    }
    assert!(looked_at > 60, "{looked_at} statements");
}

/// Whether a statement is about nothing but small tables and the catalogue.
fn small_only(statement: &str) -> bool {
    let words: Vec<_> = statement.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let behind = |word: &str| matches!(word, "FROM" | "INTO" | "UPDATE" | "JOIN");
    let mut tables = words.windows(2).filter(|pair| behind(pair[0])).map(|pair| pair[1]);
    tables.all(|table| {
        let no_table = ["SKIP", "OF", "SET", ""].contains(&table);
        SMALL.contains(&table) || table.starts_with("pg_") || no_table
    })
}

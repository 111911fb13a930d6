//! The template of test databases: a database with the tables of a store, made once for each server
//! and version of the migrations. An advisory lock makes processes that need it at the same moment
//! take turns.

use std::path::Path;
use std::sync::OnceLock;

use caseload_location::StoreLocation;
use caseload_store::OpenMode;
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;

use crate::server::{self, aside, connect};

/// The folder of the migrations.
const MIGRATIONS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/store-postgres/migrations");
/// The key of the advisory lock.
const TURN: i64 = 0x7465_6d70_6c61_7465;

/// The name of the template, which exists when this returns.
pub(crate) fn name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let name = format!("caseload_template_{}", digest());
        aside(|runtime| make(runtime, &name));
        name
    })
}

/// A digest of the migrations, for the name of the template.
fn digest() -> String {
    let files = std::fs::read_dir(Path::new(MIGRATIONS)).expect("the folder of the migrations");
    let mut files: Vec<_> = files.map(|file| file.expect("a migration").path()).collect();
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        hash.update(file.to_string_lossy().as_bytes());
        hash.update(std::fs::read(&file).expect("a migration"));
    }
    hex::encode(&hash.finalize()[..8])
}

fn make(runtime: &Runtime, name: &str) {
    let exists = format!("SELECT datistemplate FROM pg_database WHERE datname = '{name}'");
    let admin = runtime.block_on(connect(&server::url()));
    let complete = || {
        let row = runtime.block_on(admin.query_opt(&exists, &[])).expect("databases are listed");
        row.is_some_and(|row| row.get(0))
    };
    if complete() {
        return;
    }
    let run = |statement: &str| {
        runtime.block_on(admin.batch_execute(statement)).expect("the template is made");
    };
    run(&format!("SELECT pg_advisory_lock({TURN})"));
    if !complete() {
        run(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        run(&format!("CREATE DATABASE {name}"));
        let location: StoreLocation = server::url_of(name).parse().expect("an address");
        let made = runtime.block_on(async {
            caseload_location::open(&location, OpenMode::Create).await?.close().await
        });
        made.expect("a store is made");
        // A connection to the template would prevent copies of it.
        run(&format!("ALTER DATABASE {name} IS_TEMPLATE true ALLOW_CONNECTIONS false"));
    }
    run(&format!("SELECT pg_advisory_unlock({TURN})"));
}

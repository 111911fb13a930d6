//! Examines whether a database can be used as a store: it must be new enough, have the right
//! encoding, and either be empty or be a store already. This happens before the first table is
//! created, so that a database of another program is never changed.

use tokio_postgres::Client;

use super::error::store_error;
use crate::PostgresAddress;
use caseload_store::StoreError;

/// The oldest supported version of PostgreSQL, as in `server_version_num`, and as text.
const VERSION_MIN: i32 = 140_000;
const VERSION_MIN_TEXT: &str = "14";

/// Selects one row with all the facts.
const QUESTIONS: &str = "SELECT
    current_setting('server_version_num')::integer,
    current_setting('server_version'),
    current_setting('server_encoding'),
    current_schema(),
    to_regclass('domain_clocks') IS NOT NULL,
    (SELECT min(relname)::text FROM pg_class
        WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND relkind IN ('r', 'p', 'v', 'm', 'f')
        AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass
            AND objid = pg_class.oid AND deptype = 'e')),
    has_schema_privilege(current_schema(), 'CREATE'),
    to_regclass('pg_catalog.pg_dist_local_group') IS NOT NULL";
/// Whether a database with the extension Citus is on a worker node.
const IS_WORKER: &str = "SELECT groupid <> 0 FROM pg_catalog.pg_dist_local_group";

/// Refuses a database that is not a store and cannot become one, or may not. The query is not
/// prepared, because a pooler may be in between.
pub(crate) async fn examine(
    client: &Client,
    address: &PostgresAddress,
    may_create: bool,
) -> Result<(), StoreError> {
    let rows = client.query_typed(QUESTIONS, &[]).await.map_err(store_error)?;
    let row = rows
        .first()
        .ok_or_else(|| StoreError::Corrupt("an empty answer about the database".into()))?;
    let refuse = |reason: String, hint: &str| Err(address.not_opened(reason, hint.to_owned()));
    let (number, version): (i32, &str) = (row.get(0), row.get(1));
    if number < VERSION_MIN {
        return refuse(
            format!("its PostgreSQL version {version} is too old"),
            &format!("caseload needs PostgreSQL {VERSION_MIN_TEXT} or later"),
        );
    }
    // Before all else: a worker has tables of the store, but not all.
    if row.get(7) {
        let worker = client.query_typed(IS_WORKER, &[]).await.map_err(store_error)?;
        if worker.first().is_some_and(|worker| worker.get(0)) {
            return refuse(
                "the address is that of a worker node of a cluster".to_owned(),
                "give the address of the coordinator, the node that knows the workers",
            );
        }
    }
    let encoding: &str = row.get(2);
    if encoding != "UTF8" {
        return refuse(
            format!("the database has the encoding {encoding}"),
            "create it again: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        );
    }
    let Some(schema): Option<&str> = row.get(3) else {
        return refuse(
            "no schema of the user's search_path exists".to_owned(),
            "CREATE SCHEMA, or ALTER ROLE … SET search_path",
        );
    };
    let (is_a_store, table): (bool, Option<&str>) = (row.get(4), row.get(5));
    if is_a_store {
        return Ok(());
    }
    if !may_create {
        return Err(address.no_store(match table {
            Some(table) => format!("the database has other tables, for example {schema}.{table}"),
            None => "the database is empty".to_owned(),
        }));
    }
    if let Some(table) = table {
        return refuse(
            format!(
                "the database is not a store: it has other tables, for example {schema}.{table}"
            ),
            "give caseload a database of its own: `createdb caseload`",
        );
    }
    if !row.get::<_, bool>(6) {
        return refuse(
            format!("the user may not create tables in the schema {schema}"),
            "make the user the owner of the database, or GRANT CREATE ON SCHEMA",
        );
    }
    Ok(())
}

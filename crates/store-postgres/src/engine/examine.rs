//! Whether a database is one that a store can be kept in: new enough, of the right encoding, and
//! either empty or a store already. It is asked before the first table is made, because a database
//! that belongs to something else is better left alone.

use tokio_postgres::Client;

use super::error::store_error;
use crate::PostgresAddress;
use caseload_store::StoreError;

/// The oldest version of PostgreSQL, as `server_version_num` has it, and in words.
const VERSION_MIN: i32 = 140_000;
const VERSION_MIN_TEXT: &str = "14";

/// One row with everything that is asked about.
const QUESTIONS: &str = "SELECT
    current_setting('server_version_num')::integer,
    current_setting('server_version'),
    current_setting('server_encoding'),
    current_schema(),
    to_regclass('refinery_schema_history') IS NOT NULL,
    (SELECT min(relname)::text FROM pg_class
        WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND relkind IN ('r', 'p', 'v', 'm', 'f')
        AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass
            AND objid = pg_class.oid AND deptype = 'e')),
    has_schema_privilege(current_schema(), 'CREATE')";

/// Refuses a database that is no store and cannot become one. Nothing is prepared for it: there may
/// be a pooler in between.
pub(super) async fn examine(client: &Client, address: &PostgresAddress) -> Result<(), StoreError> {
    let rows = client.query_typed(QUESTIONS, &[]).await.map_err(store_error)?;
    let row = rows.first().ok_or_else(|| StoreError::Corrupt("no answer to a question".into()))?;
    let refuse = |reason: String, hint: &str| Err(address.not_opened(reason, hint.to_owned()));
    let (number, version): (i32, &str) = (row.get(0), row.get(1));
    if number < VERSION_MIN {
        return refuse(
            format!("its PostgreSQL is of version {version}, which is too old"),
            &format!("caseload needs PostgreSQL {VERSION_MIN_TEXT} or later"),
        );
    }
    let encoding: &str = row.get(2);
    if encoding != "UTF8" {
        return refuse(
            format!("the database has the encoding {encoding}"),
            "make it anew: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        );
    }
    let Some(schema): Option<&str> = row.get(3) else {
        return refuse(
            "no schema of the user's search_path exists".to_owned(),
            "CREATE SCHEMA, or ALTER ROLE … SET search_path",
        );
    };
    let (migrated, table): (bool, Option<&str>) = (row.get(4), row.get(5));
    if migrated {
        return Ok(());
    }
    if let Some(table) = table {
        return refuse(
            format!(
                "the database is no store: it holds something else, for example {schema}.{table}"
            ),
            "give caseload a database of its own: `createdb caseload`",
        );
    }
    if !row.get::<_, bool>(6) {
        return refuse(
            format!("the user may not make tables in the schema {schema}"),
            "make the user the owner of the database, or GRANT CREATE ON SCHEMA",
        );
    }
    Ok(())
}

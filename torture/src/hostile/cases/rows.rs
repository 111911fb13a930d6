//! Wrong bits in the rows of a database. Those of a file are among the attacks on files. Only bytes
//! and texts are damaged: among the numbers are some that do no harm.

use anyhow::{Context as _, Result, ensure};
use caseload_testdata::SplitMix;
use tokio_postgres::{Client, NoTls};

use crate::hostile::arena::Arena;

/// Flips single bits in bytes and texts of rows: the check finds each.
pub(super) async fn row_flips(arena: &mut Arena) -> Result<String> {
    let hostile = arena.hostile.clone();
    for n in 0..12 {
        hostile.make_issue(&format!("issue {n} {}", "text ".repeat(200))).await?.good()?;
    }
    let lines: Vec<u8> = (0..200)
        .flat_map(|n| format!("{{\"identities\":[{{\"uid\":\"u-{n}\"}}]}}\n").into_bytes())
        .collect();
    hostile.run("create_core_profiles", lines).await?;
    // Background work of a server would move rows.
    arena.kill()?;
    let (client, connection) = tokio_postgres::connect(arena.location(), NoTls).await?;
    tokio::spawn(connection);
    let columns = client
        .query(
            "SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL)
             FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
             WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
             AND NOT a.attisdropped AND a.atttypid IN ('bytea'::regtype, 'text'::regtype)
             AND c.relname <> 'caseload_migrations' AND a.attname <> 'lease_server'
             ORDER BY 1, a.attnum",
            &[],
        )
        .await?;
    let flips = arena.scale.of(12, 220);
    let (mut random, mut found) = (SplitMix::new(3), 0);
    for column in columns.iter().cycle().take(columns.len() * 20) {
        if found == flips {
            break;
        }
        let (table, name): (String, String) = (column.get(0), column.get(1));
        let Some(flip) = Flip::choose(&client, column, &mut random).await? else { continue };
        let is_sound = arena.command(&["check"]).is_ok();
        flip.undo(&client).await?;
        ensure!(!is_sound, "a flipped bit of {table}.{name} was not found");
        found += 1;
    }
    arena.command(&["check"])?;
    Ok(format!("{found} were found"))
}

/// A flipped bit, and the value before.
struct Flip {
    table: String,
    name: String,
    row: String,
    before: Before,
}

enum Before {
    Bytes(Vec<u8>),
    Text(String),
}

impl Flip {
    /// Flips a bit of a random row; `None` if there is none, or if another rule is in the way.
    async fn choose(
        client: &Client,
        column: &tokio_postgres::Row,
        random: &mut SplitMix,
    ) -> Result<Option<Self>> {
        let (table, name, kind): (String, String, String) =
            (column.get(0), column.get(1), column.get(2));
        let select = format!(
            "SELECT ctid::text, {name} FROM {table} WHERE length({name}) > 0
             ORDER BY md5(ctid::text || $1) LIMIT 1"
        );
        let Some(row) = client.query_opt(&select, &[&random.below(1 << 20).to_string()]).await?
        else {
            return Ok(None);
        };
        let at: String = row.get(0);
        let update =
            format!("UPDATE {table} SET {name} = $1 WHERE ctid = '{at}' RETURNING ctid::text");
        let (written, before) = if kind == "bytea" {
            let before: Vec<u8> = row.get(1);
            let mut after = before.clone();
            after[random.below(before.len())] ^= 1 << random.below(8);
            (client.query_one(&update, &[&after]).await, Before::Bytes(before))
        } else {
            let before: String = row.get(1);
            let mut after: Vec<char> = before.chars().collect();
            let place = random.below(after.len());
            // The lowest bit of a character: the others would not always give one.
            after[place] = char::from_u32(after[place] as u32 ^ 1).context("no character")?;
            let after: String = after.into_iter().collect();
            (client.query_one(&update, &[&after]).await, Before::Text(before))
        };
        Ok(written.ok().map(|row| Self { table, name, row: row.get(0), before }))
    }

    async fn undo(&self, client: &Client) -> Result<()> {
        let Self { table, name, row, before } = self;
        let update = format!("UPDATE {table} SET {name} = $1 WHERE ctid = '{row}'");
        let undone = match before {
            Before::Bytes(bytes) => client.execute(&update, &[bytes]).await?,
            Before::Text(text) => client.execute(&update, &[text]).await?,
        };
        ensure!(undone == 1, "the flip of {table}.{name} could not be undone");
        Ok(())
    }
}

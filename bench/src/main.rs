//! Measurements of whole servers. The released program, as a process with a store of its own, takes
//! turns with a limit: the disk or the database alone with the same data. Absolute times of a
//! shared machine mean little; the ratios within one table are comparable. `bench/results` has the
//! earlier tables, and `bench/results/INDEX.md` one line for each run.

mod bulk;
mod capacity;
mod changes;
mod erasure;
mod figures;
mod files;
mod import;
mod issues;
mod memory;
mod people;
mod postgres;
mod profiles;
mod raw;
mod test_servers;
mod upserts;

use anyhow::{Result, bail};

const USAGE: &str = "\
Measures servers of the `caseload` program next to this one against limits. Build both first:
cargo build --profile dist -p caseload -p bench

usage:
  bench bulk [ROUNDS] [--profiles N] [--date DATE] [--commit COMMIT] [--write]
                               bulk actions on SQLite, from an empty store and with N profiles;
                               --write stores the tables in bench/results
  bench import [ROUNDS]        10,000 profile creations alone
  bench files [ROWS] [ROUNDS]  a table as an import against the same people as ready tasks
  bench upserts [ROUNDS]       10,000 profile upserts alone
  bench issues-store FOLDER N  makes a store of N generated issues in FOLDER
  bench issues FOLDER [PART]   lists and reads of that store; PART selects cases by name
  bench profiles-store FOLDER N
                               makes a store of N core profiles in FOLDER; its size
  bench profiles FOLDER [PART] lists and lookups of profiles, and streams
  bench issues-import [ROUNDS] imports of 10,000 issues on SQLite
  bench memory                 the server's memory during ten uploads and ten downloads
  bench postgres [ROUNDS] [--issues N] [--only imports|servers|lists|claims] [--write]
                               imports, servers, lists and claims on PostgreSQL: that of
                               TEST_DATABASE_URL, or one that scripts/with-postgres starts
  bench changes [TASKS] [ROUNDS]
                               the log of changes after TASKS tasks of 10,000 profile creations:
                               reading it, a follower, a webhook, and 1,000 waiting followers
  bench erasure [TASKS]        erasures among TASKS times 10,000 issues and as many profiles, and
                               how they slow small writes
  bench test-servers           servers for tests: start, reset, and the memory of 50
  bench capacity [ROUNDS]      the cost of each call on PostgreSQL, and on a coordinator with one
                               and two workers of the extension Citus, which must be installed";

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rounds = |default| args.get(1).map_or(Ok(default), |text| text.parse());
    match args.first().map(String::as_str) {
        Some("import") => import::measure(rounds(5)?).await,
        Some("files") => {
            let rows = rounds(1_000_000)?;
            files::measure(rows, args.get(2).map_or(Ok(3), |text| text.parse())?).await
        }
        Some("upserts") => upserts::measure(rounds(5)?).await,
        Some("bulk") => bulk::measure(bulk::Options::parse(&args[1..])?).await,
        Some("postgres") => postgres::measure(&args[1..]).await,
        Some("capacity") => capacity::measure(rounds(3)?).await,
        Some("changes") => {
            let tasks = rounds(6)?;
            changes::measure(tasks, args.get(2).map_or(Ok(5), |text| text.parse())?).await
        }
        Some("erasure") => erasure::measure(rounds(10)?).await,
        Some("test-servers") => test_servers::measure(),
        Some("memory") => memory::measure().await,
        Some("issues-store") => {
            let (Some(folder), Some(count)) = (args.get(1), args.get(2)) else { bail!(USAGE) };
            issues::make(folder.as_ref(), count.parse()?).await
        }
        Some("issues") => {
            let Some(folder) = args.get(1) else { bail!(USAGE) };
            let only = args.get(2).map_or("", String::as_str);
            issues::measure(folder.as_ref(), only).await
        }
        Some("profiles-store") => {
            let (Some(folder), Some(count)) = (args.get(1), args.get(2)) else { bail!(USAGE) };
            people::make(folder.as_ref(), count.parse()?).await
        }
        Some("profiles") => {
            let Some(folder) = args.get(1) else { bail!(USAGE) };
            people::measure(folder.as_ref(), args.get(2).map_or("", String::as_str)).await
        }
        Some("issues-import") => issues::import(rounds(10)?).await,
        _ => bail!(USAGE),
    }
}

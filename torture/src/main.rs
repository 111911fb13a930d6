//! Attacks on whole servers. A run does work of every kind, makes faults during it, and then
//! compares all stored data with the acknowledged writes. The first broken law ends the run with an
//! error; the store or the servers' logs remain for an examination. The printed seed fixes the
//! requests and the faults, not the timing of the machine.

mod crash;
mod followed;
mod histories;
mod hostile;
mod laws;
mod queue;
mod replicas;
mod shim;
mod simulation;
mod stage;

use anyhow::{Result, bail};
use caseload_teststore::Backend;

const USAGE: &str = "\
Attacks servers of the `caseload` program next to this one, and checks that no acknowledged write
is lost and none takes effect twice. Build both first, in either profile:
cargo build -p caseload -p torture

usage:
  torture crash [KILLS] [SEED]      kills one server on SQLite at random moments, 200 times unless
                                    KILLS says otherwise, and restarts it on the same store
  torture replicas [ROUNDS] [SEED]  attacks several servers on one PostgreSQL: kills and freezes
                                    servers, restarts the database, cuts and blocks connections,
                                    ends the session of a running chunk; 50 rounds unless ROUNDS
                                    says otherwise. Uses the database server of TEST_DATABASE_URL,
                                    or starts one with scripts/with-postgres
  torture nodes [ROUNDS] [SEED]     the same on a cluster of a coordinator and two workers of the
                                    extension Citus, which must be installed; also crashes workers,
                                    cuts them off, moves shards and isolates a domain; 30 rounds
  torture hostile [brief|long] [sqlite|postgres] [GROUP|CASE]...
                                    attacks a server as one hostile tenant, or as a stranger, and
                                    holds each attack to its reach; prints the server's peak of
                                    memory and the times of another tenant's answers. All groups on
                                    both stores unless named; PostgreSQL is that of
                                    TEST_DATABASE_URL
  torture histories sqlite|postgres [ROUNDS] [SEED]
                                    records the calls and answers of clients through kills, crashes,
                                    a failover and jumps of clocks, and checks that the history of
                                    each issue and identity has an order; 50 rounds unless ROUNDS
                                    says otherwise. Run it under scripts/with-postgres
  torture followed sqlite|postgres [ROUNDS] [SEED]
                                    follows the log of changes through the same faults and next to
                                    writers of every kind, and compares the state that it gives
                                    with an export, byte for byte; 50 rounds unless ROUNDS says
                                    otherwise. Run it under scripts/with-postgres
  torture simulate [SCHEDULES] [SEED]
                                    plays schedules of the task engine on one virtual clock, with
                                    the seeds from SEED on: 100,000 unless SCHEDULES says
                                    otherwise; a single one is printed. Needs no other program
  torture queue [SERVERS] [DOMAINS] [SEED]
                                    plays the claims of a large cluster on a virtual clock: how busy
                                    its coordinator is and how long tasks wait; 1,000 servers and
                                    10,000 domains. Needs no other program";

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize| args.get(n).map(|text| text.parse::<u64>()).transpose();
    match args.first().map(String::as_str) {
        Some("crash") => crash::run(number(1)?.unwrap_or(200) as usize, number(2)?).await,
        Some("replicas") => {
            replicas::run(number(1)?.unwrap_or(50) as usize, number(2)?, false).await
        }
        Some("nodes") => replicas::run(number(1)?.unwrap_or(30) as usize, number(2)?, true).await,
        Some(name @ ("histories" | "followed")) => {
            let backend = match args.get(1).map(String::as_str) {
                Some("sqlite") => Backend::Sqlite,
                Some("postgres") => Backend::Postgres,
                _ => bail!(USAGE),
            };
            let (rounds, seed) = (number(2)?.unwrap_or(50) as usize, number(3)?);
            if name == "followed" {
                return followed::run(backend, rounds, seed).await;
            }
            histories::run(backend, rounds, seed).await
        }
        Some("hostile") => hostile::run(&args[1..]).await,
        Some("queue") => {
            let size = |n, default| number(n).map(|size| size.map_or(default, |n| n as usize));
            queue::run(size(1, 1_000)?, size(2, 10_000)?, number(3)?)
        }
        Some("simulate") => simulation::run(number(1)?.unwrap_or(100_000), number(2)?),
        _ => bail!(USAGE),
    }
}

//! Core profiles at scale. `bench profiles-store FOLDER N` fills a store with N profiles and a
//! tenth as many issues through bulk actions and measures its size; `bench profiles FOLDER`
//! measures lists and lookups of a server on it, request by request in turns with a server that
//! has the same bytes in memory, and the streams of all profiles and of all issues.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use caseload_client::Client;
use caseload_model::task::Action;

use crate::bulk::jobs::run;
use crate::figures::real;
use crate::issues::cases::Case;
use crate::issues::memory::MemoryServer;
use crate::issues::wire::{Connection, Target, total_hits};
use crate::issues::{fill, line, scan};
use crate::raw::settled_bytes;
use bench::server::Store;

/// Profiles of one task.
const ENTRIES: usize = 10_000;
const COUNTRIES: [&str; 8] = ["DE", "FR", "US", "GB", "ES", "IT", "NL", "PL"];
const LANGUAGES: [&str; 4] = ["de", "en", "fr", "es"];
const LIST: &str = "/v2/bench/identity/core_profiles";

/// A number that looks random, so that neighbours have other values.
const fn mixed(n: usize) -> u64 {
    (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16
}

fn email(n: usize) -> String {
    format!("user{:x}@example.org", mixed(n))
}

/// The JSON lines of some profiles, about 315 bytes each.
fn lines(from: usize, until: usize) -> String {
    let mut out = String::new();
    for n in from..until {
        let h = mixed(n);
        let value = |values: &[&'static str], shift: u64| {
            values[((h >> shift) % values.len() as u64) as usize]
        };
        let _ = writeln!(
            out,
            concat!(
                r#"{{"identities":[{{"email":"{email}"}},{{"uid":"u-{h:012x}"}}],"#,
                r#""names":{{"first_name":"Ada {a}","last_name":"Byron"}},"tags":["tag-{b}"],"#,
                r#""last_country":"{country}","preferred_language":"{language}","#,
                r#""user_persona":"builder","user_vip_segment":"{segment}","#,
                r#""user_support_status":"active","age":{age},"lifetime_value":1023.99}}"#
            ),
            email = email(n),
            h = h,
            a = h % 1000,
            b = h / 1000 % 17,
            country = value(&COUNTRIES, 20),
            language = value(&LANGUAGES, 24),
            segment = value(&["gold", "silver", "bronze"], 28),
            age = 18 + h % 60,
        );
    }
    out
}

/// Fills a store at `folder`, which remains.
#[expect(clippy::print_stdout, reason = "the figures are the output")]
pub(crate) async fn make(folder: &Path, count: usize) -> Result<()> {
    let store = Store::at(folder)?;
    let key = store.domain("bench")?;
    let server = store.serve()?;
    let client = Client::new(&server.url, "bench", &key)?;
    let (mut bytes, mut took) = (0, 0.0);
    for from in (0..count).step_by(ENTRIES) {
        let lines = lines(from, (from + ENTRIES).min(count)).into_bytes();
        bytes += lines.len();
        took += run(&client, Action::CreateCoreProfiles, lines).await?.0.completed;
    }
    println!("{count} profiles, {:.0} a second, one task at a time", real(count) / took * 1e3);
    server.kill()?;
    let stored = settled_bytes(&store.path())? as usize;
    let found_by = stored_profiles(&store.path())?;
    println!("input {:.1} MB", real(bytes) / 1e6);
    for (name, stored) in [("profiles and their indexes", found_by), ("whole store", stored)] {
        println!("{name} {:.1} MB, ratio {:.3}", real(stored) / 1e6, real(stored) / real(bytes));
    }
    let server = store.serve()?;
    let client = Client::new(&server.url, "bench", &key)?;
    fill::fill(&client, count / 10).await?;
    std::fs::write(folder.join("key"), key)?;
    server.kill()
}

/// Bytes of the core profiles and of all that they are found by.
fn stored_profiles(path: &Path) -> Result<usize> {
    let select = "SELECT sum(pgsize) FROM dbstat WHERE aggregate AND name IN
        ('core_profiles', 'core_profiles_by_id', 'identities', 'profile_sets')";
    let bytes: i64 = rusqlite::Connection::open(path)?.query_row(select, [], |row| row.get(0))?;
    Ok(usize::try_from(bytes)?)
}

/// The filter of request number `n`.
type Filter = fn(usize) -> String;

/// The measured lists: their names and filters.
const LISTS: [(&str, Filter); 7] = [
    ("no filter", |_| String::new()),
    ("tag", |n| format!("&tags=tag-{}", n % 17)),
    ("country", |n| format!("&country={}", COUNTRIES[n % 8])),
    ("update time", |_| "&sort-by=update-time".to_owned()),
    ("updated since", |n| format!("&updated-since={}", 1_700_000_000_000 + n)),
    ("tag + country", |n| format!("&tags=tag-{}&country={}", n % 17, COUNTRIES[n % 8])),
    ("country + language + segment", |n| {
        let (country, language) = (COUNTRIES[n % 8], LANGUAGES[n % 4]);
        format!("&country={country}&language={language}&user-vip-segment=gold")
    }),
];

/// Measures a server on the store at `folder`; `only` selects lists by a part of their names.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn measure(folder: &Path, only: &str) -> Result<()> {
    let store = Store::at(folder)?;
    let server = store.serve()?;
    let key = std::fs::read_to_string(folder.join("key"))?;
    let address = server.url.trim_start_matches("http://").to_owned();
    let target = Target { address, key };
    let memory = MemoryServer::start()?;
    let limit = Target { address: memory.address.clone(), key: String::new() };
    let first = format!("{LIST}?page-size=1");
    let (status, first) = Connection::open(&target).await?.get(&first, true).await?;
    ensure!(status == 200, "the list answered {status}");
    let count = total_hits(&first)?;
    println!("{count} core profiles");
    println!();
    println!("| request | bytes | p50 ms | p99 ms | conns | req/s | limit req/s | ratio |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut cases = Vec::new();
    for (name, filter) in LISTS {
        for connections in [1, 16] {
            cases.push(Case {
                name: format!("list 100, {name}"),
                path: Arc::new(move |n| format!("{LIST}?page-size=100{}", filter(n))),
                connections,
                against_hello: false,
            });
        }
    }
    cases.push(Case {
        name: "lookup by identity".to_owned(),
        path: Arc::new(move |n| format!("{LIST}?identity=email:{}", email(n * 7_919 % count))),
        connections: 1,
        against_hello: true,
    });
    for case in cases.into_iter().filter(|case| case.name.contains(only)) {
        line(&case, &target, &limit, &memory).await?;
    }
    println!();
    if "stream".contains(only) {
        let profiles = scan::stream(&target, server.pid(), LIST).await?;
        let issues = scan::stream(&target, server.pid(), "/v1/bench/issues").await?;
        println!("profiles against issues: {:.2} of the bytes a second", profiles / issues);
    }
    server.kill()
}

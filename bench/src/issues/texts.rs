//! Searches in texts: a text that no issue has, rare words and phrases, a word that every tenth
//! issue has, and the same together with another filter. The generated texts are a hard case for an
//! index of grams, because all grams of their few syllables are common.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::cases::{DAY, state, tag};
use super::data::{FIRST_AT, SPAN_MS, word};
use super::wire::{Connection, Target, total_hits};
use crate::figures::real;

/// Requests of a case, each with another text, and the time after which no more are sent.
const REQUESTS: usize = 100;
const TIME: Duration = Duration::from_secs(12);

/// A text, and the other parameters in request number `n`.
type Search = (&'static str, fn(usize) -> String, fn(usize) -> String);

/// Words with a last syllable that no generated word ends in: each two syllables are common.
fn absent(n: usize) -> String {
    format!("{}zu", word(1024 + n % 900))
}

/// Words of which a million issues have up to about a thousand.
fn rare(n: usize) -> String {
    word(3925 + n % 75)
}

/// Two words that thousands of issues have, one after the other.
fn phrase(n: usize) -> String {
    format!("{} {}", word(700 + n % 300), word(400 + n * 7 % 300))
}

/// Words of which about a tenth of all issues have each.
fn tenth(n: usize) -> String {
    word(1024 + n % 60)
}

fn none(_: usize) -> String {
    String::new()
}

/// A span of seven days that begins within a day.
fn week(n: usize) -> String {
    let since = FIRST_AT + SPAN_MS / 8 + (n as i64 % 97) * 7 * DAY + 12_345_678;
    format!("&created-since={since}&created-until={}", since + 7 * DAY)
}

const SEARCHES: [Search; 11] = [
    ("absent", absent, none),
    ("rare word", rare, none),
    ("rare word + state", rare, state),
    ("rare word + tag", rare, tag),
    ("rare word + week", rare, week),
    ("phrase", phrase, none),
    ("phrase + state", phrase, state),
    ("in 10 %", tenth, none),
    ("in 10 % + state", tenth, state),
    ("in 10 % + tag", tenth, tag),
    ("in 10 % + week", tenth, week),
];

/// Prints a line for each search whose name contains `only`: all over one connection, with totals.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn measure(target: &Target, only: &str) -> Result<()> {
    let name = |name: &str| format!("text, {name}");
    let searches: Vec<_> =
        SEARCHES.iter().filter(|(named, ..)| name(named).contains(only)).collect();
    if searches.is_empty() {
        return Ok(());
    }
    println!("| request | hits, median | most | p50 ms | p99 ms | requests |");
    println!("|---|---|---|---|---|---|");
    for (named, text, rest) in searches {
        let mut connection = Connection::open(target).await?;
        let (mut times, mut hits) = (Vec::new(), Vec::new());
        let begun = Instant::now();
        for n in 0..REQUESTS {
            let text = text(n).replace(' ', "%20");
            let path = format!("/v1/bench/issues?page-size=10&text={text}{}", rest(n));
            let sent = Instant::now();
            let (status, body) = connection.get(&path, true).await?;
            times.push(sent.elapsed().as_secs_f64() * 1e3);
            ensure!(status == 200, "{path} answered {status}");
            hits.push(total_hits(&body)?);
            if begun.elapsed() > TIME {
                break;
            }
        }
        times.sort_by(f64::total_cmp);
        hits.sort_unstable();
        let at = |share: f64| times[(real(times.len() - 1) * share) as usize];
        println!(
            "| {} | {} | {} | {:.1} | {:.1} | {} |",
            name(named),
            hits[hits.len() / 2],
            hits[hits.len() - 1],
            at(0.5),
            at(0.99),
            times.len()
        );
    }
    println!();
    Ok(())
}

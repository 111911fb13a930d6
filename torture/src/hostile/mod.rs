//! Attacks of one hostile tenant, or of a stranger, on a server that serves other tenants, too.
//! Each case has a reach that it must not exceed: the answers that it gets, the memory of the
//! server, and the answers that another tenant gets during the attack. A case has a server and a
//! store of its own. Attacks touch loopback only and are bounded in time and number.

mod arena;
mod calm;
mod cases;
mod scale;
mod tenant;
mod wire;

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use caseload_teststore::Backend;

use arena::Arena;
use calm::Calm;
use cases::{CASES, Case};
use scale::Scale;

/// How long a case may take. A brief one is not judged by times: this only ends one that hangs.
const BRIEF_MAX: Duration = Duration::from_mins(9);
const LONG_MAX: Duration = Duration::from_mins(15);
/// The slowest hundredth of the other tenant's answers, in a long run, in milliseconds.
const P99_MS_MAX: f64 = 1_000.0;

/// The outcome of a case.
struct Verdict {
    case: &'static str,
    peak_mib: f64,
    calm: Calm,
    result: Result<String>,
}

/// Runs the cases that `words` choose: `long`, `sqlite` or `postgres`, groups, or names.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn run(words: &[String]) -> Result<()> {
    let is = |word: &str| words.iter().any(|given| given == word);
    let scale = if is("long") { Scale::Long } else { Scale::Brief };
    let backends: Vec<_> = [("sqlite", Backend::Sqlite), ("postgres", Backend::Postgres)]
        .into_iter()
        .filter(|(word, _)| is(word) || !is("sqlite") && !is("postgres"))
        .collect();
    let chosen = chosen(words)?;
    let mut broken = 0;
    for (name, backend) in backends {
        println!("{:<28} {:>8} {:>9} {:>9}  result", name, "peak MiB", "p50 ms", "p99 ms");
        for case in &chosen {
            if !case.is_for(backend) || case.long && scale == Scale::Brief {
                continue;
            }
            let verdict = one(case, backend, scale).await;
            broken += usize::from(verdict.result.is_err());
            println!("{verdict}");
        }
    }
    ensure!(broken == 0, "{broken} attacks reached further than they may");
    println!("every attack was held");
    Ok(())
}

/// The cases that are named, or whose group is; all of them if none is.
fn chosen(words: &[String]) -> Result<Vec<&'static Case>> {
    let scales = ["brief", "long", "sqlite", "postgres"];
    let mut named: Vec<&Case> = Vec::new();
    for word in words.iter().filter(|word| !scales.contains(&word.as_str())) {
        let found: Vec<_> =
            CASES.iter().filter(|case| case.name == word || case.group == word).collect();
        if found.is_empty() {
            let names: Vec<_> =
                CASES.iter().map(|case| format!("  {:<10} {}", case.group, case.name)).collect();
            bail!("no group and no case is named {word:?}:\n{}", names.join("\n"));
        }
        named.extend(found);
    }
    Ok(if named.is_empty() { CASES.iter().collect() } else { named })
}

async fn one(case: &Case, backend: Backend, scale: Scale) -> Verdict {
    let most = if scale == Scale::Brief { BRIEF_MAX } else { LONG_MAX };
    let mut verdict = Verdict {
        case: case.name,
        peak_mib: 0.0,
        calm: Calm::default(),
        result: Ok(String::new()),
    };
    verdict.result =
        match tokio::time::timeout(most, attack(case, backend, scale, &mut verdict)).await {
            Ok(result) => result.context(case.reach),
            Err(_) => Err(anyhow::anyhow!("not over after {most:?}").context(case.reach)),
        };
    verdict
}

async fn attack(
    case: &Case,
    backend: Backend,
    scale: Scale,
    verdict: &mut Verdict,
) -> Result<String> {
    let mut arena = Arena::open(backend, scale, case.arguments)?;
    let calm = if case.alone { None } else { Some(calm::begin(&arena).await?) };
    arena.reset_peak();
    let result = (case.attack)(&mut arena).await;
    verdict.peak_mib = arena.peak_mib();
    if let Some(calm) = calm {
        verdict.calm = calm.end().await;
    }
    let text = result?;
    let bound = arena.memory_bound_mib();
    ensure!(
        verdict.peak_mib <= bound,
        "the server had {:.0} MiB, which is more than {bound:.0}",
        verdict.peak_mib
    );
    let calm = &verdict.calm;
    if let Some(wrong) = &calm.wrong {
        bail!("another tenant got {wrong}");
    }
    ensure!(case.alone || calm.answered > 0, "no request of another tenant was answered");
    ensure!(
        scale == Scale::Brief || calm.p99 <= P99_MS_MAX,
        "the slowest hundredth of another tenant's answers took {:.0} ms",
        calm.p99
    );
    Ok(text)
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { case, peak_mib, calm, result } = self;
        write!(f, "{case:<28} {peak_mib:>8.0} {:>9.1} {:>9.1}  ", calm.p50, calm.p99)?;
        match result {
            Ok(text) => write!(f, "held: {text}")?,
            Err(error) => write!(f, "BROKEN: {error:#}")?,
        }
        if calm.refused > 0 {
            write!(f, " ({} of {} answers to others were 503)", calm.refused, calm.answered)?;
        }
        Ok(())
    }
}

//! The short run of the laws: every committed input, then a fixed number of mutations, the same in
//! each run. An input that breaks a law is printed in a form that the fuzz target accepts, too.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use caseload_testdata::SplitMix;
use laws::{LAWS, Law, mutate};

/// Longest input that is mutated further.
const INPUT_BYTES_MAX: usize = 4096;

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The committed inputs of a law, in the order of their names.
fn corpus(law: &Law) -> Vec<Vec<u8>> {
    let folder = fuzz_folder().join("corpus").join(law.name);
    let mut paths: Vec<PathBuf> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Fails with the name of the law, the input and the step of the run that made it.
fn hold(law: &Law, input: &[u8], step: &str) {
    let outcome = catch_unwind(AssertUnwindSafe(|| (law.holds)(input)));
    assert!(
        outcome.is_ok(),
        "the law {} does not hold in {step} for b\"{}\"",
        law.name,
        input.escape_ascii()
    );
}

fn run(name: &str) {
    let law = LAWS.iter().find(|law| law.name == name).unwrap();
    let mut inputs = corpus(law);
    for (n, input) in inputs.iter().enumerate() {
        hold(law, input, &format!("file {n} of the corpus"));
    }
    let mut random = SplitMix::from_bytes(name.as_bytes());
    for n in 0..law.short {
        let other = inputs[random.below(inputs.len())].clone();
        let at = random.below(inputs.len());
        let input = mutate(&mut random, &inputs[at], &other, law.words);
        hold(law, &input, &format!("mutation {n} of the seed {name:?}"));
        if input.len() <= INPUT_BYTES_MAX && random.below(4) == 0 {
            inputs[at] = input;
        }
    }
}

macro_rules! short_runs {
    ($($name:ident,)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn every_law_has_a_short_run_a_fuzz_target_and_a_small_corpus() {
            let run = [$(stringify!($name)),*];
            assert_eq!(run.to_vec(), LAWS.map(|law| law.name).to_vec());
            for law in &LAWS {
                let target = fuzz_folder().join(format!("targets/{}.rs", law.name));
                assert!(target.is_file(), "{} is missing", target.display());
                let inputs = corpus(law);
                let bytes: usize = inputs.iter().map(Vec::len).sum();
                assert!((1..=60).contains(&inputs.len()), "{}: {} files", law.name, inputs.len());
                assert!(bytes <= 100 << 10, "{}: {bytes} bytes", law.name);
            }
        }
    };
}

short_runs! {
    authorization,
    block,
    conditions,
    counts,
    cursor,
    custom_fields,
    feedback_rating,
    form,
    form_fields,
    identities,
    iso_times,
    issue_query,
    issues,
    json,
    json_form,
    matchers,
    merge,
    multipart,
    packed,
    payload_array,
    payload_lines,
    profile_query,
    profile_rows,
    profiles,
    table,
    updates,
    urlencoded,
    writing,
}

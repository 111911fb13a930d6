//! Sample core profiles of which some are faulty, each with a fault of another kind, as they happen
//! in files that people make by hand.

use super::profiles::profile_lines;

/// Profiles with ten faulty ones, spread evenly among them, as JSON Lines. The last fault is the
/// identity `taken`, which a stored profile has.
pub(crate) fn with_faults(good: u64, tag: &str, taken: &str, now: i64) -> Vec<u8> {
    let faulty = faulty_lines(tag, taken);
    let lines = profile_lines(good, tag, now);
    let every = good as usize / faulty.len();
    let mut mixed = Vec::with_capacity(lines.len() + 4096);
    let mut faults = faulty.iter();
    for (number, line) in lines.split_inclusive(|byte| *byte == b'\n').enumerate() {
        mixed.extend_from_slice(line);
        if number % every.max(1) == 0
            && let Some(faulty) = faults.next()
        {
            mixed.extend_from_slice(faulty.as_bytes());
            mixed.push(b'\n');
        }
    }
    mixed
}

fn faulty_lines(tag: &str, taken: &str) -> [String; 10] {
    let with =
        |name: &str, rest: &str| format!(r#"{{"identities":[{{"uid":"{name}-{tag}"}}]{rest}}}"#);
    [
        with("ada", r#","last_country":"Atlantis","age":30"#),
        with("bob", r#","last_country":"SE","age":"30""#),
        with("cleo", r#","last_country":"GR","age":203"#),
        with("dmitri", r#","preferred_language":"klingon""#),
        with("edna", r#","last_contry":"NO""#),
        r#"{"names":{"first_name":"Farah"},"last_country":"EG"}"#.to_owned(),
        format!(r#"{{"identities":[{{"uid":"gus-{tag}","email":"gus@example.org"}}]}}"#),
        format!(r#"{{"identities":[{{"uid":"hana-{tag}"}},{{"uid":"hana-{tag}"}}]}}"#),
        format!(r#"{{"identities":[{{"uid":"ivo-{tag}"}}],"age":41"#),
        format!(r#"{{"identities":[{{"uid":"{taken}"}}],"age":52}}"#),
    ]
}

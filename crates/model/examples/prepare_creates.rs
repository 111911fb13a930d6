//! Measures the validation of new core profiles on one core: good entries of about 600 bytes, as a
//! bulk import sends them. Prints the median of several rounds; it is not a test.
#![expect(clippy::print_stdout, reason = "a measurement is for people")]

use std::time::Instant;

use caseload_model::payload::{Block, Entry};
use caseload_model::profile::{Placeholders, prepare_creates};

fn main() {
    let block = block(10_000);
    let megabytes = f64::from(u32::try_from(block.bytes.len()).unwrap_or(u32::MAX)) / 1e6;
    let mut rounds: Vec<f64> = (0..31)
        .map(|_| {
            let start = Instant::now();
            let prepared = prepare_creates(&block, &Placeholders::default());
            let seconds = start.elapsed().as_secs_f64();
            assert!(prepared.iter().all(|p| p.item.is_ok()), "every entry is good");
            megabytes / seconds
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let bytes = block.bytes.len() / block.entries.len();
    println!("{bytes} bytes an entry: {:.0} MB/s (median)", rounds[rounds.len() / 2]);
}

fn block(entries: u32) -> Block {
    let mut block = Block::default();
    let mut line = String::new();
    for n in 0..entries {
        line.clear();
        let active = 1_714_627_659_283_u64 + u64::from(n);
        let (tag, seats, age) = (n % 7, n % 500, n % 90);
        line.push('{');
        for member in [
            format!(r#""identities":[{{"uid":"user-{n:08}"}},"#),
            format!(r#"{{"email":"Person.{n}@example.org","verified":"true"}}],"#),
            format!(r#""names":{{"first_name":"Maria","last_name":"Müller-{n}"}},"#),
            format!(r#""tags":["newsletter","beta","spring-{tag}"],"#),
            format!(r#""custom_fields":{{"plan":"gold","seats":{seats},"renewal":"2025-05-12","#),
            r#""note":"says \"call me\" after six"},"full_privacy_enabled":false,"#.to_owned(),
            r#""last_country":"Germany","last_city":"Freiburg im Breisgau","#.to_owned(),
            format!(r#""age":{age},"lifetime_value":1023.990,"user_persona":"collector","#),
            r#""user_vip_segment":"tier-2","user_support_status":"standard","#.to_owned(),
            r#""accepted_t_and_c":true,"preferred_language":"de","#.to_owned(),
            format!(r#""last_active_date":{active}}}"#),
        ] {
            line.push_str(&member);
        }
        let start = block.bytes.len();
        block.bytes.extend_from_slice(line.as_bytes());
        let range = start..block.bytes.len();
        block.entries.push(Entry { index: n, line: n + 1, range, oversize: None, of_row: false });
        block.bytes.push(b'\n');
    }
    block
}

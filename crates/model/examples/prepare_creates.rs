//! Times the validation of new core profiles on one core: entries of about 600 bytes, all good,
//! as a bulk import brings them. Prints the median of several rounds; it is no test.
#![expect(clippy::print_stdout, reason = "a measurement is for people")]

use std::fmt::Write as _;
use std::time::Instant;

use caseload_model::payload::{Block, Entry};
use caseload_model::profile::prepare_creates;

fn main() {
    let block = block(10_000);
    let mut rounds: Vec<f64> = (0..31)
        .map(|_| {
            let start = Instant::now();
            let prepared = prepare_creates(&block);
            let seconds = start.elapsed().as_secs_f64();
            assert!(prepared.iter().all(|p| p.item.is_ok()), "every entry is good");
            block.bytes.len() as f64 / 1e6 / seconds
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
        let _ = write!(
            line,
            r#"{{"identities":[{{"uid":"user-{n:08}"}},{{"email":"Person.{n}@example.org","verified":"true"}}],"names":{{"first_name":"Maria","last_name":"Müller-{n}"}},"tags":["newsletter","beta","spring-{}"],"custom_fields":{{"plan":"gold","seats":{},"renewal":"2025-05-12","note":"says \"call me\" after six"}},"full_privacy_enabled":false,"last_country":"Germany","last_city":"Freiburg im Breisgau","age":{},"lifetime_value":1023.990,"user_persona":"collector","user_vip_segment":"tier-2","user_support_status":"standard","accepted_t_and_c":true,"preferred_language":"de","last_active_date":{}}}"#,
            n % 7,
            n % 500,
            n % 90,
            1_714_627_659_283_u64 + u64::from(n)
        );
        let start = block.bytes.len();
        block.bytes.extend_from_slice(line.as_bytes());
        let range = start..block.bytes.len();
        block.entries.push(Entry { index: n, line: n + 1, range, oversize: None });
        block.bytes.push(b'\n');
    }
    block
}

//! Measures how fast entries are read: 10,000 lines as a profile import sends them, through the
//! JSON reader of this crate, its grammar-only skip and the splitter, compared with `serde_json`
//! values and with a reader that only finds the ends of values. Figures are bytes of payload per
//! second.

use std::hint::black_box;

use caseload_model::json;
use caseload_model::payload::PayloadReader;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::value::RawValue;

const ENTRIES: usize = 10_000;

/// One profile; `#` is replaced by its number, so that names and ids differ.
const PROFILE: &str = concat!(
    r#"{"names":{"first_name":"Given#","last_name":"Family","full_name":"Given# Family"},"#,
    r#""identities":[{"uid":"user-#"},{"email":"given#@example.org","source":"sign-up"},"#,
    r#"{"phone_number":"+4930#"}],"age":42,"gender":"unspecified","#,
    r#""last_active_date":16663112#,"tags":["beta","vip","region-#","imported"],"#,
    r#""language":"de","last_country":"DE","city":"Berlin","lifetime_value":1023.990,"#,
    r#""custom_fields":{"plan":{"type":"singleline","value":"premium"},"#,
    r#""seats":{"type":"number","value":7},"trial":{"type":"checkbox","value":false},"#,
    r#""notes":{"type":"multiline","value":"A longer text of the kind that a desk keeps: "#,
    r#"what was asked, what was promised, by whom."}}"#,
);

/// Lines of about 650 bytes; every tenth has escapes, every tenth letters beyond ASCII.
fn profiles() -> String {
    let mut text = String::new();
    for n in 0..ENTRIES {
        text.push_str(&PROFILE.replace('#', &format!("{n:05}")));
        text.push_str(match n % 10 {
            3 => r#","text":"first line\nsecond \"line\" \u00e4"}"#,
            7 => r#","text":"größer als üblich, 日本語"}"#,
            _ => "}",
        });
        text.push('\n');
    }
    text
}

fn parse(c: &mut Criterion) {
    let text = profiles();
    let lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
    assert!(lines.iter().all(|line| json::parse(line).is_ok()), "the lines are JSON");
    let mut group = c.benchmark_group("profiles");
    group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(30);
    group.bench_function("parse", |b| {
        b.iter(|| lines.iter().for_each(|line| drop(black_box(json::parse(line)))));
    });
    group.bench_function("skip", |b| {
        b.iter(|| lines.iter().for_each(|line| _ = black_box(json::skip_value(line, 100))));
    });
    group.bench_function("general value", |b| {
        b.iter(|| {
            for line in &lines {
                drop(black_box(serde_json::from_slice::<serde_json::Value>(line)));
            }
        });
    });
    group.bench_function("raw value", |b| {
        b.iter(|| {
            for line in &lines {
                drop(black_box(serde_json::from_slice::<&RawValue>(line)));
            }
        });
    });
    group.bench_function("split", |b| {
        b.iter(|| {
            let mut blocks = Vec::new();
            let mut reader = PayloadReader::new(256 << 10);
            for piece in text.as_bytes().chunks(16 << 10) {
                drop(black_box(reader.push(piece, &mut blocks)));
            }
            black_box(reader.finish(&mut blocks))
        });
    });
    let trees: Vec<_> = lines.iter().map(|line| json::parse(line)).collect();
    let mut out = Vec::with_capacity(text.len());
    group.bench_function("write", |b| {
        b.iter(|| {
            out.clear();
            trees.iter().flatten().for_each(|tree| tree.write_to(&mut out));
            black_box(out.len())
        });
    });
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);

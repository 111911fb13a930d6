//! The page of limits: one table a crate, with the value, the meaning and the file of each limit.
//! It is generated; the meaning is the first sentence of the constant's documentation.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::constants::{Constant, Value};

const HEAD: &str = "\
# Limits

Written by `cargo xtask limits` from the constants in the code; do not edit it. The limits that
callers notice are in [api.md](api.md#limits), those that an operator can set in
[program.md](program.md#server). Durations and sizes have units; the rest are counts.
";

/// Renders the page.
pub(super) fn render(constants: &[Constant]) -> String {
    let mut crates: BTreeMap<&str, Vec<&Constant>> = BTreeMap::new();
    for constant in constants.iter().filter(|constant| constant.is_limit()) {
        crates.entry(constant.crate_folder()).or_default().push(constant);
    }
    let mut page = HEAD.to_owned();
    for (folder, constants) in crates {
        let _ = write!(
            page,
            "\n## {folder}\n\n| limit | value | meaning | file |\n|---|---|---|---|\n"
        );
        for constant in constants {
            let Some(value) = constant.value else { continue };
            let prefix = format!("crates/{folder}/src/");
            let file = constant.path.strip_prefix(&prefix).unwrap_or(&constant.path);
            let meaning = constant.meaning.replace('|', "\\|");
            let _ =
                writeln!(page, "| `{}` | {} | {meaning} | `{file}` |", constant.name, show(value));
        }
    }
    page
}

/// A value in the largest unit that shows it exactly.
pub(super) fn show(value: Value) -> String {
    match value {
        Value::Count(number) => grouped(number),
        Value::Bytes(number) => {
            let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
            let unit =
                units.iter().find(|(bits, _)| number >> bits << bits == number && number > 0);
            match unit {
                Some((bits, name)) => format!("{} {name}", grouped(number >> bits)),
                None => format!("{} bytes", grouped(number)),
            }
        }
        Value::Time(time) => show_time(time),
    }
}

fn show_time(time: Duration) -> String {
    let nanos = time.as_nanos();
    let units = [
        (86_400_000_000_000, "days"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "min"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "µs"),
    ];
    let unit = units.iter().find(|(scale, _)| nanos > 0 && nanos.is_multiple_of(*scale));
    match unit {
        // One and two minutes read better in seconds, as do the limits around them.
        Some((60_000_000_000, _)) if nanos < 180_000_000_000 => {
            format!("{} s", nanos / 1_000_000_000)
        }
        Some((86_400_000_000_000, _)) if nanos == 86_400_000_000_000 => "24 h".to_owned(),
        Some((scale, name)) => format!("{} {name}", nanos / scale),
        None => format!("{nanos} ns"),
    }
}

/// A number with commas between its thousands.
pub(super) fn grouped(number: i128) -> String {
    let digits = number.to_string();
    if number < 1000 {
        return digits;
    }
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_in_the_largest_exact_unit() {
        let millis = |millis| Value::Time(Duration::from_millis(millis));
        for (value, shown) in [
            (Value::Count(999), "999"),
            (Value::Count(50_000), "50,000"),
            (Value::Count(253_402_300_799_999), "253,402,300,799,999"),
            (Value::Bytes(8 << 20), "8 MiB"),
            (Value::Bytes(1025), "1,025 bytes"),
            (Value::Bytes(1 << 40), "1,024 GiB"),
            (millis(3), "3 ms"),
            (millis(1500), "1500 ms"),
            (millis(60_000), "60 s"),
            (millis(3_600_000), "1 h"),
            (millis(86_400_000), "24 h"),
        ] {
            assert_eq!(show(value), shown);
        }
    }
}

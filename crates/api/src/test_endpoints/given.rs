//! Reads the bodies that are sent to these endpoints. A refusal names every fault of a body, each
//! with the right form.

use std::time::Duration;

use caseload_model::error_code::{EntryErrorCode, ErrorCode};
use caseload_model::record::EntryFault;
use caseload_model::time::read::parse_moment;
use http::{Method, StatusCode};
use serde_json::{Map, Value};

use super::call_faults::{CallFault, Effect, Uses};
use super::clock::Turn;
use super::faults::{EntryErrors, Stage, TestFault};
use crate::http::problem::{Fault, Problem};

/// The members that say what a fault does. A fault has exactly one of them.
const EFFECTS: [&str; 6] = ["status", "delay_ms", "cut_body", "lose_answer", "hold", "task_errors"];
/// The members that say which calls it meets, and how often.
const CONDITIONS: [&str; 4] = ["method", "path", "times", "share"];
/// The statuses that a fault answers with.
const STATUSES: [u64; 4] = [429, 500, 502, 503];
/// The longest delay: an hour.
const DELAY_MS_MAX: u64 = 3_600_000;
const TIMES_MAX: u64 = 1_000_000;
/// The most errors of a task.
const ERRORS_MAX: usize = 10_000;
const PATH_BYTES_MAX: usize = 1024;

/// Reads a fault.
pub(super) fn read_fault(map: &Map<String, Value>) -> Result<TestFault, Problem> {
    let mut given = Given { map, faults: Vec::new() };
    given.refuse_others(&[&EFFECTS[..], &CONDITIONS[..]].concat());
    let effects: Vec<&str> = EFFECTS.into_iter().filter(|name| map.contains_key(*name)).collect();
    let fault = match effects[..] {
        ["hold"] => given.hold(),
        ["task_errors"] => given.task_errors(),
        [effect] => given.call_fault(effect),
        _ => {
            let list = EFFECTS.join(", ");
            let detail =
                format!("a fault has exactly one of {list}; this one has {}", effects.len());
            given.fault("body", ErrorCode::InvalidRequest, detail);
            None
        }
    };
    Problem::check(given.faults)?;
    fault.ok_or_else(|| Problem::new(ErrorCode::InvalidRequest, "the fault cannot be read"))
}

/// Reads how the clock is to be turned.
pub(super) fn read_clock(map: &Map<String, Value>) -> Result<Turn, Problem> {
    let mut given = Given { map, faults: Vec::new() };
    given.refuse_others(&["set", "advance"]);
    let turn = match (map.get("set"), map.get("advance")) {
        (Some(set), None) => {
            let at = set.as_str().and_then(|text| parse_moment(text).ok());
            let advice = "write a time such as \"2026-01-31T12:00:00Z\"";
            given.or_fault("set", at.map(|moment| Turn::Set(moment.at)), advice)
        }
        (None, Some(span)) => {
            let span = span.as_str().and_then(span_ms);
            let advice = "write a number and a unit, such as \"90s\": ms, s, m, h, d or w";
            given.or_fault("advance", span.map(Turn::Advance), advice)
        }
        _ => {
            let detail = "give exactly one of set and advance";
            given.fault("body", ErrorCode::InvalidRequest, detail);
            None
        }
    };
    Problem::check(given.faults)?;
    turn.ok_or_else(|| Problem::new(ErrorCode::InvalidRequest, "the body cannot be read"))
}

/// A span such as `90s`, in milliseconds.
fn span_ms(text: &str) -> Option<i64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = match &text[digits..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 7 * 86_400_000,
        _ => return None,
    };
    text[..digits].parse::<i64>().ok()?.checked_mul(unit)
}

/// A body, and the faults that were found in it.
struct Given<'a> {
    map: &'a Map<String, Value>,
    faults: Vec<Fault>,
}

impl Given<'_> {
    fn fault(&mut self, name: &str, code: ErrorCode, detail: impl Into<String>) {
        self.faults.push(Fault::parameter(name, code, detail));
    }

    /// The value, or a fault with advice.
    fn or_fault<T>(&mut self, name: &str, value: Option<T>, advice: &str) -> Option<T> {
        if value.is_none() {
            self.fault(name, ErrorCode::InvalidValue, advice);
        }
        value
    }

    fn refuse_others(&mut self, known: &[&str]) {
        for name in self.map.keys().filter(|name| !known.contains(&name.as_str())) {
            let detail = format!("there is no such member; known ones are {}", known.join(", "));
            self.fault(name, ErrorCode::UnknownParameter, detail);
        }
    }

    /// Faults of tasks meet no calls.
    fn refuse_conditions(&mut self, effect: &str, known: &[&str]) {
        let given = self.map;
        for name in CONDITIONS {
            if given.contains_key(name) && !known.contains(&name) {
                let detail = format!("a fault with {effect} acts on tasks and has no {name}");
                self.fault(name, ErrorCode::ConflictingParameter, detail);
            }
        }
    }

    /// A whole number of this range, if it is given.
    fn number(&mut self, name: &str, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
        let value = self.map.get(name)?;
        let number = value.as_u64().filter(|number| range.contains(number));
        let advice = format!("write a whole number from {} to {}", range.start(), range.end());
        self.or_fault(name, number, &advice)
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let value = self.map.get(name)?;
        self.or_fault(name, value.as_str().map(str::to_owned), "write a text")
    }

    fn times(&mut self) -> u32 {
        let times = self.number("times", 1..=TIMES_MAX).unwrap_or(1);
        u32::try_from(times).unwrap_or(u32::MAX)
    }

    fn hold(&mut self) -> Option<TestFault> {
        self.refuse_conditions("hold", &[]);
        let stage = match self.map["hold"].as_str() {
            Some("queued") => Some(Stage::Queued),
            Some("processing") => Some(Stage::Processing),
            _ => None,
        };
        self.or_fault("hold", stage, "write \"queued\" or \"processing\"").map(TestFault::Hold)
    }

    fn call_fault(&mut self, effect: &str) -> Option<TestFault> {
        let method = self.text("method").and_then(|text| {
            let method = Method::from_bytes(text.to_ascii_uppercase().as_bytes()).ok();
            self.or_fault("method", method, "write a method such as \"GET\"")
        });
        let path = self.text("path").and_then(|text| {
            let is_path = text.len() <= PATH_BYTES_MAX && text.starts_with(['/', '*', '{']);
            let advice = "write a path without a query, such as \"/v1/acme/issues\", in which * \
                          fits any characters and {name} one segment";
            self.or_fault("path", (is_path && !text.contains('?')).then_some(text), advice)
        });
        let uses = self.uses();
        let effect = self.effect(effect)?;
        Some(TestFault::Call(CallFault { method, path, uses, effect }))
    }

    fn uses(&mut self) -> Uses {
        let Some(share) = self.map.get("share") else { return Uses::Times(self.times()) };
        if self.map.contains_key("times") {
            let detail = "a fault has times or share, not both";
            self.fault("share", ErrorCode::ConflictingParameter, detail);
        }
        let share = share.as_f64().filter(|share| *share > 0.0 && *share <= 1.0);
        let advice = "write a number above 0 and up to 1, such as 0.25 for every fourth call";
        let each = self.or_fault("share", share, advice).unwrap_or(1.0);
        Uses::Share { each, sum: 0.0 }
    }

    fn effect(&mut self, name: &str) -> Option<Effect> {
        match name {
            "status" => {
                let known = self.map["status"].as_u64().filter(|one| STATUSES.contains(one));
                let advice = "write 429, 500, 502 or 503";
                let status = self.or_fault("status", known, advice)?;
                StatusCode::from_u16(u16::try_from(status).ok()?).ok().map(Effect::Status)
            }
            "delay_ms" => self
                .number("delay_ms", 0..=DELAY_MS_MAX)
                .map(Duration::from_millis)
                .map(Effect::Delay),
            _ => {
                let is_true = self.map[name].as_bool().filter(|given| *given);
                self.or_fault(name, is_true, "write true, or leave it out")?;
                Some(if name == "cut_body" { Effect::CutBody } else { Effect::LoseAnswer })
            }
        }
    }

    fn task_errors(&mut self) -> Option<TestFault> {
        self.refuse_conditions("task_errors", &["times"]);
        let left = self.times();
        let advice = format!("write a list of 1 to {ERRORS_MAX} errors");
        let list = self.map["task_errors"].as_array();
        let list = list.filter(|list| (1..=ERRORS_MAX).contains(&list.len()));
        let list = self.or_fault("task_errors", list, &advice)?;
        let mut errors = Vec::<EntryErrors>::new();
        for (at, one) in list.iter().enumerate() {
            let Some(EntryErrors { index, faults }) = self.entry_errors(at, one) else { continue };
            match errors.iter_mut().find(|known| known.index == index) {
                Some(known) => known.faults.extend(faults),
                None => errors.push(EntryErrors { index, faults }),
            }
        }
        Some(TestFault::TaskErrors { errors, left })
    }

    /// An error, or an error record as a task has it, with the errors of one entry.
    fn entry_errors(&mut self, at: usize, one: &Value) -> Option<EntryErrors> {
        let name = format!("task_errors/{at}");
        let map = self.or_fault(&name, one.as_object(), "write a map such as {\"index\":0}")?;
        let index = match map.get("index") {
            None => u32::try_from(at).ok(),
            Some(index) => index.as_u64().and_then(|index| u32::try_from(index).ok()),
        };
        let advice = "write the number of the entry, from 0";
        let index = self.or_fault(&format!("{name}/index"), index, advice)?;
        let faults = match map.get("errors") {
            None => vec![self.entry_fault(&name, map)?],
            Some(errors) => {
                let name = format!("{name}/errors");
                let list = errors.as_array().filter(|list| !list.is_empty());
                let list = self.or_fault(&name, list, "write a list with an error at least")?;
                let mut faults = Vec::new();
                for (at, one) in list.iter().enumerate() {
                    let name = format!("{name}/{at}");
                    let advice = "write a map such as {\"code\":\"not_found\"}";
                    let map = self.or_fault(&name, one.as_object(), advice)?;
                    faults.push(self.entry_fault(&name, map)?);
                }
                faults
            }
        };
        Some(EntryErrors { index, faults })
    }

    fn entry_fault(&mut self, name: &str, map: &Map<String, Value>) -> Option<EntryFault> {
        let text = |member: &str| map.get(member).and_then(Value::as_str);
        let code = match map.get("code") {
            None => Some(EntryErrorCode::NotProcessed),
            Some(code) => code.as_str().and_then(EntryErrorCode::parse),
        };
        let known: Vec<_> = EntryErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        let advice = format!("write a code of an entry: {}", known.join(", "));
        let code = self.or_fault(&format!("{name}/code"), code, &advice)?;
        Some(EntryFault {
            code,
            pointer: text("pointer").map(str::to_owned),
            detail: text("detail").unwrap_or("a fault of this test server").to_owned(),
            value: map.get("value").map(|value| value.to_string().into_bytes()),
            owners: Vec::new(),
        })
    }
}

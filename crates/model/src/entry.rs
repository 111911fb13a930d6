//! Reads one entry: the checks that all actions share, before any field is looked at. An entry
//! either becomes a map or is rejected with all of its faults. Each action then checks fields,
//! limits and meaning itself.

use crate::error_code::EntryErrorCode;
use crate::json::{self, FaultKind, Json};
use crate::payload::{Block, Entry};
use crate::profile;
use crate::record::{EntryFault, FAULT_VALUE_BYTES_MAX, Rejection};
use crate::task::Action;

/// The map that `entry` holds, or the faults that keep it from being one.
pub fn read_entry<'a>(
    action: Action,
    block: &'a Block,
    entry: &Entry,
) -> Result<Json<'a>, Rejection> {
    let len = entry.oversize.unwrap_or(entry.range.len() as u64);
    let limit = action.family().entry_bytes_max() as u64;
    if len > limit && len - uncounted(action, block, entry) > limit {
        let exempt = match profile::uncounted_members(action) {
            [] => String::new(),
            names => format!(", {} not counted", names.join(", ")),
        };
        let detail = format!("the entry has {len} bytes; at most {limit} are allowed{exempt}");
        return Err(unreadable(vec![fault(EntryErrorCode::TooLarge, None, detail)]));
    }
    match json::parse(block.bytes_of(entry)) {
        Ok(map @ Json::Object(_)) => Ok(map),
        Ok(other) => {
            let detail = format!("an entry is a map, {{…}}; this is {}", other.type_name());
            Err(unreadable(vec![fault(EntryErrorCode::NotAMap, None, detail)]))
        }
        Err(faults) => Err(unreadable(faults.into_iter().map(from_json).collect())),
    }
}

/// Bytes of the members that do not count toward the limit of an entry. Without this exception, a
/// profile near the limit could not be sent back as a get action returned it.
fn uncounted(action: Action, block: &Block, entry: &Entry) -> u64 {
    let names = profile::uncounted_members(action);
    if entry.oversize.is_some() || names.is_empty() {
        return 0;
    }
    let Ok(Json::Object(members)) = json::parse(block.bytes_of(entry)) else { return 0 };
    let mut text = Vec::new();
    for (name, value) in members.iter().filter(|(name, _)| names.contains(&name.as_ref())) {
        json::write_string(name, &mut text);
        value.write_to(&mut text);
        text.extend_from_slice(b":,");
    }
    text.len() as u64
}

/// The id in an entry of `action`, as JSON text, if it is a string or a number. A core profile's id
/// is a string in every record, whichever of the two the entry has. An id that is too long to exist
/// is left out instead of shortened.
pub fn id_of(entry: &Json<'_>, action: Action) -> Option<Vec<u8>> {
    let id = entry.get(action.id_field())?;
    let (Json::String(_) | Json::Number(_)) = id else { return None };
    let mut text = Vec::new();
    match id {
        Json::Number(digits) if action.id_field() == "core-profile-id" => {
            json::write_string(digits, &mut text);
        }
        _ => id.write_to(&mut text),
    }
    Some(text).filter(|text| text.len() <= FAULT_VALUE_BYTES_MAX)
}

fn from_json(found: json::Fault) -> EntryFault {
    let code = match found.kind {
        FaultKind::Utf8 => EntryErrorCode::InvalidUtf8,
        FaultKind::Json => EntryErrorCode::InvalidJson,
    };
    fault(code, found.pointer, found.detail)
}

fn fault(code: EntryErrorCode, pointer: Option<String>, detail: String) -> EntryFault {
    EntryFault { pointer, ..EntryFault::of_row(code, detail) }
}

fn unreadable(faults: Vec<EntryFault>) -> Rejection {
    Rejection { id: None, faults, readable: false, named: None }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn read(bytes: &[u8], oversize: Option<u64>) -> (Block, Entry) {
        let entry = Entry { index: 3, line: 7, range: 2..2 + bytes.len(), oversize, of_row: false };
        let bytes = [b"##", bytes, b"##"].concat();
        (Block { bytes, entries: vec![entry.clone()], ..Block::default() }, entry)
    }

    fn rejected(bytes: &[u8]) -> Rejection {
        let (block, entry) = read(bytes, None);
        read_entry(Action::CreateCoreProfiles, &block, &entry).unwrap_err()
    }

    #[test]
    fn a_map_is_read_with_all_it_holds() {
        let (block, entry) = read(b" {\"age\": 30.0} ", None);
        let map = read_entry(Action::CreateCoreProfiles, &block, &entry).unwrap();
        assert_eq!(map.get("age"), Some(&Json::Number("30.0")));
    }

    #[test]
    fn an_entry_over_the_limit_is_rejected_with_its_size_and_the_limit() {
        for (action, limit) in
            [(Action::GetAppProfiles, "262144"), (Action::ImportIssues, "8388608")]
        {
            let (block, entry) = read(b"{\"a\":1", Some(9_000_001));
            let refused = read_entry(action, &block, &entry).unwrap_err();
            assert!(!refused.readable);
            let [fault] = &refused.faults[..] else { panic!("one fault, not {refused:?}") };
            assert_eq!((fault.code, &fault.pointer), (EntryErrorCode::TooLarge, &None));
            assert!(fault.detail.contains("9000001") && fault.detail.contains(limit));
        }
    }

    #[test]
    fn an_entry_that_is_not_a_map_is_rejected_with_its_type() {
        let cases: [(&[u8], &str); 6] = [
            (b"null", "null"),
            (b"true", "a boolean"),
            (b"12", "a number"),
            (b"\"{}\"", "a string"),
            (b"[{}]", "an array"),
            (b" 1 ", "a number"),
        ];
        for (bytes, name) in cases {
            let refused = rejected(bytes);
            assert!(!refused.readable && refused.id.is_none());
            assert_eq!(refused.faults[0].code, EntryErrorCode::NotAMap);
            assert!(refused.faults[0].detail.ends_with(name), "{}", refused.faults[0].detail);
        }
    }

    #[test]
    fn invalid_utf8_is_reported_with_its_byte_position() {
        let refused = rejected(b"{\"a\":\"\xff\"}");
        let [fault] = &refused.faults[..] else { panic!("one fault, not {refused:?}") };
        assert_eq!(fault.code, EntryErrorCode::InvalidUtf8);
        assert!(fault.detail.contains("byte 6"), "{}", fault.detail);
        assert!(!refused.readable);
    }

    #[test]
    fn all_json_faults_come_at_once_with_their_pointers() {
        let refused = rejected(br#"{"a":1,"a":2,"b":["\ud800"],"c" 1}"#);
        let pointers: Vec<_> = refused.faults.iter().map(|f| f.pointer.as_deref()).collect();
        assert_eq!(pointers, [Some("/a"), Some("/b/0"), None]);
        assert!(refused.faults.iter().all(|f| f.code == EntryErrorCode::InvalidJson));
        assert!(!refused.readable);
    }

    #[test]
    fn the_id_is_echoed_and_that_of_a_core_profile_is_always_a_string() {
        let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(FAULT_VALUE_BYTES_MAX));
        let cases = [
            (Action::UpdateCoreProfiles, r#"{"core-profile-id":"16"}"#, Some(r#""16""#)),
            (Action::UpdateCoreProfiles, r#"{"core-profile-id":1.60}"#, Some(r#""1.60""#)),
            (Action::CreateCoreProfiles, r#"{"core-profile-id":"\u0041\n"}"#, Some(r#""A\n""#)),
            (Action::GetAppProfiles, r#"{"pid":"p","id":1}"#, Some(r#""p""#)),
            (Action::ImportIssues, r#"{"pid":"p","id":1}"#, Some("1")),
            (Action::ImportIssues, r#"{"id":null}"#, None),
            (Action::ImportIssues, r#"{"id":{"id":1}}"#, None),
            (Action::ImportIssues, r#"{"ID":1}"#, None),
            (Action::ImportIssues, r"[1]", None),
            (Action::ImportIssues, &long, None),
        ];
        for (action, text, id) in cases {
            let json = json::parse(text.as_bytes()).unwrap();
            assert_eq!(id_of(&json, action).as_deref(), id.map(str::as_bytes), "{text}");
        }
    }
}

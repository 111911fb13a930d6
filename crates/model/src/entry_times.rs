//! The times of an entry that have no offset, taken in a time zone. Only fields that are known to
//! be times are looked at. Such a time is written again with an offset, so that validation finds
//! nothing to guess.

use std::borrow::Cow;

use crate::json::{Json, Member};
use crate::spelling::trimmed;
use crate::task::Action;
use crate::time::read::{MomentForm, parse_moment};
use crate::time::write_iso;
use crate::time::zone::Zone;

/// The times of an issue itself.
const ISSUE_TIMES: [&str; 3] = ["created_at", "original_created_at", "updated_at"];

/// Takes the times of an entry without an offset in a zone; whether there was one.
pub fn take_in_zone(action: Action, entry: &mut Json<'_>, zone: &Zone) -> bool {
    let Json::Object(members) = entry else { return false };
    let mut changed = 0;
    for (name, value) in members {
        let taken = match (action, &**name) {
            (Action::ImportIssues, name) if ISSUE_TIMES.contains(&name) => take(value, zone),
            (Action::ImportIssues, "state_data") => take_member(value, "changed_at", zone),
            (Action::ImportIssues, "messages" | "private_notes") => {
                let Json::Array(items) = value else { continue };
                items.iter_mut().map(|item| take_member(item, "created_at", zone)).sum()
            }
            (Action::ImportIssues, "custom_fields") => {
                let Json::Object(fields) = value else { continue };
                let dates = fields
                    .iter_mut()
                    .filter(|(_, field)| field.get("type").and_then(Json::as_str) == Some("date"));
                dates.map(|(_, field)| take_member(field, "value", zone)).sum()
            }
            (Action::ImportIssues, _) => 0,
            (_, "last_active_date") => take(value, zone),
            _ => 0,
        };
        changed += taken;
    }
    changed > 0
}

fn take_member(map: &mut Json<'_>, name: &str, zone: &Zone) -> usize {
    let Json::Object(members) = map else { return 0 };
    let found = members.iter_mut().find(|(key, _): &&mut Member<'_>| key == name);
    found.map_or(0, |(_, value)| take(value, zone))
}

/// Returns the number of changed times: 1 or 0.
fn take(value: &mut Json<'_>, zone: &Zone) -> usize {
    let Json::String(text) = &*value else { return 0 };
    let Ok(moment) = parse_moment(trimmed(text)) else { return 0 };
    if !matches!(moment.form, MomentForm::DateAlone | MomentForm::WithoutOffset) {
        return 0;
    }
    let mut iso = Vec::new();
    write_iso(zone.instant_of(moment.at), &mut iso);
    *value = Json::String(Cow::Owned(String::from_utf8_lossy(&iso).into_owned()));
    1
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::json::parse;

    fn taken(action: Action, entry: &str) -> (String, bool) {
        let mut json = parse(entry.as_bytes()).unwrap();
        let changed = take_in_zone(action, &mut json, &Zone::read("+02:00").unwrap());
        let mut text = Vec::new();
        json.write_to(&mut text);
        (String::from_utf8(text).unwrap(), changed)
    }

    #[test]
    fn only_times_without_an_offset_in_fields_of_times_change() {
        let issue = |noon: &str, day: &str| {
            [
                r#"{"created_at":"NOON","updated_at":"2024-05-01T12:00Z","title":"2024-05-01","#,
                r#""state_data":{"state":"New","changed_at":"DAY"},"#,
                r#""messages":[{"created_at":1},{"body":"2024-05-01","created_at":"NOON"}],"#,
                r#""private_notes":[{"created_at":"NOON"}],"#,
                r#""custom_fields":{"a":{"type":"date","value":"DAY"},"#,
                r#""b":{"type":"singleline","value":"2024-05-01"}}}"#,
            ]
            .concat()
            .replace("NOON", noon)
            .replace("DAY", day)
        };
        let right = issue("2024-05-01T10:00:00.000Z", "2024-04-30T22:00:00.000Z");
        let sent = issue("2024-05-01 12:00", "2024-05-01");
        assert_eq!(taken(Action::ImportIssues, &sent), (right, true));
        for (action, entry) in [
            (Action::ImportIssues, r#"{"created_at":"2024-05-01T12:00+01:00","messages":1}"#),
            (Action::UpsertCoreProfiles, r#"{"created_at":"2024-05-01","last_active_date":1}"#),
            (Action::UpsertCoreProfiles, r#"{"last_active_date":"soon"}"#),
        ] {
            assert_eq!(taken(action, entry), (entry.to_owned(), false));
        }
        let (entry, changed) =
            taken(Action::UpsertCoreProfiles, r#"{"last_active_date":" 2024-05-01T12:00:00.5 "}"#);
        assert!(changed && entry.contains("2024-05-01T10:00:00.500Z"), "{entry}");
    }
}

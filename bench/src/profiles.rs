//! The profiles of the measurements: about 600 bytes each, with two identities and every kind of
//! field. They are the same in every run.

use std::fmt::Write as _;

/// `count` JSON lines.
pub(crate) fn lines(count: usize) -> Vec<u8> {
    lines_from(0, count)
}

/// The JSON lines of the profiles from number `first` on; no two numbers share an identity.
pub(crate) fn lines_from(first: usize, count: usize) -> Vec<u8> {
    let mut out = String::new();
    for n in first..first + count {
        // A multiplicative hash spreads the identities over the index, like real ones.
        let h = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let _ = writeln!(
            out,
            concat!(
                r#"{{"identities":[{{"uid":"u-{h:016x}"}},{{"email":"user{h:x}@example.org","#,
                r#""verified":"true"}}],"names":{{"first_name":"Ada {a}","last_name":"Byron"}},"#,
                r#""tags":["tag-{b}","news"],"custom_fields":{{"plan":"premium","#,
                r#""seats":{b},"since":"2023-05-12","score":{a}.50}},"#,
                r#""full_privacy_enabled":false,"last_country":"DE","last_city":"Berlin","#,
                r#""age":{age},"lifetime_value":1023.990,"user_persona":"builder","#,
                r#""user_vip_segment":"gold","user_support_status":"active","#,
                r#""accepted_t_and_c":true,"preferred_language":"de","#,
                r#""last_active_date":1714627659283}}"#
            ),
            h = h,
            a = h % 1000,
            b = h % 17,
            age = 18 + h % 60,
        );
    }
    out.into_bytes()
}

/// Updates of the profiles with these ids: some fields and one key of a map. `round` is part of the
/// values, so that each round changes them.
pub(crate) fn updates(ids: &[u64], round: usize) -> Vec<u8> {
    let mut out = String::new();
    for id in ids {
        let _ = writeln!(
            out,
            concat!(
                r#"{{"core-profile-id":"{id}","age":{age},"last_city":"Hamburg {round}","#,
                r#""custom_fields":{{"plan":"basic-{round}","renewed":{round}}}}}"#
            ),
            id = id,
            age = 18 + (id + round as u64) % 60,
            round = round,
        );
    }
    out.into_bytes()
}

/// Upserts of half of `known`, lines of profiles, with a change of each, and of the `new` lines.
pub(crate) fn upserts(known: &[u8], new: &[u8], round: usize) -> Vec<u8> {
    let known: Vec<&[u8]> = known.split_inclusive(|byte| *byte == b'\n').collect();
    let half = known[..known.len() / 2].concat();
    let changed = format!("\"last_city\":\"Hamburg {round}\"");
    let half = String::from_utf8_lossy(&half).replace("\"last_city\":\"Berlin\"", &changed);
    [half.as_bytes(), new].concat()
}

/// Gets of the profiles with these ids.
pub(crate) fn gets(ids: &[u64]) -> Vec<u8> {
    let mut out = String::new();
    for id in ids {
        let _ = writeln!(out, r#"{{"core-profile-id":"{id}"}}"#);
    }
    out.into_bytes()
}

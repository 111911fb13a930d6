//! Sample core profiles: every field, identities of all types, and custom fields with strings and
//! numbers.

use serde_json::{Map, Value, json};

use super::people::{Person, draw, people};
use super::splitmix::SplitMix;

/// The identity types other than `uid` and `email`.
const OTHER_IDENTITIES: [&str; 10] = [
    "phone_number",
    "facebook_id",
    "discord_id",
    "whatsapp_id",
    "google_playstore_id",
    "apple_gamecenter_id",
    "nintendo_id",
    "psn_id",
    "xbox_live_id",
    "steam_id",
];
const DAY_MS: u64 = 86_400_000;

/// Entries of `create_core_profiles` as JSON Lines. The last ones are of all people, each once, and
/// have the addresses of the authors of issues with the same tag.
pub(crate) fn profile_lines(count: u64, tag: &str, now: i64) -> Vec<u8> {
    let mut random = SplitMix::new(1);
    let mut lines = Vec::with_capacity(count as usize * 512);
    for number in 0..count {
        let author = people().get((number + people().len() as u64).wrapping_sub(count) as usize);
        let profile = profile(&mut random, author, (number, tag), now);
        lines.extend_from_slice(profile.to_string().as_bytes());
        lines.push(b'\n');
    }
    lines
}

fn profile(
    random: &mut SplitMix,
    author: Option<&Person>,
    (number, tag): (u64, &str),
    now: i64,
) -> Value {
    let person = author.unwrap_or_else(|| draw(random));
    let address = author.map(|author| author.address(tag));
    let last_active = now - random.below(120 * DAY_MS) as i64;
    json!({
        "identities": identities(random, person, address, (number, tag)),
        "names": names(random, person),
        "tags": tags(random),
        "custom_fields": {
            "plan": random.pick(&["free", "team", "business"]),
            "seats": 1 + random.below(250),
            "newsletter": random.pick(&["yes", "no"]),
            "referred_by": format!("partner-{}", random.below(40)),
        },
        "full_privacy_enabled": random.chance(5),
        "last_country": person.country,
        "last_city": person.city,
        "age": 16 + random.below(70),
        "lifetime_value": random.cents(500_000),
        "user_persona": random.pick(&["explorer", "builder", "achiever", "social"]),
        "user_vip_segment": random.pick(&["none", "silver", "gold"]),
        "user_support_status": random.pick(&["regular", "priority"]),
        "accepted_t_and_c": random.chance(97),
        "preferred_language": person.language,
        "last_active_date": last_active,
    })
}

fn identities(
    random: &mut SplitMix,
    person: &Person,
    address: Option<String>,
    (number, tag): (u64, &str),
) -> Value {
    let mut identities = vec![json!({"uid": format!("{tag}-{number:05}")})];
    if address.is_some() || random.chance(85) {
        let address =
            address.unwrap_or_else(|| format!("{}.{tag}.{number:05}@example.org", person.slug));
        let verified = random.pick(&["true", "false"]);
        identities.push(json!({"email": address, "verified": verified}));
    }
    if random.chance(30) {
        let kind = random.pick(&OTHER_IDENTITIES);
        let mut identity = Map::new();
        identity.insert(kind.to_owned(), json!(name_at(kind, person, (number, tag))));
        identity.insert("linked_in".into(), json!(random.pick(&["app", "shop", "forum"])));
        identities.push(Value::Object(identity));
    }
    Value::Array(identities)
}

/// How the service names a person. The tag and the number of the profile determine it, as one of at
/// least billions, so that those of two runs differ. Telephone numbers are of the block 555-0100 to
/// 555-0199, which is reserved for examples.
fn name_at(kind: &str, person: &Person, (number, tag): (u64, &str)) -> String {
    let text = [kind.as_bytes(), tag.as_bytes(), &number.to_le_bytes()].concat();
    let seed = text.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut random = SplitMix::new(seed);
    let mut digits = |count: u32| {
        let least = 10_u64.pow(count - 1);
        least + random.below(9 * least)
    };
    match kind {
        "phone_number" | "whatsapp_id" => {
            let (area, line, extension) = (digits(3) % 800 + 200, digits(3) % 100, digits(6));
            format!("+1 {area} 555 01{line:02} ext. {extension}")
        }
        "facebook_id" => format!("1000{}", digits(11)),
        "discord_id" => digits(18).to_string(),
        "google_playstore_id" => format!("g{}{}", digits(10), digits(10)),
        "apple_gamecenter_id" => format!("G:{}", digits(12)),
        "nintendo_id" => format!("{:016x}", digits(19)),
        "xbox_live_id" => format!("2535{}", digits(12)),
        "steam_id" => format!("765611{}", digits(11)),
        _ => format!("{}_{}", person.slug.replace('.', "_"), digits(9)),
    }
}

fn names(random: &mut SplitMix, person: &Person) -> Value {
    let mut names = json!({"first_name": person.first, "last_name": person.last});
    if random.chance(30) {
        names["full_name"] = json!(person.full_name());
        names["display_name"] = json!(person.slug);
    }
    names
}

fn tags(random: &mut SplitMix) -> Value {
    let all = ["beta", "early-adopter", "newsletter", "partner", "reseller", "vip-event"];
    let count = random.below(4) as usize;
    let first = random.below(all.len() as u64) as usize;
    (first..first + count).map(|at| all[at % all.len()]).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_same_tag_gives_the_same_profiles_and_another_tag_other_identities() {
        let one = profile_lines(50, "a", 1_700_000_000_000);
        assert_eq!(one, profile_lines(50, "a", 1_700_000_000_000));
        let identities = |tag| {
            let lines = profile_lines(500, tag, 1_700_000_000_000);
            let text = String::from_utf8(lines).expect("JSON is UTF-8");
            let mut found = HashSet::new();
            for line in text.lines() {
                let profile: Value = serde_json::from_str(line).expect("a map");
                for identity in profile["identities"].as_array().expect("a list") {
                    assert!(found.insert(identity.to_string()), "{identity} is there twice");
                }
            }
            found
        };
        assert!(identities("a").is_disjoint(&identities("b")));
    }
}

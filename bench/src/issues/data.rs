//! The issues of the measurements: generated, the same in every run. Lengths of texts and numbers
//! of messages follow those of real support conversations; the words are syllables at random. There
//! are 20 apps and 7 states, one issue in ten has a rating; all have tags, custom fields, agents
//! and queues.

use std::fmt::Write as _;

use caseload_testdata::SplitMix;

/// Creation time of the first issue.
pub(crate) const FIRST_AT: i64 = 1_600_000_000_000;
/// The time span of all issues in milliseconds.
pub(crate) const SPAN_MS: i64 = 1_157 * 86_400_000;

pub(crate) const STATES: [(&str, usize); 7] = [
    ("new", 5),
    ("new-for-agent", 6),
    ("agent-replied", 8),
    ("waiting-for-agent", 7),
    ("pending-reassignment", 2),
    ("resolved", 62),
    ("rejected", 10),
];
pub(crate) const PLANS: [&str; 4] = ["free", "basic", "premium", "enterprise"];
const LANGUAGES: [&str; 11] = ["en", "en", "en", "de", "fr", "es", "pt", "ja", "ru", "zh", "it"];
const PLATFORMS: [&str; 5] = ["ios", "android", "web", "email", "webchat"];
const SYLLABLES: [&str; 32] = [
    "ka", "lo", "mi", "ter", "san", "ve", "ri", "no", "pel", "du", "gar", "shi", "on", "ta", "bre",
    "qui", "mo", "len", "zu", "fa", "cor", "ny", "wa", "tis", "hel", "po", "jin", "rek", "al",
    "ser", "um", "dy",
];

/// Messages of an issue: so many of 1,000 issues have at most that many.
const MESSAGES: [(usize, usize); 11] = [
    (280, 1),
    (520, 2),
    (670, 3),
    (770, 4),
    (850, 5),
    (900, 6),
    (950, 8),
    (980, 12),
    (990, 17),
    (999, 30),
    (1000, 70),
];
/// Bytes of a message, in the same form.
const BODY_BYTES: [(usize, usize); 10] = [
    (100, 83),
    (250, 162),
    (500, 316),
    (650, 440),
    (750, 589),
    (850, 790),
    (900, 1008),
    (970, 1700),
    (990, 2823),
    (1000, 9000),
];

/// The e-mail address of an author.
pub(crate) fn email(author: usize) -> String {
    format!("{}.{author}@example.org", word(author % 700))
}

pub(crate) fn word(n: usize) -> String {
    let (a, b, c) = (n % 32, n / 32 % 32, n / 1024);
    [SYLLABLES[a], SYLLABLES[b], if c > 0 { SYLLABLES[c % 32] } else { "" }].concat()
}

/// Words of about `bytes` in total, with frequent and rare words as in any language.
fn text(random: &mut SplitMix, bytes: usize, out: &mut String) {
    let end = out.len() + bytes.max(4);
    while out.len() < end {
        let rank = random.below(4000) * random.below(4000) / 4000;
        out.push_str(&word(rank));
        out.push_str(if random.below(12) == 0 { ". " } else { " " });
    }
    out.truncate(end);
}

/// A random size from a table of shares.
fn size(random: &mut SplitMix, table: &[(usize, usize)]) -> usize {
    let at = random.below(1000);
    let step = table.iter().position(|(share, _)| at < *share).unwrap_or_default();
    let from = step.checked_sub(1).map_or(1, |step| table[step].1);
    from + random.below(table[step].1 - from + 1)
}

fn pick_state(random: &mut SplitMix) -> &'static str {
    let mut at = random.below(100);
    for (state, share) in STATES {
        if at < share {
            return state;
        }
        at -= share;
    }
    STATES[0].0
}

/// Appends issue `n` of `count` as a JSON line.
pub(crate) fn line(n: usize, count: usize, out: &mut String) {
    let random = &mut SplitMix::new(n as u64 * 7_919 + 11);
    let spread = SPAN_MS / count as i64;
    let created = FIRST_AT + n as i64 * spread + random.below(spread.max(1) as usize) as i64;
    let open = random.below(20) as i64 * 43_200_000 + random.below(86_400_000) as i64;
    let author = random.below(count.div_ceil(5) * 4);
    let mut issue = Issue {
        created,
        updated: created + open,
        user: user(author),
        name: word(author % 4000),
        email: email(author),
        random,
        out,
    };
    let _ = write!(issue.out, r#"{{"id":{},"title":""#, n + 1);
    let title = 12 + issue.random.below(70);
    text(issue.random, title, issue.out);
    issue.head();
    issue.fields();
    issue.messages();
}

/// The profile id of an author.
pub(crate) fn user(author: usize) -> String {
    let spread = (author as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    format!("bench_profile_{spread:040x}")
}

/// The tag of a number below 120.
pub(crate) fn tag(n: usize) -> String {
    format!("{}-{n}", word(n % 120))
}

struct Issue<'i> {
    created: i64,
    updated: i64,
    user: String,
    name: String,
    email: String,
    random: &'i mut SplitMix,
    out: &'i mut String,
}

impl Issue<'_> {
    fn head(&mut self) {
        let Self { created, updated, user, name, email, random, out } = self;
        out.push_str(r#"","tags":["#);
        let first = random.below(120) * random.below(120) / 120;
        for n in 0..random.pick(&[0, 1, 1, 2, 3]) {
            let comma = if n > 0 { "," } else { "" };
            let _ = write!(out, r#"{comma}"{}""#, tag((first + n * 7) % 120));
        }
        let state = pick_state(random);
        let _ = write!(
            out,
            concat!(
                r#"],"app_id":"load_app_{:02}","hs_user_id":"{}","author_name":"{}","#,
                r#""author_email":"{}","state_data":{{"state":"{}","changed_at":{}}},"#,
                r#""created_at":{},"updated_at":{},"language":"{}","platform_type":"{}""#,
            ),
            random.below(20),
            user,
            name,
            email,
            state,
            *updated - random.below(3_600_000) as i64,
            created,
            updated,
            random.pick(&LANGUAGES),
            random.pick(&PLATFORMS),
        );
        if state != "new" {
            let agent = random.below(50);
            let _ = write!(
                out,
                r#","assignee_id":"bench_agent_{agent:02}","assignee_name":"Agent {agent}""#
            );
        }
        if random.below(10) == 0 {
            let _ = write!(out, r#","feedback_rating":{}"#, 1 + random.below(5));
        }
        if random.below(3) > 0 {
            let queue = random.below(10);
            let _ = write!(out, r#","queue":{{"id":"{queue}","name":"Queue {queue}"}}"#);
        }
    }

    fn fields(&mut self) {
        let Self { created, random, out, .. } = self;
        let _ = write!(
            out,
            concat!(
                r#","custom_fields":{{"plan":{{"type":"dropdown","value":"{}"}},"#,
                r#""vip":{{"type":"checkbox","value":{}}},"#,
                r#""seats":{{"type":"number","value":{}}}"#,
            ),
            random.pick(&PLANS),
            random.below(20) == 0,
            random.below(500),
        );
        if random.below(2) == 0 {
            let at = *created - random.below(700) as i64 * 86_400_000;
            let _ = write!(out, r#","renewal":{{"type":"date","value":{at}}}"#);
        }
        if random.below(3) == 0 {
            let order = random.below(10_000_000);
            let _ = write!(out, r#","order":{{"type":"singleline","value":"A-{order:07}"}}"#);
        }
        out.push('}');
    }

    fn messages(&mut self) {
        let Self { created, updated, user, name, email, random, out } = self;
        out.push_str(r#","messages":["#);
        let messages = size(random, &MESSAGES);
        for n in 0..messages {
            let comma = if n > 0 { "," } else { "" };
            let at = *created + (*updated - *created) * n as i64 / messages as i64;
            let _ = write!(out, r#"{comma}{{"body":""#);
            let bytes = size(random, &BODY_BYTES);
            text(random, bytes, out);
            let _ = write!(out, r#"","created_at":{at},"#);
            if n % 2 == 0 {
                let _ = write!(
                    out,
                    concat!(
                        r#""origin":"end-user","author":{{"id":"{}","name":"{}","#,
                        r#""emails":["{}"]}}}}"#,
                    ),
                    user, name, email
                );
            } else {
                let agent = random.below(50);
                let _ = write!(
                    out,
                    concat!(
                        r#""origin":"helpshift","author":{{"id":"bench_agent_{:02}","#,
                        r#""name":"Agent {}"}}}}"#,
                    ),
                    agent, agent
                );
            }
        }
        out.push_str("]}\n");
    }
}

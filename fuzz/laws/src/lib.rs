//! Laws that hold for any bytes a caller may send. Each law processes bytes as the product does,
//! and panics if the outcome disagrees with a naive second opinion or with itself. The fuzz targets
//! call the laws with inputs found by coverage, the test of this crate with the committed corpus
//! and a few thousand changes of it.

mod authorization;
mod block;
mod conditions;
mod counts;
mod cursor;
mod custom_fields;
mod entries;
mod feedback_rating;
mod form;
mod form_fields;
mod identities;
mod imported;
mod iso_times;
mod issue_query;
mod issue_words;
mod issues;
mod json;
mod json_form;
mod matchers;
mod merge;
mod multipart;
mod mutate;
mod packed;
mod payload_array;
mod payload_lines;
mod pieces;
mod profile_query;
mod profile_rows;
mod profiles;
mod request;
mod second;
mod table;
mod updates;
mod urlencoded;
mod words;
mod writing;

pub use mutate::mutate;

use caseload_testdata::SplitMix;

/// One law, with what helps to find inputs for it.
#[derive(Debug, Clone, Copy)]
pub struct Law {
    /// The name of its fuzz target and of its folder of inputs.
    pub name: &'static str,
    /// Panics if the law does not hold.
    pub holds: fn(&[u8]),
    /// Words that inputs are made of.
    pub words: &'static [&'static str],
    /// Inputs that a short run tries.
    pub short: u32,
}

/// Inputs of a short run, for laws that are quick and for those that read whole requests.
const MANY: u32 = 1500;
const FEW: u32 = 200;

/// All laws, by name.
pub const LAWS: [Law; 28] = [
    law("authorization", authorization::holds, words::AUTHORIZATION, MANY),
    law("block", block::holds, &[], MANY),
    law("conditions", conditions::holds, issue_words::CONDITIONS, MANY),
    law("counts", counts::holds, issue_words::COUNTS, MANY),
    law("cursor", cursor::holds, issue_words::CURSOR, MANY),
    law("custom_fields", custom_fields::holds, issue_words::CUSTOM_FIELDS, MANY),
    law("feedback_rating", feedback_rating::holds, issue_words::RATING, MANY),
    law("form", form::holds, words::FORM, FEW),
    law("form_fields", form_fields::holds, words::FORM, FEW),
    law("identities", identities::holds, words::IDENTITIES, MANY),
    law("iso_times", iso_times::holds, issue_words::ISO_TIMES, MANY),
    law("issue_query", issue_query::holds, issue_words::QUERY, MANY),
    law("issues", issues::holds, issue_words::ISSUES, MANY),
    law("json", json::holds, words::JSON, MANY),
    law("json_form", json_form::holds, words::JSON_FORM, FEW),
    law("matchers", matchers::holds, issue_words::MATCHERS, MANY),
    law("merge", merge::holds, words::JSON, MANY),
    law("multipart", multipart::holds, words::MULTIPART, FEW),
    law("packed", packed::holds, &[], FEW),
    law("payload_array", payload_array::holds, words::JSON, MANY),
    law("payload_lines", payload_lines::holds, words::LINES, MANY),
    law("profile_query", profile_query::holds, words::PROFILE_QUERY, MANY),
    law("profile_rows", profile_rows::holds, words::PROFILE_ROWS, MANY),
    law("profiles", profiles::holds, words::PROFILES, MANY),
    law("table", table::holds, words::TABLE, MANY),
    law("updates", updates::holds, words::PROFILES, MANY),
    law("urlencoded", urlencoded::holds, words::FORM, MANY),
    law("writing", writing::holds, issue_words::WRITING, MANY),
];

const fn law(
    name: &'static str,
    holds: fn(&[u8]),
    words: &'static [&'static str],
    short: u32,
) -> Law {
    Law { name, holds, words, short }
}

/// Panics if the law of that name does not hold for `data`.
pub fn check(name: &str, data: &[u8]) {
    let law = LAWS.iter().find(|law| law.name == name).expect("a law has that name");
    (law.holds)(data);
}

/// Puts a word of the law of that name into the first `size` bytes of `data`; how many there are
/// then. Without room, or without words, nothing changes.
pub fn put_word(name: &str, data: &mut [u8], size: usize, seed: u32) -> usize {
    let words = LAWS.iter().find(|law| law.name == name).map_or(&[][..], |law| law.words);
    let mut random = SplitMix::new(u64::from(seed));
    let word = words.get(random.below(words.len())).map_or(&[][..], |word| word.as_bytes());
    let (at, end) = (random.below(size + 1), size + word.len());
    if end > data.len() {
        return size;
    }
    data.copy_within(at..size, at + word.len());
    data[at..at + word.len()].copy_from_slice(word);
    end
}

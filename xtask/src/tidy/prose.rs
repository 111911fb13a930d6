//! The habits of prose that make a sentence hard to read, and how many of each the tree may have.
//! A habit is a word or a pair of words; the check looks at comments, string literals, long
//! function names and pages. It counts words. Only a reader can judge the sentences.

use super::finding::Finding;
use super::text::{Block, Text};

/// A word, or a pair of words, that the tree avoids.
pub(super) struct Habit {
    /// How a finding names it.
    pub(super) name: &'static str,
    first: &'static [&'static str],
    /// The word after `first`. Empty: `first` alone is the habit.
    second: &'static [&'static str],
    /// Words before `first` that make it right: "says what is wrong" asks a question.
    unless_after: &'static [&'static str],
    /// How often it may occur in the whole tree. The last places are right: indirect questions,
    /// real places, sample texts, and the word in a name or a quotation.
    budget: usize,
    /// What to write instead.
    instead: &'static str,
}

/// Verbs before an indirect question.
const ASKS: &[&str] = &[
    "ask",
    "asks",
    "decide",
    "decides",
    "describe",
    "describes",
    "explain",
    "explains",
    "know",
    "knows",
    "report",
    "reports",
    "say",
    "says",
    "said",
    "see",
    "sees",
    "show",
    "shows",
];

const HABITS: [Habit; 9] = [
    Habit {
        name: "what …",
        first: &["what", "whatever"],
        second: &[
            "is", "was", "are", "were", "has", "had", "have", "it", "they", "there", "this",
            "that", "a", "an", "the", "one", "comes", "came", "follows", "followed", "stands",
            "stood", "goes", "went", "can", "may", "must", "will", "would", "no", "nobody",
            "others", "each", "every", "its", "becomes", "became", "waits", "remains", "changes",
            "changed", "belongs", "needs", "makes", "made", "did", "does", "do", "follow", "meets",
            "keeps", "holds",
        ],
        unless_after: ASKS,
        budget: 35,
        instead: "name the thing: \"the stored rows\", not a clause with \"what\"",
    },
    Habit {
        name: "where …",
        first: &["where"],
        second: &[
            "it",
            "there",
            "they",
            "that",
            "this",
            "one",
            "no",
            "nobody",
            "somebody",
            "a",
            "an",
            "the",
            "its",
            "each",
            "all",
            "both",
            "only",
            "not",
            "nothing",
            "something",
            "several",
            "two",
            "another",
            "such",
            "these",
            "those",
            "any",
            "needed",
            "given",
            "missing",
            "known",
            "wanted",
            "possible",
            "asked",
        ],
        unless_after: ASKS,
        budget: 25,
        instead: "write \"if\" or \"when\" for a condition; \"where\" is for places",
    },
    Habit {
        name: "kept",
        first: &["kept", "keeps"],
        second: &[],
        unless_after: &[],
        budget: 10,
        instead: "stored, retained, held or remains, whichever it is",
    },
    Habit {
        name: "beside",
        first: &["beside", "besides", "behind"],
        second: &[],
        unless_after: &[],
        budget: 5,
        instead: "next to, alongside, in parallel, in addition to or after",
    },
    Habit {
        name: "told",
        first: &["told", "tells", "tell", "hears", "hear", "heard"],
        second: &[],
        unless_after: &[],
        budget: 1,
        instead: "returns, reports, notifies, says or receives",
    },
    Habit {
        name: "stands",
        first: &["stand", "stands", "stood", "standing"],
        second: &[],
        unless_after: &[],
        budget: 0,
        instead: "is, or the verb that says how it got there",
    },
    Habit {
        name: "whoever",
        first: &["whoever", "whomever", "nobody", "somebody"],
        second: &[],
        unless_after: &[],
        budget: 3,
        instead: "name the actor: caller, client, server, thread, reader, operator, transaction",
    },
    Habit {
        name: "is no",
        first: &["is", "are", "was", "were", "be"],
        second: &["no"],
        unless_after: &["there"],
        budget: 1,
        instead: "\"is not a\", \"is not\" or \"has no\"",
    },
    Habit {
        name: "anew",
        first: &["anew", "meanwhile"],
        second: &[],
        unless_after: &[],
        budget: 0,
        instead: "again, from the start, or \"in the meantime\" as a clause of its own",
    },
];

/// Words after "no" that make a comparison.
const COMPARES: [&str; 9] =
    ["longer", "more", "fewer", "less", "later", "earlier", "other", "greater", "larger"];

/// One place with a habit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) habit: &'static str,
    pub(super) line: usize,
    /// The words around it.
    pub(super) excerpt: String,
}

/// One word with its line and punctuation.
struct Word {
    line: usize,
    /// Lower case, without punctuation.
    bare: String,
    /// As written.
    written: String,
    /// Punctuation ends a phrase after this word.
    ends_phrase: bool,
}

/// Finds every habit in the prose of one file.
pub(super) fn hits(text: &Text) -> Vec<Hit> {
    text.blocks.iter().flat_map(hits_of_block).collect()
}

fn hits_of_block(block: &Block) -> Vec<Hit> {
    let words: Vec<Word> = block.lines.iter().flat_map(|(line, text)| words(*line, text)).collect();
    let mut hits = Vec::new();
    for at in 0..words.len() {
        for habit in HABITS.iter().filter(|habit| habit.is_at(&words, at)) {
            let around = &words[at.saturating_sub(4)..words.len().min(at + 6)];
            let excerpt: Vec<&str> = around.iter().map(|word| word.written.as_str()).collect();
            hits.push(Hit { habit: habit.name, line: words[at].line, excerpt: excerpt.join(" ") });
        }
    }
    hits
}

fn words(line: usize, text: &str) -> impl Iterator<Item = Word> {
    text.split_whitespace().map(move |written| {
        let is_mark = |char: char| !char.is_alphanumeric() && char != '_';
        Word {
            line,
            bare: written.trim_matches(is_mark).to_lowercase(),
            written: written.to_owned(),
            ends_phrase: written.ends_with(is_mark),
        }
    })
}

impl Habit {
    fn is_at(&self, words: &[Word], at: usize) -> bool {
        let word = &words[at];
        if !self.first.contains(&word.bare.as_str()) {
            return false;
        }
        let asks = |before: &Word| {
            !before.ends_phrase && self.unless_after.contains(&before.bare.as_str())
        };
        if at.checked_sub(1).is_some_and(|before| asks(&words[before])) {
            return false;
        }
        if self.second.is_empty() {
            return true;
        }
        if is_question(&words[at..]) {
            return false;
        }
        let Some(next) = words.get(at + 1).filter(|_| !word.ends_phrase) else { return false };
        let compares = next.bare == "no"
            && words.get(at + 2).is_some_and(|third| COMPARES.contains(&third.bare.as_str()));
        self.second.contains(&next.bare.as_str()) && !compares
    }
}

/// Whether the sentence that begins with these words is a question.
fn is_question(words: &[Word]) -> bool {
    let end = words.iter().find(|word| word.written.ends_with(['.', '?', ':', ';']));
    end.is_some_and(|word| word.written.ends_with('?'))
}

/// Compares the number of each habit in all of `texts` with its budget.
pub(super) fn check(texts: &[Text]) -> Vec<Finding> {
    let budgets: Vec<(&str, usize)> =
        HABITS.iter().map(|habit| (habit.name, habit.budget)).collect();
    check_against(texts, &budgets)
}

/// The same with other budgets. A habit over its budget is one finding for each of its places, up
/// to [`SHOWN_MAX`].
pub(super) fn check_against(texts: &[Text], budgets: &[(&str, usize)]) -> Vec<Finding> {
    let all: Vec<(&str, Hit)> = texts
        .iter()
        .flat_map(|text| hits(text).into_iter().map(|hit| (text.path.as_str(), hit)))
        .collect();
    let mut findings = Vec::new();
    for (habit, (name, budget)) in HABITS.iter().zip(budgets) {
        let places: Vec<&(&str, Hit)> = all.iter().filter(|(_, hit)| hit.habit == *name).collect();
        let count = places.len();
        if count <= *budget {
            continue;
        }
        for (path, hit) in places.into_iter().take(SHOWN_MAX) {
            let message = format!(
                "`{name}` in \"{}\": {} ({count} in the tree, {budget} allowed; `cargo xtask \
                 prose PATH` lists those of a file or folder)",
                hit.excerpt, habit.instead
            );
            findings.push(Finding { path: (*path).to_owned(), line: hit.line, message });
        }
    }
    findings
}

/// How many places of one habit are printed: enough to start with.
const SHOWN_MAX: usize = 20;

/// How often each habit occurs in `texts`, in the order of the table.
pub(super) fn totals(texts: &[Text]) -> Vec<(&'static str, usize)> {
    let all: Vec<Hit> = texts.iter().flat_map(hits).collect();
    let count = |name| all.iter().filter(|hit| hit.habit == name).count();
    HABITS.iter().map(|habit| (habit.name, count(habit.name))).collect()
}

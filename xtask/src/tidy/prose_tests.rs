//! Tests of the prose check: which texts are read, which words count, and how budgets work.

use super::prose::{check_against, hits};
use super::text::{Page, of_page, of_source};
use crate::source::Source;

const HABITS: usize = 9;

fn in_source(body: &str) -> Vec<&'static str> {
    let source = Source::new("crates/model/src/a.rs", body.to_owned());
    hits(&of_source(&source)).iter().map(|hit| hit.habit).collect()
}

fn in_page(path: &str, text: &str) -> Vec<&'static str> {
    let page = Page { path: path.to_owned(), text: text.to_owned() };
    hits(&of_page(&page)).iter().map(|hit| hit.habit).collect()
}

#[test]
fn each_habit_is_found() {
    for (text, habit) in [
        ("It returns what was stored.", "what …"),
        ("Where it is missing, 404.", "where …"),
        ("The row is kept.", "kept"),
        ("A file beside it.", "beside"),
        ("The caller is told.", "told"),
        ("It stands alone.", "stands"),
        ("Whoever asks waits.", "whoever"),
        ("This is no map.", "is no"),
        ("It begins anew.", "anew"),
    ] {
        assert_eq!(in_source(&format!("// {text}\n")), [habit], "{text}");
        assert_eq!(in_page("docs/a.md", text), [habit], "{text}");
    }
}

#[test]
fn habits_are_found_across_lines_and_in_every_kind_of_text() {
    assert_eq!(in_source("/// It returns what\n/// was stored.\n"), ["what …"]);
    assert_eq!(in_source("const A: &str = \"returns what \\\n    was stored\";\n"), ["what …"]);
    assert_eq!(in_source("fn a_row_that_nobody_wants() {}\n"), ["whoever"]);
    assert_eq!(in_page("docs/a.sql", "SELECT 1; -- asked anew\n"), ["anew"]);
    assert_eq!(in_page("deny.toml", "a = 1 # asked anew\n"), ["anew"]);
    assert_eq!(in_page("scripts/test", "# asked anew\nanew\n"), ["anew"]);
}

#[test]
fn questions_comparisons_and_code_are_not_habits() {
    for text in [
        "The error says what was wrong.",
        "It says where the fault is.",
        "There is no room.",
        "It is no longer there.",
        "It is no more than that.",
        "The column `kept` counts.",
        "What. Is it? No.",
        "What is a term? A kind and a value.",
    ] {
        assert_eq!(in_source(&format!("// {text}\n")), [""; 0], "{text}");
    }
    for code in [
        "const A: &str = \"anew\";\n",
        "const A: [&str; 2] = [\"what\", \"is\"];\n",
        "const A: &str = \"SELECT kept FROM rows\";\n",
        "fn kept() {}\n",
        "let kept = 1;\n",
    ] {
        assert_eq!(in_source(code), [""; 0], "{code}");
    }
    assert_eq!(in_page("docs/a.md", "```sh\n# asked anew\n```\nFine.\n"), [""; 0]);
    assert_eq!(in_page("docs/a.sql", "SELECT kept;\n"), [""; 0]);
    assert_eq!(in_page("docs/a.md", "What\n\nis it?\n"), [""; 0]);
}

#[test]
fn a_habit_over_its_budget_is_a_finding_with_place_and_advice() {
    let source =
        Source::new("crates/model/src/a.rs", "//! One.\n\n// Asked anew, and anew.\n".to_owned());
    let texts = [of_source(&source)];
    let budgets = |anew: usize| -> Vec<(&str, usize)> {
        let mut budgets: Vec<(&str, usize)> =
            super::prose::totals(&[]).into_iter().map(|(name, _)| (name, 0)).collect();
        assert_eq!(budgets.len(), HABITS);
        budgets.last_mut().expect("there are habits").1 = anew;
        budgets
    };
    assert!(check_against(&texts, &budgets(2)).is_empty());
    let found = check_against(&texts, &budgets(1));
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].path.as_str(), found[0].line), ("crates/model/src/a.rs", 3));
    assert!(
        found[0].message.starts_with("`anew` in \"Asked anew, and anew.\": again, from the start"),
        "{}",
        found[0].message
    );
    assert!(found[0].message.contains("(2 in the tree, 1 allowed"), "{}", found[0].message);
}

//! Tests of the graph of files: which paths count as a need, and which needs make a circle.

use super::finding::Finding;
use super::graph::check;
use crate::source::Source;

fn sources(files: &[(&str, &str)]) -> Vec<Source> {
    let source = |(path, text): &(&str, &str)| {
        Source::new(&format!("crates/model/src/{path}"), (*text).to_owned())
    };
    files.iter().map(source).collect()
}

fn findings(files: &[(&str, &str)]) -> Vec<Finding> {
    check(&sources(files))
}

/// Asserts that `a.rs` and `b.rs` are a circle, or are not, with this text of `a.rs` and others.
fn assert_circle(expected: bool, a: &str, others: &[(&str, &str)]) {
    let mut files = vec![("a.rs", a), ("b.rs", "use crate::a::A;\npub struct B(A);\n")];
    files.extend(others);
    assert_eq!(!findings(&files).is_empty(), expected, "{a:?} with {others:?}");
}

#[test]
fn two_files_that_import_each_other_are_a_circle() {
    let root = ("lib.rs", "mod a;\nmod b;\n");
    for a in [
        "use crate::b::B;\npub struct A;\n",
        "use super::b::B;\npub struct A;\n",
        "use crate::{b::{B, C}, c};\npub struct A;\n",
        "pub struct A;\nfn f() { crate::b::g() }\n",
        "use crate::b;\npub struct A;\nfn f() { b::g() }\n",
        "pub struct A;\nimpl From<crate::b::B> for A {}\n",
        "use crate::b as other;\npub struct A;\nfn f() -> Vec<other::B> {}\n",
    ] {
        assert_circle(true, a, &[root]);
    }
}

#[test]
fn imports_of_tests_other_crates_and_plain_modules_do_not_count() {
    let root = ("lib.rs", "mod a;\nmod b;\n");
    for a in [
        "pub struct A;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n",
        "// use crate::b::B;\npub struct A;\n",
        "pub struct A;\nconst TEXT: &str = \"crate::b::B\";\n",
        "use crate::b;\npub struct A;\n",
        "use other::b::B;\npub struct A;\n",
        "use std::b::B;\npub struct A;\nfn f() { B::new() }\n",
    ] {
        assert_circle(false, a, &[root]);
    }
}

#[test]
fn re_exports_lead_to_the_file_that_defines_the_item() {
    let root = ("lib.rs", "mod a;\nmod b;\npub use b::B;\n");
    assert_circle(true, "use crate::B;\npub struct A;\n", &[root]);
    let glob = ("lib.rs", "mod a;\nmod b;\npub use b::*;\n");
    assert_circle(true, "use crate::B;\npub struct A;\n", &[glob]);
    let elsewhere =
        [("lib.rs", "mod a;\nmod b;\nmod c;\npub use c::C;\n"), ("c.rs", "pub struct C;\n")];
    assert_circle(false, "use crate::C;\npub struct A;\n", &elsewhere);
}

#[test]
fn a_parent_that_only_declares_and_re_exports_needs_no_child() {
    let child = ("a/b.rs", "use super::c::C;\nuse super::Shared;\npub struct B;\n");
    let sibling = ("a/c.rs", "pub struct C;\n");
    let lib = ("lib.rs", "mod a;\n");
    let parent = "mod b;\nmod c;\npub use b::B;\npub struct Shared;\n";
    assert!(findings(&[lib, ("a/mod.rs", parent), child, sibling]).is_empty());
    let uses = format!("{parent}fn f() -> B {{}}\n");
    assert_eq!(findings(&[lib, ("a/mod.rs", &uses), child, sibling]).len(), 1);
}

#[test]
fn a_finding_names_the_files_the_items_and_the_lines() {
    let finding = &findings(&[
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "use crate::b::B;\npub struct A;\n"),
        ("b.rs", "use crate::a::A;\npub struct B;\n"),
    ])[0];
    assert_eq!(finding.path, "crates/model/src/a.rs");
    assert_eq!(
        finding.message,
        "2 files need each other in a circle; move their shared items into a file of its own:\n    \
         crates/model/src/a.rs needs crates/model/src/b.rs (`crate::b::B`, line 1)\n    \
         crates/model/src/b.rs needs crates/model/src/a.rs (`crate::a::A`, line 1)"
    );
}

#[test]
fn a_circle_through_three_files_is_found_and_a_chain_is_not() {
    let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\n");
    let a = ("a.rs", "use crate::b::B;\npub struct A;\n");
    let b = ("b.rs", "use crate::c::C;\npub struct B;\n");
    assert!(findings(&[lib, a, b, ("c.rs", "pub struct C;\n")]).is_empty());
    let found = findings(&[lib, a, b, ("c.rs", "use crate::a::A;\npub struct C;\n")]);
    assert!(found[0].message.starts_with("3 files need each other"), "{found:?}");
}

//! Which file of a crate needs which other one, and the circles in that.
//! A file needs another one if it names an item that the other one defines, whichever re-exports
//! the path goes through. A module does not need its children if it only declares them and
//! re-exports their items; if it also uses them, it does. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::finding::Finding;
use super::paths::{Names, Use, names};
use crate::source::{Kind, Source};

/// Paths are followed through this many re-exports.
const HOPS_MAX: usize = 16;

/// One crate: its module files and their needs.
pub(super) struct Graph<'a> {
    files: Vec<File<'a>>,
    /// Module path (without `crate`) to the index of its file.
    modules: BTreeMap<Vec<String>, usize>,
    /// From a file to those that it needs, each with a name and a line as evidence.
    needs: BTreeMap<usize, BTreeMap<usize, Evidence>>,
}

struct File<'a> {
    source: &'a Source,
    module: Vec<String>,
    names: Names,
}

#[derive(Clone)]
struct Evidence {
    name: String,
    line: usize,
}

/// The result of following a path.
enum Found {
    /// An item that this file defines.
    Item(usize),
    /// A module, and no item of it.
    Module,
    /// Another crate.
    Outside,
    /// Nothing of that name; the search ended in this file.
    Unknown(usize),
}

/// The graphs of all crates, by the folder of their sources.
pub(super) fn graphs(sources: &[Source]) -> BTreeMap<String, Graph<'_>> {
    let mut crates: BTreeMap<String, Vec<&Source>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.kind != Kind::Test) {
        if let Some((folder, _)) = source.path.split_once("/src/") {
            crates.entry(folder.to_owned()).or_default().push(source);
        }
    }
    crates.into_iter().map(|(folder, sources)| (folder, Graph::new(&sources))).collect()
}

impl<'a> Graph<'a> {
    pub(super) fn new(sources: &[&'a Source]) -> Self {
        let file = |source: &&'a Source| File {
            source,
            module: module(&source.path),
            names: names(&source.scrubbed.code, |index| source.is_test_line(index)),
        };
        let files: Vec<File<'a>> = sources.iter().map(file).collect();
        let modules =
            files.iter().enumerate().map(|(index, file)| (file.module.clone(), index)).collect();
        let mut graph = Self { files, modules, needs: BTreeMap::new() };
        for index in 0..graph.files.len() {
            let needs = graph.needs_of(index);
            graph.needs.insert(index, needs);
        }
        graph
    }

    fn needs_of(&self, index: usize) -> BTreeMap<usize, Evidence> {
        let file = &self.files[index];
        let mut needs = BTreeMap::new();
        let mut need = |path: &[String], line: usize| {
            let to = match self.follow(&file.module, path, HOPS_MAX) {
                Found::Item(to) | Found::Unknown(to) => to,
                Found::Module | Found::Outside => return,
            };
            if to != index {
                let name = path.join("::");
                needs.entry(to).or_insert(Evidence { name, line });
            }
        };
        for import in &file.names.uses {
            let is_used = !import.is_exported || file.names.words.contains(&import.alias);
            if is_used && !(import.is_glob && import.is_exported) {
                need(&import.path, import.line);
            }
        }
        for (path, line) in &file.names.paths {
            need(path, *line);
        }
        needs
    }

    /// Follows `path` as it reads in `module`.
    fn follow(&self, module: &[String], path: &[String], hops: usize) -> Found {
        let mut base = module.to_vec();
        let mut rest = path;
        let mut is_relative = true;
        while let Some(first) = rest.first() {
            match first.as_str() {
                "crate" => base.clear(),
                "super" => drop(base.pop()),
                "self" => {}
                _ => break,
            }
            is_relative = false;
            rest = &rest[1..];
        }
        match self.find(&base, rest, hops) {
            // A name that this module does not have belongs to another crate or to the prelude.
            Found::Unknown(file) if is_relative && self.files[file].module == base => {
                Found::Outside
            }
            found => found,
        }
    }

    /// Finds the item that `path` names inside `module`.
    fn find(&self, module: &[String], path: &[String], hops: usize) -> Found {
        let Some(&file) = self.modules.get(module) else { return Found::Outside };
        let Some((first, rest)) = path.split_first() else { return Found::Module };
        if hops == 0 {
            return Found::Unknown(file);
        }
        let child = [module, std::slice::from_ref(first)].concat();
        if self.modules.contains_key(&child) {
            return self.find(&child, rest, hops - 1);
        }
        let names = &self.files[file].names;
        let named = |import: &&Use| !import.is_glob && import.alias == *first;
        if let Some(import) = names.uses.iter().find(named) {
            // `use a::a` names itself; a path that begins with its own alias is outside.
            if import.path.first() == Some(first) {
                return Found::Outside;
            }
            let target = [import.path.as_slice(), rest].concat();
            return self.follow(module, &target, hops - 1);
        }
        if names.definitions.contains(first) {
            return Found::Item(file);
        }
        for glob in names.uses.iter().filter(|import| import.is_glob) {
            let target = [glob.path.as_slice(), path].concat();
            if let found @ Found::Item(_) = self.follow(module, &target, hops - 1) {
                return found;
            }
        }
        Found::Unknown(file)
    }

    /// The circles: sets of files that all need each other, directly or through others.
    pub(super) fn circles(&self) -> Vec<Vec<usize>> {
        let reach: Vec<BTreeSet<usize>> =
            (0..self.files.len()).map(|from| self.reachable(from)).collect();
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        let mut circles = Vec::new();
        for from in 0..self.files.len() {
            if !reach[from].contains(&from) || seen.contains(&from) {
                continue;
            }
            let circle: Vec<usize> =
                reach[from].iter().copied().filter(|to| reach[*to].contains(&from)).collect();
            seen.extend(&circle);
            circles.push(circle);
        }
        circles
    }

    fn reachable(&self, from: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<usize> = self.needs[&from].keys().copied().collect();
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(self.needs[&next].keys());
            }
        }
        reached
    }

    /// The edges inside a circle, as one line for each file.
    pub(super) fn describe(&self, circle: &[usize]) -> String {
        let mut text = String::new();
        for from in circle {
            let inside = self.needs[from].iter().filter(|(to, _)| circle.contains(to));
            let edges: Vec<String> = inside
                .map(|(to, evidence)| {
                    let to = &self.files[*to].source.path;
                    format!("{to} (`{}`, line {})", evidence.name, evidence.line)
                })
                .collect();
            let from = &self.files[*from].source.path;
            let _ = writeln!(text, "    {from} needs {}", edges.join(", "));
        }
        text
    }

    fn finding(&self, circle: &[usize]) -> Finding {
        let message = format!(
            "{} files need each other in a circle; move their shared items into a file of its \
             own:\n{}",
            circle.len(),
            self.describe(circle).trim_end()
        );
        Finding { path: self.files[circle[0]].source.path.clone(), line: 0, message }
    }
}

/// The module path of a file: `["a", "b"]` of `src/a/b.rs` and of `src/a/b/mod.rs`.
fn module(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    let mut parts: Vec<String> = inside.split('/').map(str::to_owned).collect();
    let last = parts.last().map(String::as_str);
    if last == Some("mod") || (parts.len() == 1 && matches!(last, Some("lib" | "main"))) {
        parts.pop();
    }
    parts
}

/// Finds the circles of all crates.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let graphs = graphs(sources);
    let findings = graphs
        .values()
        .flat_map(|graph| graph.circles().into_iter().map(|circle| graph.finding(&circle)));
    findings.collect()
}

/// Every circle, for people.
pub(super) fn report(sources: &[Source]) -> String {
    let mut text = String::new();
    for (folder, graph) in graphs(sources) {
        let circles = graph.circles();
        let files: usize = circles.iter().map(Vec::len).sum();
        let _ = writeln!(text, "{folder}: {} circles, {files} files", circles.len());
        for circle in circles {
            let _ = writeln!(text, "  circle of {} files", circle.len());
            text.push_str(&graph.describe(&circle));
        }
    }
    text
}

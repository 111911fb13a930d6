//! The paths in a Rust file: its `use` declarations, the qualified paths in its code, and the names
//! that it defines. This is a light reading of scrubbed code and not a parser: it knows `use`
//! trees, `a::b` and the keywords that define an item, enough to see which file needs which.

use std::collections::HashSet;

/// The names in one file.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) uses: Vec<Use>,
    /// Qualified paths outside `use` declarations, with their lines (from 1).
    pub(super) paths: Vec<(Vec<String>, usize)>,
    pub(super) definitions: HashSet<String>,
    /// Every identifier outside `use` declarations.
    pub(super) words: HashSet<String>,
}

/// One leaf of a `use` declaration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) path: Vec<String>,
    /// The name in this file: the last part or the one after `as`.
    pub(super) alias: String,
    pub(super) is_glob: bool,
    /// Whether it is `pub`, `pub(crate)` or the like.
    pub(super) is_exported: bool,
    pub(super) line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `::`
    Path,
    Mark(char),
}

const DEFINING: [&str; 9] =
    ["struct", "enum", "union", "trait", "type", "const", "static", "fn", "macro_rules"];

/// Reads scrubbed code. Lines for which `skip` holds are not read.
pub(super) fn names(code: &str, skip: impl Fn(usize) -> bool) -> Names {
    let lines = code.lines().enumerate().filter(|(index, _)| !skip(*index));
    let tokens: Vec<(Token, usize)> = lines
        .flat_map(|(index, line)| tokens(line).into_iter().map(move |token| (token, index + 1)))
        .collect();
    let mut names = Names::default();
    let mut at = 0;
    while at < tokens.len() {
        at = match &tokens[at].0 {
            Token::Word(word) if word == "use" => read_use(&tokens, at, &mut names),
            Token::Word(_) => read_path(&tokens, at, &mut names),
            _ => at + 1,
        };
    }
    names
}

fn tokens(line: &str) -> Vec<Token> {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    let mut tokens = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = if is_part(first) {
            let length = rest.find(|char| !is_part(char)).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..length].to_owned()));
            length
        } else if rest.starts_with("::") {
            tokens.push(Token::Path);
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(Token::Mark(first));
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

fn word(tokens: &[(Token, usize)], at: usize) -> Option<&str> {
    match tokens.get(at) {
        Some((Token::Word(word), _)) => Some(word),
        _ => None,
    }
}

/// Reads `a::b::c` from `at` on and returns the place after it. Notes definitions on the way.
fn read_path(tokens: &[(Token, usize)], at: usize, names: &mut Names) -> usize {
    let mut path = Vec::new();
    let mut next = at;
    while let Some(part) = word(tokens, next) {
        path.push(part.to_owned());
        names.words.insert(part.to_owned());
        next += 1;
        if tokens.get(next).map(|(token, _)| token) != Some(&Token::Path) {
            break;
        }
        next += 1;
    }
    if let [keyword] = path.as_slice()
        && DEFINING.contains(&keyword.as_str())
    {
        // `macro_rules! name` has a mark before its name.
        let name = word(tokens, next).or_else(|| word(tokens, next + 1));
        names.definitions.extend(name.map(str::to_owned));
    }
    if path.len() > 1 {
        names.paths.push((path, tokens[at].1));
    }
    next.max(at + 1)
}

/// Reads a `use` declaration whose keyword is at `at` and returns the place after its `;`.
fn read_use(tokens: &[(Token, usize)], at: usize, names: &mut Names) -> usize {
    let before = |back: usize| at.checked_sub(back).map(|index| &tokens[index].0);
    let is_exported =
        before(1) == Some(&Token::Mark(')')) || before(1) == Some(&Token::Word("pub".to_owned()));
    let is_bound = before(1) == Some(&Token::Mark('+')); // `impl Trait + use<'a>`
    let end = (at..tokens.len())
        .find(|index| tokens[*index].0 == Token::Mark(';'))
        .unwrap_or(tokens.len());
    if is_bound || tokens.get(at + 1).map(|(token, _)| token) == Some(&Token::Mark('<')) {
        return at + 1;
    }
    let mut reader = UseReader { tokens: &tokens[at + 1..end], at: 0, is_exported, names };
    reader.tree(&[]);
    end + 1
}

struct UseReader<'a> {
    tokens: &'a [(Token, usize)],
    at: usize,
    is_exported: bool,
    names: &'a mut Names,
}

impl UseReader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn skip(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    /// One branch of the tree below `prefix`.
    fn tree(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        loop {
            let line = self.tokens.get(self.at).map_or(0, |(_, line)| *line);
            match self.peek().cloned() {
                Some(Token::Word(part)) => {
                    self.at += 1;
                    if part != "self" || path.is_empty() {
                        path.push(part);
                    }
                    if self.peek() != Some(&Token::Path) {
                        return self.leaf(path, line);
                    }
                }
                Some(Token::Path) => self.at += 1,
                Some(Token::Mark('{')) => {
                    self.at += 1;
                    while !self.skip('}') && self.at < self.tokens.len() {
                        self.tree(&path);
                        self.skip(',');
                    }
                    return;
                }
                Some(Token::Mark('*')) => {
                    self.at += 1;
                    let is_exported = self.is_exported;
                    let alias = String::new();
                    self.names.uses.push(Use { path, alias, is_glob: true, is_exported, line });
                    return;
                }
                _ => {
                    self.at += 1;
                    return;
                }
            }
        }
    }

    fn leaf(&mut self, path: Vec<String>, line: usize) {
        let mut alias = path.last().cloned().unwrap_or_default();
        if self.peek() == Some(&Token::Word("as".to_owned())) {
            self.at += 1;
            if let Some(Token::Word(name)) = self.peek() {
                alias.clone_from(name);
            }
            self.at += 1;
        }
        let is_exported = self.is_exported;
        self.names.uses.push(Use { path, alias, is_glob: false, is_exported, line });
    }
}

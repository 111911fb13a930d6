//! Separates the code, the comments and the string literals of a Rust file, so that a string does
//! not fool a check of the comments and a comment does not fool a check of the code.
//! This is not a parser: it knows comments, strings and character literals only. Code and comments
//! have as many lines as the file, so that line numbers agree.

/// A source file, separated. In `code` and `comments` everything else is blank.
pub(crate) struct Scrubbed {
    pub(crate) code: String,
    pub(crate) comments: String,
    pub(crate) literals: Vec<Literal>,
}

/// The content of one string literal. Escape sequences are blanks.
pub(crate) struct Literal {
    /// The line of its opening quote, counted from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
}

#[derive(Clone, Copy)]
enum Half {
    Code,
    Comment,
    Literal,
    Neither,
}

struct Scrubber {
    chars: Vec<char>,
    at: usize,
    line: usize,
    halves: Scrubbed,
}

/// Separates `text`.
pub(super) fn scrub(text: &str) -> Scrubbed {
    let halves = Scrubbed { code: String::new(), comments: String::new(), literals: Vec::new() };
    let mut scrubber = Scrubber { chars: text.chars().collect(), at: 0, line: 1, halves };
    while scrubber.at < scrubber.chars.len() {
        scrubber.step();
    }
    scrubber.halves
}

impl Scrubber {
    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            (Some('/'), Some('/')) => {
                while self.peek(0).is_some_and(|char| char != '\n') {
                    self.take(Half::Comment);
                }
            }
            (Some('/'), Some('*')) => self.block_comment(),
            (Some('"'), _) => self.string(),
            (Some('r'), Some('"' | '#')) if !self.inside_word() => self.raw_string(),
            (Some('\''), _) => self.quote(),
            _ => self.take(Half::Code),
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Moves one character into its part, and a blank or a line break into the others.
    fn take(&mut self, half: Half) {
        let Some(char) = self.peek(0) else { return };
        let blank = if char == '\n' { '\n' } else { ' ' };
        if let (Half::Literal | Half::Neither, Some(literal)) =
            (half, self.halves.literals.last_mut())
        {
            literal.text.push(if matches!(half, Half::Literal) { char } else { blank });
        }
        self.line += usize::from(char == '\n');
        self.halves.code.push(if matches!(half, Half::Code) { char } else { blank });
        self.halves.comments.push(if matches!(half, Half::Comment) { char } else { blank });
        self.at += 1;
    }

    fn take_many(&mut self, count: usize, half: Half) {
        for _ in 0..count {
            self.take(half);
        }
    }

    /// Whether the character before belongs to a name. `b` and `c` before a raw string do not.
    fn inside_word(&self) -> bool {
        let is_part = |char: &&char| char.is_alphanumeric() || **char == '_';
        let word: String = self.chars[..self.at].iter().rev().take_while(is_part).collect();
        !matches!(word.as_str(), "" | "b" | "c")
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(char) = self.peek(0) {
            match (char, self.peek(1)) {
                ('/', Some('*')) => depth += 1,
                ('*', Some('/')) => depth -= 1,
                _ => {
                    self.take(Half::Comment);
                    continue;
                }
            }
            self.take_many(2, Half::Comment);
            if depth == 0 {
                return;
            }
        }
    }

    fn begin_literal(&mut self) {
        self.halves.literals.push(Literal { line: self.line, text: String::new() });
    }

    fn string(&mut self) {
        self.take(Half::Code);
        self.begin_literal();
        while let Some(char) = self.peek(0) {
            match char {
                '\\' => self.take_many(2, Half::Neither),
                '"' => return self.take(Half::Code),
                _ => self.take(Half::Literal),
            }
        }
    }

    fn raw_string(&mut self) {
        self.take(Half::Code);
        let hashes = self.chars[self.at..].iter().take_while(|char| **char == '#').count();
        if self.peek(hashes) != Some('"') {
            return; // A raw name such as `r#type`.
        }
        self.take_many(hashes + 1, Half::Code);
        self.begin_literal();
        while let Some(char) = self.peek(0) {
            if char == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#')) {
                return self.take_many(hashes + 1, Half::Code);
            }
            self.take(Half::Literal);
        }
    }

    /// A character literal or the start of a lifetime.
    fn quote(&mut self) {
        let inside = match (self.peek(1), self.peek(2)) {
            (Some('\\'), Some(_)) => {
                // The escaped character may itself be a quote; the literal ends after it.
                let rest = self.chars.iter().skip(self.at + 3);
                2 + rest.take_while(|char| **char != '\'').count()
            }
            (Some(_), Some('\'')) => 1,
            _ => return self.take(Half::Code),
        };
        self.take(Half::Code);
        self.take_many(inside, Half::Neither);
        self.take(Half::Code);
    }
}

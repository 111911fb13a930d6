//! Takes Rust text apart into code and comments, so that a check for a word in a comment is not
//! fooled by a string, nor a check for a path in code by a comment.
//! Not a parser: it knows comments, strings and character literals and nothing else. Both results
//! keep the lines of the original, so that line numbers hold.

/// The two halves of a source file. What belongs to the other half is blank in each; what stands
/// inside a string or a character literal is blank in both.
pub(super) struct Scrubbed {
    pub(super) code: String,
    pub(super) comments: String,
}

#[derive(Clone, Copy)]
enum Half {
    Code,
    Comment,
    Neither,
}

struct Scrubber {
    chars: Vec<char>,
    at: usize,
    halves: Scrubbed,
}

/// Takes `text` apart.
pub(super) fn scrub(text: &str) -> Scrubbed {
    let halves = Scrubbed { code: String::new(), comments: String::new() };
    let mut scrubber = Scrubber { chars: text.chars().collect(), at: 0, halves };
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

    /// Moves one character into its half, and a blank or the line's end into the other.
    fn take(&mut self, half: Half) {
        let Some(char) = self.peek(0) else { return };
        let blank = if char == '\n' { '\n' } else { ' ' };
        self.halves.code.push(if matches!(half, Half::Code) { char } else { blank });
        self.halves.comments.push(if matches!(half, Half::Comment) { char } else { blank });
        self.at += 1;
    }

    fn take_many(&mut self, count: usize, half: Half) {
        for _ in 0..count {
            self.take(half);
        }
    }

    /// Whether the character before belongs to a name; `br"…"` and `cr"…"` are no names.
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

    fn string(&mut self) {
        self.take(Half::Code);
        while let Some(char) = self.peek(0) {
            match char {
                '\\' => self.take_many(2, Half::Neither),
                '"' => return self.take(Half::Code),
                _ => self.take(Half::Neither),
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
        while let Some(char) = self.peek(0) {
            if char == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#')) {
                return self.take_many(hashes + 1, Half::Code);
            }
            self.take(Half::Neither);
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

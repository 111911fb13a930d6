//! Cuts a file of JSON Lines into parts, byte by byte as it is: blank lines are not entries, but
//! stay in their part, so that the server's line numbers are those of the part. Invariant: no part
//! begins with `[`, because the server would take it for one array.

use std::io::{BufRead, Read};

use super::part::{ENTRY_BYTES_MAX, Part, PartLimits, SplitError};

/// Cuts lines into parts.
pub(super) struct LineSplitter<R> {
    reader: R,
    limits: PartLimits,
    /// The beginning of the next part: entries that have been read, and their lines.
    pending: Run,
    lines: u64,
    entries: u64,
}

/// Consecutive lines.
#[derive(Debug, Clone, Default)]
struct Run {
    bytes: Vec<u8>,
    entries: u64,
    lines: u64,
}

/// A place in a run at which it can be cut.
#[derive(Debug, Clone, Copy)]
struct Cut {
    bytes: usize,
    entries: u64,
    lines: u64,
}

impl<R: BufRead> LineSplitter<R> {
    pub(super) fn new(reader: R, limits: PartLimits) -> Self {
        Self { reader, limits, pending: Run::default(), lines: 0, entries: 0 }
    }

    /// The next part; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Part>, SplitError> {
        let mut run = std::mem::take(&mut self.pending);
        let mut last_map: Option<Cut> = None;
        loop {
            let before = Cut { bytes: run.bytes.len(), entries: run.entries, lines: run.lines };
            if !self.read_line(&mut run)? {
                break;
            }
            let line = run.bytes[before.bytes..].trim_ascii();
            let Some(&first) = line.first() else { continue };
            let is_full = before.entries >= self.limits.entries as u64
                || before.entries > 0 && run.bytes.len() > self.limits.bytes;
            run.entries += 1;
            match (first, is_full) {
                (b'[', true) => {
                    let lines = self.lines + run.lines;
                    let cut = last_map.ok_or(SplitError::ArrayLines(lines))?;
                    self.pending = run.split_off(cut);
                    break;
                }
                (_, true) => {
                    self.pending = run.split_off(before);
                    break;
                }
                (b'[', false) => {}
                (_, false) if before.entries > 0 => last_map = Some(before),
                (_, false) => {}
            }
        }
        let part = Part {
            bytes: run.bytes,
            entries: run.entries,
            entries_before: self.entries,
            lines_before: self.lines,
            ..Part::default()
        };
        self.entries += run.entries;
        self.lines += run.lines;
        Ok((part.entries > 0).then_some(part))
    }

    /// Reads a line to the end of the run; returns `false` at the end of the file.
    fn read_line(&mut self, run: &mut Run) -> Result<bool, SplitError> {
        let mut limited = self.reader.by_ref().take(ENTRY_BYTES_MAX as u64 + 1);
        let read = limited.read_until(b'\n', &mut run.bytes)?;
        if read == 0 {
            return Ok(false);
        }
        run.lines += 1;
        if read > ENTRY_BYTES_MAX {
            return Err(SplitError::LineTooLong(self.lines + run.lines));
        }
        Ok(true)
    }
}

impl Run {
    /// Cuts the run and returns the rest.
    fn split_off(&mut self, cut: Cut) -> Self {
        let rest = Self {
            bytes: self.bytes.split_off(cut.bytes),
            entries: self.entries - cut.entries,
            lines: self.lines - cut.lines,
        };
        (self.entries, self.lines) = (cut.entries, cut.lines);
        rest
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn parts(text: &str, entries: usize, bytes: usize) -> Vec<(String, u64, u64)> {
        let mut splitter = LineSplitter::new(text.as_bytes(), PartLimits { entries, bytes });
        let mut parts = Vec::new();
        while let Some(part) = splitter.next().unwrap() {
            let text = String::from_utf8(part.bytes).unwrap();
            parts.push((text, part.entries_before, part.lines_before));
        }
        parts
    }

    fn part(lines: &str, entries_before: u64, lines_before: u64) -> (String, u64, u64) {
        (lines.to_owned(), entries_before, lines_before)
    }

    #[test]
    fn a_part_has_at_most_the_allowed_number_of_entries() {
        assert_eq!(
            parts("{1}\n{2}\n{3}\n{4}\n{5}", 2, 1000),
            [part("{1}\n{2}\n", 0, 0), part("{3}\n{4}\n", 2, 2), part("{5}", 4, 4)]
        );
        assert_eq!(parts("{1}\n{2}\n", 2, 1000), [part("{1}\n{2}\n", 0, 0)]);
    }

    #[test]
    fn a_part_stays_below_the_size_limit_unless_one_entry_is_larger() {
        assert_eq!(
            parts("{1}\n{2}\n{loooooooong}\n{4}\n", 9, 8),
            [part("{1}\n{2}\n", 0, 0), part("{loooooooong}\n", 2, 2), part("{4}\n", 3, 3)]
        );
    }

    #[test]
    fn blank_lines_are_not_entries_but_count_as_lines() {
        assert_eq!(
            parts("\n{1}\r\n\n  \r\n{2}\n\n{3}\n\n", 1, 1000),
            [part("\n{1}\r\n\n  \r\n", 0, 0), part("{2}\n\n", 1, 4), part("{3}\n\n", 2, 6)]
        );
        assert_eq!(parts("", 1, 1), []);
        assert_eq!(parts("\n \n", 1, 1), []);
    }

    #[test]
    fn no_part_begins_with_a_bracket() {
        assert_eq!(
            parts("{1}\n{2}\n[3]\n{4}\n[5]\n", 2, 1000),
            [part("{1}\n", 0, 0), part("{2}\n[3]\n", 1, 1), part("{4}\n[5]\n", 3, 3)]
        );
        let limits = PartLimits { entries: 2, bytes: 1000 };
        let mut splitter = LineSplitter::new(&b"{1}\n[2]\n[3]\n"[..], limits);
        assert!(matches!(splitter.next(), Err(SplitError::ArrayLines(3))));
    }
}

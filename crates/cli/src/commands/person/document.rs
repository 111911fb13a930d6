//! The JSON document about a person, written while its parts arrive: a map of lists, with one item
//! a line. It holds one item at a time in memory. Invariant: the items are the server's bytes.

use serde_json::Value;

use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress::{Progress, Unit};

/// A document that is being written.
pub(super) struct Document<'p> {
    printer: &'p mut Printer,
    progress: Progress,
    /// Items of all lists.
    items: u64,
    /// Items of the open list.
    of_list: u64,
}

impl<'p> Document<'p> {
    /// Begins with these members.
    pub(super) fn begin(
        printer: &'p mut Printer,
        members: &[(&str, Value)],
    ) -> Result<Self, Failure> {
        let members = members.iter().map(|(name, value)| format!("\"{name}\":{value}"));
        let members = members.collect::<Vec<_>>().join(",\n");
        printer.data(format!("{{{members}").as_bytes())?;
        let progress = Progress::new("exporting a person", None, Unit::Count);
        Ok(Self { printer, progress, items: 0, of_list: 0 })
    }

    /// Begins a list.
    pub(super) fn list(&mut self, name: &str) -> Result<(), Failure> {
        self.of_list = 0;
        self.printer.data(format!(",\n\"{name}\":[").as_bytes())
    }

    /// Adds JSON to the list.
    pub(super) fn item(&mut self, json: &[u8]) -> Result<(), Failure> {
        self.printer.data(if self.of_list > 0 { b",\n" } else { b"\n" })?;
        self.printer.data(json)?;
        (self.items, self.of_list) = (self.items + 1, self.of_list + 1);
        self.progress.reached(self.items);
        Ok(())
    }

    /// Ends the list; the answer is the number of its items.
    pub(super) fn end_list(&mut self) -> Result<u64, Failure> {
        self.printer.data(b"]")?;
        Ok(self.of_list)
    }

    /// Ends the document.
    pub(super) fn end(self) -> Result<(), Failure> {
        let Self { printer, progress, .. } = self;
        progress.finish();
        printer.data(b"}\n")
    }
}

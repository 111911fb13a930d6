//! Rows of a table as entries, the way into the server that a spreadsheet takes. The header says
//! which member of an entry each column is: `columns`, `words`, and `header` for profiles or
//! `issues`. That member decides how the text of a cell becomes a value (`cells`, `addresses`,
//! `state`). `entry` writes the entry of a row or says what is wrong with its cells, `messages`
//! adds the messages of following rows to an issue, and `rounded` finds ids that a spreadsheet
//! rounded. Files and the grammar of CSV are not known here. The rules of values, such as the names
//! of countries, are those of all entries.

mod addresses;
mod cells;
mod columns;
mod entry;
mod header;
mod issues;
#[cfg(test)]
mod issues_tests;
mod messages;
mod rounded;
mod state;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use cells::have_same_addresses;
pub use cells::{Cell, as_formula, typed_cell, written_cell};
pub use columns::{ColumnFault, OtherColumns, REJECTS_COLUMNS, RowColumns};
pub use entry::{RowEntry, RowRules};
pub use issues::{type_word, typed_by};
pub use rounded::RoundedIds;
pub use words::header_words;

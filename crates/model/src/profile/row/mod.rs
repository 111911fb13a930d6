//! Rows of a table as entries of profiles, the way into the server that a spreadsheet takes. The
//! header says which member of an entry each column is (`columns`), and that member decides how the
//! text of a cell becomes a value (`cells`). Files and the grammar of CSV are not known here, and
//! no value is refused: a text that is not a value of its field is sent as a text, and the server
//! says what is wrong with it.

mod cells;
mod columns;
#[cfg(test)]
mod tests;

pub use columns::{ColumnFault, RowColumns};

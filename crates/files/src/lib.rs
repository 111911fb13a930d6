//! Reads files of any origin: the format of a file by its content (`detect`), its bytes as text
//! (`TextDecoder`), and its rows if it is a table (`TableReader`) or a
//! workbook (`Sheet`). A workbook is taken as a whole; everything else takes pieces of any
//! size and gives the same results however the file is cut. Nothing here reads from a disk or a
//! network: callers pass bytes in, unpacked ones.

mod detect;
mod encoding;
mod table;
mod workbook;

pub use detect::{Format, FormatFault, HEAD_BYTES, Packing, detect, has_mark, packing};
pub use encoding::{Encoding, TextDecoder, TextFault, UnknownEncoding};
pub use table::{
    COLUMNS_MAX, OPEN_QUOTE, ROW_BYTES_MAX, Record, Row, RowFault, TOO_LARGE, TableOptions,
    TableReader,
};
pub use workbook::{Sheet, SheetRow, WORKBOOK_BYTES_MAX, WorkbookFault, WorkbookSize};

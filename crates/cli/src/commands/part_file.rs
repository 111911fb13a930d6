//! A file that a command writes. It gets its name only when it is complete and on disk. A command
//! that fails or is interrupted removes it; the rest of a killed one is removed by the next.

use std::io::{BufWriter, Error, Write};
use std::path::{Path, PathBuf};

use caseload_store::part_file;

use crate::failure::Failure;

/// The mode of the file, less those bits that the caller's umask takes away.
const MODE: u32 = 0o666;

/// A file that gets its name when it is complete. Dropping an incomplete one removes it.
#[derive(Debug)]
pub(crate) struct PartFile {
    path: PathBuf,
    out: BufWriter<part_file::PartFile>,
}

impl PartFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let file = part_file::PartFile::create(path, MODE);
        let file = file.map_err(|e| Failure::file("write", path, &e))?;
        Ok(Self { path: path.to_owned(), out: BufWriter::new(file) })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|e| Failure::file("write", &self.path, &e))
    }

    pub(crate) fn complete(self) -> Result<(), Failure> {
        let file = self.out.into_inner().map_err(Error::from);
        let done = file.and_then(|file| file.publish(true));
        done.map(drop).map_err(|e| Failure::file("write", &self.path, &e))
    }
}

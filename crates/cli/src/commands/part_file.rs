//! A file that a command writes. It gets its name only when it is complete and on disk; until then
//! its name ends in `.part`. A command that fails or is interrupted removes it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file that gets its name when it is complete. Dropping an incomplete one removes it.
#[derive(Debug)]
pub(crate) struct PartFile {
    path: PathBuf,
    part: PathBuf,
    out: BufWriter<File>,
    complete: bool,
}

impl PartFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|e| Failure::file("write", &part, &e))?;
        Ok(Self { path: path.to_owned(), part, out: BufWriter::new(file), complete: false })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|e| Failure::file("write", &self.part, &e))
    }

    pub(crate) fn complete(mut self) -> Result<(), Failure> {
        let written = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        written.map_err(|e| Failure::file("write", &self.part, &e))?;
        std::fs::rename(&self.part, &self.path)
            .map_err(|e| Failure::file("write", &self.path, &e))?;
        self.complete = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.complete {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

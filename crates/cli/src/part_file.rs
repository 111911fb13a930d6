//! A file that a command writes in place of standard output, or next to it. It gets its name only
//! when it is complete and on disk, and then replaces a file of that name. A command that fails or
//! is interrupted removes it; the rest of a killed one is removed by the next. A name that is not
//! that of a file, such as `/dev/null` or a pipe, is written to as it is.

use std::fs::File;
use std::io::{BufWriter, Error, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use caseload_store::part_file;

use crate::failure::Failure;

/// The mode of a new file, less those bits that the caller's umask takes away.
const MODE: u32 = 0o666;

/// A file that gets its name when it is complete. Dropping an incomplete one removes it.
#[derive(Debug)]
pub(crate) struct PartFile {
    path: PathBuf,
    out: BufWriter<Place>,
}

#[derive(Debug)]
enum Place {
    Part(part_file::PartFile),
    /// A device or a pipe.
    Special(File),
}

impl PartFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let place = place(path).map_err(|e| Failure::file("write", path, &e))?;
        Ok(Self { path: path.to_owned(), out: BufWriter::new(place) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|e| Failure::file("write", &self.path, &e))
    }

    pub(crate) fn complete(self) -> Result<(), Failure> {
        let done = self.out.into_inner().map_err(Error::from).and_then(|place| match place {
            Place::Part(file) => file.publish(true).map(drop),
            Place::Special(_) => Ok(()),
        });
        done.map_err(|e| Failure::file("write", &self.path, &e))
    }
}

/// Opens the file to write. A link stays a link to the file that it names, and the new file has the
/// mode of the one that it replaces.
fn place(path: &Path) -> Result<Place, Error> {
    let Ok(found) = std::fs::metadata(path) else {
        return Ok(Place::Part(part_file::PartFile::create(path, MODE)?));
    };
    if !found.is_file() {
        return Ok(Place::Special(File::options().write(true).open(path)?));
    }
    let mode = found.permissions().mode() & 0o777;
    Ok(Place::Part(part_file::PartFile::create(&path.canonicalize()?, mode)?))
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        match self {
            Self::Part(file) => file.write(bytes),
            Self::Special(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        match self {
            Self::Part(file) => file.flush(),
            Self::Special(file) => file.flush(),
        }
    }
}

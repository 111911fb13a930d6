//! Imports: one file becomes tasks. `file_reader` makes entries of the bytes of a file.

mod file_reader;

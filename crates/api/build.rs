//! Packs the files of the console: leaves out their comments, a third of all bytes, and compresses
//! them with gzip, so that a server sends the first one as soon as it starts. The program gets a
//! table of them: name, text and packed text, in the order of names.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let folder = root.join("../../console").canonicalize()?;
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed={}", folder.display());
    let names = fs::read_dir(&folder)?.map(|entry| Ok(entry?.file_name()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.sort();
    let mut table = "&[\n".to_owned();
    for name in names {
        let is_script = Path::new(&name).extension().is_some_and(|extension| extension == "js");
        let text = without_comments(&fs::read_to_string(folder.join(&name))?, is_script);
        let (plain, packed) = (out.join(&name), out.join(&name).with_added_extension("gz"));
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(text.as_bytes())?;
        fs::write(&packed, gzip.finish()?)?;
        fs::write(&plain, text)?;
        let (name, plain) = (name.to_string_lossy(), plain.to_string_lossy());
        let packed = packed.to_string_lossy();
        let line = format!("({name:?}, include_bytes!({plain:?}), include_bytes!({packed:?})),\n");
        table.push_str(&line);
    }
    table.push_str("]\n");
    fs::write(out.join("console.rs"), table)
}

/// A text without its comments and the blanks before its lines. In JavaScript comments begin with
/// `/**`, or with `//` at the beginning of a line, and strings have neither; a style's comments
/// begin with `/*`.
fn without_comments(text: &str, is_script: bool) -> String {
    let begin = if is_script { "/**" } else { "/*" };
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((code, after)) = rest.split_once(begin) {
        plain.push_str(code);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    let lines = plain.lines().map(str::trim_start);
    let code = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    code.flat_map(|line| [line, "\n"]).collect()
}

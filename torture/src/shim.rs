//! Shims: small libraries in C that are preloaded into a process and change the answers of the
//! system. Their sources are in `shim/`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// Builds a shim.
pub(crate) fn build(source: &str, built: &Path) -> Result<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("shim").join(source);
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-shared", "-fPIC", "-O1", "-o"]).arg(built).arg(source).arg("-ldl");
    let output = command.output().with_context(|| format!("no C compiler {compiler}"))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

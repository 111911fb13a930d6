//! The files of a SQLite store: other names of them, other readers, other contents.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use caseload_store::OpenMode;
use caseload_testdata::SplitMix;
use tokio::task::block_in_place;

use crate::hostile::arena::Arena;

/// Runs the program on another store, until it ends or has listened for a moment; returns whether
/// it ended by itself with an error.
fn refuses(location: &Path) -> Result<bool> {
    let program = std::env::current_exe()?.with_file_name("caseload");
    let mut server = Command::new(program)
        .args(["serve", "--listen", "127.0.0.1:0", "--store"])
        .arg(format!("sqlite:{}", location.display()))
        .stderr(std::process::Stdio::piped())
        .spawn()?;
    let stderr = server.stderr.take().context("no output")?;
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
    let listens = lines.any(|line| line.is_ok_and(|line| line.starts_with("listening on ")));
    if listens {
        server.kill()?;
    }
    let status = server.wait()?;
    Ok(!listens && !status.success())
}

pub(super) async fn hard_link(arena: &mut Arena) -> Result<String> {
    let file = arena.file()?;
    let other = file.with_file_name("other.db");
    std::fs::hard_link(&file, &other)?;
    ensure!(block_in_place(|| refuses(&other))?, "a second server runs on a hard link");
    std::fs::remove_file(&other)?;
    Ok("a second server is refused".to_owned())
}

pub(super) async fn symbolic_link(arena: &mut Arena) -> Result<String> {
    let file = arena.file()?;
    let folder = file.with_file_name("elsewhere");
    std::fs::create_dir(&folder)?;
    let other = folder.join("other.db");
    std::os::unix::fs::symlink(&file, &other)?;
    ensure!(block_in_place(|| refuses(&other))?, "a second server runs on a symbolic link");
    Ok("a second server is refused".to_owned())
}

/// A file or folder under a second path, as a container sees it, until this is dropped.
struct Mount(PathBuf);

impl Mount {
    /// Needs the right to mount.
    fn new(from: &Path, to: &Path) -> Option<Self> {
        let mounted = Command::new("mount").arg("--bind").args([from, to]).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(to.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).status());
    }
}

/// Runs a command on the store at a path: its error, or nothing if it succeeds.
fn error_of(command: &[&str], file: &Path) -> Result<Option<String>> {
    let program = std::env::current_exe()?.with_file_name("caseload");
    let store = format!("sqlite:{}", file.display());
    let output = Command::new(program).args(command).args(["--store", &store]).output()?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((!output.status.success()).then_some(error))
}

/// Without the right to mount, a hard link takes the place of the mounted file: it is the same file
/// under another path, too.
pub(super) async fn other_path_command(arena: &mut Arena) -> Result<String> {
    let file = arena.file()?;
    let parent = file.parent().context("no folder")?;
    let elsewhere = tempfile::tempdir_in(parent.parent().context("no folder")?)?;
    let other = elsewhere.path().join("caseload.db");
    std::fs::write(&other, b"")?;
    let mount = Mount::new(&file, &other);
    if mount.is_none() {
        std::fs::remove_file(&other)?;
        std::fs::hard_link(&file, &other)?;
        // As if the store had once been used under this path.
        std::fs::write(elsewhere.path().join("caseload.db.migration-lock"), b"")?;
    }
    let backup = elsewhere.path().join("backup.db");
    let commands: [&[&str]; 5] = [
        &["domain", "create", "lost"],
        &["key", "create", "--domain", "hostile"],
        &["domain", "list"],
        &["check"],
        &["backup", backup.to_str().context("a name")?],
    ];
    let refused = |command: &[&str]| -> Result<()> {
        let said = error_of(command, &other)?.context("it was not refused")?;
        ensure!(said.contains("under another path"), "{said}");
        Ok(())
    };
    block_in_place(|| {
        commands.iter().try_for_each(|command| refused(command).context(command.join(" ")))
    })?;
    // The same path, also through links and mounts of the folder, is for commands, too.
    let (link, folder) = (elsewhere.path().join("link.db"), elsewhere.path().join("folder"));
    std::os::unix::fs::symlink(&file, &link)?;
    std::fs::create_dir(&folder)?;
    let mounted = Mount::new(parent, &folder);
    let mut paths = vec![("a", file), ("b", link)];
    paths.extend(mounted.as_ref().map(|_| ("c", folder.join("caseload.db"))));
    for (name, path) in &paths {
        let error = block_in_place(|| error_of(&["domain", "create", name], path))?;
        ensure!(error.is_none(), "{}: {error:?}", path.display());
    }
    // Two commands without a server.
    arena.kill()?;
    let first = caseload_location::open(&arena.location().parse()?, OpenMode::Admin).await?;
    block_in_place(|| refused(commands[0])).context("during a command")?;
    arena.command(&["domain", "create", "d"])?;
    first.close().await?;
    let means = if mount.is_some() { "a bind mount" } else { "a hard link" };
    Ok(format!("{} commands through {means} are refused", commands.len() + 1))
}

/// Starts a backup, and waits until it writes its file.
fn begun_backup(arena: &Arena, file: &Path) -> Result<std::process::Child> {
    let program = std::env::current_exe()?.with_file_name("caseload");
    let mut command = Command::new(program);
    command.arg("backup").arg(file).args(["--store", arena.location()]);
    let mut child = command.spawn()?;
    let part = file.with_extension("db.caseload-part");
    while !part.exists() {
        ensure!(child.try_wait()?.is_none(), "the backup ended early");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(child)
}

pub(super) async fn killed_backup(arena: &mut Arena) -> Result<String> {
    for n in 0..4 {
        let issue = |n: usize| {
            let at = 1_700_000_000_000_i64 + n as i64;
            format!("{{\"title\":\"{}\",\"created_at\":{at}}}\n", "secret ".repeat(100))
        };
        let lines: String = (n * 1000..(n + 1) * 1000).map(issue).collect();
        arena.hostile.run("import_issues", lines.into_bytes()).await?;
    }
    let folder = arena.file()?.with_file_name("backups");
    std::fs::create_dir(&folder)?;
    let file = |name: &str| folder.join(name);
    block_in_place(|| {
        let mut killed = begun_backup(arena, &file("killed.db"))?;
        killed.kill()?;
        killed.wait()?;
        ensure!(file("killed.db.caseload-part").exists(), "the kill came too late");
        let mut first = begun_backup(arena, &file("first.db"))?;
        ensure!(!file("killed.db.caseload-part").exists(), "the rest of the killed one stays");
        let mut second = begun_backup(arena, &file("second.db"))?;
        for backup in [&mut first, &mut second] {
            ensure!(backup.wait()?.success(), "a backup fails next to another one");
        }
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder)? {
            names.push(entry?.file_name().into_string().unwrap_or_default());
        }
        names.sort();
        ensure!(names == ["first.db", "second.db"], "{names:?}");
        Ok("the next backup removes the rest".to_owned())
    })
}

pub(super) async fn modes(arena: &mut Arena) -> Result<String> {
    let file = arena.file()?;
    let mut seen = 0;
    for entry in std::fs::read_dir(file.parent().context("no folder")?)? {
        let entry = entry?;
        let mode = entry.metadata()?.permissions().mode() & 0o777;
        if entry.file_name().to_string_lossy().starts_with("caseload.db") {
            seen += 1;
            ensure!(mode.trailing_zeros() >= 6, "{} has the mode {mode:o}", entry.path().display());
        }
    }
    ensure!(seen > 1, "no files of the store");
    Ok(format!("{seen} files, readable by their owner only"))
}

pub(super) async fn foreign_file(arena: &mut Arena) -> Result<String> {
    let folder = arena.file()?.with_file_name("foreign");
    std::fs::create_dir(&folder)?;
    let empty = folder.join("empty.db");
    std::fs::write(&empty, b"")?;
    let text = folder.join("text.db");
    std::fs::write(&text, b"this is a letter\n".repeat(1000))?;
    for file in [&empty, &text] {
        let before = std::fs::read(file)?;
        ensure!(block_in_place(|| refuses(file))?, "{} became a store", file.display());
        ensure!(std::fs::read(file)? == before, "{} was changed", file.display());
    }
    Ok("refused and unchanged".to_owned())
}

pub(super) async fn deleted_domain(arena: &mut Arena) -> Result<String> {
    let marker = "a-very-secret-sentence";
    for n in 0..arena.scale.of(20, 500) {
        arena.hostile.make_issue(&format!("{marker} {n}")).await?.good()?;
    }
    arena.command(&["domain", "delete", "hostile", "--yes"])?;
    let file = arena.file()?;
    for suffix in ["", "-wal"] {
        let name = format!("{}{suffix}", file.display());
        let bytes = std::fs::read(&name).unwrap_or_default();
        let found = bytes.windows(marker.len()).any(|window| window == marker.as_bytes());
        ensure!(!found, "{name} still has a text of the deleted domain");
    }
    Ok("no text is left".to_owned())
}

/// Flips single bits in a copy of the file: `check` finds each, or everything reads as before.
pub(super) async fn bit_flips(arena: &mut Arena) -> Result<String> {
    let hostile = arena.hostile.clone();
    for n in 0..12 {
        hostile.make_issue(&format!("issue {n} {}", "text ".repeat(200))).await?.good()?;
    }
    let lines: Vec<u8> = (0..200)
        .flat_map(|n| format!("{{\"identities\":[{{\"uid\":\"u-{n}\"}}]}}\n").into_bytes())
        .collect();
    hostile.run("create_core_profiles", lines).await?;
    let (flips, mut random) = (arena.scale.of(12, 220), SplitMix::new(arena.scale.of(1, 2) as u64));
    let folder = arena.file()?.with_file_name("flips");
    std::fs::create_dir(&folder)?;
    let copy = folder.join("copy.db");
    arena.command(&["backup", copy.to_str().context("a name")?])?;
    let sound = std::fs::read(&copy)?;
    let before = block_in_place(|| copied(&copy, &folder.join("sound.db")))?;
    let before = before.context("the copy is not sound")?;
    let (mut found, mut harmless) = (0, 0);
    for flip in 0..flips {
        let (at, bit) = (random.below(sound.len()), random.below(8));
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << bit;
        let flipped = folder.join(format!("flipped-{flip}.db"));
        std::fs::write(&flipped, &bytes)?;
        std::fs::set_permissions(&flipped, std::fs::Permissions::from_mode(0o600))?;
        let target = folder.join(format!("copied-{flip}.db"));
        match block_in_place(|| copied(&flipped, &target))? {
            None => found += 1,
            Some(after) => {
                ensure!(after == before, "the flip of bit {bit} of byte {at} was not found");
                harmless += 1;
            }
        }
        for file in [flipped, target] {
            drop(std::fs::remove_file(file));
        }
    }
    Ok(format!("{found} found, {harmless} that change no row"))
}

/// Checks a store and copies it: the rows and digests of its tables, or `None` if it is damaged.
fn copied(file: &Path, target: &Path) -> Result<Option<String>> {
    let program = std::env::current_exe()?.with_file_name("caseload");
    let location = |file: &Path| format!("sqlite:{}", file.display());
    let check = Command::new(&program).args(["check", "--store", &location(file)]).output()?;
    if !check.status.success() {
        return Ok(None);
    }
    let ends = ["--from", &location(file), "--to", &location(target)];
    let copy = Command::new(program).arg("copy").args(ends).output()?;
    Ok(copy.status.success().then(|| String::from_utf8_lossy(&copy.stdout).into_owned()))
}

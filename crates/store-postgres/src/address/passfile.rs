//! A password file in the format of libpq: lines of `host:port:database:user:password`. `*` matches
//! any value, and a backslash escapes a colon or a backslash. The first matching line is used. A
//! file that other users can read is refused.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// The password for a database; `None` if no line matches.
pub(super) fn password(file: &Path, config: &Config) -> Result<Option<Vec<u8>>, String> {
    let cannot =
        |error: std::io::Error| format!("cannot read passfile {}: {error}", file.display());
    let mode = std::fs::metadata(file).map_err(cannot)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(format!("passfile {} can be read by others; `chmod 600` it", file.display()));
    }
    let text = std::fs::read(file).map_err(cannot)?;
    let text = String::from_utf8(text)
        .map_err(|_| format!("passfile {} is not text in UTF-8", file.display()))?;
    Ok(text.lines().find_map(|line| of_line(line, config)))
}

fn of_line(line: &str, config: &Config) -> Option<Vec<u8>> {
    if line.starts_with('#') {
        return None;
    }
    let fields = fields(line);
    let [host, port, database, user, password] = fields.as_slice() else {
        return None;
    };
    let fits = |pattern: &str, value: &str| pattern == "*" || pattern == value;
    let place = config.get_hosts().iter().enumerate().any(|(at, name)| {
        let ports = config.get_ports();
        let number = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        let name = match name {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.to_string_lossy().into_owned(),
        };
        fits(host, &name) && fits(port, &number.to_string())
    });
    let fit = place
        && fits(database, config.get_dbname().unwrap_or_default())
        && fits(user, config.get_user().unwrap_or_default());
    fit.then(|| password.clone().into_bytes())
}

/// The fields of a line, with escapes resolved.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let taken = match letter {
            ':' => {
                fields.push(String::new());
                continue;
            }
            '\\' => letters.next().unwrap_or('\\'),
            other => other,
        };
        if let Some(field) = fields.last_mut() {
            field.push(taken);
        }
    }
    fields
}

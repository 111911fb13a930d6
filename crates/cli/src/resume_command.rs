//! The command line of this process as a text that can be run again, without the API key. A command
//! that is interrupted names it as the next one to run.

use std::path::Path;

use crate::payload_file::RunName;

/// The command that continues this one. A run that sends a file again continues under its name.
pub(crate) fn next_command(file: &Path, run: Option<&RunName>) -> String {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let command = command_line(&arguments, run);
    if file == Path::new("-") { format!("{command} (with the same input)") } else { command }
}

fn command_line(arguments: &[String], run: Option<&RunName>) -> String {
    let mut command = "caseload".to_owned();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--again" || argument.starts_with("--again=") {
            continue;
        }
        if argument == "--api-key" {
            arguments.next();
        }
        let shown = if argument == "--api-key" || argument.starts_with("--api-key=") {
            "--api-key KEY".to_owned()
        } else {
            quoted(argument)
        };
        command = command + " " + &shown;
    }
    match run {
        Some(RunName(name)) => format!("{command} {}", quoted(&format!("--again={name}"))),
        None => command,
    }
}

/// The word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_./:=@%+,-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(arguments: &[&str], run: Option<&str>) -> String {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        command_line(&arguments, run.map(|name| RunName(name.to_owned())).as_ref())
    }

    #[test]
    fn the_next_command_is_quoted_for_a_shell_and_has_no_key() {
        for (arguments, run, shown) in [
            (&["issues", "import", "a.jsonl"][..], None, "caseload issues import a.jsonl"),
            (
                &["issues", "import", "it's mine.jsonl", "--api-key", "secret", "--errors", ""],
                None,
                r"caseload issues import 'it'\''s mine.jsonl' --api-key KEY --errors ''",
            ),
            (&["x", "--api-key=secret", "y"], None, "caseload x --api-key KEY y"),
            (&["x", "--again", "y"], Some("n1"), "caseload x y --again=n1"),
            (&["x", "y", "--again=n1"], Some("n1"), "caseload x y --again=n1"),
        ] {
            assert_eq!(line(arguments, run), shown);
        }
    }
}

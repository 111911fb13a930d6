//! The completions and the manual pages as a shell and a reader of pages use them.

use std::process::Command;

use crate::common::{Workdir, transcript_of};

#[test]
fn bash_completes_commands_and_flags() {
    let workdir = Workdir::new();
    workdir.write("caseload.bash", workdir.good(&["completions", "bash"]));
    for (words, expected) in [
        ("caseload sta", "status"),
        ("caseload key ro", "rotate"),
        ("caseload key rotate --gr", "--grace"),
        ("caseload completions f", "fish"),
    ] {
        let script = format!(
            ". ./caseload.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             word=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD - 1]}}\"; \
             _caseload caseload \"$word\" \"$before\"; \
             printf '%s ' \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        let output = bash.args(["-c", &script]).current_dir(workdir.path(".")).output().unwrap();
        let replies = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            replies.split_whitespace().any(|reply| reply == expected),
            "{words}: {}",
            transcript_of(&output)
        );
    }
}

#[test]
fn pages_go_to_standard_output_or_to_a_folder() {
    let workdir = Workdir::new();
    let page = workdir.good(&["man"]);
    workdir.good(&["man", "--folder", "pages/man1"]);
    assert_eq!(workdir.read("pages/man1/caseload.1"), page);
    assert!(workdir.read("pages/man1/caseload-key-rotate.1").contains("grace"));
    workdir.write("file", "");
    let output = workdir.run(&["man", "--folder", "file"]);
    assert_eq!(output.status.code(), Some(2), "{}", transcript_of(&output));
}

//! What holds for the command line as a whole: errors, exit status, colours, pipes.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::process::{Command, Output, Stdio};

fn reweave(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.args(arguments).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn without_a_terminal_the_workbench_names_the_command_that_needs_none() {
    let dir = tempfile::tempdir().unwrap();
    let output = reweave(&[]).current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error: the workbench needs a terminal, and there is none
    hint: `reweave run .` runs it without one
    ");
}

#[test]
fn a_slip_of_the_finger_is_answered_with_the_command() {
    let output = reweave(&["opne"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error: opne: there is no such file or directory
    hint: did you mean `reweave open`?
    ");
}

#[test]
fn colour_is_forced_and_refused_by_the_environment() {
    let forced = reweave(&["opne"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(stderr(&forced).starts_with("\x1b[31merror:\x1b[0m "), "{:?}", stderr(&forced));
    let refused = reweave(&["opne"]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").output().unwrap();
    assert!(stderr(&refused).starts_with("error: "), "{:?}", stderr(&refused));
}

#[test]
fn a_name_can_send_nothing_to_the_terminal() {
    let output = reweave(&["\x1b]0;owned\x07"]).output().unwrap();
    assert!(stderr(&output).starts_with("error: ␛]0;owned␇: there is no such file"), "{:?}", stderr(&output));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = reweave(&["man"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn completions_and_the_manual_page_name_the_commands() {
    for arguments in [&["completions", "bash"][..], &["man"]] {
        let output = reweave(arguments).output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains("completions"));
    }
}

//! What is no run, or not wholly one, gets an answer that names the thing, the place and the remedy.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::Command;

use common::{Run, answer};

#[test]
fn a_directory_that_is_not_there() {
    let run = Run::empty();
    let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.args(["run", "nowhere"]).current_dir(run.path());
    assert_answer!(answer(command, ""), @"
    error: nowhere does not exist
    hint: check the path, or make a sample run there: reweave demo nowhere
    [exit Some(2)]
    ");
    let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.args(["status", "a/b/c"]).current_dir(run.path());
    assert_answer!(answer(command, ""), @"
    error: a/b/c does not exist
    hint: a/b does not exist either: check the path
    [exit Some(2)]
    ");
}

#[test]
fn a_file_where_a_directory_was_meant() {
    let run = Run::new(&[("step.py", "x = 1\n"), ("book.ipynb", "{}")]);
    let call = |file: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
        command.args(["run", file]).current_dir(run.path());
        answer(command, "")
    };
    assert_answer!(call("step.py"), @"
    error: step.py is not a directory
    hint: give the directory that holds the steps
    [exit Some(2)]
    ");
    assert_answer!(call("book.ipynb"), @"
    error: book.ipynb is not a directory
    hint: bring a notebook or a recording in: reweave import book.ipynb -o DIR
    [exit Some(2)]
    ");
}

#[test]
fn an_empty_directory() {
    let run = Run::empty();
    for verb in ["run", "state", "graph", "show"] {
        let rest: &[&str] = if verb == "show" { &["a"] } else { &[] };
        assert_eq!(run.call(verb, rest).status, Some(2), "{verb}");
    }
    assert_answer!(run.call("status", &[]), @"
    error: . is empty
    hint: put a step there (any *.py file), or make a sample run: reweave demo .
    [exit Some(2)]
    ");
    assert!(!run.file(".reweave").exists(), "nothing is made where there is no run");
}

#[test]
fn a_directory_full_of_other_files() {
    let run = Run::new(&[("notes.txt", ""), ("data.csv", ""), ("README.md", "")]);
    assert_answer!(run.call("run", &[]), @r#"
    error: . holds no steps, but 3 other files, such as "README.md"
    hint: a step is a *.py or *.sh file: is this the right directory? `[run] exclude` may name all of them
    [exit Some(2)]
    "#);
}

#[test]
fn a_directory_that_can_not_be_written() {
    let run = Run::new(&[("a.py", "x = 1\n")]);
    fs::set_permissions(run.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.args(["status", "."]).current_dir(run.path());
    if rustix::process::geteuid().is_root() {
        // Root may write anywhere: be somebody else.
        command.uid(65534).env("HOME", "/nonexistent").env("REWEAVE_HOME", std::env::temp_dir().join("reweave-nobody"));
        let mut probe = Command::new(env!("CARGO_BIN_EXE_reweave"));
        if probe.arg("--version").uid(65534).output().is_err() {
            eprintln!("skipped: another user may not execute the program here");
            return;
        }
    }
    let told = answer(command, "");
    fs::set_permissions(run.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_answer!(told, @"
    a  never
    1 step: 1 never
    warning: [dir]/.reweave can't be written: this session is not remembered
    ");
}

#[test]
fn names_that_are_not_utf_8() {
    let run = Run::new(&[("a.py", "x = 1\n")]);
    fs::write(run.path().join(OsStr::from_bytes(b"b\xff.py")), "y = 1\n").unwrap();
    assert_answer!(run.call("status", &[]), @"
    a  never
    1 step: 1 never
    error: b�.py: its name is not UTF-8; rename it
    ");
}

#[test]
fn symbolic_links_in_a_loop() {
    let run = Run::new(&[("a.py", "x = 1\n"), ("frame/b.py", "y = 1\n")]);
    symlink("..", run.file("frame/again")).unwrap();
    symlink("self.py", run.file("self.py")).unwrap();
    assert_answer!(run.call("status", &[]), @"
    a        never
    frame/b  never
    2 steps: 2 never
    error: frame/again: a symbolic link in a loop; remove the link, or name it under `[run] exclude`
    error: self.py: a symbolic link in a loop; remove the link, or name it under `[run] exclude`
    ");
}

#[test]
fn a_step_of_fifty_megabytes() {
    let run = Run::new(&[("a.py", "x = 1\n")]);
    fs::write(run.file("big.py"), "# padding\n".repeat(5 << 20)).unwrap();
    assert_answer!(run.call("status", &[]), @"
    a    never
    big  never
    2 steps: 2 never
    error: big.py: too large: 50 MB, where 16 MB is the most; put data into a file of its own, and let a step read it
    ");
}

#[test]
fn a_step_that_is_no_text() {
    let run = Run::empty();
    fs::write(run.file("a.py"), b"x = '\xff'\n").unwrap();
    assert_answer!(run.call("status", &[]), @"
    a  never
    1 step: 1 never
    error: a.py: line 1 is not UTF-8; save it as UTF-8, or name its encoding on line 1: # -*- coding: NAME -*-
    ");
}

#[test]
fn a_header_with_a_slip() {
    let run = Run::new(&[("a.py", "# /// step\n# neds = ['b']\n# ///\nx = 1\n")]);
    assert_answer!(run.call("status", &[]), @r#"
    a  never
    1 step: 1 never
    warning: a.py: header, line 2: unknown key "neds": did you mean "needs"?; correct the `# /// step` block
    "#);
}

//! `reweave doctor` as a person or a program sees it. What a machine has differs, so only what must hold is held.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::fs;
use std::process::{Command, Output, Stdio};

fn doctor(dir: &std::path::Path, arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_reweave"))
        .arg("doctor")
        .arg(dir)
        .args(arguments)
        .env("REWEAVE_HOME", home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn the_document_has_a_standing_for_everything() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.py"), "x = 1\n").unwrap();
    let output = doctor(dir.path(), &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let sections = report["sections"].as_array().unwrap();
    let names: Vec<&str> = sections.iter().map(|section| section["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["interpreter", "limits", "sandbox", "machine", "terminal", "run"]);
    for fact in sections.iter().flat_map(|section| section["facts"].as_array().unwrap()) {
        let standing = fact["standing"].as_str().unwrap();
        let known = ["ok", "in_force", "not_used", "missing", "wrong", "unknown"];
        assert!(known.contains(&standing) && fact["says"].is_string() && fact["name"].is_string(), "{fact}");
    }
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.py"), b"x = '\xff'\n").unwrap();
    fs::write(dir.path().join("reweave.toml"), "sed = 1\npython = \"/opt/other\"\n").unwrap();
    let output = doctor(dir.path(), &["--python", "/nowhere/python"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "wrong     python  there is no Python at /nowhere/python, which a flag names",
        "correct it, or leave it out to use `python3`",
        "unknown   namespaces",
        "wrong     problem    a.py: line 1 is not UTF-8",
        "reweave.toml:1: unknown setting \"sed\": did you mean \"seed\"?",
        "asks for what it does not get alone: python = \"/opt/other\"",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn a_directory_that_is_not_there_is_bad_usage() {
    let dir = tempfile::tempdir().unwrap();
    let output = doctor(&dir.path().join("none"), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("none does not exist"));
}

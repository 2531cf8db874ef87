//! `reweave replay --against-recording`: a recording, run again, and where the two part.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by failing")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn reweave(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reweave")).current_dir(dir).args(args).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}[exit {}]", String::from_utf8_lossy(&output.stdout), output.status.code().unwrap())
}

fn cell(source: &str, outputs: Value) -> Value {
    json!({"cell_type": "code", "source": source, "metadata": {}, "execution_count": 1, "outputs": outputs})
}

fn printed(text: &str) -> Value {
    json!([{"output_type": "stream", "name": "stdout", "text": text}])
}

/// A notebook whose third cell was recorded with another input file, and whose fourth failed on purpose.
fn notebook(dir: &Path) {
    let cells = [
        cell("x = 2\nprint(x, object())", printed("2 <object object at 0x7f0000000000>\n")),
        cell("rate = float(open('rate.txt').read())", json!([])),
        cell("total = x * rate\nprint('total', total)", printed("total 3.0\n")),
        cell(
            "int('no')",
            json!([{"output_type": "error", "ename": "ValueError",
                    "evalue": "invalid literal for int() with base 10: 'no'", "traceback": []}]),
        ),
        cell("print(total + 1)", printed("4.0\n")),
        cell("print('the same')", printed("the same\n")),
    ];
    let notebook = json!({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells});
    std::fs::write(dir.join("a.ipynb"), notebook.to_string()).unwrap();
}

#[test]
fn the_first_divergence_is_named_with_the_step_that_made_it() {
    let dir = tempfile::tempdir().unwrap();
    notebook(dir.path());
    assert!(reweave(dir.path(), &["import", "a.ipynb", "-o", "run"]).status.success());
    std::fs::write(dir.path().join("run/rate.txt"), "2.5").unwrap();
    let output = reweave(dir.path(), &["replay", "run", "--against-recording", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let against = &document["against_recording"];
    let verdicts: Vec<(&str, &str)> = against["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["id"].as_str().unwrap(), step["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("001_x", "alike"),
            ("002_rate", "same"),
            ("003_total", "different"),
            ("004_int_no", "same"),
            ("005_print_total_1", "different"),
            ("006_print_the_same", "same"),
        ]
    );
    assert_eq!(against["divergence"], json!({"step": "003_total", "caused_by": ["003_total"], "steps": 2}));
    // A cell that failed in the recording, and fails alike, is no divergence, and what comes after it has run.
    let difference = json!({"part": "stdout", "line": 1, "recorded": "total 3.0", "rerun": "total 5.0"});
    assert_eq!(against["steps"][2]["differences"][0], difference);
    assert_eq!(against["steps"][2]["recorded"]["stdout"], "total 3.0\n");
    assert_eq!(against["not_run"], json!([]));
    assert_eq!(output.status.code(), Some(1));
    // Asked again, nothing runs, and the answer is the same; ...
    let again = text(&reweave(dir.path(), &["replay", "run", "--against-recording"]));
    let (_, page) = again.split_once("1 failed\n").unwrap();
    insta::assert_snapshot!(page, @r"
    003_total
      RECORDED                                            | RE-RUN
      total 3.0                                           | total 5.0
    005_print_total_1
      RECORDED                                            | RE-RUN
      4.0                                                 | 6.0
    against the recording: 3 the same, 1 alike, 2 different
    first divergence: 003_total
    [exit 1]
    ");
    // ... addresses count if they are asked for.
    let strict = text(&reweave(dir.path(), &["replay", "run", "--against-recording", "--strict"]));
    assert!(strict.contains("3 the same, 0 alike, 3 different\nfirst divergence: 001_x"), "{strict}");
}

#[test]
fn a_run_without_a_recording_has_nothing_to_be_held_against() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("1.py"), "x = 1\n").unwrap();
    let output = reweave(dir.path(), &["replay", ".", "--against-recording"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    insta::assert_snapshot!(error, @r"
    error: .: no step has a recorded output
    hint: `reweave import FILE` makes a run of a recording
    ");
}

#[test]
fn without_a_terminal_a_file_is_not_imported_to_be_opened() {
    let dir = tempfile::tempdir().unwrap();
    notebook(dir.path());
    // Without a terminal nothing is imported, and what would do is named.
    let output = reweave(dir.path(), &["a.ipynb"]);
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r"
    error: the workbench needs a terminal, and there is none
    hint: `reweave import a.ipynb` makes a run of it without one, and `reweave run` runs that
    ");
    assert!(!dir.path().join("a-run").exists());
}

#[cfg(unix)]
#[test]
fn an_interrupted_import_leaves_nothing_behind() {
    use std::io::Write;
    let dir = tempfile::tempdir().unwrap();
    // A pipe would be no file: a log that takes long enough to be interrupted.
    let mut file = std::io::BufWriter::new(std::fs::File::create(dir.path().join("long.jsonl")).unwrap());
    for at in 0..400_000 {
        let line = json!({"type": "assistant", "uuid": format!("u{at}"), "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "id": format!("m{at}"), "model": "m", "content": [
                {"type": "tool_use", "id": format!("t{at}"), "name": "Bash", "input": {"command": format!("echo {at}")}}]}});
        writeln!(file, "{line}").unwrap();
    }
    file.into_inner().unwrap().sync_all().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_reweave"))
        .current_dir(dir.path())
        .args(["import", "long.jsonl", "-o", "run"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The run is being made under another name as soon as the reading has begun.
    let making = || std::fs::read_dir(dir.path()).unwrap().count() > 1;
    while !making() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be interrupted");
        std::thread::yield_now();
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["long.jsonl"]);
}

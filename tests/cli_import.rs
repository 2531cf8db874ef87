//! `reweave import`, as a person and a program see it.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::path::Path;
use std::process::Command;

/// Runs reweave in `dir`; standard output, standard error and exit status as one text.
fn reweave(dir: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_reweave")).current_dir(dir).args(args).output().unwrap();
    format!(
        "{}{}[exit {}]",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        output.status.code().unwrap()
    )
}

const NOTEBOOK: &str = r##"{"nbformat": 4, "cells": [
    {"cell_type": "markdown", "source": "# Load"},
    {"cell_type": "code", "source": "x = 1\nx", "execution_count": 2,
     "outputs": [{"output_type": "execute_result", "data": {"text/plain": "1"}}]},
    {"cell_type": "code", "source": "y = x", "execution_count": 1, "outputs": []}]}"##;

#[test]
fn a_notebook_becomes_a_run() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.ipynb"), NOTEBOOK).unwrap();
    insta::assert_snapshot!(reweave(dir.path(), &["import", "a.ipynb", "-o", "run"]), @r"
    Jupyter notebook: 2 steps, 2 with recorded output, in run
      the cells were executed in another order than they stand in; steps are in the order of the file
    [exit 0]
    ");
    let text = |name: &str| std::fs::read_to_string(dir.path().join("run").join(name)).unwrap();
    assert_eq!(text("001_load.py"), "# %% [markdown]\n# # Load\n# %%\nx = 1\nx\n");
    insta::assert_snapshot!(text("reweave.toml"), @r#"
    # Imported from "a.ipynb" (Jupyter notebook).
    # A recorded run goes on past a failing step, as its author did.
    on_error = "continue"
    "#);
    insta::assert_snapshot!(reweave(dir.path(), &["import", "a.ipynb", "--json"]), @r#"
    {"format":"notebook","dir":"a-run","steps":2,"recorded":2,"patches":0,"warnings":["the cells were executed in another order than they stand in; steps are in the order of the file"]}
    [exit 0]
    "#);
}

#[test]
fn what_can_not_be_imported_is_said_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    put("a.ipynb", NOTEBOOK);
    put("empty.ipynb", "");
    put("letter.txt", "Dear all,\n");
    insta::assert_snapshot!(reweave(dir.path(), &["import", "a.ipynb", "-o", "."]), @r"
    error: .: there is something in it already
    hint: name another directory with -o, or remove this one
    [exit 2]
    ");
    insta::assert_snapshot!(reweave(dir.path(), &["import", "none.ipynb"]), @r"
    error: none.ipynb: No such file or directory (os error 2)
    [exit 2]
    ");
    insta::assert_snapshot!(reweave(dir.path(), &["import", "empty.ipynb"]), @r"
    error: empty.ipynb: the file is empty
    [exit 2]
    ");
    insta::assert_snapshot!(reweave(dir.path(), &["import", "letter.txt"]), @r"
    error: letter.txt: not a recording that is known: text that is neither JSON nor Python
    hint: known are: Jupyter notebooks, Claude Code and Codex sessions, smolagents memories, OpenHands events, SWE-agent and mini-swe-agent trajectories, inspect logs, OpenTelemetry spans, Open Interpreter conversations, LangGraph checkpoints, call trees and Python scripts
    [exit 2]
    ");
    let mut left: Vec<String> =
        std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["a.ipynb", "empty.ipynb", "letter.txt"]);
}

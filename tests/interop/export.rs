//! Exports of imported runs: read back they are the same, and what is made runs and holds nothing hostile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reweave::interop::export::{self, Part, Whole};
use reweave::interop::{import, write};
use serde_json::Value;

use crate::fixtures;

const ALL: [Part; 2] = [Part::Versions, Part::Files];

/// The run of a recording, laid out in `dir`.
fn laid(recording: &Path, dir: &Path) -> PathBuf {
    let run = dir.join("run");
    write(import(recording).unwrap(), &run, "a test").unwrap();
    run
}

/// The JSON of a run without what may differ: a number of an execution's version that stands for the newest.
fn json(run: &Path) -> Value {
    export::json(&Whole::read(run, &ALL).unwrap())
}

#[test]
fn a_run_exported_as_json_and_imported_is_the_same_run() {
    for path in fixtures::all() {
        let dir = tempfile::tempdir().unwrap();
        let before = json(&laid(&path, dir.path()));
        let exported = dir.path().join("export.json");
        fs::write(&exported, serde_json::to_vec_pretty(&before).unwrap()).unwrap();
        let again = tempfile::tempdir().unwrap();
        let imported = import(&exported).unwrap();
        assert_eq!(imported.warnings, [], "{}", path.display());
        let after = json(&laid(&exported, again.path()));
        assert_eq!(before, after, "{}", path.display());
    }
}

#[test]
fn a_run_exported_as_a_notebook_has_the_same_steps_when_it_is_read_again() {
    for path in fixtures::all() {
        let dir = tempfile::tempdir().unwrap();
        let whole = Whole::read(&laid(&path, dir.path()), &ALL).unwrap();
        let exported = dir.path().join("export.ipynb");
        fs::write(&exported, export::notebook(&whole).to_string()).unwrap();
        let imported = import(&exported).unwrap();
        let steps = |texts: Vec<(String, String)>| {
            texts.into_iter().filter(|(_, text)| !text.trim().is_empty()).collect::<Vec<_>>()
        };
        let before = steps(whole.steps.iter().map(|step| (step.path.clone(), step.text.clone())).collect());
        let after = steps(imported.steps.iter().map(|step| (step.path(), step.text.clone())).collect());
        assert_eq!(before, after, "{}", path.display());
        for (step, again) in whole.steps.iter().zip(&imported.steps) {
            let output = step.execution.as_ref().map(|execution| &execution.output.chunks);
            assert_eq!(output, again.recorded.as_ref().map(|recorded| &recorded.output.chunks), "{}", path.display());
        }
    }
}

fn python() -> Option<&'static str> {
    let found = Command::new("python3").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success()).then_some("python3")
}

#[test]
fn a_script_runs_without_reweave() {
    let Some(python) = python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let put = |name: &str, text: &str| {
        let path = run.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("01_setup.py", "from __future__ import annotations\n%matplotlib inline\nimport helper\nx = helper.ONE\n");
    put("helper.py", "# /// step\n# kind = \"module\"\n# ///\nimport other\nONE = other.VALUE\n");
    put("other.py", "# /// step\n# kind = \"module\"\n# ///\nVALUE = 1\n");
    put("02_shell.sh", "echo \"from a 'shell'\"\n");
    put("03_magic.py", "# /// step\n# summary = \"s\"\n# ///\n%%time\nfiles = !echo a; echo b\nprint(x, files)\n");
    put("04_wait.py", "import asyncio\nasync def f():\n    return 5\ny = await f()\nprint(y)\n");
    put("05_broken.py", "print 'python 2'\n");
    put("06_text.py", "s = '''\n%time not a magic\n'''\nprint(len(s), y)\ndisplay('shown')\n");
    put("reweave.toml", "on_error = \"continue\"\n");
    let script = dir.path().join("script.py");
    fs::write(&script, export::script(&Whole::read(&run, &[]).unwrap())).unwrap();
    let output = Command::new(python).arg("-u").arg(&script).current_dir(dir.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}{errors}\n{}", fs::read_to_string(&script).unwrap());
    assert_eq!(text.replace("'shown'", "shown"), "from a 'shell'\n1 ['a', 'b']\n5\n19 5\nshown\n");
    assert!(errors.contains("SyntaxError"), "{errors}");
}

#[test]
fn a_report_holds_nothing_that_a_browser_would_obey() {
    let hostile = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\u{1b}]0;t\u{7}\u{202e}\" onload=\"x";
    let dir = tempfile::tempdir().unwrap();
    let recording = dir.path().join("a.ipynb");
    let notebook = serde_json::json!({"nbformat": 4, "cells": [
        {"cell_type": "markdown", "source": hostile},
        {"cell_type": "code", "id": hostile, "source": hostile, "execution_count": 1, "outputs": [
            {"output_type": "stream", "name": "stderr", "text": hostile},
            {"output_type": "display_data", "data": {"text/html": hostile}},
            {"output_type": "display_data", "data": {"image/svg+xml": "<svg onload=\"alert(1)\"/>"}},
            {"output_type": "display_data", "data": {"image/png": "\"><script>", "text/plain": hostile}},
            {"output_type": "display_data", "data": {"image/png": "aGk=\n", "text/plain": hostile}},
            {"output_type": "error", "ename": hostile, "evalue": hostile, "traceback": [hostile]}]}]});
    fs::write(&recording, notebook.to_string()).unwrap();
    let page = export::report(&Whole::read(&laid(&recording, dir.path()), &[]).unwrap());
    let lower = page.to_lowercase();
    for word in ["<script", "<img src=x", "onerror=alert(2)>\u{1b}", "\u{1b}", "\u{202e}", "<svg onload"] {
        assert!(!lower.contains(word), "{word:?}");
    }
    // Markup is the page's own: no attribute of it begins with `on`.
    let own = page.split('<').skip(1).filter_map(|tag| tag.split('>').next());
    for tag in own {
        let bare: String = tag.split('"').step_by(2).collect();
        assert!(!bare.split_whitespace().any(|word| word.starts_with("on")), "{tag}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("src=\"data:image/png;base64,aGk=\""));
    assert!(page.contains("RECORDED"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn the_history_is_what_git_reads() {
    let git = |dir: &Path, args: &[&str]| Command::new("git").current_dir(dir).args(args).output();
    let dir = tempfile::tempdir().unwrap();
    let repository = dir.path().join("repository");
    fs::create_dir(&repository).unwrap();
    if !git(&repository, &["init", "-q"]).is_ok_and(|output| output.status.success()) {
        return;
    }
    let whole = Whole::read(&laid(&fixtures::named("reweave.json"), dir.path()), &ALL).unwrap();
    let stream = dir.path().join("stream");
    fs::write(&stream, export::git(&whole)).unwrap();
    let fed = Command::new("git")
        .current_dir(&repository)
        .args(["fast-import", "--quiet"])
        .stdin(fs::File::open(&stream).unwrap())
        .output()
        .unwrap();
    assert!(fed.status.success(), "{}", String::from_utf8_lossy(&fed.stderr));
    let log = git(&repository, &["log", "--reverse", "--format=%s|%cn|%at", "main"]).unwrap();
    insta::assert_snapshot!(String::from_utf8_lossy(&log.stdout), @r"
    f/b.sh version 1|import from reweave|0
    a.py version 1|a person|0
    edit a|agent fixer|0
    ");
    let shown = git(&repository, &["show", "main:a.py"]).unwrap();
    assert_eq!(shown.stdout, b"x = 2\n");
}

#[test]
fn the_command_line_writes_where_it_is_told() {
    let dir = tempfile::tempdir().unwrap();
    laid(&fixtures::named("smolagents.json"), dir.path());
    let reweave = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_reweave")).current_dir(dir.path()).args(args).output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap(), text)
    };
    let (status, text) = reweave(&["export", "run", "--format", "py", "-o", "run.py", "--json"]);
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, answer["format"].as_str(), answer["file"].as_str()), (0, Some("py"), Some("run.py")));
    assert!(fs::read_to_string(dir.path().join("run.py")).unwrap().contains("# %% 001_rows"));
    assert!(reweave(&["export", "run", "--format", "html"]).1.starts_with("<!doctype html>"));
    let (status, text) = reweave(&["export", "nowhere", "--format", "json"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("nowhere"), "{text}");
}

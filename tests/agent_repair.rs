//! The repair loop with an agent that answers wrong, malformed, repeated, slow, huge and hostile: it ends within its
//! bounds, tells its story, and accepts nothing that did not pass.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by failing")]

mod common;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{Answer, Run, answer};
use serde_json::Value;

const RATIO: &str = "ratios = [1 / row for row in rows]\n";

fn run() -> Run {
    let run = Run::new(&[
        ("01_rows.py", "rows = [3, 0, 4]\n"),
        ("02_ratio.py", RATIO),
        ("test_ratio.py", "assert len(ratios) == 2\n"),
    ]);
    assert_eq!(run.call("run", &[]).status, Some(1));
    run
}

/// `reweave repair . 02_ratio` with the stub answering so, turn by turn.
fn repair_with(run: &Run, answers: &str, rest: &[&str]) -> Answer {
    answer(command(run, answers, rest), "")
}

fn command(run: &Run, answers: &str, rest: &[&str]) -> Command {
    let stub = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents/stub.py");
    let agent = format!("python3 '{}' {answers}", stub.display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.args(["repair", ".", "02_ratio", "--agent", &agent]).args(rest).current_dir(run.path());
    command.env("REWEAVE_AGENT_TIMEOUT", "2s");
    command
}

fn repair(run: &Run, answers: &str) -> Value {
    let answer = repair_with(run, answers, &["--json"]);
    serde_json::from_str(answer.stdout.lines().last().unwrap_or_default()).unwrap_or_else(|_| panic!("{answer}"))
}

fn verdicts(done: &Value) -> Vec<&str> {
    done["tries"].as_array().unwrap().iter().map(|turn| turn["verdict"].as_str().unwrap()).collect()
}

#[test]
fn a_patch_that_passes_is_offered_and_not_written() {
    let run = run();
    let done = repair(&run, "malformed wrong right");
    assert_eq!(done["ended"], "offered", "{done}");
    assert_eq!(verdicts(&done), ["refused", "failed", "passed"], "{done}");
    assert_eq!(run.read("02_ratio.py"), RATIO, "a person decides");
    let log = run.call("log", &[]).stdout;
    for told in ["try 1", "try 2", "try 3", "passes"] {
        assert!(log.contains(told), "{told} is not in {log}");
    }
    let patch = done["patch"].to_string();
    assert_eq!(run.call("patch", &[]).status, Some(2));
    let mut accept = Command::new(env!("CARGO_BIN_EXE_reweave"));
    accept.args(["patch", "accept", ".", &patch]).current_dir(run.path());
    assert_eq!(answer(accept, "").status, Some(0));
    assert_eq!(run.call("run", &[]).status, Some(0));
}

#[test]
fn an_answer_that_comes_again_ends_the_loop() {
    let done = repair(&run(), "wrong");
    assert_eq!(done["ended"], "repeated", "{done}");
    assert_eq!(verdicts(&done), ["failed", "repeated"]);
}

#[test]
fn what_breaks_or_weakens_a_check_does_not_pass() {
    let run = run();
    let done = repair(&run, "breaking weaken no-python");
    assert_eq!(done["ended"], "exhausted", "{done}");
    assert_eq!(verdicts(&done), ["failed", "failed", "failed"], "{done}");
    let why = done["tries"][1]["why"][0].as_str().unwrap();
    assert!(why.contains("weakens"), "{why}");
    assert_eq!(run.read("test_ratio.py"), "assert len(ratios) == 2\n");
}

#[test]
fn slow_huge_crashing_silent_and_hostile_answers_end_within_the_bounds() {
    let run = run();
    let began = Instant::now();
    let done = repair_with(&run, "slow huge crash silent hostile", &["--tries", "5"]);
    assert_eq!(done.status, Some(1), "{done}");
    assert!(began.elapsed() < Duration::from_secs(60));
    assert!(!done.stderr.contains('\x1b') && !done.stdout.contains('\x1b'), "{done}");
    for told in ["gave no answer in 2 s", "over 4 MB", "no model today", "answered nothing", "can't be tried"] {
        assert!(done.stderr.contains(told), "{told}: {done}");
    }
    assert_eq!(run.read("02_ratio.py"), RATIO);
    assert!(!Path::new("/tmp/evil.py").exists());
}

#[test]
fn several_answers_are_tried_at_once_and_those_that_pass_are_offered() {
    let run = run();
    let done = repair_with(&run, "--candidates wrong right priced", &["--candidates", "3", "--json"]);
    let done: Value = serde_json::from_str(done.stdout.trim()).unwrap();
    assert_eq!(done["ended"], "offered", "{done}");
    // The third says the same as the second.
    assert_eq!(verdicts(&done), ["failed", "passed", "repeated"], "{done}");
    assert_eq!(done["offered"].as_array().unwrap().len(), 1);
}

#[test]
fn a_reviewer_sees_patch_and_trial_and_its_word_can_decide() {
    let run = run();
    let stub = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents/stub.py");
    let reviewed = |word: &str| {
        let mut command = command(&run, "right", &["--json"]);
        command.env("REWEAVE_AGENT_REVIEWER", format!("python3 {} {word}", stub.display()));
        command.env("REWEAVE_VERIFY_REVIEWER", "true");
        let answer = answer(command, "");
        serde_json::from_str::<Value>(&answer.stdout).unwrap_or_else(|_| panic!("{answer}"))
    };
    let done = reviewed("reject");
    assert_eq!((verdicts(&done), &done["ended"]), (vec!["failed", "repeated"], &Value::from("repeated")), "{done}");
    assert_eq!(done["tries"][0]["why"][0], "reviewer python3 rejects: it drops rows", "{done}");
    let done = reviewed("approve");
    assert_eq!(verdicts(&done), ["passed"], "{done}");
    assert_eq!(done["tries"][0]["why"][0], "reviewer python3 approves: test_ratio passes", "{done}");
}

#[test]
fn a_person_stops_it_while_the_agent_thinks() {
    let run = run();
    let stub = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents/stub.py");
    let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
    let agent = format!("python3 '{}' waiting {}", stub.display(), run.file("asked").display());
    command.args(["repair", ".", "02_ratio", "--agent", &agent, "--json"]).current_dir(run.path());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let child = command.spawn().unwrap();
    let began = Instant::now();
    while !run.file("asked").exists() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(run.call("stop", &[]).status, Some(0));
    let output = child.wait_with_output().unwrap();
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&done["ended"], output.status.code()), (&Value::from("stopped"), Some(130)), "{done}");
}

#[test]
fn a_locked_run_reports_what_no_patch_brought() {
    let run = run();
    run.write("reweave.toml", "[run]\nlocked = true\n");
    let refused = run.call("delete", &["02_ratio"]);
    assert!(refused.stderr.contains("the run is locked"), "{refused}");
    let done = repair(&run, "right");
    let mut accept = Command::new(env!("CARGO_BIN_EXE_reweave"));
    accept.args(["patch", "accept", ".", &done["patch"].to_string()]).current_dir(run.path());
    assert_eq!(answer(accept, "").status, Some(0));
    let quiet = run.call("status", &[]);
    assert!(!quiet.stderr.contains("locked"), "{quiet}");
    run.write("01_rows.py", "rows = [5]\n");
    // The same when it is opened anew.
    for _ in 0..2 {
        let told = run.call("status", &[]);
        assert!(told.stderr.contains("01_rows: was changed by other means than a patch"), "{told}");
    }
    assert!(run.call("log", &[]).stdout.contains("locked"));
}

#[test]
fn a_patch_that_never_ends_is_cut_off() {
    let run = run();
    let mut command = command(&run, "endless right", &["--json"]);
    command.env("REWEAVE_AGENT_TRIAL", "3s");
    let answer = answer(command, "");
    let done: Value = serde_json::from_str(answer.stdout.trim()).unwrap_or_else(|_| panic!("{answer}"));
    assert_eq!(verdicts(&done), ["failed", "passed"], "{done}");
    assert_eq!(done["tries"][0]["why"][0], "its trial did not end in 3 s", "{done}");
    let after = |turn: usize| &done["tries"][turn]["trial"]["steps"][0]["after"];
    assert_ne!(after(0), after(1), "{done}");
}

#[test]
fn accepting_by_itself_needs_a_gate() {
    let run = run();
    let refused = repair_with(&run, "right", &["--accept"]);
    assert_ne!(refused.status, Some(0), "{refused}");
    assert!(refused.stderr.contains("needs a gate"), "{refused}");
    assert_eq!(run.read("02_ratio.py"), RATIO);
    run.write("reweave.toml", "[verify]\nsteps = [\"test_ratio\"]\n");
    let done = repair_with(&run, "priced", &["--accept"]);
    assert_eq!(done.status, Some(0), "{done}");
    assert!(run.read("02_ratio.py").contains("if row]"), "{done}");
    assert!(run.call("log", &[]).stdout.contains("call-7"));
}

#[test]
fn an_agent_that_the_run_names_is_asked_only_once_approved() {
    let run = run();
    run.write("reweave.toml", "[agent]\ncommand = [\"sh\", \"-c\", \"touch asked\"]\n");
    let answer = run.call("repair", &["02_ratio"]);
    assert_ne!(answer.status, Some(0), "{answer}");
    assert!(answer.stderr.contains("config --approve"), "{answer}");
    assert!(!run.file("asked").exists());
}

#[test]
fn a_function_is_written_anew_until_its_tests_pass() {
    let run = Run::new(&[
        (
            "02_ratio.py",
            "rows = [3, 4]\n\ndef ratio(row):\n    return 1 / row\n\nratios = [ratio(row) for row in rows]\n",
        ),
        ("test_ratio.py", "assert ratio(4) == 0.25\nassert ratio(0) is None\n"),
    ]);
    let stub = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents/stub.py");
    let evolve = |answers: &str| {
        let agent = format!("python3 '{}' {answers}", stub.display());
        let rest = ["02_ratio:ratio", "--agent", &agent, "--json"];
        let answer = run.call("evolve", &rest);
        serde_json::from_str::<Value>(answer.stdout.trim()).unwrap_or_else(|_| panic!("{answer}"))
    };
    let done = evolve("function-wrong function-cheating function");
    assert_eq!(verdicts(&done), ["failed", "failed", "passed"], "{done}");
    assert!(run.read("02_ratio.py").contains("return 1 / row\n"), "a person decides");
    // Only what passed is a proposal.
    let states = run.json("status", &[])["patches"].to_string();
    assert_eq!((states.matches("rejected").count(), states.matches("\"tried\"").count()), (2, 1), "{states}");
    let mut accept = Command::new(env!("CARGO_BIN_EXE_reweave"));
    accept.args(["patch", "accept", ".", &done["patch"].to_string()]).current_dir(run.path());
    assert_eq!(answer(accept, "").status, Some(0));
    assert_eq!(run.call("run", &[]).status, Some(0));
    let none = run.call("evolve", &["02_ratio:ratio", "--agent", "python3"]);
    assert!(none.stderr.contains("pass: there is nothing to write anew"), "{none}");
}

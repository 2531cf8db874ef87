//! One owner of a run: a second command goes through the first, and takes its place when it ends.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use common::Run;

/// A `run` with `--events` that waits in a step until a file is there.
struct Held {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Held {
    fn start(run: &Run) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_reweave"))
            .args(["run", ".", "--events"])
            .current_dir(run.path())
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut held = Self { child, lines };
        held.wait_for("waiting");
        held
    }

    /// Reads lines until one holds this text.
    fn wait_for(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the command ended before it said {text:?}");
            if line.contains(text) {
                return line;
            }
        }
    }
}

const WAIT: &str =
    "import os, time\nprint('waiting', flush=True)\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\n";

#[test]
fn a_second_command_goes_through_the_owner_and_sees_what_runs() {
    let run = Run::new(&[("a.py", WAIT), ("b.py", "y = 1\n")]);
    let mut owner = Held::start(&run);
    let status = run.json("status", &[]);
    assert_eq!(status["running"], "a");
    assert_eq!(status["steps"][0]["status"], "running");
    assert_eq!(run.call_with("new", &["c"], "z = 2\n").stdout, "c was made\n");
    run.write("go", "");
    owner.wait_for("\"steps\"");
    assert!(owner.child.wait().unwrap().success());
    assert_eq!(run.json("status", &[])["steps"][2]["id"], "c");
}

#[test]
fn stop_ends_what_another_command_runs_and_its_record_stays() {
    let run = Run::new(&[("a.py", "x = 1\n"), ("b.py", WAIT)]);
    let mut owner = Held::start(&run);
    assert_eq!(run.call("stop", &[]).stdout, "stopped 1 request\n");
    owner.wait_for("\"steps\"");
    owner.child.wait().unwrap();
    let status = run.json("status", &[]);
    assert_eq!(status["steps"][0]["status"], "fresh", "{status}");
    assert_ne!(status["steps"][1]["status"], "fresh");
}

#[test]
fn what_was_asked_of_an_owner_that_died_is_done_by_who_asked() {
    let run = Run::new(&[("a.py", WAIT)]);
    let mut owner = Held::start(&run);
    let mut second = Command::new(env!("CARGO_BIN_EXE_reweave"))
        .args(["run", ".", "--json"])
        .current_dir(run.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Until the owner says that the second's request waits for it.
    while run.json("status", &[])["waiting"] != 1 {}
    owner.child.kill().unwrap();
    owner.child.wait().unwrap();
    run.write("go", "");
    let mut last = String::new();
    for line in BufReader::new(second.stdout.take().unwrap()).lines() {
        last = line.unwrap();
    }
    let document: serde_json::Value = serde_json::from_str(&last).unwrap();
    assert_eq!(document["steps"][0]["stdout"], "waiting\n");
    assert!(second.wait().unwrap().success());
}

#[test]
fn an_interrupt_ends_with_130_and_leaves_no_process() {
    let run = Run::new(&[("a.py", "import os\nprint('pid', os.getpid())\n".to_owned().as_str()), ("b.py", WAIT)]);
    let mut owner = Held::start(&run);
    let pid = rustix::process::Pid::from_child(&owner.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let _ = std::io::stdout().flush();
    assert_eq!(owner.child.wait().unwrap().code(), Some(130));
    let mut rest = String::new();
    while owner.lines.read_line(&mut rest).unwrap() > 0 {}
    let status = run.json("status", &[]);
    assert_eq!(status["steps"][0]["status"], "fresh", "{status}");
}
